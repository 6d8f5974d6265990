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
    field,
    modal,
    playground,
    running_app,
    section,
    text,
)
from slack_sdk.web.async_client import AsyncWebClient

from bot.playground.server import Playground

HOME = {"type": "home", "blocks": [section("At home")]}


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


async def opened(
    slack: Playground, api: AsyncWebClient, view: dict[str, Any], user: str = "U0ADA"
) -> dict[str, Any]:
    trigger = slack.workspace.new_trigger(user)
    return (await api.views_open(trigger_id=trigger, view=view))["view"]


def stack(slack: Playground, user: str = "U0ADA") -> list[str]:
    return [one["id"] for one in slack.workspace.views.get(user, [])]


async def test_button_in_a_view_sends_the_view_and_no_channel(
    slack: Playground, api: AsyncWebClient, app: App
) -> None:
    view = await opened(slack, api, modal(actions(button("more", value="2"))))

    assert (await slack.act("U0ADA", view_id=view["id"], action_id="more"))["ok"]

    sent = app.payload()
    assert sent["container"] == {"type": "view", "view_id": view["id"]}
    assert sent["view"]["hash"] == view["hash"]
    assert sent["actions"][0]["value"] == "2"
    assert "channel" not in sent
    assert "response_url" not in sent
    pushed = await api.views_push(trigger_id=sent["trigger_id"], view=modal())
    assert stack(slack) == [view["id"], pushed["view"]["id"]]


FORM = modal(
    field({"type": "plain_text_input", "min_length": 2}, "name"),
    field(
        {"type": "number_input", "is_decimal_allowed": False, "max_value": "9"}, "seats"
    ),
    field(
        {
            "type": "static_select",
            "options": [{"text": text("Rome"), "value": "0"}],
        },
        "city",
    ),
    field({"type": "email_text_input"}, "mail", optional=True),
    field({"type": "url_text_input"}, "link", optional=True),
    field({"type": "datepicker"}, "day", optional=True),
)
FILLED: dict[str, Any] = {
    "name": {"v": "Ada"},
    "seats": {"v": 3},
    "city": {"v": "0"},
}


async def test_submission_carries_every_input(
    slack: Playground, api: AsyncWebClient, app: App
) -> None:
    view = await opened(slack, api, FORM)

    assert (await slack.submit("U0ADA", view["id"], FILLED))["ok"]

    values = app.payload()["view"]["state"]["values"]
    assert values["name"]["v"] == {"type": "plain_text_input", "value": "Ada"}
    assert values["seats"]["v"] == {"type": "number_input", "value": "3"}
    assert values["city"]["v"]["selected_option"]["value"] == "0"
    assert values["mail"]["v"] == {"type": "email_text_input", "value": None}
    assert values["day"]["v"] == {"type": "datepicker", "selected_date": None}
    assert app.payload()["response_urls"] == []
    assert stack(slack) == []


@pytest.mark.parametrize(
    "change",
    [
        {"name": {"v": ""}},
        {"name": {"v": "A"}},
        {"seats": {"v": "many"}},
        {"seats": {"v": "2.5"}},
        {"seats": {"v": "10"}},
        {"city": {"v": "7"}},
        {"mail": {"v": "nobody"}},
        {"link": {"v": "ftp://x"}},
        {"day": {"v": "tomorrow"}},
        {"none": {"v": "x"}},
    ],
)
async def test_client_stops_a_bad_form(
    slack: Playground, api: AsyncWebClient, app: App, change: dict[str, Any]
) -> None:
    view = await opened(slack, api, FORM)

    assert (await slack.submit("U0ADA", view["id"], FILLED | change))["ok"] is False
    assert app.received == []
    assert stack(slack) == [view["id"]]


async def test_answered_errors_keep_the_view(
    slack: Playground, api: AsyncWebClient, app: App
) -> None:
    view = await opened(slack, api, FORM)
    app.says({"response_action": "errors", "errors": {"name": "Too short"}})

    outcome = await slack.submit("U0ADA", view["id"], FILLED)

    assert outcome["ok"] is False
    assert outcome["error"] == "view_errors"
    assert "Too short" in outcome["delivery"]["body"]
    assert stack(slack) == [view["id"]]


@pytest.mark.parametrize(
    "body",
    [
        {"response_action": "errors", "errors": {"v": "by action_id"}},
        {"response_action": "errors"},
        {"response_action": "wave"},
        {"response_action": "update"},
        {"text": "thanks"},
        "thanks",
    ],
)
async def test_wrong_view_answer_is_trouble_connecting(
    slack: Playground, api: AsyncWebClient, app: App, body: Any
) -> None:
    view = await opened(slack, api, FORM)
    app.says(body)

    outcome = await slack.submit("U0ADA", view["id"], FILLED)

    assert outcome["ok"] is False
    assert "trouble connecting" in outcome["error"]
    assert stack(slack) == [view["id"]]


async def test_submission_may_update_push_or_clear(
    slack: Playground, api: AsyncWebClient, app: App
) -> None:
    view = await opened(slack, api, modal())

    app.says({"response_action": "update", "view": modal(callback_id="second")})
    await slack.submit("U0ADA", view["id"], {})
    assert slack.workspace.views["U0ADA"][0]["callback_id"] == "second"

    app.says({"response_action": "push", "view": modal(callback_id="third")})
    await slack.submit("U0ADA", view["id"], {})
    assert len(stack(slack)) == 2

    app.says({"response_action": "clear"})
    await slack.submit("U0ADA", stack(slack)[1], {})
    assert stack(slack) == []


async def test_failed_submission_keeps_the_view(
    slack: Playground, api: AsyncWebClient, app: App
) -> None:
    view = await opened(slack, api, modal())
    app.says("", status=500)

    outcome = await slack.submit("U0ADA", view["id"], {})

    assert outcome["error"] == "dispatch_failed"
    assert stack(slack) == [view["id"]]


async def test_closing_is_told_only_when_asked_for(
    slack: Playground, api: AsyncWebClient, app: App
) -> None:
    quiet = await opened(slack, api, modal())
    await slack.close_view("U0ADA", quiet["id"])
    assert app.received == []

    loud = await opened(slack, api, modal(notify_on_close=True))
    await slack.close_view("U0ADA", loud["id"])

    assert app.payload()["type"] == "view_closed"
    assert app.payload()["is_cleared"] is False
    assert stack(slack) == []


async def test_closing_the_root_clears_the_stack(
    slack: Playground, api: AsyncWebClient, app: App
) -> None:
    root = await opened(slack, api, modal(notify_on_close=True))
    trigger = slack.workspace.new_trigger("U0ADA")
    await api.views_push(trigger_id=trigger, view=modal())

    await slack.close_view("U0ADA", root["id"])

    assert app.payload()["is_cleared"] is True
    assert app.payload()["view"]["id"] == root["id"]
    assert stack(slack) == []


async def test_view_that_clears_on_close_says_so(
    slack: Playground, api: AsyncWebClient, app: App
) -> None:
    await opened(slack, api, modal())
    trigger = slack.workspace.new_trigger("U0ADA")
    top = modal(notify_on_close=True, clear_on_close=True)
    pushed = await api.views_push(trigger_id=trigger, view=top)

    await slack.close_view("U0ADA", pushed["view"]["id"])

    assert app.payload()["is_cleared"] is True
    assert app.payload()["view"]["id"] == pushed["view"]["id"]
    assert stack(slack) == []


@pytest.mark.parametrize("what", ["update", "push", "clear", "errors", None])
async def test_answer_for_a_view_that_was_closed_changes_nothing(
    slack: Playground, api: AsyncWebClient, app: App, what: str | None
) -> None:
    view = await opened(slack, api, FORM)
    answers = {
        "update": {"view": modal()},
        "push": {"view": modal()},
        "errors": {"errors": {"name": "Too short"}},
    }

    async def close_first() -> web.Response:
        await slack.close_view("U0ADA", view["id"])
        if what is None:
            return web.Response()
        answer = {"response_action": what, **answers.get(what, {})}
        return web.json_response(answer)

    app.answer = close_first
    await slack.submit("U0ADA", view["id"], FILLED)

    assert stack(slack) == []


async def test_answered_view_may_not_take_the_id_of_another(
    slack: Playground, api: AsyncWebClient, app: App
) -> None:
    first = await opened(slack, api, modal(external_id="one"))
    app.says({"response_action": "push", "view": modal(external_id="one")})
    pushed = await slack.submit("U0ADA", first["id"], {})
    app.says({"response_action": "update", "view": modal(external_id="one")})
    updated = await slack.submit("U0ADA", first["id"], {})

    assert pushed["problems"]["error"] == "duplicate_external_id"
    assert updated["ok"]


async def test_fourth_view_is_not_pushed(
    slack: Playground, api: AsyncWebClient, app: App
) -> None:
    await opened(slack, api, modal())
    app.says({"response_action": "push", "view": modal()})
    for _ in range(2):
        assert (await slack.submit("U0ADA", stack(slack)[-1], {}))["ok"]

    outcome = await slack.submit("U0ADA", stack(slack)[-1], {})

    assert outcome["problems"]["error"] == "push_limit_reached"
    assert len(stack(slack)) == 3


async def test_views_belong_to_one_person(
    slack: Playground, api: AsyncWebClient, app: App
) -> None:
    view = await opened(slack, api, modal(actions(button())))

    assert not (await slack.act("U0BEN", view_id=view["id"], action_id="press"))["ok"]
    assert not (await slack.submit("U0BEN", view["id"], {}))["ok"]
    assert not (await slack.close_view("U0BEN", view["id"]))["ok"]
    assert app.received == []


async def test_opened_home_is_an_event(
    slack: Playground, api: AsyncWebClient, app: App
) -> None:
    await api.views_publish(user_id="U0ADA", view=HOME)

    assert (await slack.open_home("U0ADA"))["ok"]

    event = app.event()["event"]
    assert (event["type"], event["user"], event["tab"]) == (
        "app_home_opened",
        "U0ADA",
        "home",
    )
    assert event["channel"] == "D0ADA"
    assert event["view"]["blocks"][0]["text"]["text"] == "At home"
