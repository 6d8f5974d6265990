"""A workspace here, and a bot in a process of its own that dies when it is told to.

After the death the bot is started on the same database: in this process, as every
other bench does, or as `countersign serve`. Time is real, and can be moved ahead once
no other process is running.
"""

import asyncio
import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import httpx
from harness import POLICY, Bench, free_port

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
PATIENCE = 20.0


class LiveClock:
    """ports.Clock that goes by itself and can be moved ahead."""

    def __init__(self) -> None:
        self._ahead = 0.0
        self._moved = asyncio.Event()

    def now(self) -> int:
        return round(self.seconds() * 1000)

    def seconds(self) -> float:
        return time.time() + self._ahead

    def monotonic(self) -> float:
        return time.monotonic() + self._ahead

    async def sleep(self, seconds: float) -> None:
        end = self.monotonic() + seconds
        while (left := end - self.monotonic()) > 0:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._moved.wait(), left)

    def advance(self, seconds: float) -> None:
        self._ahead += seconds
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()


class Nursery:
    """The program that forks crashing bots, one at a time."""

    def __init__(self) -> None:
        paths = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
        self._program = subprocess.Popen(
            [sys.executable, str(HERE / "crashing_bot.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": paths},
        )

    async def order(self, **order: object) -> int:
        """Have a bot born; its process id."""
        self._program.stdin.write(json.dumps(order) + "\n")
        self._program.stdin.flush()
        return int(await self._line())

    async def ended(self) -> int:
        """Wait for its end; below zero is the signal that killed it."""
        return int(await self._line())

    async def _line(self) -> str:
        async with asyncio.timeout(PATIENCE):
            return await asyncio.to_thread(self._program.stdout.readline)

    def close(self) -> None:
        self._program.kill()
        self._program.communicate()


class CrashBench(Bench):
    """A bench whose bot can be another process."""

    def __init__(self, folder: Path, nursery: Nursery, *, policy: str = POLICY) -> None:
        super().__init__(folder, policy=policy, clock=LiveClock())
        self.log = folder / "bot.log"
        self._nursery = nursery
        self.child: int | None = None

    async def __aenter__(self) -> "CrashBench":
        await self.slack.__aenter__()
        return self

    async def __aexit__(self, *exc) -> None:
        if self.child is not None:
            await self.kill()
        await super().__aexit__(*exc)

    async def doomed(self, point: str = "never") -> None:
        """Start a bot in its own process that will die at a step of its work."""
        port = free_port()
        self.child = await self._nursery.order(
            log=str(self.log),
            port=port,
            point=point,
            environ={**self.environ, "PROBE_LOG": str(self.probe_log)},
        )
        self.slack.app_url = f"http://127.0.0.1:{port}"
        await answers(self.slack.app_url)

    async def died(self) -> None:
        """Wait until it has killed itself."""
        assert await self._nursery.ended() == -signal.SIGKILL, self.log.read_text()
        self.child = None

    async def kill(self) -> None:
        """Kill it from outside, whatever it is doing."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.child, signal.SIGKILL)
        await self.died()

    def seen(self, sql: str) -> list[tuple]:
        """What another program sees that reads the database now: commits, no more."""
        uri = f"file:{self.folder / 'countersign.db'}?mode=ro"
        with contextlib.closing(sqlite3.connect(uri, uri=True)) as reader:
            return reader.execute(sql).fetchall()

    async def until(self, condition: str | Callable[[], object]) -> None:
        """Wait until something holds; a text is SQL that then finds a row."""
        look = condition
        if isinstance(condition, str):
            look = partial(self.seen, condition)
        async with asyncio.timeout(PATIENCE):
            while not look():  # noqa: ASYNC110  # it is another process that acts
                await asyncio.sleep(0.005)

    async def told_to_stop(self) -> int:
        """SIGTERM; the exit code."""
        os.kill(self.child, signal.SIGTERM)
        self.child = None
        return await self._nursery.ended()

    @contextlib.asynccontextmanager
    async def served(self):
        """`countersign serve` on the same database, for a while; its exit code."""
        port = free_port()
        with self.log.open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "bot", "serve", "--port", str(port)),
                cwd=self.folder,
                stdout=log,
                stderr=log,
                env={
                    **os.environ,
                    **self.environ,
                    "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")]),
                },
            )
        try:
            self.slack.app_url = f"http://127.0.0.1:{port}"
            await answers(self.slack.app_url)
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            await process.wait()


async def answers(url: str) -> None:
    """Wait until a bot answers there."""
    async with asyncio.timeout(PATIENCE), httpx.AsyncClient(trust_env=False) as http:
        while True:
            with contextlib.suppress(httpx.TransportError):
                if (await http.get(f"{url}/healthz")).status_code == 200:
                    return
            await asyncio.sleep(0.01)
