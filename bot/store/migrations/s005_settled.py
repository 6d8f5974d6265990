"""What one person has decided, newest first, without a look at all there is."""

from __future__ import annotations

from sqlite_utils import Database


def step(database: Database) -> None:
    """Index settled requests by whoever settled them."""
    database.execute(
        "CREATE INDEX requests_settled ON requests (enterprise, team, decided_by,"
        " decided_at) WHERE decided_at IS NOT NULL"
    )
