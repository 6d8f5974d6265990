"""What the browser tests stand on: one Chromium for the session, pages on demand.

`page_at` opens an address in a context of its own and fails the test, at its end, when
a page reported an error or a violation of its content security policy.
"""

import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, ViewportSize, async_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = ["--no-sandbox", "--disable-background-networking"]
PATIENCE_MS = 10_000

PageAt = Callable[..., Awaitable[Page]]


def chromium() -> str:
    """Where the browser is; without one the test is skipped, or fails in CI."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        reason = f"no browser on this machine (looked for {', '.join(NAMES)})"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return found


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    path = chromium()
    async with async_playwright() as playwright:
        running = await playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield running
        await running.close()


@pytest_asyncio.fixture(loop_scope="session")
async def page_at(browser: Browser) -> AsyncIterator[PageAt]:
    trouble: list[str] = []
    contexts = []

    async def open_page(address: str, *, width: int = 1280, **options: Any) -> Page:
        viewport = ViewportSize(width=width, height=640 if width < 640 else 800)
        context = await browser.new_context(viewport=viewport, **options)
        contexts.append(context)
        context.set_default_timeout(PATIENCE_MS)
        page = await context.new_page()
        page.on(
            "console",
            lambda line: trouble.append(line.text) if line.type == "error" else None,
        )
        page.on("pageerror", lambda error: trouble.append(str(error)))
        await page.goto(address)
        return page

    yield open_page
    for context in contexts:
        await context.close()
    assert trouble == []
