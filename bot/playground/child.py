"""The bot as a process of its own: started, killed for good, and started again.

`Child` owns the process; `Attached` stands for a bot that somebody else runs. Both
tell whether the bot is up. What the process is given is decided in `launch.py`.
"""

import asyncio
import contextlib
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import aiohttp

KEPT_LINES = 50
# A second `serve` waits up to 30 s for the lock of the first one.
READY_SECONDS = 45.0
LOOK_SECONDS = 0.1
STOP_SECONDS = 12.0
PIPE_SECONDS = 1.0
FRESH_SECONDS = 1.0


class BotTrouble(Exception):
    """The bot could not be started or killed; the words are for the person."""


class Bot(Protocol):
    """What the playground asks of the bot's process."""

    async def is_up(self) -> bool: ...

    async def start(self) -> None: ...

    async def kill(self) -> None: ...

    async def anew(self, meanwhile: Callable[[], None]) -> None: ...

    async def stop(self) -> None: ...


async def answers(url: str) -> bool:
    """Whether a GET is answered with 200 right now."""
    timeout = aiohttp.ClientTimeout(total=1.0)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(url, allow_redirects=False) as answer,
        ):
            return answer.status == 200
    except (aiohttp.ClientError, TimeoutError, OSError):
        return False


class Attached:
    """A bot that runs elsewhere: it can be looked at, not started or killed."""

    def __init__(self, app_url: str) -> None:
        self.app_url = app_url
        self._seen = False
        self._looked = float("-inf")

    async def is_up(self) -> bool:
        """Whether its /healthz answers, as of at most a second ago."""
        now = time.monotonic()
        if now - self._looked > FRESH_SECONDS:
            self._looked = now
            self._seen = await answers(f"{self.app_url}/healthz")
        return self._seen

    async def start(self) -> None:
        """Refuse: the bot is not ours."""
        raise BotTrouble("the bot is attached: start it yourself")

    async def kill(self) -> None:
        """Refuse: the bot is not ours."""
        raise BotTrouble("the bot is attached: kill it yourself")

    async def anew(self, meanwhile: Callable[[], None]) -> None:
        """Do what is to be done meanwhile, and say that the bot is not ours."""
        meanwhile()
        raise BotTrouble("the workspace is reset; the bot is attached: restart it")

    async def stop(self) -> None:
        """Leave it alone."""


class Child:
    """A process of ours that serves the app."""

    def __init__(
        self,
        arguments: Sequence[str],
        environment: dict[str, str],
        app_url: str,
        *,
        database: Path | None = None,
    ) -> None:
        self._arguments = tuple(arguments)
        self._environment = environment
        self._app_url = app_url
        self._database = database
        self._process: asyncio.subprocess.Process | None = None
        self._ready = False
        self._lines: deque[str] = deque(maxlen=KEPT_LINES)
        self._reader: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()

    @property
    def _running(self) -> bool:
        return self._process is not None and self._process.returncode is None

    async def is_up(self) -> bool:
        """Whether the process has become ready and is still there."""
        return self._running and self._ready

    async def start(self) -> None:
        """Start the process and wait until it is ready."""
        async with self._starting:
            if self._running:
                raise BotTrouble("the bot is already running")
            process = await self._spawn()
        await self._until_ready(process)

    async def _spawn(self) -> asyncio.subprocess.Process:
        self._ready = False
        self._lines.clear()
        process = await asyncio.create_subprocess_exec(
            *self._arguments,
            env=self._environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            # Ctrl-C in the terminal is for us; we then stop the child in order.
            start_new_session=True,
        )
        self._process = process
        self._reader = asyncio.create_task(self._read(process.stdout))
        return process

    async def _until_ready(self, process: asyncio.subprocess.Process) -> None:
        deadline = time.monotonic() + READY_SECONDS
        while process.returncode is None and time.monotonic() < deadline:
            if await answers(f"{self._app_url}/readyz"):
                self._ready = True
                return
            await asyncio.sleep(LOOK_SECONDS)
        if process.returncode is None:
            await self.kill()
            raise BotTrouble("the bot did not become ready\n" + self.last_words())
        await self._gone()
        raise BotTrouble(self.last_words() or f"exit code {process.returncode}")

    async def kill(self) -> None:
        """Kill the process with SIGKILL and wait until it is gone."""
        if self._process is None or not self._running:
            raise BotTrouble("the bot is not running")
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await self._gone()

    async def stop(self) -> None:
        """End the process in order; kill it if it does not go."""
        if self._process is None or not self._running:
            return
        with contextlib.suppress(ProcessLookupError):
            self._process.terminate()
        try:
            await asyncio.wait_for(self._process.wait(), STOP_SECONDS)
        except TimeoutError:
            self._process.kill()
        await self._gone()

    async def _gone(self) -> None:
        if self._process is not None:
            await self._process.wait()
        if self._reader is not None:
            # A process of its own making may still hold the pipe: do not wait long.
            _, late = await asyncio.wait([self._reader], timeout=PIPE_SECONDS)
            for task in late:
                task.cancel()
        self._ready = False

    async def anew(self, meanwhile: Callable[[], None]) -> None:
        """Kill the process, forget its database, and start it again."""
        if self._running:
            await self.kill()
        meanwhile()
        if self._database is not None:
            for file in self._database.parent.glob(self._database.name + "*"):
                file.unlink()
        await self.start()

    def last_words(self) -> str:
        """The last lines that the process wrote."""
        return "\n".join(self._lines)

    async def _read(self, stream: asyncio.StreamReader | None) -> None:
        """Pass what the process writes on to our own terminal, and keep the end."""
        while stream is not None and (line := await _line(stream)):
            self._lines.append(line.decode(errors="replace").rstrip("\n"))
            sys.stderr.buffer.write(line)
            sys.stderr.flush()


async def _line(stream: asyncio.StreamReader) -> bytes:
    """The next line; of one beyond the reader's limit, the part that fits."""
    try:
        return await stream.readuntil(b"\n")
    except asyncio.IncompleteReadError as error:
        return error.partial
    except asyncio.LimitOverrunError as error:
        return await stream.read(error.consumed)
