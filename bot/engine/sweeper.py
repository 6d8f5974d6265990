"""What time alone brings about: requests expire, put-off runs are looked at again.

One indexed query every second, never a timer per request. At start it finds whatever
was moving when the last process ended, because such a run's row says so.
"""

from __future__ import annotations

import structlog

from bot.core.events import Expired
from bot.engine.parts import Parts
from bot.engine.runner import Runner
from bot.engine.transition import AT_NEXT_START, Cause, apply
from bot.errors import StoreBusy
from bot.ports import Tx

log = structlog.get_logger(__name__)

INTERVAL = 1.0  # seconds
BATCH = 100


class Sweeper:
    """Sees to it that nothing waits beyond its time."""

    def __init__(self, parts: Parts, runner: Runner) -> None:
        self._parts = parts
        self._runner = runner
        #: Requests that cannot be expired, tried again at the next start.
        self._failed: set[str] = set()

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
            except Exception:
                log.error("sweep_put_off", exc_info=True)
            await self._parts.clock.sleep(INTERVAL)

    async def sweep(self) -> None:
        """Expire what has run out, and wake the runs that are due."""
        parts = self._parts
        more = True
        while more:
            more = await self._expire_some()
        runs = await parts.store.read(
            lambda tx: parts.store.runs_due(tx, parts.tenant, parts.clock.now(), BATCH)
        )
        for run in runs:
            self._runner.wake(run)

    async def _expire_some(self) -> bool:
        """Expire one batch; whether there may be more to do now."""
        parts, now = self._parts, self._parts.clock.now()
        limit = BATCH + len(self._failed)
        due = await parts.store.read(
            lambda tx: parts.store.requests_due(tx, parts.tenant, now, limit)
        )
        late = [(run, ref) for run, ref in due if ref not in self._failed]
        for run, ref in late:
            await self._safely(run, ref)
        if late:
            parts.courier.wake()
        return len(late) >= BATCH

    async def _safely(self, run: str, ref: str) -> None:
        """One request that cannot be expired must not hold up the others."""
        try:
            await self._expire(run, ref)
        except StoreBusy:
            raise
        except Exception:
            self._failed.add(ref)
            log.error("expiry_failed", run=run, exc_info=True)

    async def _expire(self, run_id: str, ref: str) -> None:
        parts = self._parts

        def unit(tx: Tx) -> None:
            row = parts.store.request(tx, parts.tenant, ref)
            run = parts.store.run(tx, parts.tenant, run_id)
            now = parts.clock.now()
            if row is None or run is None or row.status != "open":
                return
            if now > row.expires_at:
                apply(parts, tx, run, Expired(request=row.number), Cause(), now)

        await parts.store.write(unit)
        self._runner.wake(run_id)
