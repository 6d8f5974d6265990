"""The SQL of who we are, what names stand for, and what was delivered to us before."""

from __future__ import annotations

from bot.ports import Identity, Tenant, Tx
from bot.store import rows

#: How long a delivery is remembered: past it, its signature is refused anyway (T2).
REMEMBERED = 15 * 60 * 1000
#: Forgotten at most this many at a time, so that no unit pays for a quiet night.
_FORGOTTEN = 20

_FIRST_TIME = """
    INSERT INTO inbox (enterprise, team, key, at, value) VALUES (?, ?, ?, ?, '')
    ON CONFLICT DO NOTHING
"""
_FORGET = """
    DELETE FROM inbox WHERE (enterprise, team, key) IN (
        SELECT enterprise, team, key FROM inbox
        WHERE enterprise = ? AND team = ? AND at < ? ORDER BY at LIMIT ?)
"""
_SAVE_IDENTITY = """
    INSERT INTO installation (enterprise, team, team_name, bot_user, bot_id, app,
        seen_at)
    VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET team_name = excluded.team_name,
        bot_user = excluded.bot_user, bot_id = excluded.bot_id, app = excluded.app,
        seen_at = excluded.seen_at
"""
_SAVE_NAME = """
    INSERT INTO names (enterprise, team, written, id) VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET id = excluded.id
"""


class Installation:
    """The inbox, the identity and the names, as `ports.Store` names them."""

    def first_time(self, tx: Tx, tenant: Tenant, key: str, now: int) -> str | None:
        """None when this delivery is new, else what was remembered with it."""
        owner = (tenant.enterprise, tenant.team)
        if tx.execute(_FIRST_TIME, (*owner, key, now)).rowcount == 1:
            tx.execute(_FORGET, (*owner, now - REMEMBERED, _FORGOTTEN))
            return None
        sql = "SELECT value FROM inbox WHERE enterprise = ? AND team = ? AND key = ?"
        value: str = tx.execute(sql, (*owner, key)).fetchone()[0]
        return value

    def remember(self, tx: Tx, tenant: Tenant, key: str, value: str) -> None:
        """Keep something with a delivery, for when it comes again."""
        sql = """
            UPDATE inbox SET value = ? WHERE enterprise = ? AND team = ? AND key = ?
        """
        tx.execute(sql, (value, tenant.enterprise, tenant.team, key))

    def identity(self, tx: Tx) -> Identity | None:
        """The installation that was seen last."""
        sql = "SELECT * FROM installation ORDER BY seen_at DESC LIMIT 1"
        found = tx.execute(sql).fetchone()
        return None if found is None else rows.identity(found)

    def save_identity(self, tx: Tx, row: Identity) -> None:
        """Keep the installation as it was seen now."""
        tenant = row.tenant
        described = (row.team_name, row.bot_user, row.bot_id, row.app, row.seen_at)
        tx.execute(_SAVE_IDENTITY, (tenant.enterprise, tenant.team, *described))

    def names(self, tx: Tx, tenant: Tenant) -> dict[str, str]:
        """What each name in the policy stood for when it was looked up last."""
        sql = "SELECT written, id FROM names WHERE enterprise = ? AND team = ?"
        found = tx.execute(sql, (tenant.enterprise, tenant.team))
        return {row["written"]: row["id"] for row in found}

    def save_name(self, tx: Tx, tenant: Tenant, written: str, id: str) -> None:
        """Keep what a name stands for."""
        tx.execute(_SAVE_NAME, (tenant.enterprise, tenant.team, written, id))
