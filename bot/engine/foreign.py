"""A callback that belongs to another workspace: taken note of, and nothing else (T22).

The note is a row of that workspace, so nothing of ours is read, changed or shown.
"""

from __future__ import annotations

from bot.engine.parts import Parts, committed
from bot.ports import AuditRow, Tenant, Tx


async def note_foreign(
    parts: Parts, tenant: Tenant, user: str, deadline: float
) -> None:
    """Write down that somebody of `tenant` was refused."""
    row = AuditRow(action="refused wrong_workspace", actor=user)

    def unit(tx: Tx) -> None:
        parts.store.audit(tx, tenant, row, parts.clock.now())

    await committed(parts, unit, deadline)
