"""The SQL of the outbox: every message that we post or change."""

from __future__ import annotations

import structlog

from bot.errors import StoreError
from bot.ports import MessageRow, Tenant, Tx
from bot.store import rows

log = structlog.get_logger(__name__)

_ADD = """
    INSERT INTO outbox (enterprise, team, kind, run, request, destination, channel, ts,
        wanted, sent, due_at, attempts, intent_at, state, error, body)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
# A redraw that was asked for while a message was on its way stays asked for (T24).
_SAVE = """
    UPDATE outbox SET destination = ?, channel = ?, ts = ?, wanted = max(wanted, ?),
        sent = ?, due_at = ?, attempts = ?, intent_at = ?, state = ?, error = ?,
        body = ?
    WHERE id = ? AND enterprise = ? AND team = ?
"""
_SAVED = (
    *("destination", "channel", "ts", "wanted", "sent", "due_at", "attempts"),
    *("intent_at", "state", "error", "body"),
)
_REDRAW = """
    UPDATE outbox SET wanted = wanted + 1,
        due_at = CASE WHEN ts = '' THEN due_at ELSE min(due_at, ?) END
    WHERE run = ? AND state = 'live'
        AND (kind = 'run' OR (kind = 'request' AND (? IS NULL OR request = ?)))
"""


_DUE = """
    WITH due AS (
        SELECT * FROM outbox
        WHERE enterprise = ? AND team = ? AND due_at <= ?
            AND state = 'live' AND wanted > sent
    ), lanes AS (
        SELECT id, row_number() OVER (
            PARTITION BY CASE
                WHEN kind IN ('news', 'notice') THEN 'words ' || run
                WHEN channel = '' THEN destination
                ELSE channel
            END
            ORDER BY due_at, id
        ) AS place
        FROM due
        WHERE kind NOT IN ('news', 'notice') OR NOT EXISTS (
            SELECT 1 FROM outbox card
            WHERE card.run = due.run AND card.kind IN ('request', 'run')
                AND card.enterprise = ? AND card.team = ?
                AND card.due_at <= ? AND card.state = 'live'
                AND card.wanted > card.sent
        )
    )
    SELECT due.* FROM due JOIN lanes ON lanes.id = due.id
    WHERE lanes.place = 1 ORDER BY due.due_at, due.id LIMIT ?
"""


class Outbox:
    """Messages, as `ports.Store` names them."""

    def add_message(self, tx: Tx, row: MessageRow) -> int:
        """Keep a new message; its id."""
        return int(tx.execute(_ADD, rows.message_values(row)).lastrowid)

    def save_message(self, tx: Tx, row: MessageRow) -> None:
        """Keep what may change of a message; `wanted` never goes back."""
        values = dict(zip(rows.MESSAGE, rows.message_values(row), strict=True))
        changed = [values[name] for name in _SAVED]
        where = (row.id, row.tenant.enterprise, row.tenant.team)
        if tx.execute(_SAVE, (*changed, *where)).rowcount != 1:
            raise StoreError(f"message {row.id} is not in the database")

    def message(self, tx: Tx, tenant: Tenant, message: int) -> MessageRow | None:
        """The message with this id."""
        sql = "SELECT * FROM outbox WHERE id = ? AND enterprise = ? AND team = ?"
        found = tx.execute(sql, (message, tenant.enterprise, tenant.team)).fetchone()
        return None if found is None else rows.message(found)

    def messages(self, tx: Tx, run: str) -> list[MessageRow]:
        """All messages about a run, oldest first."""
        sql = "SELECT * FROM outbox WHERE run = ? ORDER BY id"
        return [rows.message(row) for row in tx.execute(sql, (run,))]

    def message_at(
        self, tx: Tx, tenant: Tenant, channel: str, ts: str
    ) -> MessageRow | None:
        """The message at a place, unless it is gone from there."""
        sql = """
            SELECT * FROM outbox
            WHERE enterprise = ? AND team = ? AND channel = ? AND ts = ?
                AND ts <> '' AND state <> 'gone'
        """
        where = (tenant.enterprise, tenant.team, channel, ts)
        found = tx.execute(sql, where).fetchone()
        return None if found is None else rows.message(found)

    def messages_due(
        self, tx: Tx, tenant: Tenant, now: int, limit: int
    ) -> list[MessageRow]:
        """Messages to be posted or drawn again by now, the longest due first.

        One for each lane: a place for cards, a run for words about it. So a full
        channel never stands before the others. Words wait for their run's
        cards: a reply under a card that still mentions people would tell them all.
        """
        tenancy = (tenant.enterprise, tenant.team, now)
        found = tx.execute(_DUE, (*tenancy, *tenancy, limit))
        due: list[MessageRow] = []
        for row in found:
            try:
                due.append(rows.message(row))
            except (ValueError, TypeError):
                log.error("message_unreadable", message=row["id"], exc_info=True)
        return due

    def next_due(self, tx: Tx, tenant: Tenant) -> int | None:
        """When the next message is due, if one waits."""
        sql = """
            SELECT min(due_at) FROM outbox
            WHERE enterprise = ? AND team = ? AND state = 'live' AND wanted > sent
        """
        when: int | None
        when = tx.execute(sql, (tenant.enterprise, tenant.team)).fetchone()[0]
        return when

    def redraw(self, tx: Tx, run: str, request: str | None, now: int) -> None:
        """Have a run's card drawn anew, with one request's cards or all of them.

        One that is not posted yet keeps its time: it will show the newest state then.
        """
        tx.execute(_REDRAW, (now, run, request, request))

    def revive(self, tx: Tx, tenant: Tenant, now: int) -> None:
        """Have every message that got stuck tried again: the fault may be mended."""
        sql = """
            UPDATE outbox SET state = 'live', attempts = 0, due_at = ?
            WHERE enterprise = ? AND team = ? AND state = 'stuck'
        """
        tx.execute(sql, (now, tenant.enterprise, tenant.team))
