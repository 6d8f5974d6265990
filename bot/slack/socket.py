"""The same payloads through Socket Mode: connect, watch, drain; no address is needed.

Several connections of one process, so that one that is refreshed or goes deaf costs
nothing (Slack gives each payload to any one of them). Payloads take the same checks and
the same listeners as those of the front door. The library reconnects by itself; we ask
once at the start whether the token is right, since it would otherwise try for ever
(slack-facts M22), and say how many connections live.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable
from typing import Any

import structlog
from slack_bolt.async_app import AsyncApp
from slack_bolt.response import BoltResponse
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse
from slack_sdk.web.async_client import AsyncWebClient

from bot.errors import ConfigError, DeliveryError, Problem
from bot.slack.bolt import dispatched
from bot.slack.calls import answer
from bot.slack.front import Malformed, checked

log = structlog.get_logger(__name__)

CONNECTIONS = 2
#: Seconds between pings; after four of them without a pong a connection is stale.
PING = 10.0

_KINDS = {
    "slash_commands": "command",
    "interactive": "interaction",
    "events_api": "event",
}


class Sockets:
    """The connections of one bot; `open` checks and connects, `close` ends them."""

    def __init__(
        self,
        app: AsyncApp,
        token: str,
        base_url: str,
        *,
        connections: int = CONNECTIONS,
        ping: float = PING,
    ) -> None:
        self._app = app
        self._token = token
        self._web = AsyncWebClient(token=token, base_url=base_url, retry_handlers=[])
        self._wanted = connections
        self._ping = ping
        self._clients: list[SocketModeClient] = []
        self._working: set[asyncio.Task[None]] = set()

    async def check(self) -> None:
        """Whether Slack takes the token; `ConfigError` when it does not."""
        try:
            await answer(self._web.apps_connections_open(app_token=self._token))
        except DeliveryError as error:
            if not error.temporary:
                raise ConfigError([_refused(error.code)]) from None
            log.warning("slack_unreachable", code=error.code, what="socket")

    async def open(self) -> None:
        """Begin connecting; what cannot be reached now is tried again by itself."""
        for _ in range(self._wanted):
            client = SocketModeClient(
                app_token=self._token,
                web_client=self._web,
                ping_interval=self._ping,
                auto_reconnect_enabled=True,
            )
            client.socket_mode_request_listeners.append(self._take)
            client.message_listeners.append(_greeted)
            self._clients.append(client)
            connecting = client.connect()  # type: ignore[no-untyped-call]  # theirs
            self._keep(connecting, "connect")

    async def live(self) -> int:
        """How many connections are up."""
        return sum([bool(await client.is_connected()) for client in self._clients])

    async def close(self, patience: float) -> None:
        """Finish what was taken in, then let go of the connections."""
        for client in self._clients:
            client.auto_reconnect_enabled = False
        if self._working:
            _, late = await asyncio.wait(list(self._working), timeout=patience)
            for task in late:
                task.cancel()
        for client in self._clients:
            await client.close()  # type: ignore[no-untyped-call]  # theirs
        self._clients = []

    async def _take(
        self, client: AsyncBaseSocketModeClient, request: SocketModeRequest
    ) -> None:
        """One envelope: checked, dispatched, answered on the connection it came by."""
        kind = _KINDS.get(request.type)
        if kind is None:
            return
        try:
            body = checked(kind, request.payload)
        except Malformed as error:
            log.warning("envelope_malformed", what=str(error))
            await _reply(client, request.envelope_id, None)
            return
        replied = await dispatched(self._app, body)
        if replied is not None and replied.status == 200:
            await _reply(client, request.envelope_id, replied)

    def _keep(self, work: Awaitable[Any], name: str) -> None:
        async def kept() -> None:
            try:
                await work
            except Exception as error:
                log.warning("socket_failed", what=name, error=type(error).__name__)

        task = asyncio.create_task(kept(), name=name)
        self._working.add(task)
        task.add_done_callback(self._working.discard)


async def _greeted(
    client: AsyncBaseSocketModeClient, message: dict[str, Any], raw: str | None
) -> None:
    if message.get("type") == "hello":
        log.info("socket_open", num_connections=message.get("num_connections"))


async def _reply(
    client: AsyncBaseSocketModeClient, envelope: str, replied: BoltResponse | None
) -> None:
    payload: dict[str, Any] | None = None
    text = (replied.body or "") if replied is not None else ""
    if text:
        kinds = (replied.headers if replied is not None else {}).get("content-type")
        as_json = bool(kinds) and "json" in str(kinds[0] if kinds else "")
        payload = json.loads(text) if as_json else {"text": text}
    await client.send_socket_mode_response(
        SocketModeResponse(envelope_id=envelope, payload=payload)
    )


def _refused(code: str) -> Problem:
    return Problem(
        what=f"Slack refuses SLACK_APP_TOKEN: {code}.",
        fix=(
            "Basic Information, App-Level Tokens: make one with the scope "
            "connections:write and copy it (xapp-…)."
        ),
    )
