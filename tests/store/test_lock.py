"""One process holds the database; another one waits and says for whom."""

from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import sys

import pytest

from bot.errors import Locked, StoreError
from bot.store.lock import Lock

HOLDER = """
import fcntl, os, sys, time
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
fcntl.flock(fd, fcntl.LOCK_EX)
os.write(fd, b"process 7 on elsewhere")
print("held", flush=True)
time.sleep(60)
"""


def holding(lock_file):
    return subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(lock_file)], stdout=subprocess.PIPE
    )


@pytest.fixture
def told():
    return []


@pytest.fixture
def lock_file(path):
    return path.with_name(path.name + ".lock")


@pytest.fixture
def acquire(path, clock, told):
    def acquired(**changed):
        return Lock.acquire(path, clock, on_wait=told.append, **changed)

    return acquired


async def test_lock_says_who_holds_it(acquire, lock_file, told):
    lock = await acquire()

    who = f"process {os.getpid()} on {socket.gethostname()} since 2025-06-15"
    assert lock_file.read_text().startswith(who)
    assert stat.S_IMODE(lock_file.stat().st_mode) == 0o600
    assert told == []
    lock.release()


async def test_second_one_waits_and_then_gives_up(acquire, path, clock, told):
    lock = await acquire()
    start = clock.monotonic()

    with pytest.raises(Locked) as caught:
        await acquire()

    assert 30 <= clock.monotonic() - start < 31
    assert caught.value.holder == told[0]
    assert str(path) in str(caught.value)
    assert told[0].startswith(f"process {os.getpid()} on ")
    assert len(told) == 1
    lock.release()


async def test_lock_is_free_after_it_was_released(acquire, lock_file, told):
    lock = await acquire()
    lock.release()
    lock.release()

    assert lock_file.read_text() == ""  # the file stays
    (await acquire(wait=0)).release()
    assert told == []


async def test_lock_ends_with_its_process(acquire, lock_file, told):
    with holding(lock_file) as child:
        assert child.stdout.readline() == b"held\n"
        with pytest.raises(Locked, match="process 7 on elsewhere"):
            await acquire(wait=1)
        child.send_signal(signal.SIGKILL)
        child.wait(30)

    (await acquire(wait=0)).release()

    assert told == ["process 7 on elsewhere"]


async def test_lock_makes_its_directory_before_the_database(tmp_path, clock, told):
    path = tmp_path / "new" / "countersign.db"

    lock = await Lock.acquire(path, clock, on_wait=told.append)

    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    lock.release()


async def test_lock_file_that_leads_elsewhere_is_refused(acquire, lock_file):
    target = lock_file.with_name("real")
    target.touch()
    lock_file.symlink_to(target)

    with pytest.raises(StoreError, match="symbolic link"):
        await acquire()
    assert target.read_text() == ""
