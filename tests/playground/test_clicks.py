from collections.abc import AsyncIterator
from typing import Any

import pytest
from pretend_app import (
    App,
    Clock,
    actions,
    button,
    client,
    field,
    playground,
    running_app,
    section,
    text,
)
from slack_sdk.web.async_client import AsyncWebClient

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


async def test_click_carries_what_slack_sends(
    slack: Playground, api: AsyncWebClient, app: App
) -> None:
    ts = await card(api, button("approve", value="r1.token", style="primary"))

    assert (await slack.act("U0BEN", "C0OPS", ts, action_id="approve"))["ok"]

    sent = app.payload()
    assert sent["type"] == "block_actions"
    assert sent["user"]["id"] == "U0BEN"
    assert sent["user"]["team_id"] == "T0HOME"
    assert sent["team"] == {"id": "T0HOME", "domain": "home"}
    assert sent["enterprise"] is None
    assert sent["is_enterprise_install"] is False
    assert sent["api_app_id"] == "A0CSIGN"
    assert sent["channel"] == {"id": "C0OPS", "name": "ops"}
    assert sent["container"] == {
        "type": "message",
        "message_ts": ts,
        "channel_id": "C0OPS",
        "is_ephemeral": False,
    }
    assert sent["message"] == slack.workspace.messages["C0OPS"][ts]
    assert sent["state"] == {"values": {}}
    (action,) = sent["actions"]
    assert action.pop("action_ts") > ts
    assert action == {
        "type": "button",
        "action_id": "approve",
        "block_id": "row",
        "value": "r1.token",
        "style": "primary",
        "text": text("Go") | {"emoji": True},
    }


async def test_log_keeps_what_was_sent_after_an_edit(
    slack: Playground, api: AsyncWebClient
) -> None:
    ts = await card(api)
    await slack.act("U0BEN", "C0OPS", ts, action_id="press")

    await api.chat_update(channel="C0OPS", ts=ts, text="settled")

    (click,) = [one for one in slack.log() if one["kind"] == "block_actions"]
    assert click["request"]["payload"]["message"]["text"] == "card"


async def test_click_in_a_thread_names_the_thread(
    slack: Playground, api: AsyncWebClient, app: App
) -> None:
    root = await api.chat_postMessage(channel="C0OPS", text="root")
    reply = await api.chat_postMessage(
        channel="C0OPS", text="r", thread_ts=root["ts"], blocks=[actions(button())]
    )

    await slack.act("U0BEN", "C0OPS", reply["ts"], action_id="press")

    assert app.payload()["container"]["thread_ts"] == root["ts"]


async def test_click_on_an_ephemeral_has_no_message_body(
    slack: Playground, api: AsyncWebClient, app: App
) -> None:
    posted = await api.chat_postEphemeral(
        channel="C0OPS", user="U0ADA", text="psst", blocks=[actions(button())]
    )
    ts = posted["message_ts"]

    assert (await slack.act("U0ADA", "C0OPS", ts, action_id="press"))["ok"]

    assert app.payload()["container"]["is_ephemeral"] is True
    assert app.payload()["message"] == {
        "type": "message",
        "ts": ts,
        "app_id": "A0CSIGN",
    }
    assert not (await slack.act("U0BEN", "C0OPS", ts, action_id="press"))["ok"]


async def test_element_that_is_not_there_sends_nothing(
    slack: Playground, api: AsyncWebClient, app: App
) -> None:
    ts = await card(api)

    for where in (
        {"channel": "C0OPS", "ts": ts, "action_id": "other"},
        {"channel": "C0OPS", "ts": ts, "action_id": "press", "block_id": "other"},
        {"channel": "C0OPS", "ts": "1.2", "action_id": "press"},
        {"channel": "C0GENERAL", "ts": ts, "action_id": "press"},
    ):
        assert (await slack.act("U0BEN", **where))["ok"] is False
    assert app.received == []


async def test_person_outside_the_channel_cannot_click(
    slack: Playground, api: AsyncWebClient, app: App
) -> None:
    ts = await card(api)
    slack.kick("C0OPS", "U0BEN")

    assert (await slack.act("U0BEN", "C0OPS", ts, action_id="press"))["ok"] is False
    assert app.received == []


async def test_selects_send_their_options(
    slack: Playground, api: AsyncWebClient, app: App
) -> None:
    options = [{"text": text(one), "value": one} for one in ("a", "b")]
    ts = await card(
        api,
        {"type": "static_select", "action_id": "one", "options": options},
        {"type": "checkboxes", "action_id": "many", "options": options},
        {"type": "datepicker", "action_id": "day"},
    )

    await slack.act("U0BEN", "C0OPS", ts, action_id="one", value="b")
    assert app.payload()["actions"][0]["selected_option"]["value"] == "b"
    await slack.act("U0BEN", "C0OPS", ts, action_id="many", value=["a", "b"])
    await slack.act("U0BEN", "C0OPS", ts, action_id="day", value="2026-05-01")

    values = app.payload()["state"]["values"]["row"]
    assert values["one"]["selected_option"]["value"] == "b"
    assert len(values["many"]["selected_options"]) == 2
    assert values["day"] == {"type": "datepicker", "selected_date": "2026-05-01"}
    refused = await slack.act("U0BEN", "C0OPS", ts, action_id="one", value="c")
    assert refused["ok"] is False


async def test_input_in_a_message_waits_for_a_button(
    slack: Playground, api: AsyncWebClient, app: App
) -> None:
    blocks = [field({"type": "plain_text_input"}), actions(button())]
    posted = await api.chat_postMessage(channel="C0OPS", text="x", blocks=blocks)
    ts = posted["ts"]

    await slack.act("U0BEN", "C0OPS", ts, action_id="v", value="because")
    assert app.received == []
    await slack.act("U0CLEO", "C0OPS", ts, action_id="press")
    assert app.payload()["state"]["values"]["f0"]["v"]["value"] is None
    await slack.act("U0BEN", "C0OPS", ts, action_id="press")

    assert app.payload()["state"]["values"]["f0"]["v"]["value"] == "because"
