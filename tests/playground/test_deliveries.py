import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web
from pretend_app import (
    App,
    Clock,
    actions,
    button,
    client,
    playground,
    running_app,
    section,
)
from slack_sdk.signature import Clock as VerifierClock
from slack_sdk.signature import SignatureVerifier
from slack_sdk.web.async_client import AsyncWebClient

from bot.playground.seed import User
from bot.playground.server import Playground


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def app() -> AsyncIterator[App]:
    async with running_app() as running:
        yield running


@pytest.fixture
async def slack(app: App, clock: Clock) -> AsyncIterator[Playground]:
    async with playground(app_url=app.url, clock=clock) as running:
        yield running


@pytest.fixture
def api(slack: Playground) -> AsyncWebClient:
    return client(slack)


class Fixed(VerifierClock):
    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def now(self) -> float:
        return self._clock()


async def card(api: AsyncWebClient, *elements: dict[str, Any]) -> str:
    blocks = [section(), actions(*(elements or (button(value="r1.token"),)))]
    posted = await api.chat_postMessage(channel="C0OPS", text="card", blocks=blocks)
    return posted["ts"]


# Signatures and forms


async def test_delivery_is_signed_for_the_sdk(
    slack: Playground, app: App, clock: Clock
) -> None:
    await slack.command("U0ADA", "C0OPS", "/tool", "grüße & payload=1")
    headers, body = app.received[0]

    right = SignatureVerifier(slack.signing_secret, Fixed(clock))
    wrong = SignatureVerifier("0" * 32, Fixed(clock))

    assert right.is_valid_request(body, headers)
    assert not wrong.is_valid_request(body, headers)
    assert not right.is_valid_request(body + " ", headers)
    clock.now += 301
    assert not right.is_valid_request(body, headers)


async def test_command_carries_the_documented_form(slack: Playground, app: App) -> None:
    outcome = await slack.command("U0ADA", "C0PRIVATE", "/tool", "restart  service=“a”")

    form = app.form()
    assert outcome["ok"] is True
    assert outcome["delivery"]["status"] == 200
    assert form["text"] == "restart  service=“a”"
    assert form["command"] == "/tool"
    assert form["channel_name"] == "privategroup"
    assert form["is_enterprise_install"] == "false"
    assert form["team_id"] == "T0HOME"
    assert form["response_url"].startswith(slack.url)
    assert set(form) == {
        "token", "team_id", "team_domain", "channel_id", "channel_name", "user_id",
        "user_name", "command", "text", "api_app_id", "is_enterprise_install",
        "response_url", "trigger_id",
    }  # fmt: skip


async def test_only_declared_commands_and_present_people_count(
    slack: Playground, app: App
) -> None:
    slack.deactivate("U0CLEO")
    slack.kick("C0OPS", "U0BEN")
    slack.workspace.add_user(
        User(id="U0EXT", name="eve", real_name="Eve", team_id="T0ELSE")
    )
    slack.invite("C0OPS", "U0EXT")

    for who, where, what in (
        ("U0ADA", "C0OPS", "/run"),
        ("U0CLEO", "C0OPS", "/tool"),
        ("U0BEN", "C0OPS", "/tool"),
        ("U0CSIGN", "C0OPS", "/tool"),
        ("U0ADA", "C0NONE", "/tool"),
        ("U0EXT", "C0OPS", "/tool"),
    ):
        assert (await slack.command(who, where, what))["ok"] is False
    assert app.received == []


async def test_command_answer_is_private_unless_it_says_otherwise(
    slack: Playground, app: App
) -> None:
    app.says("plain words")
    await slack.command("U0ADA", "C0OPS", "/tool", "a")
    app.says({"text": "as JSON", "blocks": [section("block")]})
    await slack.command("U0ADA", "C0OPS", "/tool", "b")
    app.says({"response_type": "in_channel", "text": "for all"})
    await slack.command("U0ADA", "C0OPS", "/tool", "c")

    private = slack.workspace.ephemerals["U0ADA"]
    public = slack.workspace.messages["C0OPS"].values()
    assert [one["text"] for one in private] == ["plain words", "as JSON"]
    assert [(one["user"], one["text"]) for one in public] == [
        ("U0ADA", "/tool c"),
        ("U0CSIGN", "for all"),
    ]


async def test_command_answer_with_bad_blocks_is_refused(
    slack: Playground, app: App
) -> None:
    app.says({"text": "x", "blocks": [section("")]})

    outcome = await slack.command("U0ADA", "C0OPS", "/tool", "a")

    assert outcome["ok"] is False
    assert outcome["error"] == "invalid_command_response"
    assert outcome["problems"]["error"] == "invalid_blocks"


# The 3-second rule


@pytest.fixture
async def impatient(app: App) -> AsyncIterator[Playground]:
    async with playground(app_url=app.url, ack_seconds=0.05) as running:
        yield running


async def test_silent_app_is_a_timeout(impatient: Playground, app: App) -> None:
    release = asyncio.Event()

    async def hang() -> web.Response:
        await release.wait()
        return web.Response()

    app.answer = hang
    outcome = await impatient.command("U0ADA", "C0OPS", "/tool", "x")
    release.set()

    assert outcome["ok"] is False
    assert outcome["error"] == "operation_timeout"
    assert outcome["delivery"]["status"] is None
    warning = impatient.workspace.ephemerals["U0ADA"][-1]
    assert warning["user"] == "USLACKBOT"
    assert "operation_timeout" in warning["text"]
    assert impatient.log()[-1]["problems"] == ["operation_timeout"]


async def test_failing_or_absent_app_is_a_failed_dispatch(
    slack: Playground, api: AsyncWebClient, app: App
) -> None:
    ts = await card(api)
    app.says("no", status=404)
    failed = await slack.act("U0BEN", "C0OPS", ts, action_id="press")
    app.says("", status=307, Location=f"{app.url}/slack/events")
    moved = await slack.act("U0BEN", "C0OPS", ts, action_id="press")
    slack.app_url = "http://127.0.0.1:9"
    absent = await slack.act("U0BEN", "C0OPS", ts, action_id="press")

    for outcome in (failed, moved, absent):
        assert outcome["error"] == "dispatch_failed"
    assert failed["delivery"]["status"] == 404
    assert len(app.received) == 2
