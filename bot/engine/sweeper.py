"""What time alone brings about: requests expire, put-off runs are looked at again.

One indexed query every second, never a timer per request. At start it finds whatever
was moving when the last process ended, because such a run's row says so.
"""

from __future__ import annotations

import asyncio

import structlog

from bot.core.events import Expired
from bot.engine.parts import Parts
from bot.engine.runner import Runner
from bot.engine.transition import AT_NEXT_START, Cause, apply
from bot.errors import StoreError
from bot.ports import RequestRow, Tx

log = structlog.get_logger(__name__)

INTERVAL = 1.0  # seconds
BATCH = 100


class Sweeper:
    """Sees to it that nothing waits beyond its time."""

    def __init__(self, parts: Parts, runner: Runner) -> None:
        self._parts = parts
        self._runner = runner

    async def recover(self) -> None:
        """At start: look at every run that was moving when the last process ended."""
        parts = self._parts
        runs = await parts.store.read(
            lambda tx: parts.store.runs_due(tx, parts.tenant, AT_NEXT_START, -1)
        )
        for run in runs:
            self._runner.wake(run)

    async def run(self) -> None:
        """Sweep for ever; a sweep that fails is logged and made up for by the next."""
        while True:
            try:
                await self.sweep()
            except StoreError:
                log.warning("sweep_put_off", exc_info=True)
            await self._parts.clock.sleep(INTERVAL)

    async def sweep(self) -> None:
        """Expire what has run out, and wake the runs that are due."""
        parts = self._parts
        while True:
            now = parts.clock.now()
            late = await parts.store.read(
                lambda tx, now=now: parts.store.requests_due(
                    tx, parts.tenant, now, BATCH
                )  # type: ignore[misc]  # bound at once
            )
            done = [await self._safely(request) for request in late]
            if len(late) < BATCH or not any(done):
                break
            await asyncio.sleep(0)
        runs = await parts.store.read(
            lambda tx: parts.store.runs_due(tx, parts.tenant, parts.clock.now(), BATCH)
        )
        for run in runs:
            self._runner.wake(run)
        if late:
            parts.courier.wake()

    async def _safely(self, request: RequestRow) -> bool:
        """One request that cannot be expired must not hold up the others."""
        try:
            await self._expire(request)
        except StoreError:
            raise
        except Exception:
            log.error("expiry_failed", run=request.run, exc_info=True)
            return False
        return True

    async def _expire(self, request: RequestRow) -> None:
        parts = self._parts

        def unit(tx: Tx) -> None:
            row = parts.store.request(tx, parts.tenant, request.ref)
            run = parts.store.run(tx, parts.tenant, request.run)
            now = parts.clock.now()
            if row is None or run is None or row.status != "open":
                return
            if now > row.expires_at:
                apply(parts, tx, run, Expired(request=row.number), Cause(), now)

        await parts.store.write(unit)
        self._runner.wake(request.run)
