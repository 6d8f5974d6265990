"""The app's Home tab on the playground's page, and what the page offers to try next."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import web
from playwright.async_api import Locator, Page, expect
from pretend_app import (
    App,
    actions,
    button,
    client,
    field,
    manifest,
    playground,
    running_app,
    section,
    text,
)
from slack_sdk.web.async_client import AsyncWebClient

from bot.playground.server import Playground

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

PageAt = Callable[..., Awaitable[Page]]
RUN = {"command": "/run", "description": "Start a run", "usage_hint": "what to do"}


def with_run() -> dict[str, Any]:
    """A manifest that offers runs too."""
    given = manifest(events=["app_home_opened"])
    given["features"]["slash_commands"].append(RUN)
    return given


@pytest_asyncio.fixture(loop_scope="session")
async def app() -> AsyncIterator[App]:
    async with running_app() as running:
        yield running


@pytest_asyncio.fixture(loop_scope="session")
async def slack(app: App) -> AsyncIterator[Playground]:
    async with playground(app_url=app.url, manifest=with_run()) as running:
        yield running


@pytest.fixture
def api(slack: Playground) -> AsyncWebClient:
    return client(slack)


def home(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"type": "home", "blocks": list(blocks)}


def panel(page: Page) -> Locator:
    return page.get_by_role("tabpanel", name="Home")


async def look(page: Page) -> None:
    await page.get_by_role("button", name="Countersign", exact=True).click()
    await expect(panel(page)).to_be_visible()


async def test_looking_at_home_tells_the_app_and_shows_its_view(
    slack: Playground, app: App, api: AsyncWebClient, page_at: PageAt
) -> None:
    page = await page_at(slack.page_url)

    await look(page)
    await expect(panel(page)).to_contain_text("put nothing on this Home tab yet")
    await api.views_publish(user_id="U0ADA", view=home(section("Nothing waits")))

    await expect(panel(page).get_by_text("Nothing waits")).to_be_visible()
    await expect(panel(page).get_by_text("put nothing")).to_be_hidden()
    event = json.loads(app.received[0][1])["event"]
    told = (event["type"], event["user"], event["tab"])
    assert told == ("app_home_opened", "U0ADA", "home")


async def test_home_is_told_of_each_look_and_each_person(
    slack: Playground, app: App, api: AsyncWebClient, page_at: PageAt
) -> None:
    await api.views_publish(user_id="U0ADA", view=home(section("Ada's own")))
    await api.views_publish(user_id="U0BEN", view=home(section("Ben's own")))
    page = await page_at(slack.page_url)

    await look(page)
    await expect(panel(page).get_by_text("Ada's own")).to_be_visible()
    await page.get_by_role("radio", name="Ben").check()
    await look(page)
    await expect(panel(page).get_by_text("Ben's own")).to_be_visible()
    await page.get_by_role("radio", name="Ada").check()
    await expect(panel(page).get_by_text("Ada's own")).to_be_visible()

    await app.until(3)
    users = [json.loads(body)["event"]["user"] for _, body in app.received]
    assert users == ["U0ADA", "U0BEN", "U0ADA"]


async def test_button_on_home_acts_in_its_view(
    slack: Playground, app: App, api: AsyncWebClient, page_at: PageAt
) -> None:
    asked = field({"type": "plain_text_input"}, "who", label=text("Who?"))
    blocks = [asked, actions(button("hello", value="h"))]
    published = await api.views_publish(user_id="U0ADA", view=home(*blocks))
    page = await page_at(slack.page_url)
    await look(page)

    await panel(page).get_by_label("Who?").fill("Cleo")
    go = panel(page).get_by_role("button", name="Go")
    await go.click()

    await app.until(2)
    await expect(go).not_to_have_attribute("aria-busy", "true")
    sent = app.payload()
    view_id = published["view"]["id"]
    assert sent["container"] == {"type": "view", "view_id": view_id}
    assert sent["actions"][0]["action_id"] == "hello"
    assert sent["view"]["state"]["values"]["who"]["v"]["value"] == "Cleo"
    await expect(go).to_be_focused()


async def test_button_on_home_opens_a_modal_and_gets_the_focus_back(
    slack: Playground, app: App, api: AsyncWebClient, page_at: PageAt
) -> None:
    async def review() -> web.Response:
        view = {"type": "modal", "title": text("Review"), "blocks": [section()]}
        await api.views_open(trigger_id=app.payload()["trigger_id"], view=view)
        app.answer = web.Response
        return web.Response()

    await api.views_publish(user_id="U0ADA", view=home(actions(button("review"))))
    page = await page_at(slack.page_url)
    await look(page)
    await app.until(1)
    app.answer = review
    go = panel(page).get_by_role("button", name="Go")

    await go.click()
    await expect(page.get_by_role("dialog", name="Review")).to_be_visible()
    await page.keyboard.press("Escape")

    await expect(page.get_by_role("dialog", name="Review")).to_be_hidden()
    await expect(go).to_be_focused()


async def test_failed_button_on_home_says_so(
    slack: Playground, app: App, api: AsyncWebClient, page_at: PageAt
) -> None:
    await api.views_publish(user_id="U0ADA", view=home(actions(button("hello"))))
    page = await page_at(slack.page_url)
    await look(page)
    await app.until(1)
    app.says("", status=500)

    await panel(page).get_by_role("button", name="Go").click()

    trouble = panel(page).get_by_role("alert")
    await expect(trouble).to_contain_text("We had some trouble connecting")


async def test_arrow_keys_lead_from_home_to_the_messages(
    slack: Playground, app: App, page_at: PageAt
) -> None:
    page = await page_at(slack.page_url)
    await look(page)

    await page.get_by_role("tab", name="Home").focus()
    await page.keyboard.press("ArrowRight")

    messages = page.get_by_role("tab", name="Messages")
    await expect(messages).to_be_focused()
    await expect(messages).to_have_attribute("aria-selected", "true")
    await expect(panel(page)).to_be_hidden()
    box = page.get_by_role("textbox", name="Message Countersign")
    await box.fill("hello")
    await box.press("Enter")
    await expect(page.get_by_role("article")).to_contain_text("hello")


async def test_new_message_of_the_app_is_what_its_entry_opens(
    slack: Playground, app: App, api: AsyncWebClient, page_at: PageAt
) -> None:
    page = await page_at(slack.page_url)
    await look(page)
    await page.get_by_role("button", name="#ops").click()
    await expect(panel(page)).to_be_hidden()
    await api.chat_postMessage(channel="U0ADA", text="CS-1 waits for you")
    entry = page.get_by_role("button", name="Countersign", exact=True)
    await expect(entry).to_have_attribute("aria-description", "1 for you")

    await entry.click()

    await expect(page.get_by_role("article")).to_contain_text("CS-1 waits for you")
    await expect(panel(page)).to_be_hidden()


async def test_app_that_does_not_answer_is_named_on_home(
    slack: Playground, app: App, page_at: PageAt
) -> None:
    app.says("", status=500)
    page = await page_at(slack.page_url)

    await look(page)

    await expect(panel(page).get_by_role("alert")).to_contain_text("dispatch_failed")


async def test_app_without_a_home_tab_says_so(app: App, page_at: PageAt) -> None:
    given = manifest(app_home={"home_tab_enabled": False})
    async with playground(app_url=app.url, manifest=given) as slack:
        page = await page_at(slack.page_url)

        await look(page)

        trouble = panel(page).get_by_role("alert")
        await expect(trouble).to_contain_text("this app has no Home tab")
        assert app.received == []
        await page.close()


async def test_home_fits_a_phone(
    slack: Playground, app: App, api: AsyncWebClient, page_at: PageAt
) -> None:
    row = section("Restart " + "x" * 80) | {"accessory": button("review")}
    await api.views_publish(user_id="U0ADA", view=home(row))
    page = await page_at(slack.page_url, width=320, has_touch=True)

    await page.get_by_role("button", name="Channels").click()
    await look(page)

    go = panel(page).get_by_role("button", name="Go")
    await expect(go).to_be_in_viewport(ratio=1)
    assert await panel(page).evaluate("node => node.scrollWidth") == 320


async def test_more_to_try_offers_what_the_bot_has(
    slack: Playground, app: App, api: AsyncWebClient, page_at: PageAt
) -> None:
    page = await page_at(slack.page_url)
    tries = page.get_by_role("region", name="Try this")
    words = "/run restart the api and tell me if it is healthy"

    await tries.get_by_role("button", name=words).click()
    box = page.get_by_role("textbox", name="Message #ops")
    await expect(box).to_have_value(words)
    await tries.get_by_role("button", name="The Home tab").click()

    await expect(panel(page)).to_be_visible()
    in_thread = tries.get_by_role("button", name="@Countersign in a thread")
    await expect(in_thread).to_have_count(0)
    await api.chat_postMessage(channel="C0OPS", text="Is the api slow?")
    await in_thread.click()
    reply = page.get_by_role("textbox", name="Reply in thread")
    await expect(reply).to_have_value("@Countersign restart the api")
    await expect(reply).to_be_focused()


async def test_bot_without_runs_offers_none(app: App, page_at: PageAt) -> None:
    async with playground(app_url=app.url) as slack:
        page = await page_at(slack.page_url)
        tries = page.get_by_role("region", name="Try this")

        await expect(tries).to_contain_text("The wire panel")
        await expect(tries).not_to_contain_text("/run")
        await expect(tries).not_to_contain_text("The Home tab")
        await page.close()


@pytest.mark.parametrize("place", ["Message #ops", "Reply in thread"])
async def test_app_is_completed_where_one_writes(
    slack: Playground, app: App, api: AsyncWebClient, page_at: PageAt, place: str
) -> None:
    root = (await api.chat_postMessage(channel="C0OPS", text="root"))["ts"]
    page = await page_at(slack.page_url)
    await page.get_by_role("article").hover()
    await page.get_by_role("button", name="Open thread").click()
    box = page.get_by_role("textbox", name=place)

    await box.fill("ask @coun")
    await expect(page.get_by_role("option", name="@Countersign")).to_be_visible()
    await box.press("Enter")
    await expect(box).to_have_value("ask @Countersign ")
    await box.press("Enter")

    shown = page.get_by_role("article").filter(has_text="ask @Countersign")
    await expect(shown).to_be_visible()
    written = list(slack.workspace.messages["C0OPS"].values())[-1]
    assert written["text"] == "ask <@U0CSIGN>"
    assert written.get("thread_ts") == (None if place.startswith("Message") else root)
