"""One node: an OS lock on a file beside the database, which says who holds it.

`flock`, never `lockf`: a POSIX record lock is lost as soon as any descriptor of the
file is closed. The file is never unlinked: two processes could then each hold a lock
on a file of that name. The kernel lets go of it when the process ends, however it ends.
"""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from bot.errors import Locked
from bot.ports import Clock
from bot.store import files

WAIT = 30.0  # seconds
_POLL = 0.2
_LINE = 500  # bytes of the holder's line that are read


class Lock:
    """The right of this process to write to a database; `acquire` gives one."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor: int | None = descriptor

    @classmethod
    async def acquire(
        cls,
        database: Path | str,
        clock: Clock,
        *,
        on_wait: Callable[[str], None],
        wait: float = WAIT,
    ) -> Self:
        """Take the lock, or raise `Locked` after `wait` seconds.

        `on_wait` is told once who holds it, if there is something to wait for.
        """
        path = files.absolute(database)
        files.prepare(path)
        lock = files.beside(path, ".lock")
        descriptor = _open(lock)
        try:
            await _take(descriptor, str(path), clock, on_wait, wait)
            _sign(descriptor, clock.now())
        except BaseException:
            os.close(descriptor)
            raise
        return cls(lock, descriptor)

    def release(self) -> None:
        """Let go; the file stays, empty. A second call does nothing."""
        if self._descriptor is None:
            return
        os.ftruncate(self._descriptor, 0)
        os.close(self._descriptor)
        self._descriptor = None


def held_by(database: Path | str) -> str | None:
    """Who holds the lock of a database now; None when nobody does.

    Nothing is made and nothing is waited for. Whoever takes the lock in this very
    moment finds it taken, and has it at the next try.
    """
    try:
        lock = files.beside(files.absolute(database), ".lock")
        descriptor = os.open(lock, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return holder(descriptor)
    finally:
        os.close(descriptor)
    return None


def holder(descriptor: int) -> str:
    """Who holds the lock, as the holder wrote it."""
    line = os.pread(descriptor, _LINE, 0).decode(errors="replace").strip()
    return line or "another process"


async def _take(
    descriptor: int,
    database: str,
    clock: Clock,
    on_wait: Callable[[str], None],
    wait: float,
) -> None:
    end = clock.monotonic() + wait
    told = False
    while not _try(descriptor):
        if clock.monotonic() >= end:
            raise Locked(database, holder(descriptor))
        if not told:
            on_wait(holder(descriptor))
            told = True
        await clock.sleep(_POLL)


def _open(path: Path) -> int:
    if not path.exists():
        try:
            files.create(path)
        except FileExistsError:
            files.prepare(path)  # somebody was quicker: it must still be safe
    return os.open(path, os.O_RDWR | os.O_NOFOLLOW)


def _try(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _sign(descriptor: int, now: int) -> None:
    since = datetime.fromtimestamp(now / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    line = f"process {os.getpid()} on {socket.gethostname()} since {since}\n"
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, line.encode(), 0)
