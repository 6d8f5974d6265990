"""Request and Answer as JSON objects, and back: the one place that spells their keys.

Contract §3. Writing leaves absent values out; reading is strict about the shape
and forgiving about what is only advice. It deals in plain values: the records
stand in `types.py`, which calls this module and never the other way round.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

REASONS = ("declined", "cancelled", "expired")


class RequestFields(Protocol):
    """What a Request has, as far as its wire form is concerned."""

    id: str
    kind: str
    prompt: str
    url: str | None
    data: dict[str, Any] | None
    expiresAt: str | None


def request_wire(request: RequestFields) -> dict[str, Any]:
    """The wire form of a Request, keys in the order of the contract."""
    wire: dict[str, Any] = {
        "id": request.id,
        "kind": request.kind,
        "prompt": request.prompt,
    }
    if request.url:
        wire["url"] = request.url
    if request.data is not None:
        wire["data"] = request.data
    if request.expiresAt:
        wire["expiresAt"] = request.expiresAt
    return wire


def request_fields(wire: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a Request out of its wire form; ValueError names a bad key."""
    _demand_object(wire, "Request")
    return {
        "id": _word(wire, "id"),
        "kind": _word(wire, "kind"),
        "prompt": _text(wire, "prompt"),
        "url": _optional_text(wire, "url"),
        "data": _optional_object(wire, "data"),
        "expiresAt": _optional_text(wire, "expiresAt"),
    }


def answer_wire(
    id: str, ok: bool, data: dict[str, Any] | None, reason: str | None
) -> dict[str, Any]:
    """The wire form of an Answer, keys in the order of the contract."""
    wire: dict[str, Any] = {"id": id, "ok": ok}
    if data is not None:
        wire["data"] = data
    if reason and not ok:
        wire["reason"] = reason
    return wire


def answer_fields(wire: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an Answer out of its wire form; ValueError names a bad key."""
    _demand_object(wire, "Answer")
    ok = wire.get("ok")
    if not isinstance(ok, bool):
        raise ValueError(f"ok must be true or false, not {_shown(ok)}")
    reason = wire.get("reason")
    # A reason only advises: an odd one must not lose a person's answer.
    known = not ok and isinstance(reason, str) and reason in REASONS
    return {
        "id": _word(wire, "id"),
        "ok": ok,
        "data": _optional_object(wire, "data"),
        "reason": reason if known else None,
    }


def _demand_object(wire: object, what: str) -> None:
    if not isinstance(wire, Mapping):
        raise ValueError(f"the wire form of {what} must be an object")


def _text(wire: Mapping[str, Any], key: str) -> str:
    value = wire.get(key)
    if not isinstance(value, str):
        raise ValueError(f"{key} must be a string, not {_shown(value)}")
    return value


def _word(wire: Mapping[str, Any], key: str) -> str:
    value = _text(wire, key)
    if not value:
        raise ValueError(f"{key} must not be empty")
    return value


def _optional_text(wire: Mapping[str, Any], key: str) -> str | None:
    if wire.get(key) is None:
        return None
    return _text(wire, key) or None


def _optional_object(wire: Mapping[str, Any], key: str) -> dict[str, Any] | None:
    value = wire.get(key)
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise ValueError(f"{key} must be an object, not {_shown(value)}")
    return dict(value)


def _shown(value: object) -> str:
    """The type alone: values of a Request or an Answer do not belong in errors."""
    return "missing" if value is None else type(value).__name__
