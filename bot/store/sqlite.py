"""ports.Store on SQLite: one connection on one thread; the event loop sends and waits.

Units wait in a queue. The thread takes all that wait, runs them in one transaction and
commits once (`groups.py`); then their callers go on. The file itself is opened in
`opening.py`, and the SQL of the named functions stands in the file of their rows. One
process at a time: take the `Lock` first.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import queue
import sqlite3
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar, cast

from bot.core.keys import Keyring
from bot.errors import StoreBusy, StoreError
from bot.ports import AuditRow, Clock, Store, Tenant, Tx
from bot.store import audit, files, groups, opening
from bot.store.groups import Job
from bot.store.installation import Installation
from bot.store.outbox import Outbox
from bot.store.requests import Requests
from bot.store.runs import Runs

T = TypeVar("T")
#: Past a deadline, so long is waited for a thread that is about to judge it; seconds.
_GRACE = 0.05
#: What waits for the thread: a unit, and whether it writes. None: stop.
_Waiting = tuple[Job, bool] | None


class SqliteStore(Runs, Requests, Outbox, Installation, Store):
    """Runs and requests in one SQLite file; `open` makes one, `close` ends it."""

    def __init__(
        self,
        path: Path,
        keys: Keyring,
        clock: Clock,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._path = path
        self._keys = keys
        self._clock = clock
        self._loop = loop
        self._queue: queue.SimpleQueue[_Waiting] = queue.SimpleQueue()
        self._opened: asyncio.Future[None] = loop.create_future()
        self._ended: asyncio.Future[None] = loop.create_future()
        self._closing = False
        # A process that forgets to close must still be able to end.
        self._thread = threading.Thread(
            target=self._main, name="countersign-database", daemon=True
        )

    @classmethod
    async def open(cls, path: Path | str, keys: Keyring, clock: Clock) -> Self:
        """Open the file, or make it; `StoreError` says why it cannot be used.

        `keys` are those of the audit chain. The clock is asked from another thread.
        """
        loop = asyncio.get_running_loop()
        store = cls(files.absolute(path), keys, clock, loop)
        store._thread.start()
        try:
            await asyncio.shield(store._opened)
        except asyncio.CancelledError:
            store._stop()
            raise
        return store

    async def close(self) -> None:
        """Finish what waits, note a clean stop, and let go of the file."""
        self._stop()
        await asyncio.shield(self._ended)
        self._thread.join()

    async def write(self, unit: Callable[[Tx], T], deadline: float | None = None) -> T:
        """Commit one unit of work and return what it returned.

        A caller that is cancelled while its unit waits: the unit never runs. Cancelled
        after it began: `CancelledError` comes when its fate is known, and what it
        committed stands; the rows tell. `StoreBusy` means that it did not begin.
        """
        return cast(T, await self._carry(unit, deadline, writes=True))

    async def read(self, unit: Callable[[Tx], T]) -> T:
        """Run a unit that only reads; a statement that writes raises `StoreError`."""
        return cast(T, await self._carry(unit, None, writes=False))

    def audit(self, tx: Tx, tenant: Tenant, row: AuditRow, now: int) -> None:
        """Add to the audit chain."""
        audit.append(tx, self._keys, tenant, row, now)

    # -- on the event loop ------------------------------------------------------------

    async def _carry(
        self, unit: Callable[[Tx], Any], deadline: float | None, *, writes: bool
    ) -> Any:
        if inspect.iscoroutinefunction(unit):
            raise TypeError("a unit of work is an ordinary function, not async def")
        if self._closing:
            raise StoreError("the database is closed")
        job = Job(unit, deadline, self._loop.create_future())
        self._queue.put((job, writes))
        try:
            await self._begun_in_time(job)
            return await asyncio.shield(job.future)
        except asyncio.CancelledError as cancelled:
            if job.withdraw():
                job.future.cancel()
                raise
            raise cancelled from await _fate(job.future)

    async def _begun_in_time(self, job: Job) -> None:
        """Take a unit back whose deadline passes while the thread is held up (T59)."""
        if job.deadline is None:
            return
        left = max(job.deadline - self._clock.monotonic(), 0) + _GRACE
        await asyncio.wait((job.future,), timeout=left)
        if not job.future.done() and job.withdraw():
            job.future.cancel()
            raise StoreBusy("its turn did not come in time; nothing was changed")

    def _stop(self) -> None:
        if not self._closing:
            self._closing = True
            self._queue.put(None)

    # -- on the database thread -------------------------------------------------------

    def _main(self) -> None:
        try:
            connection = opening.connect(self._path)
        except BaseException as error:
            self._tell(_settle, self._opened, None, error)
            return
        self._tell(_settle, self._opened, None, None)
        stopping = False
        while not stopping:
            writes, reads, stopping = self._take()
            self._do(groups.write, connection, writes)
            self._do(groups.read, connection, reads)
        opening.close(connection)
        self._tell(_settle, self._ended, None, None)

    def _take(self) -> tuple[list[Job], list[Job], bool]:
        """All that waits, at least one thing; and whether to stop after it."""
        writes: list[Job] = []
        reads: list[Job] = []
        waiting = self._queue.get()
        while waiting is not None:
            job, is_write = waiting
            (writes if is_write else reads).append(job)
            try:
                waiting = self._queue.get_nowait()
            except queue.Empty:
                return writes, reads, False
        return writes, reads, True

    def _do(
        self,
        work: Callable[[sqlite3.Connection, Sequence[Job], Clock], None],
        connection: sqlite3.Connection,
        jobs: Sequence[Job],
    ) -> None:
        if not jobs:
            return
        try:
            work(connection, jobs, self._clock)
        except Exception as error:
            # Whatever it was, this thread serves the next ones too.
            with contextlib.suppress(sqlite3.Error):
                groups.roll_back(connection)
            groups.fail(jobs, StoreError(f"the database failed: {error}"), error)
        self._tell(_deliver, jobs)

    def _tell(self, callback: Callable[..., None], *arguments: Any) -> None:
        # A loop that has ended has nobody left who waits.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(callback, *arguments)


async def _fate(future: asyncio.Future[Any]) -> BaseException | None:
    """Wait for the end of a unit that has begun, however often we are cancelled."""
    while not future.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait((future,))
    return future.exception()


def _deliver(jobs: Sequence[Job]) -> None:
    for job in jobs:
        _settle(job.future, job.result, job.error)


def _settle(
    future: asyncio.Future[Any], result: Any, error: BaseException | None
) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
