"""The page API: `/ui/*` as JSON over the page's origin, and the live stream.

Reads and checks the bodies and hands them to `Playground`, whose plain methods tests
may call as well. The stream sends events named `state`, each with the whole state
(as `/ui/state` gives it) as its data: one at once, then one after changes.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from aiohttp import web

from bot.playground.calls import Refusal
from bot.playground.child import BotTrouble
from bot.playground.controls import NotPossible
from bot.playground.page_state import BadCondition
from bot.playground.seed import Json

# At most ten states a second; a look at bot and tool log four times a second.
STREAM_REST_SECONDS = 0.1
STREAM_LOOK_SECONDS = 0.25
WAIT_MAX_SECONDS = 300.0


class Page(Protocol):
    """What the routes ask of the playground; `server.Playground` is one."""

    async def state(self) -> Json: ...

    def log(self, since: int = 0) -> list[Json]: ...

    async def command(
        self, as_: str, channel: str, command: str, text: str = ""
    ) -> Json: ...

    async def message(
        self, as_: str, channel: str, text: str, thread_ts: str | None = None
    ) -> Json: ...

    async def act(
        self,
        as_: str,
        channel: str | None = None,
        ts: str | None = None,
        *,
        action_id: str,
        block_id: str | None = None,
        value: Any = None,
        view_id: str | None = None,
    ) -> Json: ...

    async def submit(self, as_: str, view_id: str, values: Json) -> Json: ...

    async def close_view(self, as_: str, view_id: str) -> Json: ...

    async def open_home(self, as_: str) -> Json: ...

    async def kill_bot(self) -> Json: ...

    async def start_bot(self) -> Json: ...

    def fault(self, method: str, fault: str, times: int | None = None) -> Json: ...

    async def reset(self) -> Json: ...

    async def socket(self, do: str) -> Json: ...

    async def wait_for(self, expression: str, timeout: float = 5.0) -> Json: ...

    async def changed(self, timeout: float) -> None: ...

    @property
    def closing(self) -> bool: ...


class _BadBody(Exception):
    """A body that the call cannot use; the words say why."""


class PageApi:
    """The routes of the page API."""

    def __init__(self, page: Page) -> None:
        self._page = page

    def routes(self) -> list[web.RouteDef]:
        """Every route of the page API."""
        calls: dict[str, Callable[[Json], Awaitable[Json]]] = {
            "command": self._command,
            "message": self._message,
            "act": self._act,
            "submit": self._submit,
            "close": self._close,
            "open-home": self._open_home,
            "bot": self._bot,
            "fault": self._fault,
            "reset": self._reset,
            "socket": self._socket,
        }
        return [
            web.get("/ui/state", self._state),
            web.get("/ui/stream", self._stream),
            web.get("/ui/log", self._log),
            web.get("/ui/wait", self._wait),
            *(web.post(f"/ui/{name}", _handler(run)) for name, run in calls.items()),
        ]

    async def _state(self, request: web.Request) -> web.Response:
        return web.json_response(await self._page.state())

    async def _log(self, request: web.Request) -> web.Response:
        since = request.query.get("since", "0")
        if not (since.isascii() and since.isdecimal()):
            return _refused("since must be a number")
        return web.json_response(self._page.log(int(since)))

    async def _wait(self, request: web.Request) -> web.Response:
        expression = request.query.get("for", "")
        try:
            seconds = float(request.query.get("timeout", "5"))
        except ValueError:
            return _refused("timeout must be a number")
        if not 0 <= seconds <= WAIT_MAX_SECONDS:
            return _refused(f"timeout must be 0 to {WAIT_MAX_SECONDS:.0f} s")
        try:
            return web.json_response(await self._page.wait_for(expression, seconds))
        except BadCondition as error:
            return _refused(str(error))

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(
            headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"}
        )
        await response.prepare(request)
        last = ""
        while not self._page.closing:
            current = json.dumps(await self._page.state())
            try:
                if current != last:
                    await response.write(f"event: state\ndata: {current}\n\n".encode())
                    last = current
                elif request.transport is None or request.transport.is_closing():
                    break
            except ConnectionError:
                break
            await asyncio.sleep(STREAM_REST_SECONDS)
            await self._page.changed(STREAM_LOOK_SECONDS)
        return response

    async def _command(self, body: Json) -> Json:
        return await self._page.command(
            _text(body, "as"),
            _text(body, "channel"),
            _text(body, "command"),
            _text(body, "text", default=""),
        )

    async def _message(self, body: Json) -> Json:
        return await self._page.message(
            _text(body, "as"),
            _text(body, "channel"),
            _text(body, "text"),
            _maybe(body, "thread_ts"),
        )

    async def _act(self, body: Json) -> Json:
        return await self._page.act(
            _text(body, "as"),
            _maybe(body, "channel"),
            _maybe(body, "ts"),
            action_id=_text(body, "action_id"),
            block_id=_maybe(body, "block_id"),
            value=body.get("value"),
            view_id=_maybe(body, "view_id"),
        )

    async def _submit(self, body: Json) -> Json:
        values = body.get("values", {})
        if not isinstance(values, dict):
            raise _BadBody("values must be an object")
        as_, view_id = _text(body, "as"), _text(body, "view_id")
        return await self._page.submit(as_, view_id, values)

    async def _close(self, body: Json) -> Json:
        return await self._page.close_view(_text(body, "as"), _text(body, "view_id"))

    async def _open_home(self, body: Json) -> Json:
        return await self._page.open_home(_text(body, "as"))

    async def _bot(self, body: Json) -> Json:
        what = _text(body, "do")
        if what not in ("kill", "start"):
            raise _BadBody("do must be kill or start")
        kill = what == "kill"
        return await (self._page.kill_bot() if kill else self._page.start_bot())

    async def _fault(self, body: Json) -> Json:
        times = body.get("times")
        if times is not None and (
            isinstance(times, bool) or not isinstance(times, int)
        ):
            raise _BadBody("times must be a whole number")
        method, fault = _text(body, "method"), _text(body, "fault", default="")
        return self._page.fault(method, fault, times)

    async def _reset(self, body: Json) -> Json:
        return await self._page.reset()

    async def _socket(self, body: Json) -> Json:
        what = _text(body, "do")
        if what not in ("refresh", "drop", "silence"):
            raise _BadBody("do must be refresh, drop or silence")
        return await self._page.socket(what)


def _handler(
    run: Callable[[Json], Awaitable[Json]],
) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def handle(request: web.Request) -> web.Response:
        try:
            return web.json_response(await run(await _body(request)))
        except _BadBody as error:
            return _refused(str(error))

    return handle


async def _body(request: web.Request) -> Json:
    raw = await request.read()
    try:
        body = json.loads(raw) if raw else {}
    except ValueError as error:
        raise _BadBody("the body must be JSON") from error
    if not isinstance(body, dict):
        raise _BadBody("the body must be an object")
    return body


def _text(body: Json, name: str, *, default: str | None = None) -> str:
    value = body.get(name, default)
    if not isinstance(value, str):
        raise _BadBody(f"{name} must be a string")
    return value


def _maybe(body: Json, name: str) -> str | None:
    return None if body.get(name) is None else _text(body, name)


def _refused(words: str) -> web.Response:
    return web.json_response({"ok": False, "error": words}, status=400)


async def told(work: Awaitable[Json]) -> Json:
    """The answer of a call, or `ok: false` with the reason it was not possible."""
    try:
        return await work
    except (NotPossible, BotTrouble) as error:
        return {"ok": False, "error": str(error)}
    except Refusal as refusal:
        return refusal.body
