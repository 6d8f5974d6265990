"""What people do, one file per surface: read, write, acknowledge, hand off.

`register` lists every listener. Listeners are tried in order, so the hot one, a click,
comes first; the last ones catch whatever is left, so that nothing we are sent goes
without an acknowledgement (slack-facts M5).
"""

from __future__ import annotations

import re
from typing import Any

from slack_bolt.async_app import AsyncApp

from bot.slack.bolt import guarded
from bot.slack.handlers.actions import Clicks
from bot.slack.handlers.commands import Commands
from bot.slack.handlers.home import Home
from bot.slack.handlers.mentions import Mentions
from bot.slack.handlers.modals import Modals
from bot.slack.handlers.services import Services
from bot.slack.handlers.starts import Starts

ANYTHING = re.compile("")

__all__ = ["Services", "register"]


def register(app: AsyncApp, services: Services) -> Home:
    """Bind every listener; the Home tabs, which want to hear of what changes."""
    starts, modals = Starts(services), Modals(services)
    home = Home(services, starts)
    clicks, commands = Clicks(services, modals, home), Commands(services, starts)
    mentions = Mentions(services)
    app.action(ANYTHING)(guarded(clicks.pressed, clicks.busy))
    for name, listener in commands.listeners().items():
        app.command(name)(guarded(listener, commands.busy))
    app.command(ANYTHING)(guarded(commands.unknown, commands.busy))
    app.event("app_mention")(guarded(mentions.mentioned, mentions.busy))
    app.event("app_home_opened")(guarded(home.opened, home.busy))
    app.view_submission(ANYTHING)(guarded(modals.submitted, modals.busy))
    app.view_closed(ANYTHING)(guarded(_acknowledged, _quietly))
    app.shortcut(ANYTHING)(guarded(_acknowledged, _quietly))
    app.event(ANYTHING)(guarded(_acknowledged, _quietly))
    return home


async def _acknowledged(ack: Any, body: dict[str, Any]) -> None:
    """Nothing of ours: taken note of, so that Slack shows no fault."""
    await ack()


async def _quietly(body: dict[str, Any], ack: Any) -> None:
    await ack()
