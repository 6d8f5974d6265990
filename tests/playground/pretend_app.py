"""What the playground's own tests share: a manifest, a clock, and a small app.

The app is a real HTTP server on loopback that keeps what it is sent and answers what
it is told to; the product's bot takes its place elsewhere.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any
from urllib.parse import parse_qsl

import pytest
from aiohttp import web
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.playground.seed import DEFAULT
from bot.playground.server import Playground

START = 1_800_000_000.0
SCOPES = [
    "app_mentions:read",
    "channels:history",
    "channels:read",
    "chat:write",
    "commands",
    "groups:history",
    "groups:read",
    "im:history",
    "im:read",
    "im:write",
    "usergroups:read",
    "users:read",
    "users:read.email",
]


def manifest(*, scopes: list[str] | None = None, **changes: Any) -> dict[str, Any]:
    """A manifest with one command, a Home tab and every scope the methods need."""
    home = {"home_tab_enabled": True, "messages_tab_enabled": True}
    return {
        "features": {
            "slash_commands": [{"command": "/tool", "description": "Call a tool"}],
            "app_home": changes.get("app_home", home),
        },
        "oauth_config": {
            "scopes": {
                "bot": SCOPES if scopes is None else scopes,
                "bot_optional": changes.get("bot_optional", []),
            }
        },
        "settings": {
            "event_subscriptions": {
                "bot_events": changes.get("events", ["app_mention", "app_home_opened"])
            }
        },
    }


class Clock:
    """Wall time that moves only when a test moves it."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> float:
        return self.now


class App:
    """An app that answers as told and remembers what came in."""

    def __init__(self) -> None:
        self.received: list[tuple[dict[str, str], str]] = []
        self.answer: Any = web.Response
        self.url = ""
        self._came = asyncio.Condition()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.received.append((dict(request.headers), await request.text()))
        async with self._came:
            self._came.notify_all()
        answer = self.answer()
        return await answer if asyncio.iscoroutine(answer) else answer

    async def until(self, count: int) -> None:
        """Wait until so many requests have come in."""
        async with asyncio.timeout(10), self._came:
            await self._came.wait_for(lambda: len(self.received) >= count)

    def says(self, body: Any, status: int = 200, **headers: str) -> None:
        """Answer everything from now on with this."""
        text = body if isinstance(body, str) else json.dumps(body)
        self.answer = lambda: web.Response(text=text, status=status, headers=headers)

    def form(self) -> dict[str, str]:
        """The latest request as a form."""
        return dict(parse_qsl(self.received[-1][1], keep_blank_values=True))

    def payload(self) -> dict[str, Any]:
        """The latest interaction."""
        return json.loads(self.form()["payload"])

    def event(self) -> dict[str, Any]:
        """The latest event callback."""
        return json.loads(self.received[-1][1])


@asynccontextmanager
async def running_app() -> AsyncIterator[App]:
    app = App()
    server = web.Application()
    server.router.add_post("/slack/events", app.handle)
    server.router.add_get("/healthz", _healthz)
    runner = web.AppRunner(server, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    app.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield app
    await runner.cleanup()


async def _healthz(request: web.Request) -> web.Response:
    return web.Response(text="ok")


def playground(**options: Any) -> Playground:
    """A playground on a free port that nobody listens behind unless told."""
    given: dict[str, Any] = {
        "manifest": manifest(),
        "app_url": "http://127.0.0.1:9",
        "seed": DEFAULT,
        "retry_seconds": (0.0, 0.0, 0.0),
    }
    return Playground(**(given | options))


def client(slack: Playground, token: str | None = None) -> AsyncWebClient:
    """slack_sdk's client, without its own second attempts."""
    return AsyncWebClient(
        token=slack.bot_token if token is None else token,
        base_url=slack.api_url,
        retry_handlers=[],
    )


@contextmanager
def refused(code: str) -> Iterator[dict[str, Any]]:
    """The block is refused by Slack with this code; yields the answer's body."""
    body: dict[str, Any] = {}
    with pytest.raises(SlackApiError) as caught:
        yield body
    body.update(caught.value.response.data)
    assert body["error"] == code


def text(words: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": words}


def button(action_id: str = "press", **fields: Any) -> dict[str, Any]:
    return {"type": "button", "text": text("Go"), "action_id": action_id, **fields}


def section(words: str = "Hello") -> dict[str, Any]:
    return {"type": "section", "text": text(words)}


def actions(*elements: dict[str, Any], block_id: str = "row") -> dict[str, Any]:
    return {"type": "actions", "block_id": block_id, "elements": list(elements)}


def modal(*blocks: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "type": "modal",
        "title": text("A form"),
        "submit": text("Send"),
        "blocks": list(blocks) or [section()],
        **fields,
    }


def field(element: dict[str, Any], block_id: str = "f0", **more: Any) -> dict[str, Any]:
    return {
        "type": "input",
        "block_id": block_id,
        "label": text("Label"),
        "element": {"action_id": "v", **element},
        **more,
    }
