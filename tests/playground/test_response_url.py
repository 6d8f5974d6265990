from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
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
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.webhook.async_client import AsyncWebhookClient

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


async def test_response_url_speaks_to_the_person_only(
    slack: Playground, app: App
) -> None:
    await slack.command("U0ADA", "C0PRIVATE", "/tool", "x")
    hook = AsyncWebhookClient(app.form()["response_url"])

    answer = await hook.send(text="just you")

    assert answer.status_code == 200
    assert slack.workspace.ephemerals["U0ADA"][-1]["text"] == "just you"


async def test_response_url_may_speak_to_all(slack: Playground, app: App) -> None:
    await slack.command("U0ADA", "C0PRIVATE", "/tool", "x")
    hook = AsyncWebhookClient(app.form()["response_url"])

    await hook.send(text="<@U0BEN> look", response_type="in_channel")

    (posted,) = slack.workspace.messages["C0PRIVATE"].values()
    assert posted["user"] == "U0CSIGN"
    assert slack.workspace.notifications["U0BEN"][0]["why"] == "mentioned"


async def test_response_url_replaces_and_deletes_what_was_clicked(
    slack: Playground, api: AsyncWebClient, app: App
) -> None:
    ts = await card(api)
    await slack.act("U0BEN", "C0OPS", ts, action_id="press")
    hook = AsyncWebhookClient(app.payload()["response_url"])

    await hook.send(text="settled", replace_original=True)
    replaced = dict(slack.workspace.messages["C0OPS"][ts])
    await hook.send(delete_original=True)

    assert replaced["text"] == "settled"
    assert "blocks" not in replaced
    assert slack.workspace.messages["C0OPS"] == {}
    assert (await hook.send(text="x", replace_original=True)).status_code == 400


async def test_response_url_replaces_an_ephemeral(
    slack: Playground, api: AsyncWebClient, app: App
) -> None:
    posted = await api.chat_postEphemeral(
        channel="C0OPS", user="U0ADA", text="psst", blocks=[actions(button())]
    )
    await slack.act("U0ADA", "C0OPS", posted["message_ts"], action_id="press")
    hook = AsyncWebhookClient(app.payload()["response_url"])

    await hook.send(text="done", replace_original=True)

    (left,) = slack.workspace.ephemerals["U0ADA"]
    assert left["text"] == "done"
    assert "blocks" not in left


async def test_response_url_replies_in_a_thread_for_all(
    slack: Playground, api: AsyncWebClient, app: App
) -> None:
    ts = await card(api)
    await slack.act("U0BEN", "C0OPS", ts, action_id="press")
    url = app.payload()["response_url"]
    body = {"text": "news", "response_type": "in_channel", "thread_ts": ts}

    async with aiohttp.ClientSession() as session, session.post(url, json=body) as done:
        assert done.status == 200

    assert [m["text"] for m in slack.workspace.thread("C0OPS", ts)] == ["card", "news"]


async def test_response_url_ends_after_five_uses_or_thirty_minutes(
    slack: Playground, app: App, clock: Clock
) -> None:
    await slack.command("U0ADA", "C0OPS", "/tool", "x")
    often = AsyncWebhookClient(app.form()["response_url"])
    await slack.command("U0ADA", "C0OPS", "/tool", "x")
    late = AsyncWebhookClient(app.form()["response_url"])

    codes = [(await often.send(text="x")).status_code for _ in range(6)]
    clock.now += 30 * 60 + 1

    assert codes == [200] * 5 + [404]
    assert (await late.send(text="x")).status_code == 404
    unknown = AsyncWebhookClient(f"{slack.url}/response/unknown")
    assert (await unknown.send(text="x")).status_code == 404


async def test_response_url_refuses_bad_blocks(slack: Playground, app: App) -> None:
    await slack.command("U0ADA", "C0OPS", "/tool", "x")
    hook = AsyncWebhookClient(app.form()["response_url"])

    answer = await hook.send(text="x", blocks=[section("")])

    assert answer.status_code == 400
    assert "invalid_blocks" in answer.body
    assert (await hook.send(text="")).status_code == 400


async def test_response_url_can_be_made_to_fail(slack: Playground, app: App) -> None:
    await slack.command("U0ADA", "C0OPS", "/tool", "x")
    hook = AsyncWebhookClient(app.form()["response_url"])
    slack.fault("response_url", "500", 1)

    assert (await hook.send(text="first")).status_code == 500
    assert (await hook.send(text="again")).status_code == 200

    assert [one["text"] for one in slack.workspace.ephemerals["U0ADA"]] == ["again"]
