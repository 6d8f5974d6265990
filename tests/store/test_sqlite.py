"""One way to write: units in groups, one COMMIT, and nobody told a lie about it."""

from __future__ import annotations

import asyncio
import functools
import resource
import sqlite3
import threading

import pytest

from bot.errors import StoreBusy, StoreError
from bot.store import opening
from bot.store.sqlite import SqliteStore


class Gate:
    """A unit that holds the database thread until the test lets it go on."""

    def __init__(self):
        self.entered = threading.Event()
        self.opened = threading.Event()

    def __call__(self, tx):
        self.entered.set()
        assert self.opened.wait(30)

    async def reached(self):
        await asyncio.to_thread(self.entered.wait, 30)


def name(store, home, written):
    return lambda tx: store.save_name(tx, home, written, "x")


def connection_of(tx):
    return tx.execute("SELECT 1").connection


async def kept(store, home):
    return set(await store.read(lambda tx: store.names(tx, home)))


async def test_settings_are_what_power_loss_needs(store):
    def unit(tx):
        connection = connection_of(tx)
        return {
            pragma: connection.execute(f"PRAGMA {pragma}").fetchone()[0]
            for pragma in opening.SETTINGS
        }

    assert await store.read(unit) == {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
        "busy_timeout": 1000,
    }


async def test_caller_gets_what_its_unit_returned(store):
    assert await store.write(lambda tx: tx.execute("SELECT 41 + 1").fetchone()[0]) == 42


async def test_units_that_wait_share_one_commit(store, home):
    statements = []
    await store.read(lambda tx: connection_of(tx).set_trace_callback(statements.append))
    gate = Gate()
    first = asyncio.create_task(store.write(gate))
    await gate.reached()
    statements.clear()
    rest = [
        asyncio.create_task(store.write(name(store, home, f"n{i}"))) for i in range(20)
    ]
    await asyncio.sleep(0)

    gate.opened.set()
    await asyncio.gather(first, *rest)

    commits = [s for s in statements if s == "COMMIT"]
    assert len(commits) == 2  # the one that held the thread, and the twenty behind it
    assert await kept(store, home) == {f"n{i}" for i in range(20)}


async def test_unit_that_raises_undoes_only_itself(store, home):
    def half(tx):
        store.save_name(tx, home, "half", "x")
        raise LookupError("no")

    gate = Gate()
    units = (gate, name(store, home, "before"), half, name(store, home, "after"))
    tasks = [asyncio.create_task(store.write(unit)) for unit in units]
    await gate.reached()

    gate.opened.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)

    assert [type(r) for r in results] == [type(None)] * 2 + [LookupError, type(None)]
    assert await kept(store, home) == {"before", "after"}


async def test_loop_goes_on_while_a_unit_holds_the_thread(store):
    gate = Gate()
    task = asyncio.create_task(store.write(gate))
    await gate.reached()

    turns = 0
    for _ in range(100):
        await asyncio.sleep(0)
        turns += 1

    assert (turns, task.done()) == (100, False)
    gate.opened.set()
    await task


@pytest.mark.parametrize(
    "sql",
    [
        "BEGIN",
        "commit",
        "END",
        "ROLLBACK TO unit",
        "SAVEPOINT x",
        "RELEASE unit",
        "  \n\tCOMMIT",
        "-- why not\nCOMMIT",
        "/* a */ /* b */ CoMmIt",
        ";;COMMIT",
        "\ufeffCOMMIT",
        "/* a\n*/--b\n ;COMMIT;",
        "ATTACH ':memory:' AS other",
        "DETACH other",
        "PRAGMA synchronous = OFF",
        "VACUUM",
    ],
)
async def test_unit_cannot_leave_its_transaction(store, home, sql):
    def unit(tx):
        store.save_name(tx, home, "a", "x")
        tx.execute(sql)

    with pytest.raises(StoreError, match="may not run this"):
        await store.write(unit)

    assert await kept(store, home) == set()


async def test_words_that_only_look_alike_may_be_used(store):
    sql = "WITH beginning (commit_) AS (SELECT 'COMMIT') SELECT * FROM beginning"
    row = await store.read(lambda tx: tx.execute(sql).fetchone())
    assert tuple(row) == ("COMMIT",)


async def test_async_unit_is_refused_before_it_waits(store):
    async def unit(tx):
        pass

    with pytest.raises(TypeError, match="ordinary function"):
        await store.write(unit)
    with pytest.raises(TypeError, match="ordinary function"):
        await store.write(functools.partial(unit))


async def test_unit_that_would_run_later_is_undone(store, home):
    async def later():
        pass

    def awaitable(tx):
        store.save_name(tx, home, "a", "x")
        return later()

    def generator(tx):
        return (store.save_name(tx, home, w, "x") for w in "bc")

    for unit in (awaitable, generator):
        with pytest.raises(TypeError, match="ordinary function"):
            await store.write(unit)
    assert await kept(store, home) == set()


async def test_stop_iteration_reaches_its_caller_as_an_error(store):
    def unit(tx):
        return next(iter(()))

    with pytest.raises(RuntimeError, match="StopIteration"):
        await store.write(unit)


async def test_deadline_is_judged_when_the_unit_would_begin(store, home, clock):
    gate = Gate()
    held = asyncio.create_task(store.write(gate, clock.seconds))  # equal is in time
    await gate.reached()
    late = asyncio.create_task(store.write(name(store, home, "late"), 101.0))
    early = asyncio.create_task(store.write(name(store, home, "early"), 103.0))
    await asyncio.sleep(0)

    clock.seconds = 102.0
    gate.opened.set()
    results = await asyncio.gather(held, late, early, return_exceptions=True)

    assert [type(r) for r in results] == [type(None), StoreBusy, type(None)]
    assert await kept(store, home) == {"early"}


async def test_caller_that_leaves_while_waiting_has_its_unit_not_run(store, home):
    gate = Gate()
    held = asyncio.create_task(store.write(gate))
    await gate.reached()
    left = asyncio.create_task(store.write(name(store, home, "left")))
    await asyncio.sleep(0)

    left.cancel()
    with pytest.raises(asyncio.CancelledError):
        await left
    gate.opened.set()
    await held

    assert await kept(store, home) == set()


async def test_caller_that_leaves_too_late_learns_it_after_the_commit(store, home):
    gate = Gate()

    def unit(tx):
        gate(tx)
        store.save_name(tx, home, "begun", "x")

    task = asyncio.create_task(store.write(unit))
    await gate.reached()
    for _ in range(3):
        task.cancel()
        for _ in range(5):
            await asyncio.sleep(0)
    waited = not task.done()
    gate.opened.set()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert waited
    assert await kept(store, home) == {"begun"}


async def test_write_lock_of_another_program_is_busy_and_nothing_changed(
    store, path, home
):
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    ran = []
    with pytest.raises(StoreBusy):
        await store.write(ran.append)
    other.execute("ROLLBACK")
    other.close()

    await store.write(name(store, home, "later"))

    assert ran == []
    assert await kept(store, home) == {"later"}


async def test_reading_goes_on_beside_a_write_lock(store, path, home):
    await store.write(name(store, home, "a"))
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    found = await kept(store, home)
    other.close()

    assert found == {"a"}


async def test_unit_whose_commit_is_refused_fails_alone(store, home, made):
    def orphan(tx):  # its call is missing, which only the COMMIT notices
        store.add_request(tx, made.request(made.run()))

    gate = Gate()
    units = (gate, name(store, home, "a"), orphan, name(store, home, "b"))
    tasks = [asyncio.create_task(store.write(unit)) for unit in units]
    await gate.reached()
    gate.opened.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)

    assert [type(r) for r in results] == [type(None)] * 2 + [StoreError, type(None)]
    assert isinstance(results[2].__cause__, sqlite3.IntegrityError)
    assert await kept(store, home) == {"a", "b"}


async def test_unit_that_has_begun_is_not_late_when_it_runs_again(
    store, home, made, clock
):
    def orphan(tx):
        store.add_request(tx, made.request(made.run()))
        clock.seconds = 200.0

    gate = Gate()
    tasks = [
        asyncio.create_task(store.write(unit, 150.0))
        for unit in (gate, name(store, home, "a"), orphan, name(store, home, "b"))
    ]
    # All three wait behind the first one, and so in one group.
    await gate.reached()
    gate.opened.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)

    kinds = [type(None), type(None), StoreError, StoreBusy]
    assert [type(r) for r in results] == kinds
    assert await kept(store, home) == {"a"}


async def test_unit_that_ends_the_transaction_takes_nobody_with_it(store, home):
    def vandal(tx):
        store.save_name(tx, home, "vandal", "x")
        sql = "INSERT OR ROLLBACK INTO names VALUES (?, ?, 'vandal', 'y')"
        tx.execute(sql, (home.enterprise, home.team))

    gate = Gate()
    units = (gate, name(store, home, "a"), vandal, name(store, home, "b"))
    tasks = [asyncio.create_task(store.write(unit)) for unit in units]
    await gate.reached()
    gate.opened.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)

    assert [type(r) for r in results] == [type(None)] * 2 + [StoreError, type(None)]
    assert await kept(store, home) == {"a", "b"}


async def test_failed_commit_tells_everybody_and_the_thread_lives(store, path, home):
    """No room for the log: what SQLite sees of a full disk."""
    gate = Gate()
    tasks = [
        asyncio.create_task(store.write(unit))
        for unit in (gate, name(store, home, "a"), name(store, home, "b" * 9000))
    ]
    await gate.reached()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    log = path.with_name(path.name + "-wal").stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (log, hard))
    try:
        gate.opened.set()
        results = await asyncio.gather(*tasks, return_exceptions=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert [type(r) for r in results[1:]] == [StoreError, StoreError]
    assert await kept(store, home) == set()
    await store.write(name(store, home, "again"))
    assert await kept(store, home) == {"again"}


async def test_reading_unit_cannot_write(store, home):
    with pytest.raises(StoreError, match="readonly"):
        await store.read(name(store, home, "a"))

    await store.write(name(store, home, "b"))
    assert await kept(store, home) == {"b"}


async def test_closing_finishes_what_waits_and_then_refuses(path, keys, clock, home):
    store = await SqliteStore.open(path, keys, clock)
    gate = Gate()
    held = asyncio.create_task(store.write(gate))
    await gate.reached()
    waiting = asyncio.create_task(store.write(name(store, home, "a")))
    await asyncio.sleep(0)
    closing = asyncio.create_task(store.close())
    await asyncio.sleep(0)
    gate.opened.set()

    await asyncio.gather(held, waiting, closing)
    await store.close()

    with pytest.raises(StoreError, match="closed"):
        await store.write(name(store, home, "b"))
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    again = await SqliteStore.open(path, keys, clock)
    assert await kept(again, home) == {"a"}
    await again.close()
