"""What we post and what was delivered to us; who we are; whether the stop was clean."""

from __future__ import annotations

from sqlite_utils import Database

_STATEMENTS = (
    """
    CREATE TABLE outbox (
        id INTEGER PRIMARY KEY,
        enterprise TEXT NOT NULL,
        team TEXT NOT NULL,
        kind TEXT NOT NULL,
        run TEXT REFERENCES runs (id) DEFERRABLE INITIALLY DEFERRED,
        request TEXT REFERENCES requests (ref) DEFERRABLE INITIALLY DEFERRED,
        destination TEXT NOT NULL,
        channel TEXT NOT NULL,
        ts TEXT NOT NULL,
        wanted INTEGER NOT NULL,
        sent INTEGER NOT NULL,
        due_at INTEGER NOT NULL,
        attempts INTEGER NOT NULL,
        intent_at INTEGER,
        state TEXT NOT NULL CHECK (state IN ('live', 'stuck', 'gone')),
        error TEXT NOT NULL,
        body TEXT NOT NULL
    ) STRICT
    """,
    """
    CREATE INDEX outbox_run ON outbox (run) WHERE run IS NOT NULL
    """,
    """
    CREATE INDEX outbox_due ON outbox (enterprise, team, due_at)
    WHERE state = 'live' AND wanted > sent
    """,
    # One row for one place: a click there can only be about that row (T23).
    """
    CREATE UNIQUE INDEX outbox_place ON outbox (enterprise, team, channel, ts)
    WHERE ts <> '' AND state <> 'gone'
    """,
    """
    CREATE TABLE inbox (
        enterprise TEXT NOT NULL,
        team TEXT NOT NULL,
        key TEXT NOT NULL,
        at INTEGER NOT NULL,
        value TEXT NOT NULL,
        PRIMARY KEY (enterprise, team, key)
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE INDEX inbox_old ON inbox (enterprise, team, at)
    """,
    """
    CREATE TABLE installation (
        enterprise TEXT NOT NULL,
        team TEXT NOT NULL,
        team_name TEXT NOT NULL,
        bot_user TEXT NOT NULL,
        bot_id TEXT NOT NULL,
        app TEXT NOT NULL,
        seen_at INTEGER NOT NULL,
        PRIMARY KEY (enterprise, team)
    ) STRICT
    """,
    """
    CREATE TABLE names (
        enterprise TEXT NOT NULL,
        team TEXT NOT NULL,
        written TEXT NOT NULL,
        id TEXT NOT NULL,
        PRIMARY KEY (enterprise, team, written)
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE marker (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        clean INTEGER NOT NULL
    ) STRICT
    """,
    """
    INSERT INTO marker (one, clean) VALUES (1, 0)
    """,
)


def step(db: Database) -> None:
    """Make the tables of the outbox, the inbox and the installation."""
    for sql in _STATEMENTS:
        db.execute(sql)
