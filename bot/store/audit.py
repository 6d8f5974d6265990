"""The audit chain: one row for one state change, each bound to the row before it.

A row's MAC covers its sequence, time, workspace, action, key id, the previous row's
MAC, and the digests of actor, request and body. Content and persons can so be erased
(set to NULL) and the chain still verifies; the actor's digest is keyed, for an id is
soon guessed. The previous MAC is unique, so the chain cannot fork. A tail that was cut
off leaves a chain that verifies: only a head kept elsewhere (`head`) tells that.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bot.core.digest import canonical
from bot.core.keys import Key, Keyring, mac, mac_matches
from bot.ports import AuditRow, Tenant, Tx

SCHEME = "audit 1"
#: What stands in place of a previous MAC in the first row.
START = ""

_APPEND = """
    INSERT INTO audit (seq, at, enterprise, team, action, actor, request, label, body,
        actor_digest, request_digest, body_digest, key, previous, mac)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
#: What the MAC covers, in this order.
_SEALED = (
    "seq",
    "at",
    "enterprise",
    "team",
    "action",
    "key",
    "previous",
    "actor_digest",
    "request_digest",
    "body_digest",
)


@dataclass(frozen=True, kw_only=True)
class Fault:
    """The first place where a chain is not what was written."""

    seq: int
    reason: str


def append(tx: Tx, keys: Keyring, tenant: Tenant, row: AuditRow, now: int) -> None:
    """Add a row to the end of the chain."""
    seq, previous = head(tx)
    key = keys.newest
    body = canonical(dict(row.body))
    sealed: dict[str, Any] = {
        "seq": seq + 1,
        "at": now,
        "enterprise": tenant.enterprise,
        "team": tenant.team,
        "action": row.action,
        "key": key.id,
        "previous": previous,
        "actor_digest": _actor_digest(key, row.actor),
        "request_digest": _digest(canonical([row.request, row.label])),
        "body_digest": _digest(body),
    }
    tx.execute(
        _APPEND,
        (
            *(sealed[name] for name in ("seq", "at", "enterprise", "team", "action")),
            *(row.actor, row.request, row.label, body),
            *(sealed[f"{name}_digest"] for name in ("actor", "request", "body")),
            *(key.id, previous, mac(key, SCHEME, *_parts(sealed))),
        ),
    )


def head(tx: Tx) -> tuple[int, str]:
    """The sequence and MAC of the newest row; (0, START) when there is none."""
    newest = tx.execute("SELECT seq, mac FROM audit ORDER BY seq DESC LIMIT 1")
    row = newest.fetchone()
    return (0, START) if row is None else (row[0], row[1])


def verify(tx: Tx, keys: Keyring) -> Fault | None:
    """Recompute the whole chain; the first fault, or nothing."""
    previous = START
    for seq, row in enumerate(tx.execute("SELECT * FROM audit ORDER BY seq"), 1):
        if row["seq"] != seq:
            return Fault(seq=min(seq, row["seq"]), reason="the row is missing")
        reason = _fault(row, previous, keys)
        if reason:
            return Fault(seq=seq, reason=reason)
        previous = row["mac"]
    return None


def _fault(row: Mapping[str, Any], previous: str, keys: Keyring) -> str:
    if row["previous"] != previous:
        return "it does not follow the row before it"
    key = keys.named(row["key"])
    if key is None:
        return "it was made with a key that is not known"
    if not mac_matches(Keyring(keys=(key,)), row["mac"], SCHEME, *_parts(row)):
        return "its MAC does not match"
    return _content_fault(row, key)


def _content_fault(row: Mapping[str, Any], key: Key) -> str:
    actor, request, label, body = (
        row[name] for name in ("actor", "request", "label", "body")
    )
    if actor is not None and row["actor_digest"] != _actor_digest(key, actor):
        return "its actor was changed"
    named = None not in (request, label)
    if named and row["request_digest"] != _digest(canonical([request, label])):
        return "its request was changed"
    if body is not None and row["body_digest"] != _digest(body):
        return "its body was changed"
    return ""


def _parts(sealed: Mapping[str, Any]) -> list[str]:
    return [str(sealed[name]) for name in _SEALED]


def _actor_digest(key: Key, actor: str) -> str:
    return mac(key, f"{SCHEME} actor", actor)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
