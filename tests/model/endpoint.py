"""A model's endpoint on loopback that answers as told, and a clock for its client."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web
from clock import FakeClock

KEY = "sk-canary-0123456789"

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


class QuickClock(FakeClock):
    """Pauses pass at once and are written down; deadlines never come by themselves.

    Who asks for the time and then sleeps makes a pause; a timer is a task of its own.
    """

    def __init__(self) -> None:
        super().__init__()
        self.slept: list[float] = []
        self._asking: asyncio.Task | None = None

    def monotonic(self) -> float:
        self._asking = asyncio.current_task()
        return super().monotonic()

    async def sleep(self, seconds: float) -> None:
        if asyncio.current_task() is not self._asking:
            await super().sleep(seconds)
            return
        self.slept.append(seconds)
        self.advance(seconds)


class Server:
    """Gives the answers of a list, one by one; the last one again and again."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.asked: list[tuple[str, dict[str, str], bytes]] = []
        self.came = asyncio.Event()
        self.origin = ""

    @property
    def url(self) -> str:
        return f"{self.origin}/v1/chat/completions"

    async def handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        self.asked.append((request.path, dict(request.headers), body))
        self.came.set()
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return await answer(request)


@asynccontextmanager
async def serving() -> AsyncIterator[Server]:
    """A `Server` on a free port."""
    made = Server()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", made.handle)
    runner = web.AppRunner(app, shutdown_timeout=0, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    made.origin = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield made
    finally:
        await runner.cleanup()


def says(
    text: str = '{"ok": true}', status: int = 200, headers: dict[str, str] | None = None
) -> Answer:
    """An answer with this body."""

    async def answer(request: web.Request) -> web.StreamResponse:
        return web.Response(text=text, status=status, headers=headers)

    return answer


async def hangs(request: web.Request) -> web.StreamResponse:
    """No answer at all, for as long as somebody listens."""
    await asyncio.Event().wait()
    raise AssertionError


async def drips(request: web.Request) -> web.StreamResponse:
    """An answer that begins, and then never ends."""
    answer = web.StreamResponse()
    await answer.prepare(request)
    await answer.write(b'{"choices"')
    await asyncio.Event().wait()
    raise AssertionError


async def breaks_off(request: web.Request) -> web.StreamResponse:
    """Half of an answer, and then the connection is closed."""
    answer = web.StreamResponse(headers={"Content-Length": "1000"})
    await answer.prepare(request)
    await answer.write(b'{"choices": [')
    request.transport.close()
    return answer


def sends(megabytes: int, sent: list[int] | None = None) -> Answer:
    """An answer of many blanks, which JSON allows, counted as they are taken."""

    async def answer(request: web.Request) -> web.StreamResponse:
        stream = web.StreamResponse()
        await stream.prepare(request)
        for _ in range(megabytes):
            await stream.write(b" " * 1024**2)
            if sent is not None:
                sent.append(1)
        await stream.write(b"{}")
        return stream

    return answer
