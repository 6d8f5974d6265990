"""A form that somebody sends off, and opening one: *Deny, say why*.

A submission is a click that brings words along. The engine checks everything again in
the one write that counts it; nothing in the view is authority, and closing a form
decides nothing (T14). A refusal stands in the form, whose words so are not lost.
"""

from __future__ import annotations

from typing import Any

from bot.core.answers import MOST_REASON
from bot.core.answers import reason as cleaned
from bot.engine.answering import answer, turned_away
from bot.engine.clicks import UNKNOWN, Click, Reply, unknown
from bot.engine.foreign import note_foreign
from bot.ports import CardView
from bot.slack.handlers.services import Services
from bot.slack.ids import Form, form, form_id, form_token
from bot.slack.payloads import (
    Pressed,
    Submitted,
    claimed,
    same_installation,
    submitted,
)
from bot.slack.render import forms, notices

OPENING = "deny_why"


class Modals:
    """The listener for view_submission, and what opens a form."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def submitted(self, ack: Any, body: dict[str, Any]) -> None:
        """Read the form, let the engine write, acknowledge."""
        services, sent = self._services, submitted(body)
        if not same_installation(body, services.identity):
            tenant, deadline = claimed(body), services.deadline()
            await note_foreign(services.parts, tenant, sent.user, deadline)
            await _refuse(ack, sent, self._said("wrong_workspace", sent))
            return
        reason = cleaned(sent.reason)
        if len(reason) > MOST_REASON:
            await _refuse(ack, sent, notices.too_long(len(reason), MOST_REASON))
            return
        found = form(services.controls, sent.callback_id, sent.token, sent.user)
        reply = await self._write(sent, found, reason)
        services.parts.courier.wake()
        if reply.run:
            services.runner.wake(reply.run)
        if not reply.code:
            await ack()
        elif found is not None and found.agrees and not found.theirs:
            await _refuse(ack, sent, notices.NOT_THEIRS)
        else:
            await _refuse(ack, sent, self._said(reply.code, sent, reply.view))

    async def busy(self, body: dict[str, Any], ack: Any) -> None:
        """The form could not be recorded: it stays open, and says so."""
        sent = submitted(body)
        await _refuse(ack, sent, self._said("busy", sent))

    async def open(self, where: Pressed, view: CardView) -> None:
        """Show the form to whoever pressed its button: the first call of the task."""
        services = self._services
        ref = view.request.ref if view.request is not None else ""
        token = form_token(services.controls, ref, OPENING, where.user)
        drawn = forms.deny_why(view, form_id(ref, OPENING), token)
        if await services.replies.opened(where.trigger, drawn):
            return
        said = notices.not_opened(view)
        await services.replies.tell(where.user, where.channel, where.response_url, said)

    async def _write(self, sent: Submitted, found: Form | None, reason: str) -> Reply:
        services = self._services
        click = Click(
            user=sent.user,
            ref=found.ref if found else "",
            decision=found.decision if found else "unknown",
            channel="",
            ts="",
            ours=False,
            form=True,
            reason=reason,
            lookups=services.lookups,
            deadline=services.deadline(),
        )
        if found is None:
            return await unknown(services.parts, click)
        if not found.agrees:
            return await turned_away(services.parts, click, "wrong_message")
        if not found.theirs:
            return await turned_away(services.parts, click, "not_approver")
        return await answer(services.parts, click, found.decision)

    def _said(self, code: str, sent: Submitted, view: CardView | None = None) -> str:
        return notices.plain(
            code or UNKNOWN.code,
            view=view,
            user=sent.user,
            decision="deny",
            prefix=self._services.parts.prefix,
        )


async def _refuse(ack: Any, sent: Submitted, said: str) -> None:
    """Say it in the form; one that has no place for it just closes."""
    if sent.block:
        await ack(response_action="errors", errors={sent.block: said})
    else:
        await ack()
