"""Modals on the playground's page: the dialog, its stack, its submission, its people.

The app behind it is the small one of these tests, so that every view is as given here.
Elements are found by role and name, as a screen reader would.
"""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from aiohttp import web
from playwright.async_api import expect
from pretend_app import (
    App,
    actions,
    button,
    client,
    field,
    manifest,
    modal,
    playground,
    running_app,
    section,
    text,
)
from slack_sdk.web.async_client import AsyncWebClient
from view_parts import PageAt, described, dialog, kinds, opened

from bot.playground.server import Playground

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

OPS = "C0OPS"
WHY = field({"type": "plain_text_input", "multiline": True}, "why", label=text("Why?"))


@pytest_asyncio.fixture(loop_scope="session")
async def app() -> AsyncIterator[App]:
    async with running_app() as running:
        yield running


@pytest_asyncio.fixture(loop_scope="session")
async def slack(app: App) -> AsyncIterator[Playground]:
    shown = manifest(events=[])
    async with playground(app_url=app.url, manifest=shown) as running:
        yield running


@pytest.fixture
def api(slack: Playground) -> AsyncWebClient:
    return client(slack)


async def test_button_opens_a_dialog_and_escape_gives_the_focus_back(
    slack: Playground, app: App, api: AsyncWebClient, page_at: PageAt
) -> None:
    seen = asyncio.Event()

    async def open_form() -> web.Response:
        trigger = app.payload()["trigger_id"]
        view = modal(WHY, notify_on_close=True, close=text("Back"))
        await api.views_open(trigger_id=trigger, view=view)
        app.answer = web.Response
        # The button is drawn anew when this ends, and the dialog is then open.
        await seen.wait()
        return web.Response()

    app.answer = open_form
    await api.chat_postMessage(channel=OPS, text="c", blocks=[actions(button())])
    page = await page_at(slack.page_url)
    go = page.get_by_role("article").get_by_role("button", name="Go")

    await go.click()
    await expect(dialog(page).get_by_role("textbox", name="Why?")).to_be_focused()
    await expect(dialog(page).get_by_role("button", name="Back")).to_be_visible()
    seen.set()
    await expect(go).not_to_have_attribute("aria-busy", "true")
    await page.keyboard.press("Escape")

    await expect(dialog(page)).to_be_hidden()
    await expect(go).to_be_focused()
    await app.until(2)
    assert kinds(app) == ["block_actions", "view_closed"]


async def test_tab_stays_inside_the_dialog(slack: Playground, page_at: PageAt) -> None:
    page = await page_at(slack.page_url)
    await opened(slack, modal(WHY))
    cross = dialog(page).get_by_role("button", name="Close dialog")
    send = dialog(page).get_by_role("button", name="Send")

    await cross.focus()
    await page.keyboard.press("Shift+Tab")
    await expect(send).to_be_focused()
    await page.keyboard.press("Tab")

    await expect(cross).to_be_focused()


async def test_errors_of_the_app_stand_under_their_fields(
    slack: Playground, app: App, page_at: PageAt
) -> None:
    app.says({"response_action": "errors", "errors": {"f1": "Nobody is called so."}})
    page = await page_at(slack.page_url)
    fields = [
        field({"type": "plain_text_input"}, f"f{index}", label=text(name))
        for index, name in enumerate(("Service", "Person"))
    ]
    await opened(slack, modal(*fields))
    person = dialog(page).get_by_label("Person")

    await dialog(page).get_by_label("Service").fill("api")
    await person.fill("Dora")
    await person.press("Enter")

    await expect(person).to_have_attribute("aria-invalid", "true")
    assert await described(person) == "Nobody is called so."
    await expect(person).to_be_focused()
    await expect(dialog(page).get_by_label("Service")).to_have_value("api")
    await expect(person).to_have_value("Dora")
    app.says("")
    await dialog(page).get_by_role("button", name="Send").click()
    await expect(dialog(page)).to_be_hidden()


async def test_trouble_connecting_is_said_and_nothing_lost(
    slack: Playground, app: App, page_at: PageAt
) -> None:
    app.says("", status=500)
    page = await page_at(slack.page_url)
    await opened(slack, modal(WHY))
    why = dialog(page).get_by_label("Why?")

    await why.fill("Not on a Friday")
    await dialog(page).get_by_role("button", name="Send").click()

    trouble = dialog(page).get_by_role("alert")
    await expect(trouble).to_contain_text("We had some trouble connecting")
    await expect(why).to_have_value("Not on a Friday")
    app.says("")
    await dialog(page).get_by_role("button", name="Send").click()
    await expect(dialog(page)).to_be_hidden()
    values = app.payload()["view"]["state"]["values"]
    assert values["why"]["v"]["value"] == "Not on a Friday"


async def test_wrong_answer_of_the_app_is_trouble_too(
    slack: Playground, app: App, page_at: PageAt
) -> None:
    app.says("thanks")
    page = await page_at(slack.page_url)
    await opened(slack, modal())

    await dialog(page).get_by_role("button", name="Send").click()

    trouble = dialog(page).get_by_role("alert")
    await expect(trouble).to_have_text("We had some trouble connecting. Try again?")


async def test_submit_is_busy_and_sent_once(
    slack: Playground, app: App, page_at: PageAt
) -> None:
    go_on = asyncio.Event()

    async def wait() -> web.Response:
        await go_on.wait()
        return web.Response()

    app.answer = wait
    page = await page_at(slack.page_url)
    await opened(slack, modal())
    send = dialog(page).get_by_role("button", name="Send")

    await send.click()
    await expect(send).to_have_attribute("aria-busy", "true")
    await page.keyboard.press("Enter")
    go_on.set()

    await expect(dialog(page)).to_be_hidden()
    assert len(app.received) == 1


async def test_update_keeps_what_was_typed_under_the_same_ids(
    slack: Playground, api: AsyncWebClient, page_at: PageAt
) -> None:
    page = await page_at(slack.page_url)
    kept = field({"type": "plain_text_input"}, "kept", label=text("Kept"))
    gone = field({"type": "plain_text_input"}, "gone", label=text("Moved"))
    view = await opened(slack, modal(kept, gone))
    form = dialog(page)
    await form.get_by_label("Moved").fill("two")
    await form.get_by_label("Kept").fill("one")

    await api.views_update(
        view_id=view["id"],
        view=modal(
            section("Fill this in"),
            kept | {"label": text("Kept, another label")},
            gone | {"block_id": "fresh"},
            title=text("Second page"),
        ),
    )

    form = dialog(page, "Second page")
    await expect(form.get_by_text("Fill this in")).to_be_visible()
    await expect(form.get_by_label("Kept, another label")).to_have_value("one")
    await expect(form.get_by_label("Kept, another label")).to_be_focused()
    await expect(form.get_by_label("Moved")).to_have_value("")


async def test_back_arrow_leads_to_the_view_below(
    slack: Playground, app: App, page_at: PageAt
) -> None:
    page = await page_at(slack.page_url)
    await opened(slack, modal(WHY, title=text("Below")))
    below, above = dialog(page, "Below"), dialog(page, "Above")
    back = page.get_by_role("button", name="Go back to the view before")
    await below.get_by_label("Why?").fill("half a sen")
    await expect(back).to_be_hidden()
    app.says({"response_action": "push", "view": modal(title=text("Above"))})
    await below.get_by_role("button", name="Send").click()
    await expect(above).to_be_visible()

    await back.click()

    await expect(below.get_by_label("Why?")).to_have_value("half a sen")
    send = below.get_by_role("button", name="Send")
    await expect(send).not_to_have_attribute("aria-busy", "true")


async def test_cross_closes_the_whole_stack(
    slack: Playground, app: App, page_at: PageAt
) -> None:
    page = await page_at(slack.page_url)
    await opened(slack, modal(title=text("Below")))
    app.says({"response_action": "push", "view": modal(title=text("Above"))})
    await dialog(page, "Below").get_by_role("button", name="Send").click()
    await expect(dialog(page, "Above")).to_be_visible()

    await page.get_by_role("button", name="Close dialog").click()

    await expect(page.get_by_role("dialog")).to_be_hidden()
    assert slack.workspace.views["U0ADA"] == []


async def test_button_in_a_modal_carries_what_was_typed(
    slack: Playground, app: App, page_at: PageAt
) -> None:
    page = await page_at(slack.page_url)
    view = await opened(slack, modal(WHY, actions(button("next", value="2"))))

    await dialog(page).get_by_label("Why?").fill("typed so far")
    await dialog(page).get_by_role("button", name="Go").click()

    await app.until(1)
    sent = app.payload()
    assert sent["container"] == {"type": "view", "view_id": view["id"]}
    assert sent["actions"][0]["value"] == "2"
    assert sent["view"]["state"]["values"]["why"]["v"]["value"] == "typed so far"
    await expect(dialog(page)).to_be_visible()


async def test_failed_button_in_a_modal_says_so(
    slack: Playground, app: App, page_at: PageAt
) -> None:
    app.says("", status=500)
    page = await page_at(slack.page_url)
    await opened(slack, modal(actions(button("next"))))

    await dialog(page).get_by_role("button", name="Go").click()

    trouble = dialog(page).get_by_role("alert")
    await expect(trouble).to_contain_text("We had some trouble connecting")


async def test_escape_in_a_confirm_dialog_leaves_the_modal(
    slack: Playground, app: App, page_at: PageAt
) -> None:
    names = ("title", "text", "confirm", "deny")
    confirm = {name: text(f"Really {name}") for name in names}
    page = await page_at(slack.page_url)
    await opened(slack, modal(actions(button("next", confirm=confirm))))

    await dialog(page).get_by_role("button", name="Go").click()
    await expect(dialog(page, "Really title")).to_be_visible()
    await page.keyboard.press("Escape")

    await expect(dialog(page, "Really title")).to_be_hidden()
    await expect(dialog(page)).to_be_visible()
    assert app.received == []


async def test_everybody_has_a_modal_of_their_own(
    slack: Playground, page_at: PageAt
) -> None:
    page = await page_at(slack.page_url)
    await opened(slack, modal(WHY))
    await dialog(page).get_by_label("Why?").fill("Ada's words")

    await page.get_by_role("radio", name="Ben").check()
    await expect(dialog(page)).to_be_hidden()
    await expect(page.get_by_role("textbox", name="Message #ops")).to_be_enabled()
    await page.get_by_role("radio", name="Ada").check()

    await expect(dialog(page).get_by_label("Why?")).to_have_value("Ada's words")
