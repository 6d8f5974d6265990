"""A click on any control of any card: one listener, whatever the kind.

Which decision it is comes from the control's own token, what it means from the engine.
Every click is acknowledged and gets a true private reply, however old or foreign the
card is.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from bot.core.policy import Decision
from bot.engine.answering import answer, considered
from bot.engine.clicks import UNKNOWN, Click, Reply, unknown
from bot.engine.foreign import note_foreign
from bot.engine.steering import cancel, report
from bot.slack.handlers.home import Home
from bot.slack.handlers.modals import Modals
from bot.slack.handlers.services import Services
from bot.slack.ids import (
    FORMS,
    HELLO,
    OUTCOME_DECISIONS,
    REQUEST_DECISIONS,
    control,
    home_control,
)
from bot.slack.payloads import Pressed, claimed, pressed, same_installation
from bot.slack.render import notices
from bot.slack.render.message import Message


class Clicks:
    """The listener for block_actions."""

    def __init__(self, services: Services, modals: Modals, home: Home) -> None:
        self._services = services
        self._home = home
        self._modals = modals

    async def pressed(self, ack: Any, body: dict[str, Any]) -> None:
        """Read the click, let the engine write, acknowledge, hand the rest off."""
        services = self._services
        where = self._where(body)
        if not same_installation(body, services.identity):
            actor = str(body["user"]["id"])
            await note_foreign(
                services.parts, claimed(body), actor, services.deadline()
            )
            await ack()
            self._say(
                where, notices.refusal("wrong_workspace", prefix=services.parts.prefix)
            )
            return
        click, decision = self._click(where)
        if decision == HELLO:
            said = await self._home.hello(where.user, click.ref)
            await ack()
            self._say(where, said)
            return
        reply = await self._write(click, decision)
        await ack()
        self._after(where, decision, reply)

    async def busy(self, body: dict[str, Any], ack: Any) -> None:
        """The click could not be recorded: acknowledged all the same, and said so."""
        await ack()
        self._say(self._where(body), notices.refusal("busy"))

    def _where(self, body: dict[str, Any]) -> Pressed:
        where = pressed(body, self._services.identity)
        if same_installation(body, self._services.identity):
            return where
        # Elsewhere the same ids are other people and channels than ours (T22).
        return replace(where, user="", channel="")

    def _click(self, where: Pressed) -> tuple[Click, str]:
        services = self._services
        keys, action, value = services.controls, where.action_id, where.value
        if where.home:
            found = home_control(keys, action, value, where.user)
        else:
            found = control(keys, action, value)
        click = Click(
            user=where.user,
            ref=found.ref if found else "",
            decision=found.decision if found else "unknown",
            channel=where.channel,
            ts=where.ts,
            ours=where.ours,
            private=where.private,
            home=where.home and found is not None,
            lookups=services.lookups,
            deadline=services.deadline(),
        )
        return click, found.decision if found else ""

    async def _write(self, click: Click, decision: str) -> Reply:
        parts = self._services.parts
        if decision in REQUEST_DECISIONS:
            return await answer(parts, click, cast(Decision, decision))
        if decision in FORMS:
            return await considered(parts, click, FORMS[decision])
        if decision in OUTCOME_DECISIONS:
            return await report(parts, click)
        if decision:
            return await cancel(parts, click)
        return await unknown(parts, click)

    def _after(self, where: Pressed, decision: str, reply: Reply) -> None:
        services = self._services
        services.parts.courier.wake()
        if reply.run:
            services.runner.wake(reply.run)
        if decision in FORMS and reply.view is not None and not reply.code:
            services.tasks.spawn(self._modals.open(where, reply.view), "form")
            return
        self._say(where, self._words(where.user, decision, reply))

    def _say(self, where: Pressed, said: Message) -> None:
        if where.home:
            if where.user:
                self._home.show(where.user, said)
            return
        work = self._services.replies.tell(
            where.user, where.channel, where.response_url, said
        )
        self._services.tasks.spawn(work, "reply")

    def _words(self, user: str, decision: str, reply: Reply) -> Message:
        prefix = self._services.parts.prefix
        if reply.code or reply.view is None:
            code = reply.code or UNKNOWN.code
            return notices.refusal(
                code, view=reply.view, user=user, decision=decision, prefix=prefix
            )
        return notices.receipt(reply.view, decision)
