"""Units of work in groups: one transaction, a savepoint for each, one COMMIT.

Plain functions of a connection, called on the database thread only. Who waits for a
job and how it gets its result stands in `sqlite.py`.
"""

from __future__ import annotations

import asyncio
import inspect
import re
import sqlite3
import threading
from collections.abc import Callable, Sequence
from typing import Any

from bot.errors import StoreBusy, StoreError
from bot.ports import Clock, Tx

#: White space, comments and what else SQLite skips before a statement's first word.
_SKIPPED = r"(?:[\s;\ufeff]|--[^\n]*(?:\n|\Z)|/\*.*?(?:\*/|\Z))*"
_REFUSED = re.compile(
    _SKIPPED + r"(?:BEGIN|COMMIT|END|ROLLBACK|SAVEPOINT|RELEASE"
    r"|ATTACH|DETACH|PRAGMA|VACUUM)\b",
    re.IGNORECASE | re.DOTALL,
)


class Transaction:
    """What a unit sees of the database: `execute`, within the transaction around it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def execute(self, sql: str, parameters: Sequence[object] = ()) -> Any:
        """Run one statement; `StoreError` for one that would leave the transaction."""
        if _REFUSED.match(sql):
            raise StoreError(f"a unit of work may not run this: {sql.strip()[:60]}")
        return self._connection.execute(sql, parameters)


class Job:
    """A unit that waits for the database thread, and what became of it."""

    def __init__(
        self,
        unit: Callable[[Tx], Any],
        deadline: float | None,
        future: asyncio.Future[Any],
    ) -> None:
        self.unit = unit
        self.deadline = deadline
        self.future = future
        self.result: Any = None
        self.error: BaseException | None = None
        self.begun = False
        # Taken once, by whoever comes first: the thread begins or the caller leaves.
        self._fate = threading.Lock()

    def begin(self) -> bool:
        """Whether the thread may run the unit; afterwards nobody can withdraw it."""
        self.begun = self.begun or self._fate.acquire(blocking=False)
        return self.begun

    def withdraw(self) -> bool:
        """Whether the unit has not begun; then it never will."""
        return self._fate.acquire(blocking=False)

    def late(self, now: float) -> bool:
        """Whether its time to begin has passed."""
        return self.deadline is not None and now > self.deadline


def write(connection: sqlite3.Connection, jobs: Sequence[Job], clock: Clock) -> None:
    """Run units in one transaction and commit it; each job then knows its fate."""
    try:
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.Error as error:
        fail(jobs, _not_begun(error))
        return
    entered: list[Job] = []
    try:
        for job in jobs:
            if _may_begin(job, clock):
                entered.append(job)
                _savepoint(connection, job)
        connection.execute("COMMIT")
    except (sqlite3.IntegrityError, _Undone) as error:
        roll_back(connection)
        _again(connection, jobs, entered, clock, error)
    except sqlite3.Error as error:
        roll_back(connection)
        fail(jobs, StoreError(f"the database did not take it: {error}"), error)


def read(connection: sqlite3.Connection, jobs: Sequence[Job], clock: Clock) -> None:
    """Run units that only read, all on one snapshot; a statement that writes raises."""
    try:
        connection.execute("PRAGMA query_only = ON")
        connection.execute("BEGIN")
        tx = Transaction(connection)
        for job in jobs:
            if _may_begin(job, clock):
                _run(job, tx)
    except sqlite3.Error as error:
        fail(jobs, StoreError(f"the database could not be read: {error}"), error)
    finally:
        roll_back(connection)
        connection.execute("PRAGMA query_only = OFF")


def fail(
    jobs: Sequence[Job], error: StoreError, cause: BaseException | None = None
) -> None:
    """Tell jobs that nothing of theirs was kept; an error of their own stands."""
    for job in jobs:
        if job.error is None:
            job.error = type(error)(*error.args)
            job.error.__cause__ = cause


def roll_back(connection: sqlite3.Connection) -> None:
    """Leave the transaction, if one is still open."""
    if connection.in_transaction:
        connection.execute("ROLLBACK")


class _Undone(Exception):
    """A unit ended the transaction around it: what the others wrote is undone too."""


def _may_begin(job: Job, clock: Clock) -> bool:
    if not job.begin():
        return False
    if job.late(clock.monotonic()):
        job.error = StoreBusy("its turn did not come in time; nothing was changed")
        return False
    return True


def _savepoint(connection: sqlite3.Connection, job: Job) -> None:
    connection.execute("SAVEPOINT unit")
    _run(job, Transaction(connection))
    if not connection.in_transaction:
        raise _Undone
    if job.error is not None:
        connection.execute("ROLLBACK TO unit")
    connection.execute("RELEASE unit")


def _run(job: Job, tx: Transaction) -> None:
    try:
        job.result = _plain(job.unit(tx))
    except sqlite3.Error as error:
        job.error = StoreError(f"the database refused a statement: {error}")
        job.error.__cause__ = error
    except StopIteration as error:
        # A future cannot carry this one.
        job.error = RuntimeError("a unit of work raised StopIteration")
        job.error.__cause__ = error
    except BaseException as error:
        # This thread serves everybody: whatever it was, its caller gets it.
        job.error = error


def _plain(result: Any) -> Any:
    """A unit's result; one that would only run later, after the COMMIT, is refused."""
    if inspect.iscoroutine(result):
        result.close()
    elif not (inspect.isawaitable(result) or inspect.isgenerator(result)):
        return result
    raise TypeError("a unit of work is an ordinary function: nothing in it may await")


def _again(
    connection: sqlite3.Connection,
    jobs: Sequence[Job],
    entered: Sequence[Job],
    clock: Clock,
    error: Exception,
) -> None:
    """One of several units broke the group: each again, in a transaction of its own."""
    if len(jobs) == 1:
        fail(jobs, StoreError(f"the database did not take it: {error}"), error)
        return
    for job in jobs:
        if job in entered:
            job.result = job.error = job.deadline = None
        if job.error is None:
            write(connection, [job], clock)


def _not_begun(error: sqlite3.Error) -> StoreError:
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    if code & 0xFF == sqlite3.SQLITE_BUSY:
        return StoreBusy("another program is writing; nothing was changed")
    return StoreError(f"the database cannot be written to: {error}")
