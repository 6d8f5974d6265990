"""`make bench`: the figures we hold ourselves to, as ratios measured in this one run.

Each row is measured beside its floor, on this machine, at this moment, with
`synchronous=FULL`: an empty Bolt app, a raw commit of 1 kB, the bare imports. Seconds
are printed for the curious; only the ratios mean anything elsewhere.
"""

import asyncio
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.floors import bare_bolt, raw_commit
from bench.load import Load, clicks, hammer
from bench.subject import Subject

CONNECTIONS = 50
CLICKS = 2_000
STARTS = 300
ANSWERS = 150


def row(what: str, figure: str, goal: str, holds: bool) -> None:
    print(f"{'ok  ' if holds else 'MISS'}  {what:<52} {figure:>16}   goal {goal}")


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        path.chmod(0o700)
        commit = raw_commit(path / "floor.db")
        print(f"      raw commit of 1 kB, synchronous=FULL: {commit * 1e3:.2f} ms")
        await callbacks(path, commit)
        await starts(path, commit)
        await answers(path, commit)
    imports()


async def callbacks(path: Path, commit: float) -> None:
    """Button callbacks: throughput at 50 connections, and latency at one."""
    async with Subject(path / "callbacks") as subject:
        bodies = await clicks(subject, CLICKS + 300)
        async with bare_bolt(subject.secret) as floor:
            bare = await hammer(floor, Load(bodies[:CLICKS], CONNECTIONS))
            alone = await hammer(floor, Load(bodies[CLICKS:], 1))
        ours = await hammer(subject.url, Load(bodies[:CLICKS], CONNECTIONS))
        single = await hammer(subject.url, Load(bodies[CLICKS:], 1))
        counted = await subject.count("SELECT count(*) FROM votes")
    assert counted == len(bodies), counted
    ratio = ours.per_second / bare.per_second
    row(
        "button callback, 50 connections, of bare Bolt's rate",
        f"{ratio:.2f} ×",
        "≥ 0.70 ×",
        ratio >= 0.70,
    )
    extra = (single.median - alone.median) / commit
    row(
        "click -> ack p50, 1 connection, beyond bare Bolt",
        f"{extra:.1f} commits",
        "≤ 4 commits",
        extra <= 4,
    )
    print(
        f"      {ours.per_second:.0f}/s against {bare.per_second:.0f}/s; "
        f"p50 {single.median * 1e3:.2f} ms against {alone.median * 1e3:.2f} ms"
    )


async def starts(path: Path, commit: float) -> None:
    """A direct call typed, until its request's row is committed; one at a time."""
    async with Subject(path / "starts") as subject:
        took = []
        for n in range(STARTS):
            begun = time.perf_counter()
            await subject.start("restart", {"service": f"s{n}"})
            took.append(time.perf_counter() - begun)
        parked = await subject.count("SELECT count(*) FROM requests")
    assert parked == STARTS
    ratio = commit / statistics.mean(took)
    row("start -> parked, serial", f"{ratio:.2f} /commit", "≥ 0.15", ratio >= 0.15)


async def answers(path: Path, commit: float) -> None:
    """An answer, until the run of the model is done; the model is at hand."""
    async with Subject(path / "answers", model=True) as subject:
        took = [await subject.answered() for _ in range(ANSWERS)]
    cost = statistics.median(took) / commit
    row("Answer -> done, serial p50", f"{cost:.1f} commits", "≤ 8 commits", cost <= 8)


def imports() -> None:
    """What importing us and asking for the version costs, beside the four packages."""
    given = "import slack_bolt, aiohttp, httpx, sqlite_utils"
    base = seconds("-c", given)
    ours = seconds("-c", "import bot") / base
    row(
        "import bot, of the four given packages",
        f"{ours:.2f} ×",
        "≤ 1.15 ×",
        ours <= 1.15,
    )
    version = seconds("-m", "bot", "--version") / base
    row("countersign --version", f"{version:.2f} ×", "≤ 0.40 ×", version <= 0.4)


def seconds(*words: str) -> float:
    """The best of seven fresh interpreters."""
    times = []
    for _ in range(7):
        begun = time.perf_counter()
        subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - begun)
    return min(times)


if __name__ == "__main__":
    print(
        f"      Python {sys.version.split()[0]}, SQLite {sqlite3.sqlite_version}, "
        f"{os.cpu_count()} cores, {json.dumps(os.getloadavg())} load"
    )
    asyncio.run(main())
