"""What the browser tests of views share: opening one, and finding its parts."""

import json
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qsl

from playwright.async_api import Locator, Page
from pretend_app import App, client

from bot.playground.server import Playground

PageAt = Callable[..., Awaitable[Page]]


async def opened(
    slack: Playground, view: dict[str, Any], user: str = "U0ADA"
) -> dict[str, Any]:
    """A person sees this modal; answers with the view as it is stored."""
    trigger = slack.workspace.new_trigger(user)
    answer = await client(slack).views_open(trigger_id=trigger, view=view)
    return answer["view"]


def dialog(page: Page, name: str = "A form") -> Locator:
    """The dialog of a modal with this title."""
    return page.get_by_role("dialog", name=name)


def kinds(app: App) -> list[str]:
    """The kinds of the interactions that came in."""
    forms = [dict(parse_qsl(body)) for _, body in app.received]
    return [json.loads(form["payload"])["type"] for form in forms]


async def described(field_: Locator) -> str:
    """What a screen reader says of a control after its name."""
    found: str = await field_.evaluate(
        """node => (node.getAttribute("aria-describedby") ?? "").split(" ")
          .map(id => document.getElementById(id)?.textContent ?? "").join(" ")"""
    )
    return found.strip()
