"""Callbacks that are not acted on: taken note of, and nothing else (T2, T22).

Of one that belongs to another workspace the note is a row of that workspace, so nothing
of ours is read, changed or shown.
"""

from __future__ import annotations

import structlog

from bot.engine.parts import Parts, committed
from bot.errors import StoreError
from bot.ports import AuditRow, Tenant, Tx

log = structlog.get_logger(__name__)


async def note_foreign(
    parts: Parts, tenant: Tenant, user: str, deadline: float
) -> None:
    """Write down that somebody of `tenant` was refused."""
    row = AuditRow(action="refused wrong_workspace", actor=user)

    def unit(tx: Tx) -> None:
        parts.store.audit(tx, tenant, row, parts.clock.now())

    await committed(parts, unit, deadline)


async def note_repeated(parts: Parts) -> None:
    """Write down that a body which was accepted before came again."""
    row = AuditRow(action="duplicate delivery", actor="bot")

    def unit(tx: Tx) -> None:
        parts.store.audit(tx, parts.tenant, row, parts.clock.now())

    try:
        await parts.store.write(unit)
    except StoreError:
        log.warning("duplicate_not_recorded", exc_info=True)
