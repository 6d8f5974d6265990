"""One request of the app to us: logged, answered, or made to fail on purpose.

Faults are set per method of the Web API, for `response_url` and for `standin`. What
the right answer is, is decided elsewhere.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from aiohttp import web

from bot.playground.log import Log
from bot.playground.seed import Json


@dataclass(frozen=True, kw_only=True)
class Reply:
    """An answer; a status of None drops the connection in place of it."""

    status: int | None = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Fault:
    """How a method is to fail, and how many more times."""

    kind: str
    detail: str = ""
    times: int | None = None


# Each kind of fault, and whether something follows it after a colon.
_KINDS = {
    "429": True,
    "error": True,
    "500": False,
    "hang": False,
    "accept-then-drop": False,
}


def parsed_fault(fault: str, times: int | None = None) -> Fault:
    """A fault from its words, such as `429:30` or `error:is_archived`."""
    kind, _, detail = fault.partition(":")
    if kind not in _KINDS or _KINDS[kind] != bool(detail):
        raise ValueError(f"unknown fault: {fault}")
    if kind == "429" and not (detail.isascii() and detail.isdecimal()):
        raise ValueError(f"not a number of seconds: {detail}")
    if times is not None and times < 1:
        raise ValueError("times must be at least 1")
    return Fault(kind=kind, detail=detail, times=times)


def slack_refusal(fault: Fault) -> Reply:
    """How Slack says no."""
    if fault.kind == "500":
        return Reply(status=500, body="Internal Server Error")
    if fault.kind == "429":
        limited: Json = {"ok": False, "error": "ratelimited"}
        return Reply(status=429, body=limited, headers={"Retry-After": fault.detail})
    return Reply(body={"ok": False, "error": fault.detail})


def shown_headers(request: web.Request) -> dict[str, str]:
    """The headers of a request as the log shows them: without the token."""
    headers = dict(request.headers)
    if "Authorization" in headers:
        headers["Authorization"] = "Bearer …"
    return headers


class Exchange:
    """Answers requests, with the faults that are set at the moment."""

    def __init__(self, log: Log) -> None:
        self.faults: dict[str, Fault] = {}
        self._log = log
        self._closing = asyncio.Event()

    def close(self) -> None:
        """Let the requests that hang go."""
        self._closing.set()

    async def serve(
        self,
        request: web.Request,
        names: tuple[str, str],
        shown: Any,
        answer: Callable[[], Reply],
        refusal: Callable[[Fault], Reply] = slack_refusal,
    ) -> web.StreamResponse:
        """Answer one request; `names` are those of its fault and of its log entry."""
        started = time.perf_counter()
        entry = self._log.begin("slack", names[1], shown)
        reply = await self._reply(names[0], answer, refusal)
        self._log.end(
            entry,
            answer=reply.body,
            status=reply.status,
            started=started,
            problems=_problems(reply.body),
        )
        if reply.status is None:
            if request.transport is not None:
                request.transport.abort()
            return web.Response()
        if isinstance(reply.body, str):
            return web.Response(status=reply.status, text=reply.body)
        return web.json_response(reply.body, status=reply.status, headers=reply.headers)

    async def _reply(
        self,
        name: str,
        answer: Callable[[], Reply],
        refusal: Callable[[Fault], Reply],
    ) -> Reply:
        fault = self._due(name)
        if fault is None:
            return answer()
        if fault.kind == "accept-then-drop":
            return replace(answer(), status=None)
        if fault.kind == "hang":
            await self._closing.wait()
            return Reply(status=None)
        return refusal(fault)

    def _due(self, name: str) -> Fault | None:
        fault = self.faults.get(name)
        if fault is not None and fault.times is not None:
            if fault.times > 1:
                self.faults[name] = replace(fault, times=fault.times - 1)
            else:
                del self.faults[name]
        return fault


def _problems(body: Any) -> list[str]:
    if isinstance(body, dict) and isinstance(body.get("error"), dict):
        return [str(body["error"].get("code"))]
    if not isinstance(body, dict) or body.get("ok") is not False:
        return []
    found: list[str] = body.get("response_metadata", {}).get("messages", [])
    return [body["error"], *found]
