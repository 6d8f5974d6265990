"""A real SIGKILL: whatever a caller was told is in the file."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from bot.store.sqlite import SqliteStore

ROOT = Path(__file__).parents[2]


def committing(path):
    return subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("committer.py")), str(path)],
        env={"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )


async def test_what_was_told_survives_a_kill(path, keys, clock, home):
    with committing(path) as child:
        told = [child.stdout.readline().strip() for _ in range(40)]
        child.send_signal(signal.SIGKILL)
        told += [line.strip() for line in child.stdout if line.endswith("\n")]
    assert child.returncode == -signal.SIGKILL
    assert len(set(told)) == len(told) >= 40

    store = await SqliteStore.open(path, keys, clock)
    found = set(await store.read(lambda tx: store.names(tx, home)))
    await store.close()

    assert set(told) <= found
