"""A store on a real file, a clock that stands still, rows with defaults."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from bot.core.events import Planned, Started
from bot.core.keys import Keyring, ring
from bot.core.machine import begin
from bot.core.policy import Rule, Who
from bot.core.run import DURABLE
from bot.ports import (
    CallRow,
    MessageRow,
    RequestRow,
    RunRow,
    Tenant,
    Tx,
    VoteRow,
)
from bot.store.sqlite import SqliteStore

NOW = 1_750_000_000_000
HOME = Tenant(team="T1", enterprise="E1")

RULE = Rule(
    name="restart",
    gate="ask",
    approvers=(Who(user="U2"), Who(group="S1", handle="@sre")),
    callers=(Who(user="U1"),),
    headline="Restart {service}",
    expires=3600,
)


@dataclass
class StandingClock:
    wall: int = NOW
    seconds: float = 100.0

    def now(self) -> int:
        return self.wall

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds
        await asyncio.sleep(0)


@dataclass
class Made:
    """Rows that hang together; a test spells only what it is about."""

    counter: Any = field(default_factory=lambda: itertools.count(1))

    def run(self, **changed: Any) -> RunRow:
        number = next(self.counter)
        planned = Planned(tool="restart", arguments='{"service":"api"}', gate="Sure?")
        state, _ = begin(DURABLE, Started(calls=(planned,)))
        values = {
            "id": f"run{number}",
            "number": number,
            "tenant": HOME,
            "requester": "U1",
            "requester_name": "Ada",
            "requester_key": "T1:U1",
            "channel": "C1",
            "words": "restart service=api",
            "state": state,
            "created_at": NOW,
        }
        return RunRow(**(values | changed))

    def call(self, run: RunRow, **changed: Any) -> CallRow:
        ordinal = changed.get("ordinal", 1)
        values = {
            "run": run.id,
            "turn": 1,
            "ordinal": 1,
            "tool": "restart",
            "arguments": '{"service":"api"}',
            "arguments_digest": "cs1:aa",
            "definition": "cs1:bb",
            "acting": "bot",
            "rule": RULE,
            "ref": f"call-{run.id}-{ordinal}",
        }
        return CallRow(**(values | changed))

    def request(self, run: RunRow, **changed: Any) -> RequestRow:
        number = changed.get("number", 1)
        values = {
            "ref": f"request-{run.id}-{number}",
            "tenant": run.tenant,
            "run": run.id,
            "turn": 1,
            "ordinal": 1,
            "number": 1,
            "gate": True,
            "kind": RULE.kind,
            "prompt": "Sure?",
            "url": None,
            "data": {"z": 1, "a": [True, None]},
            "tool_id": "",
            "rule": RULE,
            "call_digest": "cs1:cc",
            "question_digest": "cs1:dd",
            "expiry": "3600",
            "created_at": NOW,
            "expires_at": NOW + 3_600_000,
        }
        return RequestRow(**(values | changed))

    def vote(self, request: RequestRow, **changed: Any) -> VoteRow:
        values = {
            "request": request.ref,
            "person": "T1:U2",
            "user": "U2",
            "name": "Ben",
            "decision": "approve",
            "at": NOW,
        }
        return VoteRow(**(values | changed))

    def message(self, **changed: Any) -> MessageRow:
        values = {"tenant": HOME, "kind": "run", "destination": "C1", "due_at": NOW}
        return MessageRow(**(values | changed))


def asked(store: SqliteStore, made: Made, **changed: Any) -> Callable[[Tx], RequestRow]:
    """A unit that keeps a run, its call and an open request."""
    run = made.run(**changed)
    request = made.request(run)

    def unit(tx: Tx) -> RequestRow:
        store.add_run(tx, run)
        store.add_call(tx, made.call(run))
        store.add_request(tx, request)
        return request

    return unit


@pytest.fixture
def clock() -> StandingClock:
    return StandingClock()


@pytest.fixture
def keys() -> Keyring:
    return ring((b"n" * 32, b"o" * 32), "audit")


@pytest.fixture
def made() -> Made:
    return Made()


@pytest.fixture
def home() -> Tenant:
    return HOME


@pytest.fixture
def now() -> int:
    return NOW


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "countersign.db"


@pytest.fixture
async def store(
    path: Path, keys: Keyring, clock: StandingClock
) -> AsyncIterator[SqliteStore]:
    store = await SqliteStore.open(path, keys, clock)
    yield store
    await store.close()


@pytest.fixture
def ask(store: SqliteStore, made: Made) -> Callable[..., Any]:
    """Keep a run with an open request: `await ask()` gives the request."""

    async def kept(**changed: Any) -> RequestRow:
        return await store.write(asked(store, made, **changed))

    return kept
