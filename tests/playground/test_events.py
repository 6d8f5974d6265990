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
    manifest,
    playground,
    refused,
    running_app,
    section,
)
from slack_sdk.web.async_client import AsyncWebClient

from bot.playground import views
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


async def card(api: AsyncWebClient, *elements: dict[str, Any]) -> str:
    blocks = [section(), actions(*(elements or (button(value="r1.token"),)))]
    posted = await api.chat_postMessage(channel="C0OPS", text="card", blocks=blocks)
    return posted["ts"]


async def test_mention_of_the_bot_is_an_event(slack: Playground, app: App) -> None:
    outcome = await slack.message("U0ADA", "C0OPS", "<@U0CSIGN> hello")

    sent = app.event()
    assert outcome["ok"] is True
    assert sent["type"] == "event_callback"
    assert sent["event"]["type"] == "app_mention"
    assert sent["event"]["channel"] == "C0OPS"
    assert sent["event"]["ts"] == outcome["ts"]
    assert sent["authorizations"][0]["user_id"] == "U0CSIGN"


async def test_unsubscribed_events_stay_home(slack: Playground, app: App) -> None:
    await slack.message("U0ADA", "C0OPS", "hello all")
    await slack.message("U0ADA", "D0ADA", "hello bot")
    await slack.message("U0ADA", "C0PRIVATE", "<@U0CSIGN> are you here?")

    assert app.received == []


async def test_subscribed_messages_come_whoever_writes(app: App) -> None:
    declared = manifest(events=["message.channels", "message.im"])
    async with playground(app_url=app.url, manifest=declared) as slack:
        await slack.message("U0ADA", "C0OPS", "hello")
        await slack.message("U0ADA", "D0ADA", "hello bot")
        await client(slack).chat_postMessage(channel="C0OPS", text="me too")
        await app.until(3)

    kinds = [(e["channel_type"], e["user"]) for e in _events(app)]
    assert kinds == [("channel", "U0ADA"), ("im", "U0ADA"), ("channel", "U0CSIGN")]


def _events(app: App) -> list[dict[str, Any]]:
    found = []
    for entry in app.received:
        app_copy = App()
        app_copy.received = [entry]
        found.append(app_copy.event()["event"])
    return found


async def test_failed_event_is_sent_three_times_more(
    slack: Playground, app: App
) -> None:
    app.says("no", status=500)

    await slack.message("U0ADA", "C0OPS", "<@U0CSIGN> hello")
    await app.until(4)

    retries = [headers.get("X-Slack-Retry-Num") for headers, _ in app.received]
    assert retries == [None, "1", "2", "3"]
    assert app.received[1][0]["X-Slack-Retry-Reason"] == "http_error"
    assert len({body for _, body in app.received}) == 1


async def test_reason_of_a_retry_is_what_went_wrong(app: App) -> None:
    release = asyncio.Event()

    async def hang() -> web.Response:
        await release.wait()
        return web.Response()

    app.answer = hang
    async with playground(app_url=app.url, ack_seconds=0.05) as slack:
        await slack.message("U0ADA", "C0OPS", "<@U0CSIGN> hello")
        await app.until(2)
        release.set()
        slack.app_url = "http://127.0.0.1:9"
        await slack.message("U0ADA", "C0OPS", "<@U0CSIGN> hello again")
        slack.app_url = app.url
        count = len(app.received)
        await app.until(count + 1)

    reasons = [h.get("X-Slack-Retry-Reason") for h, _ in app.received]
    assert reasons[1] == "http_timeout"
    assert reasons[-1] == "connection_failed"


async def test_event_that_is_sent_again_is_as_it_was(
    slack: Playground, api: AsyncWebClient, app: App
) -> None:
    app.says("no", status=500)
    first, second = ({"type": "home", "blocks": [section(one)]} for one in "ab")
    await api.views_publish(user_id="U0ADA", view=first)
    await slack.open_home("U0ADA")
    views.publish(slack.workspace, "U0ADA", second)
    await app.until(4)

    assert len({body for _, body in app.received}) == 1


async def test_app_may_turn_retries_off(slack: Playground, app: App) -> None:
    app.says("no", status=500, **{"X-Slack-No-Retry": "1"})

    await slack.message("U0ADA", "C0OPS", "<@U0CSIGN> one")
    await slack.message("U0ADA", "C0OPS", "<@U0CSIGN> two")

    assert len(app.received) == 2


async def test_commands_and_clicks_are_never_sent_again(
    slack: Playground, api: AsyncWebClient, app: App
) -> None:
    app.says("no", status=500)
    ts = await card(api)

    await slack.command("U0ADA", "C0OPS", "/tool", "x")
    await slack.act("U0BEN", "C0OPS", ts, action_id="press")

    assert len(app.received) == 2


async def test_url_is_verified_by_its_challenge(slack: Playground, app: App) -> None:
    app.says("hello")
    assert (await slack.verify_url()).error == "challenge_failed"

    app.answer = lambda: web.json_response({"challenge": app.event()["challenge"]})

    assert (await slack.verify_url()).error is None


# What happens to the app itself


async def test_revoked_token_is_an_event_and_then_refused(app: App) -> None:
    declared = manifest(events=["tokens_revoked", "app_uninstalled"])
    async with playground(app_url=app.url, manifest=declared) as slack:
        outcome = await slack.revoke_tokens()
        with refused("token_revoked"):
            await client(slack).auth_test()
        command = await slack.command("U0ADA", "C0OPS", "/tool", "still comes")
        await slack.reset()
        assert (await client(slack).auth_test())["ok"]

    assert outcome["delivery"]["status"] == 200
    assert command["ok"]
    del app.received[1:]
    event = app.event()["event"]
    assert event["type"] == "tokens_revoked"
    assert event["tokens"] == {"oauth": [], "bot": ["U0CSIGN"]}


async def test_uninstalled_app_is_told_twice_and_never_again(app: App) -> None:
    declared = manifest(events=["tokens_revoked", "app_uninstalled", "app_mention"])
    async with playground(app_url=app.url, manifest=declared) as slack:
        ts = await card(client(slack))
        outcome = await slack.uninstall()
        with refused("account_inactive"):
            await client(slack).auth_test()
        assert not (await slack.command("U0ADA", "C0OPS", "/tool", "x"))["ok"]
        assert not (await slack.act("U0BEN", "C0OPS", ts, action_id="press"))["ok"]
        assert not (await slack.open_home("U0ADA"))["ok"]
        assert (await slack.message("U0ADA", "C0OPS", "<@U0CSIGN> hello?"))["ok"]

    assert outcome["ok"]
    kinds = [event["type"] for event in _events(app)]
    assert kinds == ["tokens_revoked", "app_uninstalled"]


async def test_app_that_did_not_ask_is_not_told(slack: Playground, app: App) -> None:
    assert await slack.revoke_tokens() == {"ok": True}
    assert await slack.uninstall() == {"ok": True}
    assert app.received == []


async def test_joining_is_an_event_where_the_bot_is(app: App) -> None:
    declared = manifest(events=["member_joined_channel"])
    async with playground(app_url=app.url, manifest=declared) as slack:
        for where in ("C0PRIVATE", "C0OPS"):
            slack.kick(where, "U0CLEO")
        slack.invite("C0PRIVATE", "U0CLEO")
        slack.invite("C0OPS", "U0CLEO")
        await app.until(1)
        slack.invite("C0PRIVATE")
        await app.until(2)

    seen = [(e["type"], e["user"], e["channel"]) for e in _events(app)]
    assert seen == [
        ("member_joined_channel", "U0CLEO", "C0OPS"),
        ("member_joined_channel", "U0CSIGN", "C0PRIVATE"),
    ]
