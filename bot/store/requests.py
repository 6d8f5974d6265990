"""The SQL of requests and the votes on them.

A request is settled by one conditional update whose row count is checked: whoever
comes second changes nothing and learns it (T19, I3).
"""

from __future__ import annotations

from bot.ports import RequestRow, RequestStatus, Tenant, Tx, VoteRow
from bot.store import rows

#: These say yes: they need the request's expiry to be still ahead (T25).
_YES = ("approved", "answered")

_ADD_REQUEST = """
    INSERT INTO requests (ref, enterprise, team, run, turn, ordinal, number, gate, kind,
        prompt, url, data, tool_id, rule, call_digest, question_digest, expiry,
        created_at, expires_at, status, decided_at, decided_by, decided_name, reason)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_SETTLE = """
    UPDATE requests SET status = ?, decided_at = ?, decided_by = ?, decided_name = ?,
        reason = ?
    WHERE ref = ? AND enterprise = ? AND team = ? AND status = 'open'
        AND expires_at >= ?
"""
_ADD_VOTE = """
    INSERT INTO votes (request, person, user, name, decision, at, self_approved,
        enterprise, team)
    SELECT ?, ?, ?, ?, ?, ?, ?, enterprise, team FROM requests WHERE ref = ?
    ON CONFLICT DO NOTHING
"""

_SETTLED_OF = """
    SELECT run, ref FROM (
        SELECT * FROM (
            SELECT run, ref, decided_at FROM requests
            WHERE enterprise = ? AND team = ? AND decided_by = ?
                AND decided_at IS NOT NULL
            ORDER BY decided_at DESC LIMIT ?)
        UNION
        SELECT run, ref, decided_at FROM requests WHERE run IN (
            SELECT id FROM runs WHERE enterprise = ? AND team = ? AND requester = ?
            ORDER BY number DESC LIMIT 50)
            AND enterprise = ? AND team = ? AND decided_at IS NOT NULL)
    ORDER BY decided_at DESC, ref LIMIT ?
"""


class Requests:
    """Requests and votes, as `ports.Store` names them."""

    def add_request(self, tx: Tx, row: RequestRow) -> None:
        """Keep a new request."""
        tx.execute(_ADD_REQUEST, rows.request_values(row))

    def request(self, tx: Tx, tenant: Tenant, ref: str) -> RequestRow | None:
        """The request that a control names."""
        sql = "SELECT * FROM requests WHERE ref = ? AND enterprise = ? AND team = ?"
        found = tx.execute(sql, (ref, tenant.enterprise, tenant.team)).fetchone()
        return None if found is None else rows.request(found)

    def requests(self, tx: Tx, run: str) -> list[RequestRow]:
        """All requests of a run, oldest first."""
        sql = "SELECT * FROM requests WHERE run = ? ORDER BY number"
        return [rows.request(row) for row in tx.execute(sql, (run,))]

    def settle_request(
        self,
        tx: Tx,
        row: RequestRow,
        status: RequestStatus,
        now: int,
        by: str = "",
        name: str = "",
        reason: str = "",
    ) -> bool:
        """Close a request if it is still open; whether this was what closed it.

        A yes needs it to be in time as well; equal is in time.
        """
        in_time = now if status in _YES else 0
        tenant = row.tenant
        where = (row.ref, tenant.enterprise, tenant.team, in_time)
        done = tx.execute(_SETTLE, (status, now, by, name, reason, *where))
        return bool(done.rowcount == 1)

    def open_requests(
        self, tx: Tx, tenant: Tenant, limit: int
    ) -> list[tuple[str, str]]:
        """Run and ref of the open requests of a workspace, the most urgent first.

        Not the rows: one that cannot be read must not hide the others.
        """
        sql = """
            SELECT run, ref FROM requests
            WHERE enterprise = ? AND team = ? AND status = 'open'
            ORDER BY expires_at LIMIT ?
        """
        found = tx.execute(sql, (tenant.enterprise, tenant.team, limit))
        return [(row["run"], row["ref"]) for row in found]

    def requests_due(
        self, tx: Tx, tenant: Tenant, now: int, limit: int
    ) -> list[tuple[str, str]]:
        """Run and ref of open requests that ran out of time, longest over first."""
        sql = """
            SELECT run, ref FROM requests
            WHERE enterprise = ? AND team = ? AND status = 'open' AND expires_at < ?
            ORDER BY expires_at LIMIT ?
        """
        found = tx.execute(sql, (tenant.enterprise, tenant.team, now, limit))
        return [(row["run"], row["ref"]) for row in found]

    def settled_of(
        self, tx: Tx, tenant: Tenant, user: str, limit: int
    ) -> list[tuple[str, str]]:
        """Run and ref of what a person settled, or had asked for lately; newest first.

        Of what they asked for, only their newest runs are looked at.
        """
        owner = (tenant.enterprise, tenant.team)
        values = (*owner, user, limit, *owner, user, *owner, limit)
        return [(row["run"], row["ref"]) for row in tx.execute(_SETTLED_OF, values)]

    def add_vote(self, tx: Tx, row: VoteRow) -> bool:
        """Count a click; False when this person has clicked before (I4)."""
        done = tx.execute(_ADD_VOTE, [*rows.vote_values(row), row.request])
        return bool(done.rowcount == 1)

    def votes(self, tx: Tx, request: str) -> list[VoteRow]:
        """The counted clicks on a request, oldest first."""
        sql = "SELECT * FROM votes WHERE request = ? ORDER BY at, person"
        return [rows.vote(row) for row in tx.execute(sql, (request,))]
