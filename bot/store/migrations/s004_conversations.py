"""Runs of a model: its conversation, what it spent, and how it ended."""

from __future__ import annotations

from sqlite_utils import Database

_STATEMENTS = (
    """
    CREATE TABLE messages (
        run TEXT NOT NULL REFERENCES runs (id) DEFERRABLE INITIALLY DEFERRED,
        position INTEGER NOT NULL,
        enterprise TEXT NOT NULL,
        team TEXT NOT NULL,
        message TEXT NOT NULL,
        PRIMARY KEY (run, position)
    ) STRICT, WITHOUT ROWID
    """,
    "ALTER TABLE runs ADD COLUMN thread TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE runs ADD COLUMN text TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE runs ADD COLUMN reason TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE runs ADD COLUMN tokens INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE runs ADD COLUMN worked_ms INTEGER NOT NULL DEFAULT 0",
)


def step(database: Database) -> None:
    """Keep conversations."""
    for statement in _STATEMENTS:
        database.execute(statement)
