"""One typed value, read by the type its schema names.

Pure. Text as it is, numbers, true or false, otherwise JSON. Where a schema takes
several types: a listed value first, then text if it takes text (leave an argument out
rather than writing null), then the rest; where it names none, JSON if it is JSON, else
text. Whether the value then fits the schema is not decided here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from math import isfinite
from typing import Any

from bot.tools.wanted import as_json, choices, resolved, types_of
from bot.tools.words import shortened, unfit

_DEEPEST = 32
_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,99})")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,99})(\.[0-9]+)?([eE][+-]?[0-9]+)?")


def value_of(raw: str, wish: object, root: Mapping[str, Any]) -> Any:
    """A raw value as the schema's type; ValueError says why it is none."""
    members = choices(resolved(wish, root))
    for member in members:
        if raw == (member if isinstance(member, str) else as_json(member)):
            return member
    types = types_of(wish, root)
    if members or "string" in types:
        return raw
    if not types:
        return _json_or_text(raw)
    if "boolean" in types and raw in ("true", "false"):
        return raw == "true"
    if "integer" in types and _INTEGER.fullmatch(raw):
        return int(raw)
    if "number" in types and _NUMBER.fullmatch(raw):
        return _number(raw)
    if types & {"array", "object", "null"}:
        return _json(raw)
    raise ValueError


def _number(raw: str) -> int | float:
    if _INTEGER.fullmatch(raw):
        return int(raw)
    number = float(raw)
    if not isfinite(number):
        raise ValueError("too large")
    return number


def _json_or_text(raw: str) -> Any:
    try:
        return _json(raw)
    except ValueError:
        # What begins like JSON was meant as JSON: a slip must not become text.
        if raw.startswith(("{", "[", '"')):
            raise
        return raw


def _json(raw: str) -> Any:
    try:
        value = json.loads(
            raw,
            object_pairs_hook=_object,
            parse_constant=_no_constant,
            parse_float=_number,
        )
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error.msg}") from error
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    _demand_fit(value, _DEEPEST)
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f'"{shortened(key)}" is given twice in it')
        found[key] = value
    return found


def _no_constant(word: str) -> None:
    raise ValueError(f"{word} is not JSON")


def _demand_fit(value: object, depth: int) -> None:
    if depth == 0:
        raise ValueError("nested too deeply")
    if isinstance(value, str) and unfit(value):
        raise ValueError("it holds a character that no text can hold")
    if isinstance(value, dict):
        for key, inner in value.items():
            _demand_fit(key, depth)
            _demand_fit(inner, depth - 1)
    elif isinstance(value, list):
        for inner in value:
            _demand_fit(inner, depth - 1)
