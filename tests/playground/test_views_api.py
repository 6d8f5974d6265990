from collections.abc import AsyncIterator
from typing import Any

import pytest
from pretend_app import (
    App,
    Clock,
    client,
    field,
    manifest,
    modal,
    playground,
    refused,
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


async def test_view_opens_for_who_pulled_the_trigger(
    slack: Playground, api: AsyncWebClient
) -> None:
    view = await opened(slack, api, modal(callback_id="form", private_metadata="r1"))

    assert stack(slack) == [view["id"]]
    assert view["callback_id"] == "form"
    assert view["root_view_id"] == view["id"]
    assert view["state"] == {"values": {}}


async def test_trigger_is_refused_when_spent_or_late(
    slack: Playground, api: AsyncWebClient, clock: Clock
) -> None:
    trigger = slack.workspace.new_trigger("U0ADA")
    late = slack.workspace.new_trigger("U0ADA")
    await api.views_open(trigger_id=trigger, view=modal())

    with refused("exchanged_trigger_id"):
        await api.views_open(trigger_id=trigger, view=modal())
    with refused("invalid_trigger_id"):
        await api.views_open(trigger_id="1.2.x", view=modal())
    clock.now += 3.1
    with refused("expired_trigger_id"):
        await api.views_open(trigger_id=late, view=modal())


async def test_third_view_is_the_last_one(
    slack: Playground, api: AsyncWebClient
) -> None:
    await opened(slack, api, modal())
    pushed = []
    for _ in range(2):
        trigger = slack.workspace.new_trigger("U0ADA")
        pushed.append((await api.views_push(trigger_id=trigger, view=modal()))["view"])

    assert pushed[1]["previous_view_id"] == pushed[0]["id"]
    assert pushed[1]["root_view_id"] == stack(slack)[0]
    with refused("push_limit_reached"):
        trigger = slack.workspace.new_trigger("U0ADA")
        await api.views_push(trigger_id=trigger, view=modal())


async def test_nothing_is_pushed_onto_nothing(
    slack: Playground, api: AsyncWebClient
) -> None:
    with refused("invalid_trigger_id"):
        trigger = slack.workspace.new_trigger("U0ADA")
        await api.views_push(trigger_id=trigger, view=modal())


async def test_view_is_refused_with_the_place(
    slack: Playground, api: AsyncWebClient
) -> None:
    trigger = slack.workspace.new_trigger("U0ADA")
    with refused("invalid_arguments") as body:
        await api.views_open(trigger_id=trigger, view=modal(title=text("x" * 25)))

    assert body["response_metadata"]["messages"] == [
        "[ERROR] must be less than 25 characters [json-pointer:/view/title/text]"
    ]
    with refused("view_too_large"):
        await api.views_open(
            trigger_id=trigger, view=modal(*[section("x" * 3000)] * 85)
        )
    with refused("invalid_arguments"):
        await api.views_open(trigger_id=trigger, view=HOME)
    with refused("invalid_arguments"):
        await api.api_call("views.open", json={"trigger_id": trigger})


async def test_external_id_is_used_once(slack: Playground, api: AsyncWebClient) -> None:
    view = await opened(slack, api, modal(external_id="mine"))

    with refused("duplicate_external_id"):
        await opened(slack, api, modal(external_id="mine"), user="U0BEN")
    answer = await api.views_update(external_id="mine", view=modal(external_id="mine"))

    assert answer["view"]["id"] == view["id"]


async def test_update_needs_the_view_and_its_hash(
    slack: Playground, api: AsyncWebClient
) -> None:
    view = await opened(slack, api, modal())

    with refused("not_found"):
        await api.views_update(view_id="V0NONE", view=modal())
    with refused("hash_conflict"):
        await api.views_update(view_id=view["id"], view=modal(), hash="1800.x")
    answer = await api.views_update(view_id=view["id"], view=modal(), hash=view["hash"])

    assert answer["view"]["hash"] != view["hash"]
    with refused("hash_conflict"):
        await api.views_update(view_id=view["id"], view=modal(), hash=view["hash"])
    with refused("view_too_large"):
        big = modal(*[section("x" * 3000)] * 85)
        await api.views_update(view_id=view["id"], view=big)


async def test_what_was_typed_survives_an_update_where_ids_stay(
    slack: Playground, api: AsyncWebClient
) -> None:
    form = modal(field({"type": "plain_text_input"}))
    view = await opened(slack, api, form)
    await slack.act("U0ADA", view_id=view["id"], action_id="v", value="typed")

    kept = await api.views_update(view_id=view["id"], view=form)
    renamed = modal(field({"type": "plain_text_input"}, "f1"))
    lost = await api.views_update(view_id=view["id"], view=renamed)

    assert kept["view"]["state"]["values"]["f0"]["v"]["value"] == "typed"
    assert lost["view"]["state"]["values"]["f1"]["v"]["value"] is None


async def test_home_is_published_and_guarded_by_its_hash(
    slack: Playground, api: AsyncWebClient
) -> None:
    first = (await api.views_publish(user_id="U0ADA", view=HOME))["view"]
    second = (await api.views_publish(user_id="U0ADA", view=HOME, hash=first["hash"]))[
        "view"
    ]

    assert second["id"] == first["id"]
    with refused("hash_conflict"):
        await api.views_publish(user_id="U0ADA", view=HOME, hash=first["hash"])
    with refused("invalid_arguments"):
        await api.views_publish(user_id="U0NOBODY", view=HOME)


async def test_home_needs_its_tab() -> None:
    async with playground(manifest=manifest(app_home={})) as slack:
        with refused("not_enabled"):
            await client(slack).views_publish(user_id="U0ADA", view=HOME)
        assert (await slack.open_home("U0ADA"))["ok"] is False
