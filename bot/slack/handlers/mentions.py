"""`@Countersign words` in a channel or a thread: starts a run, as /run does.

Events are delivered again when an answer is late, so each is known by its id (T7). A
mention under a card decides nothing, whatever it says: consent comes from controls
alone (T15), and the person is told so.
"""

from __future__ import annotations

import re
from typing import Any

from bot.engine.starting import Begun, Refused, WantedRun, start_run
from bot.slack.handlers.services import Services
from bot.slack.payloads import Mentioned, mentioned, same_installation
from bot.slack.render import starting
from bot.slack.render.message import Message


class Mentions:
    """The listener for app_mention."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def mentioned(self, ack: Any, body: dict[str, Any]) -> None:
        """Read, let the engine write, acknowledge, hand the rest off."""
        services = self._services
        said = mentioned(body)
        if said is None or not same_installation(body, services.identity):
            await ack()
            return
        words = _without_mention(said.text, services.identity.bot_user)
        reply = await self._start(said, words)
        await ack()
        if reply is not None:
            work = services.replies.tell(said.user, said.channel, "", reply)
            services.tasks.spawn(work, "reply")

    async def busy(self, body: dict[str, Any], ack: Any) -> None:
        """Not recorded: acknowledged, since a repeat would be the same, and said."""
        await ack()
        said = mentioned(body)
        if said is not None:
            work = self._services.replies.tell(
                said.user, said.channel, "", starting.busy()
            )
            self._services.tasks.spawn(work, "reply")

    async def _start(self, said: Mentioned, words: str) -> Message | None:
        services, parts = self._services, self._services.parts
        if await self._under_a_card(said):
            return starting.words_do_not_count()
        if not words:
            return starting.run_usage(f"/{parts.prefix}run")
        wanted = WantedRun(
            requester=said.user,
            channel=said.channel,
            words=words,
            delivery=f"event:{said.event}",
            thread=said.thread,
        )
        begun = await start_run(parts, wanted, services.lookups, services.deadline())
        if isinstance(begun, Refused):
            return starting.not_started(
                begun.code, text=begun.text, prefix=parts.prefix
            )
        self._go_on(begun)
        return None

    def _go_on(self, begun: Begun) -> None:
        self._services.runner.wake(begun.view.run.id)
        self._services.parts.courier.wake()

    async def _under_a_card(self, said: Mentioned) -> bool:
        parts = self._services.parts
        at = await parts.store.read(
            lambda tx: parts.store.message_at(
                tx, parts.tenant, said.channel, said.thread
            )
        )
        return at is not None and at.kind == "request"


def _without_mention(text: str, bot_user: str) -> str:
    """What was said, without our own name; Slack's three escapes undone once."""
    words = re.sub(rf"<@{re.escape(bot_user)}(\|[^>]*)?>", " ", text).strip()
    for escaped, plain in (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")):
        words = words.replace(escaped, plain)
    return words
