"""How a tool asks and how a question is recognised and answered (contract §4, §5).

A suspension is an ordinary value: a ToolResult that carries a Request. What a run
makes of it is not decided here.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from typing import Any

from bot.contract.expiry import parse_rfc3339
from bot.contract.types import Answer, Reason, Request, ToolResult
from bot.contract.wire import REASONS


def pending(
    *,
    kind: str,
    prompt: str,
    id: str | None = None,
    url: str | None = None,
    data: dict[str, Any] | None = None,
    expiresAt: str | None = None,
) -> ToolResult:
    """A result that suspends the call until a person has answered this Request."""
    request = Request(id or _new_id(), kind, prompt, url, data, expiresAt)
    _demand_usable(request)
    output = f"{prompt}\n{url}" if url else prompt
    return ToolResult(output, True, {"pending": request})


def auth_required(
    url: str, prompt: str = "Authorization required to continue"
) -> ToolResult:
    """A result that suspends the call until the person has signed in at `url`."""
    if not url:
        raise ValueError("url must not be empty: it is where the person signs in")
    return pending(kind="authorization", prompt=prompt, url=url)


def pending_of(result: object) -> Request | None:
    """The Request that a result carries, or None; it never raises.

    It takes results of other makers too. Do not hand it a RunResult: there the
    question is `status`.
    """
    # Attributes and mappings of foreign objects may run any code when read.
    try:
        metadata = getattr(result, "metadata", None)
        if not isinstance(metadata, Mapping):
            return None
        return _request_in(metadata.get("pending"))
    except Exception:
        return None


def answer_output(id: str, output: str) -> Answer:
    """An Answer that carries the output somebody supplied."""
    if not isinstance(output, str):
        raise TypeError(f"output must be a string, not {type(output).__name__}")
    return Answer(id, True, {"output": output})


def answer_declined(id: str, reason: Reason = "declined") -> Answer:
    """An Answer that says no, and why."""
    if reason not in REASONS:
        raise ValueError(f"reason must be one of {', '.join(REASONS)}")
    return Answer(id, False, None, reason)


def _request_in(value: object) -> Request | None:
    if isinstance(value, Request):
        return value
    if isinstance(value, Mapping):
        return Request.from_wire(value)
    if getattr(value, "id", None) is None:
        return None
    return Request.from_wire(
        {
            "id": getattr(value, "id", None),
            "kind": getattr(value, "kind", None),
            "prompt": getattr(value, "prompt", None),
            "url": getattr(value, "url", None),
            "data": getattr(value, "data", None),
            "expiresAt": getattr(value, "expiresAt", None)
            or getattr(value, "expires_at", None),
        }
    )


def _new_id() -> str:
    return f"pnd-{secrets.token_urlsafe(24)}"


def _demand_usable(request: Request) -> None:
    """ValueError for a Request that could not be stored or read back."""
    if request.data is not None and not isinstance(request.data, dict):
        raise ValueError("data must be a dict or None")
    Request.from_wire(request.to_wire())
    if request.url is not None and not isinstance(request.url, str):
        raise ValueError("url must be a string or None")
    if request.expiresAt is not None:
        parse_rfc3339(request.expiresAt)
    _demand_json(request)


def _demand_json(request: Request) -> None:
    try:
        # Encoding finds what no UTF-8 text can hold: half of a surrogate pair.
        json.dumps(request.to_wire(), allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, RecursionError, ValueError) as error:
        raise ValueError(f"the Request cannot be written as JSON: {error}") from error
    if not _only_string_keys(request.data):
        raise ValueError("every key in data must be a string")


def _only_string_keys(value: object) -> bool:
    if isinstance(value, dict):
        return all(
            isinstance(key, str) and _only_string_keys(inner)
            for key, inner in value.items()
        )
    if isinstance(value, list | tuple):
        return all(map(_only_string_keys, value))
    return True
