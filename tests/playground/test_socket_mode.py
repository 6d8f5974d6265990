"""Socket Mode against slack_sdk's own client and Bolt's own handler."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import aiohttp
import pytest
from pretend_app import (
    Clock,
    actions,
    button,
    client,
    manifest,
    modal,
    playground,
    refused,
    section,
)
from slack_bolt.adapter.socket_mode.async_handler import AsyncSocketModeHandler
from slack_bolt.app.async_app import AsyncApp
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse
from slack_sdk.web.async_client import AsyncWebClient

from bot.playground.server import Playground

Answer = Callable[[SocketModeRequest], Any]
EVENTS = ["app_mention", "app_home_opened", "message.im"]


@pytest.fixture
async def slack() -> AsyncIterator[Playground]:
    declared = manifest(events=EVENTS)
    async with playground(mode="socket", manifest=declared, clock=Clock()) as running:
        yield running


class Listener:
    """An app of one connection that keeps what it is sent and answers as told."""

    def __init__(self, socket: SocketModeClient) -> None:
        self.socket = socket
        self.hellos: list[dict[str, Any]] = []
        self.requests: list[SocketModeRequest] = []
        self.answer: Answer = lambda request: None
        self.answers = True
        self._came = asyncio.Condition()
        socket.message_listeners.append(self._hear)  # type: ignore[arg-type]
        socket.socket_mode_request_listeners.append(self._take)

    async def _hear(self, _: Any, message: dict[str, Any], raw: str | None) -> None:
        if message.get("type") == "hello":
            async with self._came:
                self.hellos.append(message)
                self._came.notify_all()

    async def _take(self, _: Any, request: SocketModeRequest) -> None:
        async with self._came:
            self.requests.append(request)
            self._came.notify_all()
        if self.answers:
            await self.socket.send_socket_mode_response(
                SocketModeResponse(request.envelope_id, self.answer(request))
            )

    async def until(self, *, hellos: int = 0, requests: int = 0) -> None:
        """Wait until so many have come."""
        async with asyncio.timeout(10), self._came:
            await self._came.wait_for(
                lambda: len(self.hellos) >= hellos and len(self.requests) >= requests
            )


@asynccontextmanager
async def listening(slack: Playground, *, ping: float = 5) -> AsyncIterator[Listener]:
    """slack_sdk's client, connected."""
    web = AsyncWebClient(base_url=slack.api_url, retry_handlers=[])
    socket = SocketModeClient(slack.app_token, web_client=web, ping_interval=ping)
    listener = Listener(socket)
    await socket.connect_to_new_endpoint()
    try:
        await listener.until(hellos=1)
        yield listener
    finally:
        await socket.close()


@asynccontextmanager
async def bare(slack: Playground) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    """A WebSocket without a library behind it, its `hello` read."""
    opened = await client(slack, "").apps_connections_open(app_token=slack.app_token)
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(opened["url"], autoping=False) as socket,
    ):
        assert (await socket.receive_json())["type"] == "hello"
        yield socket


async def card(slack: Playground) -> str:
    posted = await client(slack).chat_postMessage(
        channel="C0OPS",
        text="card",
        blocks=[section(), actions(button(value="r1.token"))],
    )
    return posted["ts"]


# Opening


async def test_only_the_app_token_opens_a_connection(slack: Playground) -> None:
    api = client(slack)
    with refused("not_allowed_token_type"):
        await api.apps_connections_open(app_token=slack.bot_token)
    with refused("invalid_auth"):
        await api.apps_connections_open(app_token="xapp-1-A0OTHER-1-abc")
    with refused("not_allowed_token_type"):
        await client(slack, slack.app_token).auth_test()

    opened = await api.apps_connections_open(app_token=slack.app_token)

    assert opened["url"].startswith(slack.url.replace("http://", "ws://"))
    assert opened.headers["x-oauth-scopes"] == "connections:write"


async def test_app_in_http_mode_opens_none() -> None:
    async with playground() as slack:
        with refused("invalid_auth"):
            await client(slack).apps_connections_open(app_token=slack.app_token)
        assert (await slack.socket("drop"))["ok"] is False


async def test_opening_can_be_made_to_fail(slack: Playground) -> None:
    slack.fault("apps.connections.open", "error:missing_scope", 1)
    with refused("missing_scope"):
        await client(slack).apps_connections_open(app_token=slack.app_token)


async def test_a_ticket_opens_one_connection_and_not_for_long() -> None:
    clock = Clock()
    async with (
        playground(mode="socket", clock=clock) as slack,
        aiohttp.ClientSession() as session,
    ):
        api = client(slack)
        used = (await api.apps_connections_open(app_token=slack.app_token))["url"]
        async with session.ws_connect(used):
            pass
        late = (await api.apps_connections_open(app_token=slack.app_token))["url"]
        clock.now += 31

        for url in (used, late, slack.workspace.socket_url):
            with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
                await session.ws_connect(url)
            assert caught.value.status == 403


async def test_hello_says_who_is_there(slack: Playground) -> None:
    async with listening(slack), listening(slack) as second:
        hello = second.hellos[0]
        state = await slack.state()

    assert hello["num_connections"] == 2
    assert hello["connection_info"] == {"app_id": "A0CSIGN"}
    assert hello["debug_info"]["approximate_connection_time"] == 3600
    assert state["socket"] == {"connections": 2}
    assert state["bot"] == "up"


async def test_eleventh_connection_is_sent_away(slack: Playground) -> None:
    async with AsyncExitStack() as stack:
        for _ in range(10):
            await stack.enter_async_context(bare(slack))
        opened = await client(slack).apps_connections_open(app_token=slack.app_token)
        session = await stack.enter_async_context(aiohttp.ClientSession())
        last = await session.ws_connect(opened["url"])
        frame = await last.receive_json(timeout=5)
        end = await last.receive(timeout=5)

    assert (frame["type"], frame["reason"]) == ("disconnect", "too_many_websockets")
    assert end.type == aiohttp.WSMsgType.CLOSE


async def test_app_token_outlives_the_bot_token(slack: Playground) -> None:
    await slack.revoke_tokens()

    with refused("token_revoked"):
        await client(slack).auth_test()
    api = client(slack)
    assert (await api.apps_connections_open(app_token=slack.app_token))["ok"]


# Envelopes


async def test_command_is_an_envelope_that_may_be_answered(slack: Playground) -> None:
    async with listening(slack) as app:
        app.answer = lambda request: {"text": "noted"}
        outcome = await slack.command("U0ADA", "C0OPS", "/tool", "payload=1 grüße")

    request = app.requests[0]
    assert outcome["ok"] is True
    assert outcome["delivery"]["status"] == 200
    assert json.loads(outcome["delivery"]["body"]) == {"text": "noted"}
    assert request.type == "slash_commands"
    assert request.accepts_response_payload is True
    assert request.retry_attempt is None
    assert request.payload["text"] == "payload=1 grüße"
    assert request.payload["is_enterprise_install"] == "false"
    assert request.payload["response_url"].startswith(slack.url)
    assert slack.workspace.ephemerals["U0ADA"][0]["text"] == "noted"


async def test_click_form_and_event_come_the_same_way(slack: Playground) -> None:
    ts = await card(slack)
    async with listening(slack) as app:
        await slack.act("U0BEN", "C0OPS", ts, action_id="press")
        trigger = app.requests[0].payload["trigger_id"]
        opened = await client(slack).views_open(
            trigger_id=trigger, view=modal(notify_on_close=True)
        )
        app.answer = lambda request: {"response_action": "update", "view": second}
        second = modal(callback_id="second", notify_on_close=True)
        await slack.submit("U0BEN", opened["view"]["id"], {})
        app.answer = lambda request: None
        await slack.close_view("U0BEN", opened["view"]["id"])
        await slack.message("U0ADA", "C0OPS", "<@U0CSIGN> hello")

    seen = [
        (one.type, one.payload["type"], one.accepts_response_payload)
        for one in app.requests
    ]
    assert seen == [
        ("interactive", "block_actions", False),
        ("interactive", "view_submission", True),
        ("interactive", "view_closed", False),
        ("events_api", "event_callback", False),
    ]
    assert app.requests[0].payload["actions"][0]["value"] == "r1.token"
    assert app.requests[2].payload["view"]["callback_id"] == "second"
    assert (app.requests[3].retry_attempt, app.requests[3].retry_reason) == (0, "")


async def test_without_a_connection_nothing_is_dispatched(slack: Playground) -> None:
    ts = await card(slack)

    command = await slack.command("U0ADA", "C0OPS", "/tool", "x")
    click = await slack.act("U0BEN", "C0OPS", ts, action_id="press")

    assert command["error"] == click["error"] == "dispatch_failed"
    assert (await slack.state())["bot"] == "down"
    assert "dispatch_failed" in slack.workspace.ephemerals["U0ADA"][0]["text"]


async def test_envelope_without_a_word_is_a_timeout() -> None:
    async with (
        playground(mode="socket", ack_seconds=0.05) as slack,
        listening(slack) as app,
    ):
        app.answers = False
        outcome = await slack.command("U0ADA", "C0OPS", "/tool", "x")
        late = app.requests[0].envelope_id
        await app.socket.send_socket_mode_response(SocketModeResponse(late))
        app.answers = True
        assert (await slack.command("U0ADA", "C0OPS", "/tool", "y"))["ok"]

    assert outcome["error"] == "operation_timeout"
    acks = [one for one in slack.log() if one["kind"] == "ack"]
    assert [one["problems"] for one in acks] == [["unknown_envelope"]]


async def test_rubbish_from_the_app_changes_nothing(slack: Playground) -> None:
    async with bare(slack) as socket:
        for words in ("", "[1]", "{", '{"envelope_id": 7}', '{"envelope_id": "x"}'):
            await socket.send_str(words)
        await socket.send_bytes(b"\xff\x00")
        work = asyncio.create_task(slack.command("U0ADA", "C0OPS", "/tool", "x"))
        envelope = await socket.receive_json()
        await socket.send_json({"envelope_id": envelope["envelope_id"]})

        assert (await work)["ok"]
    problems = [one["problems"] for one in slack.log() if one["kind"] == "ack"]
    assert problems == [["unknown_envelope"]] * 6


# Several connections


async def test_each_payload_goes_to_one_of_the_connections(slack: Playground) -> None:
    async with listening(slack) as one, listening(slack) as two:
        for number in range(6):
            await slack.command("U0ADA", "C0OPS", "/tool", str(number))

    assert len(one.requests) + len(two.requests) == 6
    assert one.requests
    assert two.requests


async def test_only_the_connection_that_was_asked_can_answer(slack: Playground) -> None:
    async with bare(slack) as one, bare(slack) as two:
        work = asyncio.create_task(slack.command("U0ADA", "C0OPS", "/tool", "x"))
        readers = {asyncio.create_task(s.receive_json()): s for s in (one, two)}
        done, waiting = await asyncio.wait(readers, return_when=asyncio.FIRST_COMPLETED)
        asked, other = readers[done.pop()], readers[next(iter(waiting))]
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        envelope = {"envelope_id": slack.log()[-1]["request"]["envelope_id"]}
        await other.send_json(envelope)
        await other.ping(b"read")
        assert (await other.receive()).data == b"read"
        assert not work.done()
        await asked.send_json(envelope)

        assert (await work)["ok"]


# What happens to connections


async def test_pings_are_answered_until_the_silence(slack: Playground) -> None:
    async with bare(slack) as socket:
        await socket.ping(b"sdk-ping-pong:1")
        pong = await socket.receive()
        assert (await slack.socket("silence"))["ok"]
        await socket.ping(b"sdk-ping-pong:2")
        with pytest.raises(TimeoutError):
            await socket.receive(timeout=0.05)
        state = await slack.state()

    assert (pong.type, pong.data) == (aiohttp.WSMsgType.PONG, b"sdk-ping-pong:1")
    assert state["bot"] == "down"


async def test_what_goes_to_a_silent_connection_is_lost() -> None:
    async with (
        playground(mode="socket", ack_seconds=0.05) as slack,
        listening(slack) as app,
    ):
        await slack.socket("silence")

        outcome = await slack.command("U0ADA", "C0OPS", "/tool", "x")

        assert outcome["error"] == "operation_timeout"
        assert app.requests == []


async def test_sdk_leaves_a_silent_connection(slack: Playground) -> None:
    async with listening(slack, ping=0.05) as app:
        await slack.socket("silence")
        assert (await slack.wait_for("bot:up", 10))["ok"]
        assert (await slack.command("U0ADA", "C0OPS", "/tool", "x"))["ok"]

    assert app.requests[-1].payload["text"] == "x"


async def test_sdk_comes_back_after_a_refresh(slack: Playground) -> None:
    async with listening(slack) as app:
        assert (await slack.socket("refresh"))["ok"]
        await app.until(hellos=2)
        assert (await slack.command("U0ADA", "C0OPS", "/tool", "x"))["ok"]
        frames = [one for one in slack.log() if one["kind"] == "disconnect"]

    assert len(frames) == 1
    assert frames[0]["request"]["body"]["reason"] == "refresh_requested"


async def test_connection_that_does_not_leave_is_closed(
    slack: Playground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.playground.socket.LEAVE_SECONDS", 0.05)
    async with bare(slack) as socket:
        work = asyncio.create_task(slack.socket("refresh"))
        assert (await socket.receive_json())["reason"] == "refresh_requested"
        failed = await slack.command("U0ADA", "C0OPS", "/tool", "x")
        end = await socket.receive()
        assert (await work)["ok"]

    assert failed["error"] == "dispatch_failed"
    assert end.type == aiohttp.WSMsgType.CLOSE


async def test_drop_breaks_the_connection_without_a_word(slack: Playground) -> None:
    async with bare(slack) as socket:
        work = asyncio.create_task(slack.command("U0ADA", "C0OPS", "/tool", "x"))
        await socket.receive_json()
        assert (await slack.socket("drop"))["ok"]
        outcome = await work
        end = await socket.receive()

    assert outcome["error"] == "dispatch_failed"
    assert end.type in (aiohttp.WSMsgType.CLOSED, aiohttp.WSMsgType.ERROR)
    assert (await slack.socket("drop"))["ok"] is False


async def test_sdk_comes_back_after_a_drop(slack: Playground) -> None:
    async with listening(slack, ping=0.05) as app:
        await slack.socket("drop")
        await app.until(hellos=2)
        assert (await slack.command("U0ADA", "C0OPS", "/tool", "x"))["ok"]


async def test_event_reaches_the_connection_that_comes_later() -> None:
    async with playground(mode="socket", retry_seconds=(0.1, 0.5, 5.0)) as slack:
        first = await slack.message("U0ADA", "C0OPS", "<@U0CSIGN> hello")
        async with listening(slack) as app:
            await app.until(requests=1)

    request = app.requests[0]
    assert first["error"] == "dispatch_failed"
    assert request.payload["event"]["text"] == "<@U0CSIGN> hello"
    assert request.retry_attempt in (1, 2, 3)
    assert request.retry_reason == "timeout"


async def test_unanswered_event_is_sent_three_times_more() -> None:
    async with (
        playground(mode="socket", ack_seconds=0.02) as slack,
        listening(slack) as app,
    ):
        app.answers = False
        await slack.message("U0ADA", "C0OPS", "<@U0CSIGN> hello")
        await app.until(requests=4)

    assert [one.retry_attempt for one in app.requests] == [0, 1, 2, 3]
    assert len({one.envelope_id for one in app.requests}) == 4
    assert len({one.payload["event_id"] for one in app.requests}) == 1


# Bolt


async def test_bolt_app_works_unchanged(slack: Playground) -> None:
    app = AsyncApp(client=client(slack), process_before_response=True)
    heard = []

    @app.command("/tool")
    async def tool(ack: Any, command: dict[str, Any]) -> None:
        await ack(f"heard {command['text']}")

    @app.action("press")
    async def press(ack: Any, body: dict[str, Any], client: AsyncWebClient) -> None:
        await client.views_open(trigger_id=body["trigger_id"], view=modal())
        await ack()

    @app.view("")
    async def sent(ack: Any) -> None:
        await ack(response_action="clear")

    @app.event("app_home_opened")
    async def home(event: dict[str, Any], client: AsyncWebClient) -> None:
        heard.append(event["user"])
        view = {"type": "home", "blocks": [section("At home")]}
        await client.views_publish(user_id=event["user"], view=view)

    ts = await card(slack)
    handler = AsyncSocketModeHandler(
        app,
        slack.app_token,
        web_client=AsyncWebClient(base_url=slack.api_url, retry_handlers=[]),
    )
    await handler.connect_async()
    try:
        assert (await slack.wait_for("bot:up"))["ok"]
        command = await slack.command("U0ADA", "C0OPS", "/tool", "payload")
        click = await slack.act("U0BEN", "C0OPS", ts, action_id="press")
        view = slack.workspace.views["U0BEN"][0]
        submitted = await slack.submit("U0BEN", view["id"], {})
        opened = await slack.open_home("U0CLEO")
    finally:
        await handler.close_async()

    assert json.loads(command["delivery"]["body"])["text"] == "heard payload"
    assert click["ok"]
    assert submitted["ok"]
    assert opened["ok"]
    assert slack.workspace.views["U0BEN"] == []
    assert heard == ["U0CLEO"]
    assert slack.workspace.home["U0CLEO"]["blocks"][0]["text"]["text"] == "At home"


# The page API


async def test_page_api_speaks_of_connections(slack: Playground) -> None:
    headers = {"X-Playground-Token": slack.token}
    async with (
        listening(slack) as app,
        aiohttp.ClientSession(slack.url, headers=headers) as session,
    ):
        async with session.post("/ui/socket", json={"do": "refresh"}) as answer:
            assert await answer.json() == {"ok": True}
        await app.until(hellos=2)
        async with session.post("/ui/socket", json={"do": "wave"}) as answer:
            assert answer.status == 400
