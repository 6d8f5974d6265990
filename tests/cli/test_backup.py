import os
import sqlite3
import stat
from contextlib import closing

import pytest
from click.testing import CliRunner

from bot.cli import main
from bot.clock import SystemClock
from bot.core.keys import generate, read, ring
from bot.ports import Identity, Tenant
from bot.store.lock import Lock
from bot.store.sqlite import SqliteStore

TENANT = Tenant(team="T0HOME")


@pytest.fixture
def home(tmp_path):
    tmp_path.chmod(0o700)
    (tmp_path / "countersign.toml").write_text("")
    return tmp_path


def backup(home, name="copy.db"):
    config = ("--config", str(home / "countersign.toml"))
    arguments = ["backup", str(home / name), *config]
    return CliRunner().invoke(main, arguments, catch_exceptions=False)


def keys():
    return ring(read(generate()), "audit")


async def opened(path):
    return await SqliteStore.open(path, keys(), SystemClock())


def seen(name):
    return Identity(
        tenant=TENANT, team_name=name, bot_user="U", bot_id="B", app="A", seen_at=1
    )


async def team_in(path):
    store = await opened(path)
    try:
        return (await store.read(store.identity)).team_name
    finally:
        await store.close()


async def test_a_copy_is_made_beside_a_running_bot_and_is_whole(home):
    """It has what was committed before it, and none of what comes after."""
    path = home / "countersign.db"
    lock = await Lock.acquire(path, SystemClock(), on_wait=print)
    store = await opened(path)
    await store.write(lambda tx: store.save_identity(tx, seen("before")))
    ended = backup(home)
    await store.write(lambda tx: store.save_identity(tx, seen("after")))
    await store.close()
    lock.release()
    assert ended.exit_code == 0, ended.output
    copied = home / "copy.db"
    assert f"{copied.stat().st_size:,} bytes" in ended.output
    assert sorted(p.name for p in home.glob("copy*")) == ["copy.db"]
    assert await team_in(copied) == "before"
    assert await team_in(path) == "after"


async def test_only_its_owner_can_read_a_copy(home):
    await (await opened(home / "countersign.db")).close()
    umask = os.umask(0)
    try:
        assert backup(home).exit_code == 0
    finally:
        os.umask(umask)
    assert stat.S_IMODE((home / "copy.db").stat().st_mode) == 0o600


async def test_nothing_that_is_there_is_replaced(home):
    await (await opened(home / "countersign.db")).close()
    (home / "copy.db").write_text("mine")
    ended = backup(home)
    assert ended.exit_code == 1
    assert "copy.db is there already.\n  fix: " in ended.stderr
    assert (home / "copy.db").read_text() == "mine"


async def test_two_copies_to_one_place_do_not_meet(home):
    await (await opened(home / "countersign.db")).close()
    (home / "copy.db.partial").write_text("another's")
    ended = backup(home)
    assert ended.exit_code == 1
    assert "another copy is being made, or one was cut off" in ended.stderr
    assert (home / "copy.db.partial").read_text() == "another's"
    assert not (home / "copy.db").exists()


@pytest.mark.parametrize("page", [2, -1])
async def test_a_damaged_database_gives_no_copy(home, page):
    """One page in the middle of what is read at once, one that only a look finds."""
    path = home / "countersign.db"
    await (await opened(path)).close()
    content = bytearray(path.read_bytes())
    start = (page % (len(content) // 4096)) * 4096
    content[start : start + 4096] = b"\xff" * 4096
    path.write_bytes(content)
    ended = backup(home)
    assert ended.exit_code == 1
    assert "is damaged" in ended.stderr
    assert not list(home.glob("copy*"))


def test_what_is_not_ours_is_not_copied(home):
    path = home / "countersign.db"
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE things (name)")
    path.chmod(0o600)
    ended = backup(home)
    assert ended.exit_code == 1
    assert "is a database of another program" in ended.stderr
    assert not list(home.glob("copy*"))


def test_no_database_is_said_and_none_is_made(home):
    ended = backup(home)
    assert ended.exit_code == 1
    assert "countersign.db is not there.\n  fix: " in ended.stderr
    assert [path.name for path in home.iterdir()] == ["countersign.toml"]


async def test_a_folder_that_is_not_there_is_said_in_words(home):
    await (await opened(home / "countersign.db")).close()
    ended = backup(home, "nowhere/copy.db")
    assert ended.exit_code == 1
    assert "No such file or directory" in ended.stderr
    assert "Traceback" not in ended.output
