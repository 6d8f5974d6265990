"""Records <-> the values of table rows; pure.

For each table: its columns in the order in which they are written, a function that
gives a record's values in that order, and one that reads a row back by name. The SQL
of each table stands in the file named after it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import MISSING, fields
from functools import lru_cache
from sqlite3 import Row
from typing import Any

from bot.core.policy import Rule
from bot.core.run import from_json, to_json
from bot.ports import (
    CallRow,
    Identity,
    MessageRow,
    RequestRow,
    RunRow,
    Tenant,
    VoteRow,
)

RUN = (
    *("id", "number", "enterprise", "team", "requester", "requester_name"),
    *("requester_key", "channel"),
    *("words", "state", "created_at", "ended_at", "cancelled_by", "cancelled_name"),
    *("cancelled_at", "wake_at", "thread", "text", "reason", "tokens", "worked_ms"),
)
CALL = (
    *("run", "turn", "ordinal", "tool", "arguments", "arguments_digest"),
    *("definition", "acting", "rule", "ref", "idempotent", "execution"),
    *("claimed_at", "ended_at"),
    *("outcome", "output", "reported_by", "reported_name", "reported_at"),
)
REQUEST = (
    *("ref", "enterprise", "team", "run", "turn", "ordinal", "number", "gate"),
    *("kind", "prompt", "url", "data", "tool_id", "rule", "call_digest"),
    *("question_digest", "expiry", "created_at", "expires_at", "status"),
    *("decided_at", "decided_by", "decided_name", "reason"),
)
VOTE = ("request", "person", "user", "name", "decision", "at", "self_approved")
MESSAGE = (
    *("enterprise", "team", "kind", "run", "request", "destination", "channel", "ts"),
    *("wanted", "sent", "due_at", "attempts", "intent_at", "state", "error", "body"),
)


def run_values(row: RunRow) -> list[object]:
    """The values of a run."""
    return _values(row, RUN, row.tenant, state=to_json(row.state))


def run(row: Row) -> RunRow:
    """A run read back."""
    values, tenant = _read(row)
    return RunRow(tenant=tenant, state=from_json(values.pop("state")), **values)


def call_values(row: CallRow) -> list[object]:
    """The values of a call; its workspace is its run's."""
    rule = _rule_text(row.rule)
    return _values(row, CALL, rule=rule, idempotent=int(row.idempotent))


def call(row: Row) -> CallRow:
    """A call read back."""
    values, _ = _read(row)
    return CallRow(
        rule=_rule(values.pop("rule")),
        idempotent=bool(values.pop("idempotent")),
        **values,
    )


def request_values(row: RequestRow) -> list[object]:
    """The values of a request."""
    data = None if row.data is None else _text(row.data)
    rule = _rule_text(row.rule)
    return _values(row, REQUEST, row.tenant, gate=int(row.gate), data=data, rule=rule)


def request(row: Row) -> RequestRow:
    """A request read back."""
    values, tenant = _read(row)
    data = values.pop("data")
    return RequestRow(
        tenant=tenant,
        gate=bool(values.pop("gate")),
        data=None if data is None else json.loads(data),
        rule=_rule(values.pop("rule")),
        **values,
    )


def vote_values(row: VoteRow) -> list[object]:
    """The values of a vote; its workspace is its request's."""
    return _values(row, VOTE, self_approved=int(row.self_approved))


def vote(row: Row) -> VoteRow:
    """A vote read back."""
    values, _ = _read(row)
    return VoteRow(self_approved=bool(values.pop("self_approved")), **values)


def message_values(row: MessageRow) -> list[object]:
    """The values of a message, without its id; "about nothing" is NULL."""
    run, request = row.run or None, row.request or None
    body = _text(row.body)
    return _values(row, MESSAGE, row.tenant, run=run, request=request, body=body)


def message(row: Row) -> MessageRow:
    """A message read back."""
    values, tenant = _read(row)
    return MessageRow(
        tenant=tenant,
        run=values.pop("run") or "",
        request=values.pop("request") or "",
        body=json.loads(values.pop("body")),
        **values,
    )


def identity(row: Row) -> Identity:
    """An installation read back."""
    values, tenant = _read(row)
    return Identity(tenant=tenant, **values)


# -- the parts ----------------------------------------------------------------------


def _values(
    record: object,
    columns: Sequence[str],
    tenant: Tenant | None = None,
    **changed: object,
) -> list[object]:
    if tenant is not None:
        changed |= {"enterprise": tenant.enterprise, "team": tenant.team}
    return [
        changed[name] if name in changed else getattr(record, name) for name in columns
    ]


def _read(row: Row) -> tuple[dict[str, Any], Tenant]:
    values = dict(row)
    tenant = Tenant(enterprise=values.pop("enterprise"), team=values.pop("team"))
    return values, tenant


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


#: Left out of a kept rule where they hold: a parked run keeps its rule twice.
_RULE_DEFAULTS = {
    field.name: field.default for field in fields(Rule) if field.default is not MISSING
}


@lru_cache(maxsize=1024)
def _rule_text(rule: Rule) -> str:
    kept = {
        name: value
        for name, value in rule.to_json().items()
        if name not in _RULE_DEFAULTS or value != _RULE_DEFAULTS[name]
    }
    return _text(kept)


@lru_cache(maxsize=1024)
def _rule(text: str) -> Rule:
    return Rule.from_json({**_RULE_DEFAULTS, **json.loads(text)})
