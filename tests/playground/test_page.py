"""The playground's page in a real Chromium, against the playground's own server.

The app behind it is a small one that notes what it is sent, so that these tests are
about the page alone. Elements are found by role and name, as a screen reader would.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

import pytest
import pytest_asyncio
from aiohttp import web
from playwright.async_api import Browser, Locator, Page, expect
from slack_sdk.web.async_client import AsyncWebClient

from bot.playground.server import Playground

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

PageAt = Callable[..., Awaitable[Page]]
OPS = "C0OPS"
MANIFEST = {
    "features": {
        "slash_commands": [
            {"command": "/tool", "description": "Call a tool", "usage_hint": "name"},
            {"command": "/runs", "description": "Your runs", "usage_hint": ""},
        ]
    },
    "oauth_config": {"scopes": {"bot": ["chat:write", "commands"]}},
}


@dataclass(kw_only=True)
class NotingApp:
    """An app that notes each delivery; it may be told to wait or to fail."""

    commands: list[dict[str, str]] = field(default_factory=list)
    presses: list[dict[str, Any]] = field(default_factory=list)
    pressed: asyncio.Event = field(default_factory=asyncio.Event)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)
    status: int = 200

    async def take(self, request: web.Request) -> web.Response:
        form = {name: one[0] for name, one in parse_qs(await request.text()).items()}
        if "payload" in form:
            self.presses.append(json.loads(form["payload"]))
            self.pressed.set()
        elif "command" in form:
            self.commands.append(form)
        await self.go_on.wait()
        return web.Response(status=self.status)


@pytest_asyncio.fixture(loop_scope="session")
async def slack() -> AsyncIterator[Playground]:
    async with Playground(manifest=MANIFEST) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="session")
async def app(slack: Playground) -> AsyncIterator[NotingApp]:
    noting = NotingApp()
    noting.go_on.set()
    site = web.Application()
    site.router.add_route("*", "/{path:.*}", noting.take)
    runner = web.AppRunner(site, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    slack.app_url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield noting
    noting.go_on.set()
    await runner.cleanup()


@pytest.fixture
def bot(slack: Playground) -> AsyncWebClient:
    return AsyncWebClient(token=slack.bot_token, base_url=slack.api_url)


def literal(*texts: str) -> dict[str, Any]:
    parts = [{"type": "text", "text": text} for text in texts]
    section = {"type": "rich_text_section", "elements": parts}
    return {"type": "rich_text", "elements": [section]}


def button(name: str, **more: Any) -> dict[str, Any]:
    text = {"type": "plain_text", "text": name}
    return {"type": "button", "action_id": name, "value": "x", "text": text, **more}


def card(*buttons: dict[str, Any], call: str = "restart") -> list[dict[str, Any]]:
    words = [{"type": "text", "text": f'{call}\nservice = "api"'}]
    part = {"type": "rich_text_preformatted", "elements": words}
    fixed = {"type": "rich_text", "elements": [part]}
    actions = {"type": "actions", "elements": list(buttons)}
    return [literal("Restart api in eu?"), literal("Ada asks."), fixed, actions]


def article(page: Page, text: str) -> Locator:
    return page.get_by_role("article").filter(has_text=text)


async def test_empty_page_says_nobody_was_notified(
    slack: Playground, page_at: PageAt
) -> None:
    page = await page_at(slack.page_url)

    await expect(page.get_by_role("radio", name="Ada")).to_be_checked()
    await expect(page.get_by_text("Nobody was notified")).to_be_visible()
    await expect(page.get_by_role("region", name="Ben's phone")).to_be_visible()


async def test_first_command_stands_ready_and_is_sent(
    slack: Playground, app: NotingApp, page_at: PageAt
) -> None:
    page = await page_at(slack.page_url)
    box = page.get_by_role("textbox", name="Message #ops")
    await expect(box).to_have_value("/tool restart service=api")

    await page.get_by_role("button", name="Send").click()

    await expect(box).to_have_value("")
    sent = [(one["user_id"], one["command"], one["text"]) for one in app.commands]
    assert sent == [("U0ADA", "/tool", "restart service=api")]


async def test_slash_offers_the_commands_of_the_manifest(
    slack: Playground, page_at: PageAt
) -> None:
    page = await page_at(slack.page_url)
    box = page.get_by_role("textbox", name="Message #ops")

    await box.fill("/r")
    await expect(page.get_by_role("option")).to_contain_text("/runs")
    await box.press("Tab")

    await expect(box).to_have_value("/runs ")


async def test_unknown_command_is_named_and_not_sent(
    slack: Playground, app: NotingApp, page_at: PageAt
) -> None:
    page = await page_at(slack.page_url)
    box = page.get_by_role("textbox", name="Message #ops")

    await box.fill("/nothing here")
    await box.press("Enter")

    await expect(page.get_by_role("alert")).to_contain_text("/nothing is not a valid")
    assert app.commands == []


async def test_typed_message_appears_as_its_author_wrote_it(
    slack: Playground, app: NotingApp, page_at: PageAt
) -> None:
    page = await page_at(slack.page_url)
    box = page.get_by_role("textbox", name="Message #ops")

    await box.fill("a < b & <@U0BEN>, right @Cleo?")
    await box.press("Enter")

    shown = article(page, "a < b & <@U0BEN>, right @Cleo?")
    await expect(shown).to_contain_text("Ada")
    stored = (await slack.state())["messages"][OPS][0]["text"]
    assert stored == "a &lt; b &amp; &lt;@U0BEN&gt;, right <@U0CLEO>?"


async def test_other_person_writes_after_switching(
    slack: Playground, app: NotingApp, page_at: PageAt
) -> None:
    page = await page_at(slack.page_url)

    await page.get_by_role("radio", name="Ben").check()
    await page.get_by_role("textbox", name="Message #ops").fill("hello")
    await page.get_by_role("button", name="Send").click()

    await expect(article(page, "hello")).to_contain_text("Ben")
    assert "as=U0BEN" in page.url


async def test_second_window_is_somebody_else_live(
    slack: Playground, app: NotingApp, page_at: PageAt
) -> None:
    ada = await page_at(slack.page_url)
    ben = await page_at(f"{slack.page_url}&as=U0BEN")
    await expect(ben.get_by_role("radio", name="Ben")).to_be_checked()

    await ada.get_by_role("textbox", name="Message #ops").fill("are you there")
    await ada.get_by_role("button", name="Send").click()

    await expect(article(ben, "are you there")).to_be_visible()


async def test_private_message_is_for_one_and_gone_on_reload(
    slack: Playground, bot: AsyncWebClient, page_at: PageAt
) -> None:
    page = await page_at(slack.page_url)
    await expect(page.get_by_role("radio", name="Ada")).to_be_checked()
    await bot.chat_postEphemeral(channel=OPS, user="U0ADA", text="for Ada's eyes")

    await expect(article(page, "for Ada's eyes")).to_contain_text("Only visible to you")
    await page.get_by_role("radio", name="Ben").check()
    await expect(article(page, "for Ada's eyes")).to_have_count(0)
    await page.get_by_role("radio", name="Ada").check()
    await expect(article(page, "for Ada's eyes")).to_have_count(1)
    await page.reload()
    await expect(page.get_by_role("radio", name="Ada")).to_be_checked()
    await expect(article(page, "for Ada's eyes")).to_have_count(0)


async def test_button_is_pressed_by_keyboard_alone(
    slack: Playground, app: NotingApp, bot: AsyncWebClient, page_at: PageAt
) -> None:
    await bot.chat_postMessage(channel=OPS, text="card", blocks=card(button("Approve")))
    page = await page_at(slack.page_url)
    approve = article(page, "Restart api").get_by_role("button", name="Approve")
    await expect(approve).to_be_visible()

    for _ in range(40):
        if await approve.evaluate("node => node === document.activeElement"):
            break
        await page.keyboard.press("Shift+Tab")
    await page.keyboard.press("Enter")

    await expect(approve).not_to_have_attribute("aria-busy", "true")
    assert [one["user"]["id"] for one in app.presses] == ["U0ADA"]
    assert app.presses[0]["actions"][0]["action_id"] == "Approve"
    await expect(approve).to_be_focused()


async def test_button_is_busy_until_the_delivery_ends(
    slack: Playground, app: NotingApp, bot: AsyncWebClient, page_at: PageAt
) -> None:
    app.go_on.clear()
    await bot.chat_postMessage(channel=OPS, text="card", blocks=card(button("Approve")))
    page = await page_at(slack.page_url)
    approve = article(page, "Restart api").get_by_role("button", name="Approve")

    await approve.click()
    await expect(approve).to_have_attribute("aria-busy", "true")
    await page.keyboard.press("Enter")
    app.go_on.set()

    await expect(approve).not_to_have_attribute("aria-busy", "true")
    assert len(app.presses) == 1


async def test_failed_delivery_leaves_a_warning_at_the_button(
    slack: Playground, app: NotingApp, bot: AsyncWebClient, page_at: PageAt
) -> None:
    app.status = 500
    await bot.chat_postMessage(channel=OPS, text="card", blocks=card(button("Approve")))
    page = await page_at(slack.page_url)

    await article(page, "Restart api").get_by_role("button", name="Approve").click()

    warning = article(page, "Restart api").get_by_role("alert")
    await expect(warning).to_contain_text("dispatch_failed")


async def test_confirm_dialog_stands_before_the_action(
    slack: Playground, app: NotingApp, bot: AsyncWebClient, page_at: PageAt
) -> None:
    words = {"title": "Approve CS-1?", "text": "It runs.", "deny": "Go back"}
    confirm: dict[str, Any] = {
        name: {"type": "plain_text", "text": text}
        for name, text in (words | {"confirm": "Approve and run"}).items()
    }
    risky = card(button("Approve", style="danger", confirm=confirm))
    await bot.chat_postMessage(channel=OPS, text="card", blocks=risky)
    page = await page_at(slack.page_url)
    approve = article(page, "Restart api").get_by_role("button", name="Approve")
    dialog = page.get_by_role("dialog", name="Approve CS-1?")

    await approve.click()
    await dialog.get_by_role("button", name="Go back").click()
    await approve.click()
    await page.keyboard.press("Escape")
    await expect(dialog).to_be_hidden()
    refused = len(app.presses)
    await approve.click()
    await dialog.get_by_role("button", name="Approve and run").click()
    await asyncio.wait_for(app.pressed.wait(), 5)

    assert (refused, len(app.presses)) == (0, 1)


async def test_phone_opens_the_message_as_its_owner(
    slack: Playground, bot: AsyncWebClient, page_at: PageAt
) -> None:
    page = await page_at(slack.page_url)
    text = "<@U0BEN> Approve? Restart api in eu."
    await bot.chat_postMessage(channel="C0GENERAL", text=text)
    told = page.get_by_role("region", name="Ben's phone").get_by_role("link")
    await expect(told).to_contain_text("mentioned")

    await told.click()

    await expect(page.get_by_role("radio", name="Ben")).to_be_checked()
    await expect(article(page, "Approve? Restart api in eu.")).to_be_focused()
    for name in ("Ada", "Cleo"):
        phone = page.get_by_role("region", name=f"{name}'s phone")
        await expect(phone.get_by_role("link")).to_have_count(0)


async def test_unread_channel_is_marked_until_it_is_opened(
    slack: Playground, bot: AsyncWebClient, page_at: PageAt
) -> None:
    page = await page_at(slack.page_url)
    await bot.chat_postMessage(channel="C0GENERAL", text="news")
    general = page.get_by_role("button", name="#general")
    await expect(general).to_have_attribute("aria-description", "unread")

    await general.click()

    await expect(article(page, "news")).to_be_visible()
    assert await general.get_attribute("aria-description") is None


async def test_reply_in_the_open_room_leaves_no_badge(
    slack: Playground, bot: AsyncWebClient, page_at: PageAt
) -> None:
    page = await page_at(slack.page_url)
    root = (await bot.chat_postMessage(channel=OPS, text="<@U0ADA> root"))["ts"]
    await bot.chat_postMessage(channel=OPS, text="<@U0ADA> done", thread_ts=root)

    await expect(page.get_by_role("button", name="1 reply")).to_be_visible()
    phone = page.get_by_role("region", name="Ada's phone")
    await expect(phone.get_by_role("link")).to_have_count(2)
    assert await phone.locator(".count").count() == 0
    ops = page.get_by_role("button", name="#ops")
    assert await ops.get_attribute("aria-description") is None


async def test_what_is_below_the_visible_part_is_unread_until_scrolled_to(
    slack: Playground, bot: AsyncWebClient, page_at: PageAt
) -> None:
    for number in range(40):
        await bot.chat_postMessage(channel=OPS, text=f"line {number}")
    page = await page_at(slack.page_url)
    await expect(article(page, "line 39")).to_be_in_viewport()
    scroll = page.locator("#scroll")
    await scroll.evaluate("node => { node.scrollTop = 0; }")

    await bot.chat_postMessage(channel=OPS, text="<@U0ADA> below")
    ops = page.get_by_role("button", name="#ops")
    await expect(ops).to_have_attribute("aria-description", "1 for you")
    await scroll.evaluate("node => { node.scrollTop = node.scrollHeight; }")

    await expect(ops).not_to_have_attribute("aria-description", "1 for you")


async def test_wrong_token_is_said_and_not_tried_again(
    slack: Playground, browser: Browser
) -> None:
    context = await browser.new_context()
    page = await context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))

    await page.goto(f"{slack.url}/?token=wrong")

    await expect(page.get_by_role("alert")).to_have_text(
        "This address has a wrong token; use the one printed at start."
    )
    assert len([url for url in asked if "/ui/stream" in url]) == 1
    await context.close()


async def test_thread_opens_beside_and_takes_a_reply(
    slack: Playground, app: NotingApp, bot: AsyncWebClient, page_at: PageAt
) -> None:
    root = (await bot.chat_postMessage(channel=OPS, text="root"))["ts"]
    await bot.chat_postMessage(channel=OPS, text="first", thread_ts=root)
    page = await page_at(slack.page_url)

    await page.get_by_role("button", name="1 reply").click()
    thread = page.get_by_role("complementary", name="Thread")
    await expect(thread.get_by_role("article").filter(has_text="first")).to_be_visible()
    await thread.get_by_role("textbox").fill("second")
    await thread.get_by_role("button", name="Reply").click()

    await expect(page.get_by_role("button", name="2 replies")).to_be_visible()
    assert (await slack.state())["messages"][OPS][2]["thread_ts"] == root


async def test_attached_bot_cannot_be_killed_from_the_page(
    slack: Playground, app: NotingApp, page_at: PageAt
) -> None:
    page = await page_at(slack.page_url)

    await page.get_by_role("button", name="Kill the bot").click()

    await expect(page.get_by_role("alert")).to_contain_text("could not be killed")


async def test_narrow_page_never_scrolls_sideways(
    slack: Playground, app: NotingApp, bot: AsyncWebClient, page_at: PageAt
) -> None:
    buttons = [button("Approve", style="primary"), button("Deny")]
    blocks = card(*buttons, call="x" * 400)
    await bot.chat_postMessage(channel=OPS, text="card", blocks=blocks)

    page = await page_at(slack.page_url, width=320, has_touch=True)
    await expect(article(page, "Restart api")).to_be_visible()

    wide = "[...document.querySelectorAll('html, .scroll, .top, .main')]"
    widths = await page.evaluate(f"{wide}.map(node => node.scrollWidth)")
    assert max(widths) == 320


async def test_narrow_page_shows_headline_and_buttons_together(
    slack: Playground, app: NotingApp, bot: AsyncWebClient, page_at: PageAt
) -> None:
    buttons = [button("Approve"), button("Deny"), button("Deny, say why")]
    await bot.chat_postMessage(channel=OPS, text="card", blocks=card(*buttons))

    page = await page_at(slack.page_url, width=320, has_touch=True)
    shown = article(page, "Restart api")

    for name in ("Approve", "Deny", "Deny, say why"):
        one = shown.get_by_role("button", name=name, exact=True)
        await expect(one).to_be_in_viewport(ratio=1)
    await expect(shown.get_by_text("Restart api in eu?")).to_be_in_viewport(ratio=1)
