"""The wire panel on the playground's page: what went over the wire, both ways."""

import asyncio
import contextlib
import shlex
from collections.abc import AsyncIterator, Awaitable, Callable

import aiohttp
import pytest
import pytest_asyncio
from aiohttp import web
from playwright.async_api import Locator, Page, expect
from pretend_app import (
    App,
    actions,
    button,
    client,
    playground,
    running_app,
    section,
)
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.playground.server import Playground

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

PageAt = Callable[..., Awaitable[Page]]


@pytest_asyncio.fixture(loop_scope="session")
async def app() -> AsyncIterator[App]:
    async with running_app() as running:
        yield running


@pytest_asyncio.fixture(loop_scope="session")
async def slack(app: App) -> AsyncIterator[Playground]:
    async with playground(app_url=app.url) as running:
        yield running


@pytest.fixture
def api(slack: Playground) -> AsyncWebClient:
    return client(slack)


async def wire(page: Page) -> Locator:
    """The entries of the panel, once it is open."""
    await page.get_by_role("tab", name="Wire").click()
    shown = page.get_by_role("list", name="Requests, newest first")
    return shown.locator("> *")


async def test_both_ways_are_shown_newest_first(
    slack: Playground, api: AsyncWebClient, page_at: PageAt
) -> None:
    page = await page_at(slack.page_url)
    entries = await wire(page)
    await expect(page.get_by_text("Nothing went over the wire yet.")).to_be_visible()

    await api.auth_test()
    await expect(entries).to_have_count(1)
    await slack.command("U0ADA", "C0OPS", "/tool", "status service=api")

    await expect(entries).to_have_count(2)
    newest, oldest = entries.nth(0), entries.nth(1)
    await expect(newest).to_contain_text("→ app")
    await expect(newest).to_contain_text("command /tool status service=api")
    await expect(newest).to_contain_text("200")
    await expect(oldest).to_contain_text("→ Slack")
    await expect(oldest).to_contain_text("api:auth.test")
    await expect(oldest).to_contain_text(" ms")


async def test_what_slack_refuses_stands_there_unfolded(
    slack: Playground, api: AsyncWebClient, page_at: PageAt
) -> None:
    page = await page_at(slack.page_url)
    entries = await wire(page)

    with contextlib.suppress(SlackApiError):
        await api.chat_postMessage(channel="C0OPS", text="x", blocks=[{"type": "foo"}])

    await expect(entries.get_by_text("invalid_blocks", exact=True)).to_be_visible()
    problem = entries.get_by_text("[json-pointer:/blocks/0/type]")
    await expect(problem).to_be_visible()


async def test_json_is_folded_until_it_is_opened(
    slack: Playground, api: AsyncWebClient, page_at: PageAt
) -> None:
    page = await page_at(slack.page_url)
    blocks = [section("Deep inside"), actions(button())]
    await api.chat_postMessage(channel="C0OPS", text="card", blocks=blocks)
    entry = (await wire(page)).filter(has_text="api:chat.postMessage")

    await entry.get_by_text("api:chat.postMessage").click()
    await expect(entry.get_by_text('"C0OPS"').first).to_be_visible()
    await expect(entry.get_by_text('"Deep inside"')).to_have_count(0)
    for name in ("blocks: [ 2 ]", "0: { 2 }", "text: { 2 }"):
        await entry.get_by_text(name).first.click()

    await expect(entry.get_by_text('"Deep inside"')).to_be_visible()
    assert slack.bot_token not in await page.content()


async def test_delivery_is_copied_as_a_command_for_the_shell(
    slack: Playground, app: App, page_at: PageAt
) -> None:
    page = await page_at(slack.page_url)
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await slack.command("U0ADA", "C0OPS", "/tool", "it's & $HOME")
    entry = (await wire(page)).filter(has_text="command")

    await entry.get_by_text("command").first.click()
    await entry.get_by_role("button", name="Copy as curl").click()
    await expect(entry.get_by_role("status")).to_have_text("Copied")

    words = shlex.split(await page.evaluate("navigator.clipboard.readText()"))
    headers, body = app.received[0]
    stamp = headers["X-Slack-Request-Timestamp"]
    assert words[:4] == ["curl", "-sS", "-X", "POST"]
    assert f"{app.url}/slack/events" in words
    assert f"X-Slack-Request-Timestamp: {stamp}" in words
    assert words[words.index("--data-raw") + 1] == body


async def test_copied_command_says_exactly_what_was_sent(
    slack: Playground, page_at: PageAt
) -> None:
    page = await page_at(slack.page_url)
    request = {"url": "http://x/a?b", "headers": {"A": "'$(x)'"}, "body": "it's\n\\"}

    command = await page.evaluate(
        """async request => (await import("/static/wire.js")).curl(request)""", request
    )

    words = shlex.split(command.replace("\\\n", ""))
    assert words[4:] == ["http://x/a?b", "-H", "A: '$(x)'", "--data-raw", "it's\n\\"]


async def test_call_of_the_app_cannot_be_copied(
    slack: Playground, api: AsyncWebClient, page_at: PageAt
) -> None:
    page = await page_at(slack.page_url)
    await api.auth_test()
    entry = (await wire(page)).filter(has_text="api:auth.test")

    await entry.get_by_text("api:auth.test").click()

    await expect(entry.get_by_text("answer: {")).to_be_visible()
    await expect(entry.get_by_role("button", name="Copy as curl")).to_have_count(0)


async def test_answer_is_filled_in_when_it_comes(
    slack: Playground, app: App, page_at: PageAt
) -> None:
    go_on = asyncio.Event()

    async def wait() -> web.Response:
        await go_on.wait()
        return web.Response(status=500, text="no")

    app.answer = wait
    page = await page_at(slack.page_url)
    entries = await wire(page)
    sending = asyncio.create_task(slack.command("U0ADA", "C0OPS", "/tool", "x"))
    await expect(entries).to_have_count(1)
    await entries.get_by_text("command").first.click()
    await expect(entries.get_by_text("No answer yet.")).to_be_visible()

    go_on.set()
    await sending

    await expect(entries.get_by_text("500", exact=True)).to_be_visible()
    await expect(entries.get_by_text("dispatch_failed")).to_be_visible()
    await expect(entries.get_by_text('answer: "no"')).to_be_visible()


async def test_closed_panel_asks_for_nothing(
    slack: Playground, api: AsyncWebClient, page_at: PageAt
) -> None:
    page = await page_at(slack.page_url)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    await api.chat_postMessage(channel="C0OPS", text="one")
    await expect(page.get_by_role("article")).to_contain_text("one")
    assert [url for url in asked if "/ui/log" in url] == []

    await wire(page)

    await expect(page.get_by_text("api:chat.postMessage")).to_be_visible()
    assert "/ui/log?since=0" in asked[-1]


async def test_app_on_a_socket_can_be_asked_to_reconnect(page_at: PageAt) -> None:
    async with playground(mode="socket") as slack, aiohttp.ClientSession() as session:
        api = client(slack, "")
        opened = await api.apps_connections_open(app_token=slack.app_token)
        async with session.ws_connect(opened["url"]) as socket:
            page = await page_at(slack.page_url)
            entries = await wire(page)
            await expect(page.get_by_text("Socket Mode · 1 connection")).to_be_visible()
            hello = entries.filter(has_text="hello")
            await expect(hello).to_have_text("→ apphello")

            await page.get_by_role("button", name="Ask it to reconnect").click()

            await socket.receive_json(timeout=5)
            frame = await socket.receive_json(timeout=5)
            assert frame["type"] == "disconnect"
            assert frame["reason"] == "refresh_requested"
        await page.close()


async def test_phones_come_back_by_keyboard(slack: Playground, page_at: PageAt) -> None:
    page = await page_at(slack.page_url)
    await wire(page)
    await expect(page.get_by_role("region", name="Ben's phone")).to_be_hidden()

    await page.get_by_role("tab", name="Wire").focus()
    await page.keyboard.press("ArrowLeft")

    await expect(page.get_by_role("tab", name="Phones")).to_be_focused()
    await expect(page.get_by_role("region", name="Ben's phone")).to_be_visible()


async def test_panel_fits_a_phone(
    slack: Playground, api: AsyncWebClient, page_at: PageAt
) -> None:
    await api.chat_postMessage(channel="C0OPS", text="x" * 300)
    page = await page_at(slack.page_url, width=320, has_touch=True)

    await page.get_by_role("button", name="Phones").click()
    entry = (await wire(page)).first
    await entry.get_by_text("api:chat.postMessage").click()
    await expect(entry.get_by_text("args: {")).to_be_visible()

    panel = page.get_by_role("tabpanel", name="Wire")
    assert await panel.evaluate("node => node.scrollWidth <= node.clientWidth")
    assert await page.evaluate("document.documentElement.scrollWidth") == 320
