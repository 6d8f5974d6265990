"""The audit chain; what its columns mean stands in `store/audit.py`.

No foreign keys: an audit row outlives what it is about. What may be erased one day
may be NULL.
"""

from __future__ import annotations

from sqlite_utils import Database

_AUDIT = """
    CREATE TABLE audit (
        seq INTEGER PRIMARY KEY,
        at INTEGER NOT NULL,
        enterprise TEXT NOT NULL,
        team TEXT NOT NULL,
        action TEXT NOT NULL,
        actor TEXT,
        request TEXT,
        label TEXT,
        body TEXT,
        actor_digest TEXT NOT NULL,
        request_digest TEXT NOT NULL,
        body_digest TEXT NOT NULL,
        key TEXT NOT NULL,
        previous TEXT NOT NULL UNIQUE,
        mac TEXT NOT NULL
    ) STRICT
"""


def step(db: Database) -> None:
    """Make the audit table."""
    db.execute(_AUDIT)
