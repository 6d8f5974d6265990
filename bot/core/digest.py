"""Canonical bytes, and the three digests that bind a consent to what was shown.

Everything that is compared, signed or shown about a call is made from the same
canonical JSON text (UTF-8, sorted keys, no white space, numbers of their parsed
type, no Unicode normalisation), so that two texts that differ in meaning can never
share a digest. Each digest names its scheme's version (design §8, threat T27).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

SCHEME = "cs1"
SHOWN_DIGITS = 12
MAX_DEPTH = 64


class NotCanonical(ValueError):
    """The value has no canonical form: duplicate keys, NaN, or a lone surrogate."""


def canonical(value: object) -> str:
    """Return the one JSON text of a value; `NotCanonical` when there is none."""
    _check(value)
    return json.dumps(
        value,
        ensure_ascii=False,
        allow_nan=False,
        sort_keys=True,
        separators=(",", ":"),
    )


def parsed(text: str) -> Any:
    """Read JSON strictly: a duplicate key, NaN or a lone surrogate is refused."""
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except RecursionError:
        raise NotCanonical("nested too deeply") from None
    except json.JSONDecodeError as error:
        raise NotCanonical(f"not JSON: {error.msg} at {error.pos}") from None
    except NotCanonical:
        raise
    except ValueError:
        raise NotCanonical("a number is too long to read") from None
    _check(value)
    return value


def arguments_digest(arguments: str) -> str:
    """Digest of a call's canonical arguments."""
    return _digest("arguments", {"arguments": arguments})


def definition_digest(
    *, name: str, source: str, input_schema: Mapping[str, Any], version: str | None
) -> str:
    """Digest of what makes a tool the same tool; a docstring is not part of it."""
    return _digest(
        "definition",
        {"name": name, "source": source, "schema": input_schema, "version": version},
    )


def rule_digest(rule: Mapping[str, Any]) -> str:
    """Digest of a policy rule as it was stored with a request."""
    return _digest("rule", dict(rule))


def question_digest(
    *,
    tool: str,
    definition: str,
    arguments: str,
    acting: str,
    kind: str,
    prompt: str,
    url: str | None,
    data: Mapping[str, Any] | None,
) -> str:
    """Digest that tells whether the same thing was asked before."""
    return _digest(
        "asked",
        {
            "tool": tool,
            "definition": definition,
            "arguments": arguments_digest(arguments),
            "acting": acting,
            "kind": kind,
            "prompt": prompt,
            "url": url,
            "data": data,
        },
    )


def call_digest(
    *,
    enterprise: str,
    team: str,
    run: str,
    turn: int,
    ordinal: int,
    tool: str,
    definition: str,
    arguments: str,
    acting: str,
    kind: str,
    prompt: str,
    data: Mapping[str, Any] | None,
    url: str | None,
    expiry: str,
    rule: str,
) -> str:
    """Digest of exactly what people agree to; its first digits stand on the card.

    `expiry` is the tool's own `expiresAt`, or else the rule's duration in seconds.
    """
    return _digest(
        "call",
        {
            "enterprise": enterprise,
            "team": team,
            "run": run,
            "turn": turn,
            "ordinal": ordinal,
            "tool": tool,
            "definition": definition,
            "arguments": arguments_digest(arguments),
            "acting": acting,
            "kind": kind,
            "prompt": prompt,
            "data": data,
            "url": url,
            "expiry": expiry,
            "rule": rule,
        },
    )


def shown(digest: str) -> str:
    """The digits of a digest that people compare: `4c1f 88a0 93d2`."""
    digits = digest.rpartition(":")[2][:SHOWN_DIGITS]
    return " ".join(digits[i : i + 4] for i in range(0, SHOWN_DIGITS, 4))


def _digest(what: str, value: Mapping[str, Any]) -> str:
    text = canonical({"scheme": SCHEME, "of": what, **value})
    return f"{SCHEME}:{hashlib.sha256(text.encode()).hexdigest()}"


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    seen: dict[str, Any] = {}
    for key, value in pairs:
        if key in seen:
            raise NotCanonical(f"duplicate key {key}")
        seen[key] = value
    return seen


def _no_constant(name: str) -> Any:
    raise NotCanonical(f"{name} is not a JSON number")


def _check(value: object) -> None:
    """Refuse what JSON text cannot carry faithfully; iterative: depth is harmless."""
    waiting: list[tuple[object, int]] = [(value, 0)]
    while waiting:
        item, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise NotCanonical(f"nested more than {MAX_DEPTH} levels deep")
        if isinstance(item, str):
            _check_text(item)
        elif isinstance(item, Mapping):
            for key in item:
                if not isinstance(key, str):
                    raise NotCanonical(f"key {key!r} is not a string")
                _check_text(key)
            waiting.extend((inner, depth + 1) for inner in item.values())
        elif isinstance(item, list | tuple):
            waiting.extend((inner, depth + 1) for inner in item)
        elif isinstance(item, float) and not math.isfinite(item):
            raise NotCanonical(f"{item} is not a JSON number")
        elif not (item is None or isinstance(item, bool | int | float)):
            raise NotCanonical(f"{type(item).__name__} is not a JSON value")


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise NotCanonical("text holds a lone surrogate") from None
