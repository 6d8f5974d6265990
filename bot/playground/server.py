"""The playground as one object: a Slack on loopback, for the page and for tests.

Puts workspace, Web API, deliveries and page together, and serves them on one port.
`async with Playground(manifest=…, app_url=…) as slack` is all that a test needs.
"""

import asyncio
import secrets
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from bot.playground.admin import Administrator
from bot.playground.child import Attached, Bot, BotTrouble
from bot.playground.deliver import ACK_SECONDS, RETRY_SECONDS, Carrier
from bot.playground.exchange import Exchange
from bot.playground.front import BODY_MAX, guard, page_routes
from bot.playground.http import Http
from bot.playground.log import Log
from bot.playground.packet import Delivery, Transport
from bot.playground.page_api import PageApi, told
from bot.playground.page_state import holds, page_state, tool_log
from bot.playground.people import People, subscribed_events
from bot.playground.seed import APP_ID, BOT_USER, DEFAULT, TEAM_ID, App, Clock, Seed
from bot.playground.socket import PATH as SOCKET_PATH
from bot.playground.socket import Sockets
from bot.playground.standin import PATH as MODEL_PATH
from bot.playground.standin import StandIn
from bot.playground.state import Workspace
from bot.playground.web_api import WebApi

Json = dict[str, Any]

HOST = "127.0.0.1"
LOOK_SECONDS = 0.05
SHUTDOWN_SECONDS = 1.0
CONNECT_SECONDS = 30.0
HTTP, SOCKET = "http", "socket"


class Playground(Administrator):
    """A workspace with one app in it, served on a port of this machine."""

    team_id = TEAM_ID
    app_id = APP_ID
    bot_user_id = BOT_USER

    def __init__(
        self,
        *,
        manifest: Json,
        mode: str = HTTP,
        app_url: str = "http://127.0.0.1:3031",
        port: int = 0,
        token: str | None = None,
        seed: Seed = DEFAULT,
        clock: Clock = time.time,
        bot: Bot | None = None,
        demo_log: Path | None = None,
        bot_token: str | None = None,
        app_token: str | None = None,
        signing_secret: str | None = None,
        ack_seconds: float = ACK_SECONDS,
        retry_seconds: tuple[float, ...] = RETRY_SECONDS,
    ) -> None:
        self.token = token or secrets.token_urlsafe(18)
        self.mode = mode
        self.bot_token = bot_token or new_bot_token()
        self.app_token = app_token or new_app_token()
        self.signing_secret = signing_secret or secrets.token_hex(16)
        self.port = port
        self.demo_log = demo_log
        app = App(
            bot_token=self.bot_token,
            app_token=self.app_token,
            signing_secret=self.signing_secret,
            verification_token=secrets.token_hex(12),
            manifest=_switched(manifest, socket_mode=mode == SOCKET),
        )
        workspace = Workspace(seed, app, clock)
        self._seed = seed
        self._log = Log()
        self._http = Http(app, clock, app_url, ack_seconds=ack_seconds)
        self._sockets = Sockets(workspace, self._log, ack_seconds=ack_seconds)
        transport: Transport = self._sockets if mode == SOCKET else self._http
        carrier = Carrier(workspace, self._log, transport, retry_seconds=retry_seconds)
        super().__init__(workspace, carrier)
        self._people = People(self.workspace, self._carrier)
        self._exchange = Exchange(self._log)
        self._api = WebApi(self.workspace, self._exchange)
        self._standin = StandIn(self._exchange, clock)
        self._bot: Bot = bot or Attached(app_url)
        self._runner: web.AppRunner | None = None
        self._closing = False
        self.workspace.on_bot_post = self._announce
        self._set_seed_faults()

    # Serving

    async def __aenter__(self) -> Self:
        app = web.Application(
            middlewares=[guard(self.token, lambda: self.port)],
            client_max_size=BODY_MAX,
        )
        app.add_routes(
            [
                web.route("GET", "/api/{method}", self._api.handle),
                web.route("POST", "/api/{method}", self._api.handle),
                web.post("/response/{name}", self._api.handle_return),
                web.get(SOCKET_PATH, self._sockets.handle),
                *self._standin.routes(),
                *PageApi(self).routes(),
                *page_routes(),
            ]
        )
        self._runner = web.AppRunner(
            app, access_log=None, shutdown_timeout=SHUTDOWN_SECONDS
        )
        await self._runner.setup()
        site = web.TCPSite(self._runner, HOST, self.port)
        try:
            await site.start()
        except OSError:
            await self._runner.cleanup()
            raise
        self.port = self._runner.addresses[0][1]
        self._people.return_url = f"{self.url}/response/"
        self.workspace.socket_url = f"ws://{HOST}:{self.port}{SOCKET_PATH}"
        await self._carrier.open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closing = True
        self._exchange.close()
        await self._bot.stop()
        await self._carrier.close()
        if self._runner is not None:
            await self._runner.cleanup()

    @property
    def url(self) -> str:
        """Where the playground is served."""
        return f"http://{HOST}:{self.port}"

    @property
    def api_url(self) -> str:
        """The base URL of the Web API."""
        return f"{self.url}/api/"

    @property
    def page_url(self) -> str:
        """The page's address with its token."""
        return f"{self.url}/?token={self.token}"

    @property
    def model_url(self) -> str:
        """The base URL of the stand-in model."""
        return self.url + MODEL_PATH

    @property
    def app_url(self) -> str:
        """Where the app is; a test that starts its app later sets it then."""
        return self._http.app_url

    @app_url.setter
    def app_url(self, url: str) -> None:
        self._http.app_url = url
        if isinstance(self._bot, Attached):
            self._bot.app_url = url

    @property
    def closing(self) -> bool:
        """Whether the server is about to end."""
        return self._closing

    def _announce(self, channel_id: str, message: Json) -> None:
        for event in subscribed_events(self.workspace, channel_id, message):
            self._carrier.announce(event)

    async def verify_url(self) -> Delivery:
        """Send url_verification, as Slack does when a URL is entered."""
        return await self._carrier.verify_url()

    # Looking

    async def state(self) -> Json:
        """The workspace in the shape of `/ui/state`."""
        bot = await self._bot_state()
        state = page_state(self.workspace, bot=bot, tools=tool_log(self.demo_log))
        if self.mode == SOCKET:
            state["socket"] = {"connections": self._sockets.listening}
        return state

    async def _bot_state(self) -> str:
        """Whether the bot can be reached: in Socket Mode, whether it listens."""
        if self.mode == SOCKET and not self._sockets.listening:
            return "down"
        if self.mode == SOCKET and isinstance(self._bot, Attached):
            return "up"
        return "up" if await self._bot.is_up() else "down"

    def log(self, since: int = 0) -> list[Json]:
        """The wire log after entry number `since`."""
        return self._log.since(since)

    async def changed(self, timeout: float) -> None:
        """Return at the next change, or when the time is up."""
        event = asyncio.Event()
        with self.workspace.watched(event.set):
            try:
                await asyncio.wait_for(event.wait(), timeout)
            except TimeoutError:
                return

    async def wait_for(self, expression: str, timeout: float = 5.0) -> Json:
        """Wait until a condition holds; `ok` is false when the time is up."""
        deadline = time.monotonic() + timeout
        while True:
            bot = await self._bot_state()
            tools = tool_log(self.demo_log)
            if holds(expression, self.workspace, bot=bot, tools=tools):
                return {"ok": True}
            left = deadline - time.monotonic()
            if left <= 0 or self._closing:
                return {"ok": False, "error": f"not within {timeout} s: {expression}"}
            await self.changed(min(left, LOOK_SECONDS))

    # What people do

    async def command(
        self, as_: str, channel: str, command: str, text: str = ""
    ) -> Json:
        """Type a slash command as somebody."""
        return await told(self._people.command(as_, channel, command, text))

    async def message(
        self, as_: str, channel: str, text: str, thread_ts: str | None = None
    ) -> Json:
        """Write a message as somebody."""
        return await told(self._people.message(as_, channel, text, thread_ts))

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
    ) -> Json:
        """Press or change an element of a message or a view as somebody."""
        place = {"channel": channel, "ts": ts, "view_id": view_id}
        return await told(self._people.act(as_, place, action_id, block_id, value))

    async def submit(self, as_: str, view_id: str, values: Json) -> Json:
        """Fill and submit a modal as somebody."""
        return await told(self._people.submit(as_, view_id, values))

    async def close_view(self, as_: str, view_id: str) -> Json:
        """Close a modal as somebody."""
        return await told(self._people.close(as_, view_id))

    async def open_home(self, as_: str) -> Json:
        """Look at the Home tab as somebody."""
        return await told(self._people.open_home(as_))

    # What the page's other controls do

    async def kill_bot(self) -> Json:
        """Kill the bot's process for good."""
        return await told(self._done(self._bot.kill()))

    async def start_bot(self) -> Json:
        """Start the bot's process; answers when it is ready."""
        return await told(self._done(self.bring_up()))

    async def bring_up(self) -> None:
        """Start the bot; returns when it can be reached, else raises."""
        await self._bot.start()
        await self._reached()

    async def _reached(self) -> None:
        if self.mode == SOCKET and not (await self._connected())["ok"]:
            raise BotTrouble("the bot is ready, but opened no connection")

    async def _connected(self) -> Json:
        return await self.wait_for("bot:up", CONNECT_SECONDS)

    async def _done(self, work: Any) -> Json:
        await work
        return {"ok": True}

    def fault(self, method: str, fault: str, times: int | None = None) -> Json:
        """Make a method of the Web API fail, or with an empty fault no more."""
        try:
            self._api.set_fault(method, fault, times)
        except ValueError as error:
            return {"ok": False, "error": str(error)}
        return {"ok": True}

    async def reset(self) -> Json:
        """Go back to the seed and give the bot an empty database."""
        return await told(self._done(self._anew()))

    async def _anew(self) -> None:
        await self._bot.anew(self._forget)
        await self._reached()

    async def socket(self, do: str) -> Json:
        """Do to the app's connections what Slack or the network may do."""
        acts = {
            "refresh": self._sockets.refresh,
            "drop": self._sockets.drop,
            "silence": self._sockets.silence,
        }
        if self.mode != SOCKET:
            return {"ok": False, "error": "the app is not in Socket Mode"}
        if not await acts[do]():
            return {"ok": False, "error": "the app has no connection"}
        return {"ok": True}

    def _forget(self) -> None:
        self._exchange.faults.clear()
        self._set_seed_faults()
        self.workspace.reset()
        if self.demo_log is not None:
            self.demo_log.write_text("", encoding="utf-8")

    def _set_seed_faults(self) -> None:
        for method, fault in self._seed.faults.items():
            self._api.set_fault(method, fault)


def new_bot_token() -> str:
    """A bot token of the usual shape."""
    return f"xoxb-{secrets.randbelow(10**12)}-{secrets.token_hex(12)}"


def new_app_token() -> str:
    """An app-level token of the usual shape."""
    return f"xapp-1-{APP_ID}-{secrets.randbelow(10**13)}-{secrets.token_hex(32)}"


def _switched(manifest: Json, *, socket_mode: bool) -> Json:
    """The manifest with Socket Mode turned on or off, as in the app's settings."""
    settings = {**manifest.get("settings", {}), "socket_mode_enabled": socket_mode}
    return {**manifest, "settings": settings}
