"""What is opened, what is refused as it is, and who may read the files."""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
import stat
from pathlib import Path

import pytest
from sqlite_utils import Database

from bot.errors import StoreError
from bot.store import opening
from bot.store.files import advice
from bot.store.migrations import MIGRATIONS, NAMES
from bot.store.sqlite import SqliteStore


@pytest.fixture
def open_store(path, keys, clock):
    async def opened(at: Path = path):
        return await SqliteStore.open(at, keys, clock)

    return opened


@pytest.fixture
def wide_umask():
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


async def refused(open_store, path, match):
    before = digest(path)
    with pytest.raises(StoreError, match=match) as caught:
        await open_store()
    assert "fix: " in str(caught.value)
    assert digest(path) == before


async def make(open_store, home, names=1):
    store = await open_store()

    def unit(tx):
        for number in range(names):
            store.save_name(tx, home, f"name {number}", "x" * 50)

    await store.write(unit)
    await store.close()


def left_by_a_kill(path):
    """The same file, as a process leaves it that does not come to its end."""
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE marker SET clean = 0")
    connection.close()


@pytest.mark.usefixtures("wide_umask")
async def test_only_we_may_read_what_we_make(tmp_path, open_store, home):
    path = tmp_path / "a" / "b" / "countersign.db"
    log, shared = path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")
    for _ in range(2):
        store = await open_store(path)
        await store.write(lambda tx, store=store: store.save_name(tx, home, "a", "b"))

        assert (mode(path), mode(log), mode(shared)) == (0o600, 0o600, 0o600)
        assert (mode(path.parent), mode(path.parent.parent)) == (0o700, 0o700)
        await store.close()
        assert mode(path) == 0o600


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm", "-journal", ".lock"])
async def test_file_that_others_may_read_is_refused(path, open_store, home, suffix):
    await make(open_store, home)
    file = path.with_name(path.name + suffix)
    file.touch(mode=0o600)
    file.chmod(0o640)

    await refused(open_store, path, f"chmod 600 .*{file.name}")


@pytest.mark.parametrize("bits", [0o720, 0o702])
async def test_directory_that_others_may_write_to_is_refused(
    path, open_store, home, bits
):
    await make(open_store, home)
    path.parent.chmod(bits)

    await refused(open_store, path, "chmod go-w .*, or choose a directory of your own")
    path.parent.chmod(0o700)


async def test_a_shared_directory_is_left_as_it_is(path, open_store, home):
    await make(open_store, home)
    path.parent.chmod(0o1777)

    await refused(open_store, path, "fix: choose a directory of your own")
    path.parent.chmod(0o700)


def test_the_directory_of_somebody_else_is_left_as_it_is(tmp_path):
    there = tmp_path.stat()
    fields = [*there]
    fields[4] = there.st_uid + 1

    assert advice(tmp_path, os.stat_result(fields)).startswith("choose a directory")
    assert advice(tmp_path, there).startswith("chmod go-w")


async def test_symbolic_link_is_refused(path, open_store, home):
    await make(open_store, home)
    real = path.rename(path.with_name("real.db"))
    path.symlink_to(real)

    await refused(open_store, path, "symbolic link")


async def test_directory_in_place_of_the_file_is_refused(path, open_store):
    path.mkdir()

    with pytest.raises(StoreError, match="not a file"):
        await open_store()


async def test_empty_file_is_a_new_database(path, open_store, home):
    path.touch(mode=0o600)

    await make(open_store, home)

    assert path.stat().st_size > 0


@pytest.mark.parametrize("text", ["", "SQLite format 3", "hello\n" * 1000])
async def test_file_that_is_no_database_is_refused(path, open_store, text):
    path.touch(mode=0o600)
    path.write_text(text + "\n")

    await refused(open_store, path, "not a SQLite database")


async def test_database_of_another_program_is_refused(path, open_store):
    path.touch(mode=0o600)
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE runs (id)")
    connection.close()

    await refused(open_store, path, "another program")


async def test_newer_database_is_refused(path, open_store, home):
    await make(open_store, home)
    with sqlite3.connect(path) as connection:
        connection.execute(
            "INSERT INTO _sqlite_migrations (migration_set, name, applied_at)"
            " VALUES ('countersign', '999_future', 'x')"
        )
    connection.close()

    await refused(open_store, path, "newer Countersign .*999_future")


async def test_log_without_its_database_is_refused(path, open_store, home):
    store = await open_store()
    await store.write(lambda tx: store.save_name(tx, home, "a", "b"))
    log = path.with_name(path.name + "-wal")
    kept = log.read_bytes()
    await store.close()
    path.unlink()
    log.touch(mode=0o600)
    log.write_bytes(kept)

    with pytest.raises(StoreError, match="is gone"):
        await open_store()
    assert (path.exists(), log.read_bytes()) == (False, kept)


async def test_damage_is_found_after_a_stop_that_was_not_clean(path, open_store, home):
    await make(open_store, home, names=2000)
    left_by_a_kill(path)
    size = path.stat().st_size
    whole = path.read_bytes()
    found = unchanged = 0
    for number in range(20):
        damaged = bytearray(whole)
        start = size // 20 * number
        damaged[start : start + 100] = bytes(100)
        path.write_bytes(damaged)
        if damaged == whole:
            continue  # there was nothing to zero
        before = digest(path)
        try:
            store = await open_store()
        except StoreError:
            found += 1
            unchanged += digest(path) == before
        else:
            await store.close()  # within a value: only the audit chain can tell
        for suffix in ("-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
    assert found >= 8
    assert unchanged == found


async def test_file_cut_short_is_refused_even_after_a_clean_stop(
    path, open_store, home
):
    await make(open_store, home, names=500)
    os.truncate(path, path.stat().st_size // 2)

    await refused(open_store, path, "damaged")


async def test_stop_counts_as_clean_only_once_it_is_over(path, open_store):
    def marker():
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
            clean = connection.execute("SELECT clean FROM marker").fetchone()[0]
        connection.close()
        return clean

    seen = []
    for _ in range(2):
        store = await open_store()
        seen.append(marker())
        await store.close()
        seen.append(marker())

    assert seen == [0, 1, 0, 1]


async def test_whole_file_is_read_only_when_it_must_be(path, open_store, home):
    """A clean stop is believed; the same damage after a kill is found."""
    await make(open_store, home, names=2000)
    whole = path.read_bytes()
    page = 4096
    leaf = next(
        start
        for start in range(len(whole) - page, 0, -page)
        if b"name 1" in whole[start : start + page]
    )
    path.write_bytes(whole[:leaf] + bytes(100) + whole[leaf + 100 :])
    store = await open_store()
    await store.close()

    left_by_a_kill(path)
    await refused(open_store, path, "damaged")


async def test_older_database_is_copied_and_brought_up_to_date(path, open_store, home):
    path.touch(mode=0o600)
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA application_id = {opening.APPLICATION_ID}")
    connection.execute("PRAGMA journal_mode = WAL")
    MIGRATIONS.apply(Database(connection), stop_before=NAMES[-1])
    connection.execute("INSERT INTO names VALUES ('E1', 'T1', 'old', 'C1')")
    connection.commit()
    connection.close()
    shutil.copy(path, path.with_name("again"))

    store = await open_store()
    names = await store.read(lambda tx: store.names(tx, home))
    rows = await store.read(
        lambda tx: tx.execute("SELECT count(*) FROM audit").fetchone()[0]
    )
    await store.close()

    copy = path.with_name(f"{path.name}.before-{len(NAMES)}")
    assert (names, rows, mode(copy)) == ({"old": "C1"}, 0, 0o600)
    with sqlite3.connect(f"file:{copy}?mode=ro", uri=True) as connection:
        applied = connection.execute("SELECT name FROM _sqlite_migrations").fetchall()
        kept = connection.execute("SELECT written FROM names").fetchall()
    connection.close()
    assert applied == [(name,) for name in NAMES[:-1]]
    assert kept == [("old",)]

    path.with_name("again").replace(path)
    await (await open_store()).close()
    assert copy.with_name(f"{copy.name}.2").exists()


async def test_new_database_needs_no_copy(path, open_store, home):
    await make(open_store, home)
    await make(open_store, home)

    assert [file.name for file in path.parent.iterdir()] == [path.name]


async def test_every_step_has_the_name_of_its_file():
    folder = Path(opening.__file__).parent / "migrations"
    files = sorted(file.stem for file in folder.glob("s0*.py"))

    assert [f"s{name}" for name in NAMES] == files


async def test_every_row_of_a_workspace_says_so(store):
    """T22: (enterprise, team) stands in every table that a workspace's rows are in."""

    def unit(tx):
        tables = tx.execute(
            "SELECT name, sql FROM sqlite_schema WHERE type = 'table'"
            " AND name NOT LIKE '\\_%' ESCAPE '\\' AND name NOT LIKE 'sqlite%'"
        ).fetchall()
        return {
            row["name"]: [
                column["name"]
                for column in tx.execute(
                    "SELECT name FROM pragma_table_info(?)", (row["name"],)
                )
            ]
            for row in tables
            if "STRICT" in row["sql"]
        }

    columns = await store.read(unit)

    assert len(columns) == 12
    bare = [
        t for t, names in columns.items() if not {"enterprise", "team"} <= set(names)
    ]
    assert bare == ["marker"]


@pytest.mark.parametrize(
    ("sql", "index"),
    [
        (
            "SELECT * FROM requests WHERE enterprise = ? AND team = ?"
            " AND status = 'open' AND expires_at < ?",
            "requests_open",
        ),
        (
            "SELECT * FROM outbox WHERE enterprise = ? AND team = ? AND due_at <= ?"
            " AND state = 'live' AND wanted > sent ORDER BY due_at, id",
            "outbox_due",
        ),
        (
            "SELECT id FROM runs WHERE enterprise = ? AND team = ? AND wake_at <= ?"
            " AND ended_at IS NULL AND wake_at IS NOT NULL ORDER BY wake_at",
            "runs_due",
        ),
    ],
)
async def test_what_is_polled_has_its_index(store, sql, index):
    plan = await store.read(
        lambda tx: [
            row["detail"]
            for row in tx.execute(f"EXPLAIN QUERY PLAN {sql}", ("E1", "T1", 1))
        ]
    )

    assert len(plan) == 1
    assert index in plan[0]
