"""Runs, their calls, the requests in front of those, and the votes on them.

Foreign keys are checked at COMMIT, so that a unit may write in any order. Every row
carries the workspace that owns it (T22). Partial indexes hold only what is polled.
"""

from __future__ import annotations

from sqlite_utils import Database

_TABLES = (
    """
    CREATE TABLE runs (
        id TEXT NOT NULL PRIMARY KEY,
        number INTEGER NOT NULL,
        enterprise TEXT NOT NULL,
        team TEXT NOT NULL,
        requester TEXT NOT NULL,
        requester_name TEXT NOT NULL,
        requester_key TEXT NOT NULL,
        channel TEXT NOT NULL,
        words TEXT NOT NULL,
        state TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        ended_at INTEGER,
        cancelled_by TEXT NOT NULL,
        cancelled_name TEXT NOT NULL,
        cancelled_at INTEGER,
        wake_at INTEGER,
        UNIQUE (enterprise, team, number)
    ) STRICT
    """,
    """
    CREATE TABLE calls (
        run TEXT NOT NULL REFERENCES runs (id) DEFERRABLE INITIALLY DEFERRED,
        turn INTEGER NOT NULL,
        ordinal INTEGER NOT NULL,
        enterprise TEXT NOT NULL,
        team TEXT NOT NULL,
        tool TEXT NOT NULL,
        arguments TEXT NOT NULL,
        arguments_digest TEXT NOT NULL,
        definition TEXT NOT NULL,
        acting TEXT NOT NULL,
        rule TEXT NOT NULL,
        ref TEXT NOT NULL UNIQUE,
        idempotent INTEGER NOT NULL,
        execution TEXT NOT NULL,
        claimed_at INTEGER,
        ended_at INTEGER,
        outcome TEXT NOT NULL,
        output TEXT NOT NULL,
        reported_by TEXT NOT NULL,
        reported_name TEXT NOT NULL,
        reported_at INTEGER,
        PRIMARY KEY (run, turn, ordinal)
    ) STRICT
    """,
    # Every entry into a tool that was ever claimed: its key is what makes a second
    # start of one execution impossible (I2).
    """
    CREATE TABLE executions (
        run TEXT NOT NULL,
        execution TEXT NOT NULL,
        turn INTEGER NOT NULL,
        ordinal INTEGER NOT NULL,
        enterprise TEXT NOT NULL,
        team TEXT NOT NULL,
        attempts INTEGER NOT NULL,
        claimed_at INTEGER NOT NULL,
        PRIMARY KEY (run, execution),
        FOREIGN KEY (run, turn, ordinal) REFERENCES calls (run, turn, ordinal)
            DEFERRABLE INITIALLY DEFERRED
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE requests (
        ref TEXT NOT NULL PRIMARY KEY,
        enterprise TEXT NOT NULL,
        team TEXT NOT NULL,
        run TEXT NOT NULL,
        turn INTEGER NOT NULL,
        ordinal INTEGER NOT NULL,
        number INTEGER NOT NULL,
        gate INTEGER NOT NULL,
        kind TEXT NOT NULL,
        prompt TEXT NOT NULL,
        url TEXT,
        data TEXT,
        tool_id TEXT NOT NULL,
        rule TEXT NOT NULL,
        call_digest TEXT NOT NULL,
        question_digest TEXT NOT NULL,
        expiry TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        expires_at INTEGER NOT NULL,
        status TEXT NOT NULL CHECK (status IN ('open', 'approved', 'answered',
            'denied', 'declined', 'expired', 'cancelled', 'void')),
        decided_at INTEGER,
        decided_by TEXT NOT NULL,
        decided_name TEXT NOT NULL,
        reason TEXT NOT NULL,
        UNIQUE (run, number),
        FOREIGN KEY (run, turn, ordinal) REFERENCES calls (run, turn, ordinal)
            DEFERRABLE INITIALLY DEFERRED
    ) STRICT
    """,
    """
    CREATE TABLE votes (
        request TEXT NOT NULL REFERENCES requests (ref) DEFERRABLE INITIALLY DEFERRED,
        person TEXT NOT NULL,
        enterprise TEXT NOT NULL,
        team TEXT NOT NULL,
        user TEXT NOT NULL,
        name TEXT NOT NULL,
        decision TEXT NOT NULL,
        at INTEGER NOT NULL,
        self_approved INTEGER NOT NULL,
        PRIMARY KEY (request, person)
    ) STRICT, WITHOUT ROWID
    """,
)

_INDEXES = (
    """
    CREATE INDEX runs_requester ON runs (enterprise, team, requester, number)
    """,
    """
    CREATE INDEX runs_unfinished ON runs (enterprise, team, number)
    WHERE ended_at IS NULL
    """,
    """
    CREATE INDEX runs_due ON runs (enterprise, team, wake_at)
    WHERE ended_at IS NULL AND wake_at IS NOT NULL
    """,
    """
    CREATE INDEX requests_open ON requests (enterprise, team, expires_at)
    WHERE status = 'open'
    """,
)


def step(db: Database) -> None:
    """Make the tables that people's decisions are about."""
    for sql in _TABLES + _INDEXES:
        db.execute(sql)
