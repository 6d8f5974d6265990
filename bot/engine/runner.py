"""Looks at runs and carries out what they want, one task per run that is moving.

A wake-up only says "look at run X"; what there is to do comes out of the row. A parked
run has no task, timer or future. A call that is claimed while no task of this process
carries it lost its worker in a crash: it becomes *outcome unknown*, or is entered again
under the same key when its tool is declared idempotent (T72).
"""

from __future__ import annotations

import asyncio

import structlog

from bot.core.events import AskModel, Enter, Interrupted
from bot.core.machine import due
from bot.core.run import Slot, Stage
from bot.engine.parts import Parts
from bot.engine.perform import enter
from bot.engine.thinking import think
from bot.engine.transition import Cause, apply, note
from bot.errors import StoreError
from bot.ports import RunRow, Tx

log = structlog.get_logger(__name__)


#: A run that the database would not let go on is looked at again after so long.
BUSY_WAIT = 1.0  # seconds


class Runner:
    """The only one who carries runs forward."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._moving: dict[str, asyncio.Task[None]] = {}
        self._again: set[str] = set()
        self._stopping = False

    def wake(self, run: str) -> None:
        """Look at a run; while it is being looked at, look once more afterwards."""
        if self._stopping:
            return
        if run in self._moving:
            self._again.add(run)
            return
        task = asyncio.create_task(self._look(run), name=f"run {run}")
        self._moving[run] = task

    async def stop(self, patience: float) -> None:
        """Start nothing new; give what is running so many seconds."""
        self._stopping = True
        if not self._moving:
            return
        _, late = await asyncio.wait(list(self._moving.values()), timeout=patience)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    @property
    def moving(self) -> bool:
        """Whether some run is being carried forward now."""
        return bool(self._moving)

    async def _look(self, run: str) -> None:
        try:
            while not self._stopping and await self._step(run):
                pass
        except Exception:
            log.error("run_failed", run=run, exc_info=True)
            await self._give_up(run)
        finally:
            del self._moving[run]
            self._parts.courier.wake()
            if run in self._again:
                self._again.discard(run)
                self.wake(run)

    async def _step(self, run: str) -> bool:
        """Do the next thing; a database that is busy only puts it off."""
        try:
            return await self._advance(run)
        except StoreError:
            log.warning("run_put_off", run=run, exc_info=True)
            await self._parts.clock.sleep(BUSY_WAIT)
            return True

    async def _advance(self, run_id: str) -> bool:
        """Do the next thing that a run wants; False when it wants nothing now."""
        parts = self._parts
        row = await parts.store.read(
            lambda tx: parts.store.run(tx, parts.tenant, run_id)
        )
        if row is None or row.state.stage is Stage.ENDED:
            return False
        if any(call.slot is Slot.RUNNING for call in row.state.calls):
            await parts.store.write(lambda tx: self._interrupt(tx, run_id))
            return True
        wanted = due(row.state)
        if not wanted:
            return False
        match wanted[0]:
            case AskModel():
                await think(parts, run_id)
                went_on = True
            case Enter(ordinal=ordinal):
                went_on = await enter(parts, run_id, ordinal)
            case _:
                return False
        parts.courier.wake()
        return went_on

    async def _give_up(self, run: str) -> None:
        """What was being carried out when we failed has no worker any more."""
        try:
            await self._parts.store.write(lambda tx: self._interrupt(tx, run))
        except Exception:
            log.error("run_left", run=run, exc_info=True)

    def _interrupt(self, tx: Tx, run_id: str) -> None:
        """No task of this process carries these calls: their worker is gone."""
        parts = self._parts
        row: RunRow | None = parts.store.run(tx, parts.tenant, run_id)
        if row is None:
            return
        calls = parts.store.calls(tx, run_id, row.state.turn)
        ledger = {call.ordinal: call for call in calls}
        for call in row.state.calls:
            if call.slot is Slot.RUNNING:
                tool = parts.tool(call.tool)
                planned = ledger[call.ordinal].idempotent
                event = Interrupted(
                    ordinal=call.ordinal,
                    execution=call.execution,
                    # As declared when people were asked, and as declared now.
                    idempotent=planned and tool is not None and tool.traits.idempotent,
                )
                now = parts.clock.now()
                note(parts, tx, row, "interrupted", Cause(), now, ledger[call.ordinal])
                row, _ = apply(parts, tx, row, event, Cause(), now)
