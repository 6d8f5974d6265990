"""The SQL of runs, their calls, and the ledger of executions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from bot.core.machine import MAX_ATTEMPTS
from bot.errors import StoreError
from bot.ports import CallRow, RunRow, Tenant, Tx
from bot.store import rows

_ADD_RUN = """
    INSERT INTO runs (id, number, enterprise, team, requester, requester_name,
        requester_key, channel, words, state, created_at, ended_at, cancelled_by,
        cancelled_name, cancelled_at, wake_at, thread, text, reason, tokens, worked_ms)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_SAVE_RUN = """
    UPDATE runs SET state = ?, ended_at = ?, cancelled_by = ?, cancelled_name = ?,
        cancelled_at = ?, wake_at = ?, text = ?, reason = ?, tokens = ?, worked_ms = ?
    WHERE id = ? AND enterprise = ? AND team = ?
"""
_RUN_SAVED = (
    *("state", "ended_at", "cancelled_by", "cancelled_name", "cancelled_at", "wake_at"),
    *("text", "reason", "tokens", "worked_ms"),
    *("id", "enterprise", "team"),
)
_ADD_CALL = """
    INSERT INTO calls (run, turn, ordinal, tool, arguments, arguments_digest,
        definition, acting, rule, ref, idempotent, execution, claimed_at, ended_at,
        outcome, output, reported_by, reported_name, reported_at, enterprise, team)
    SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, enterprise, team
    FROM runs WHERE id = ?
"""
_SAVE_CALL = """
    UPDATE calls SET tool = ?, arguments = ?, arguments_digest = ?, definition = ?,
        acting = ?, rule = ?, ended_at = ?, outcome = ?, output = ?, reported_by = ?,
        reported_name = ?, reported_at = ?
    WHERE run = ? AND turn = ? AND ordinal = ?
"""
_CALL_SAVED = (
    *("tool", "arguments", "arguments_digest", "definition", "acting", "rule"),
    *("ended_at", "outcome", "output", "reported_by", "reported_name", "reported_at"),
    *("run", "turn", "ordinal"),
)
_FIRST_ENTRY = """
    INSERT INTO executions (run, execution, turn, ordinal, enterprise, team, attempts,
        claimed_at)
    SELECT run, ?, turn, ordinal, enterprise, team, 1, ?
    FROM calls WHERE run = ? AND turn = ? AND ordinal = ? AND outcome = ''
    ON CONFLICT DO NOTHING
"""
_NEXT_ENTRY = """
    UPDATE executions SET attempts = attempts + 1, claimed_at = ?
    WHERE run = ? AND execution = ? AND attempts < ? AND EXISTS (
        SELECT 1 FROM calls
        WHERE run = ? AND turn = ? AND ordinal = ? AND execution = ? AND outcome = '')
"""
_CLAIM = """
    UPDATE calls SET execution = ?, claimed_at = ?
    WHERE run = ? AND turn = ? AND ordinal = ?
"""


class Runs:
    """Runs and calls, as `ports.Store` names them."""

    def next_number(self, tx: Tx, tenant: Tenant) -> int:
        """The number that the next run of a workspace gets."""
        sql = "SELECT max(number) FROM runs WHERE enterprise = ? AND team = ?"
        newest: int | None = tx.execute(sql, _owner(tenant)).fetchone()[0]
        return (newest or 0) + 1

    def add_run(self, tx: Tx, row: RunRow) -> None:
        """Keep a new run."""
        tx.execute(_ADD_RUN, rows.run_values(row))

    def run(self, tx: Tx, tenant: Tenant, run: str) -> RunRow | None:
        """The run with this id."""
        sql = "SELECT * FROM runs WHERE id = ? AND enterprise = ? AND team = ?"
        found = tx.execute(sql, (run, *_owner(tenant))).fetchone()
        return None if found is None else rows.run(found)

    def run_numbered(self, tx: Tx, tenant: Tenant, number: int) -> RunRow | None:
        """The run that people call by this number."""
        sql = "SELECT * FROM runs WHERE enterprise = ? AND team = ? AND number = ?"
        found = tx.execute(sql, (*_owner(tenant), number)).fetchone()
        return None if found is None else rows.run(found)

    def save_run(self, tx: Tx, row: RunRow) -> None:
        """Keep what may change of a run: its state, its end, a cancel, a wake-up."""
        values = dict(zip(rows.RUN, rows.run_values(row), strict=True))
        done = tx.execute(_SAVE_RUN, [values[name] for name in _RUN_SAVED])
        if done.rowcount != 1:
            raise StoreError(f"run {row.number} is not in the database")

    def runs_of(
        self, tx: Tx, tenant: Tenant, requester: str, limit: int
    ) -> list[RunRow]:
        """The runs that one person asked for, newest first."""
        sql = """
            SELECT * FROM runs WHERE enterprise = ? AND team = ? AND requester = ?
            ORDER BY number DESC LIMIT ?
        """
        found = tx.execute(sql, (*_owner(tenant), requester, limit))
        return [rows.run(row) for row in found]

    def unfinished(self, tx: Tx, tenant: Tenant) -> list[str]:
        """Every run that has not ended, oldest first."""
        sql = """
            SELECT id FROM runs WHERE enterprise = ? AND team = ? AND ended_at IS NULL
            ORDER BY number
        """
        return [row[0] for row in tx.execute(sql, _owner(tenant))]

    def unfinished_of(
        self, tx: Tx, tenant: Tenant, requester: str, limit: int
    ) -> list[RunRow]:
        """The runs of one person that have not ended, newest first."""
        sql = """
            SELECT * FROM runs WHERE enterprise = ? AND team = ? AND requester = ?
                AND ended_at IS NULL
            ORDER BY number DESC LIMIT ?
        """
        found = tx.execute(sql, (*_owner(tenant), requester, limit))
        return [rows.run(row) for row in found]

    def count_unfinished_of(self, tx: Tx, tenant: Tenant, requester: str) -> int:
        """How many runs of one person have not ended."""
        sql = """
            SELECT count(*) FROM runs WHERE enterprise = ? AND team = ?
                AND requester = ? AND ended_at IS NULL
        """
        count: int = tx.execute(sql, (*_owner(tenant), requester)).fetchone()[0]
        return count

    def runs_due(self, tx: Tx, tenant: Tenant, now: int, limit: int) -> list[str]:
        """Runs that asked to be looked at by now, the longest waiting first."""
        sql = """
            SELECT id FROM runs WHERE enterprise = ? AND team = ? AND wake_at <= ?
                AND ended_at IS NULL AND wake_at IS NOT NULL
            ORDER BY wake_at LIMIT ?
        """
        return [row[0] for row in tx.execute(sql, (*_owner(tenant), now, limit))]

    def add_call(self, tx: Tx, row: CallRow) -> None:
        """Keep a new call of a run that is kept already."""
        done = tx.execute(_ADD_CALL, [*rows.call_values(row), row.run])
        if done.rowcount != 1:
            raise StoreError("a call was planned for a run that is not in the database")

    def save_call(self, tx: Tx, row: CallRow) -> None:
        """Keep what may change of a call; its claim changes by `claim_call` alone."""
        values = dict(zip(rows.CALL, rows.call_values(row), strict=True))
        done = tx.execute(_SAVE_CALL, [values[name] for name in _CALL_SAVED])
        if done.rowcount != 1:
            raise StoreError(f"a call of {row.tool} is not in the database")

    def claim_call(self, tx: Tx, row: CallRow, execution: str, now: int) -> bool:
        """Claim one entry into a call; False when somebody did, or it has its outcome.

        An execution is claimed once. It is claimed again, up to three times in all,
        only by a caller whose `row` shows that it is this call's latest: whether its
        tool may be entered again was decided by the machine.
        """
        where = (row.run, row.turn, row.ordinal)
        if row.execution == execution:
            done = tx.execute(
                _NEXT_ENTRY,
                (now, row.run, execution, MAX_ATTEMPTS, *where, execution),
            )
        else:
            done = tx.execute(_FIRST_ENTRY, (execution, now, *where))
        if done.rowcount != 1:
            return False
        tx.execute(_CLAIM, (execution, now, *where))
        return True

    def calls(self, tx: Tx, run: str, turn: int) -> list[CallRow]:
        """The calls of one turn, in call order."""
        sql = "SELECT * FROM calls WHERE run = ? AND turn = ? ORDER BY ordinal"
        return [rows.call(row) for row in tx.execute(sql, (run, turn))]

    def all_calls(self, tx: Tx, run: str) -> list[CallRow]:
        """The calls of every turn so far, in order."""
        sql = "SELECT * FROM calls WHERE run = ? ORDER BY turn, ordinal"
        return [rows.call(row) for row in tx.execute(sql, (run,))]

    def transcript(self, tx: Tx, run: str) -> list[dict[str, Any]]:
        """A run's conversation with its model, oldest message first."""
        sql = "SELECT message FROM messages WHERE run = ? ORDER BY position"
        return [json.loads(row[0]) for row in tx.execute(sql, (run,))]

    def add_transcript(
        self, tx: Tx, run: RunRow, messages: Sequence[Mapping[str, Any]]
    ) -> None:
        """Append to a run's conversation; what stands in it never changes."""
        sql = "SELECT count(*) FROM messages WHERE run = ?"
        position: int = tx.execute(sql, (run.id,)).fetchone()[0]
        for offset, message in enumerate(messages):
            text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
            tx.execute(
                "INSERT INTO messages VALUES (?, ?, ?, ?, ?)",
                (run.id, position + offset, *_owner(run.tenant), text),
            )

    def call_by_ref(self, tx: Tx, tenant: Tenant, ref: str) -> CallRow | None:
        """The call that a control names."""
        sql = "SELECT * FROM calls WHERE ref = ? AND enterprise = ? AND team = ?"
        found = tx.execute(sql, (ref, *_owner(tenant))).fetchone()
        return None if found is None else rows.call(found)


def _owner(tenant: Tenant) -> tuple[str, str]:
    return tenant.enterprise, tenant.team
