"""The steps that make the schema, oldest first; a released step is never edited.

To change the schema, add a file with the next number and list its step here, then
change `rows.py`. Each step runs in a transaction of its own, together with the note
that it has run.
"""

from __future__ import annotations

from sqlite_utils import Migrations

from bot.store.migrations import (
    s001_runs,
    s002_outbox,
    s003_audit,
    s004_conversations,
    s005_settled,
)

STEPS = (
    s001_runs.step,
    s002_outbox.step,
    s003_audit.step,
    s004_conversations.step,
    s005_settled.step,
)
NAMES = ("001_runs", "002_outbox", "003_audit", "004_conversations", "005_settled")

MIGRATIONS = Migrations("countersign")
for _name, _step in zip(NAMES, STEPS, strict=True):
    MIGRATIONS(name=_name)(_step)
