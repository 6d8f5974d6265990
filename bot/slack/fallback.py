"""What is done when Slack does not take a message: one reaction per class of refusal.

Nothing is dropped silently: a message that cannot go where it should goes elsewhere and
the requester is told; one that can go nowhere is kept as *stuck*, said in the log and
to the requester, and tried again at the next start.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import structlog

from bot.core.policy import by_approvers
from bot.engine.asking import MOST_DIRECT, add_card
from bot.ports import CardView, MessageRow, Tx
from bot.slack.delivery import Desk, change, deliver, draw, post_card, view_of
from bot.slack.failures import Failure, Refusal
from bot.slack.render import request as request_card

log = structlog.get_logger(__name__)

#: After so many failed attempts in a row a message counts as stuck.
MOST_ATTEMPTS = 20
#: The first wait after an ambiguous failure, doubling, and the longest, in seconds.
FIRST_WAIT, LONGEST_WAIT = 1.0, 300.0


async def react(desk: Desk, row: MessageRow, refused: Refusal) -> None:
    """Do what this refusal asks for; the row says afterwards what comes next."""
    log.warning(
        "message_refused",
        message=row.id,
        kind=row.kind,
        code=refused.code,
        taken_as=refused.kind.value,
        needed=refused.needed or None,
    )
    match refused.kind:
        case Failure.WAIT | Failure.TOKEN:
            await _later(desk, row, max(refused.wait, 1.0), counts=False)
        case Failure.AMBIGUOUS:
            wait = min(FIRST_WAIT * 2**row.attempts, LONGEST_WAIT)
            await _later(desk, row, wait, counts=True)
        case Failure.MISSING:
            await _missing(desk, row, refused)
        case Failure.METADATA if not row.ts:
            view = await view_of(desk, row)
            await post_card(desk, row, draw(desk, row, view), metadata=False)
        case Failure.BUG:
            await _undrawable(desk, row, refused)
        case Failure.HERE if not row.ts:
            await _elsewhere(desk, row, refused)
        case _:
            await _stuck(desk, row, refused)


async def _later(desk: Desk, row: MessageRow, wait: float, *, counts: bool) -> None:
    due_at = desk.parts.clock.now() + int(wait * 1000)
    if counts and row.attempts + 1 >= MOST_ATTEMPTS:
        await _stuck(desk, row, Refusal(kind=Failure.AMBIGUOUS, code="no_reply"))
        return

    def edit(now: MessageRow) -> MessageRow:
        attempts = now.attempts + 1 if counts else now.attempts
        return replace(now, due_at=due_at, attempts=attempts)

    await change(desk, row, edit)


async def _missing(desk: Desk, row: MessageRow, refused: Refusal) -> None:
    """The message was deleted: its present state is posted once more, and only once."""
    card = row.kind in ("request", "run")
    if not card or row.body.get("reposted"):
        await _gone(desk, row, refused)
        return

    def edit(now: MessageRow) -> MessageRow:
        where = now.destination or now.channel
        anew = replace(now, channel="", ts="", sent=0, destination=where)
        return replace(anew, body={**now.body, "reposted": True}, intent_at=None)

    await change(desk, row, edit)


async def _undrawable(desk: Desk, row: MessageRow, refused: Refusal) -> None:
    """Slack does not take what we drew: a card without *Approve*, so nothing hides."""
    if row.kind != "request":
        await _stuck(desk, row, refused)
        return
    view = await view_of(desk, row)
    drawn = request_card.minimal(view, desk.sign)
    if row.ts:
        await desk.client.chat_update(
            channel=row.channel, ts=row.ts, text=drawn.text, blocks=drawn.blocks
        )
        await change(desk, row, lambda now: replace(now, sent=row.wanted))
    else:
        await post_card(desk, row, drawn)
    if view.request is not None and view.request.status == "open":
        await _tell(desk, row, {"what": "stuck"})


async def _elsewhere(desk: Desk, row: MessageRow, refused: Refusal) -> None:
    """This place takes no card: the people who must act get it directly."""
    if row.kind not in ("request", "run"):
        await _words_elsewhere(desk, row, refused)
        return
    view = await view_of(desk, row)
    people = await _addressees(desk, row, view)
    taken = {m.destination for m in view.messages if m.kind == row.kind}
    people = [user for user in people if user not in taken]
    if not people:
        await _gone(desk, row, refused)
        if not _others(row, view):
            await _stuck(desk, row, refused)
        return

    def unit(tx: Tx) -> None:
        parts = desk.parts
        now = parts.clock.now()
        current = parts.store.message(tx, parts.tenant, row.id)
        if current is None or current.state != "live":
            return
        parts.store.save_message(tx, replace(current, state="gone", error=refused.code))
        for user in people:
            if row.kind == "request":
                add_card(parts, tx, row.run, row.request, user, now)
            else:
                moved = replace(row, id=0, destination=user, due_at=now)
                parts.store.add_message(tx, replace(moved, intent_at=None))

    await desk.parts.store.write(unit)
    if not row.destination.startswith(("U", "W", "D")):
        went = f"{_fallback_names(view, row)} directly"
        body = {"what": "undeliverable", "place": _place(view, row), "fallback": went}
        await _tell(desk, row, body)


async def _words_elsewhere(desk: Desk, row: MessageRow, refused: Refusal) -> None:
    """News that its thread did not take goes to the requester directly, once."""
    if row.kind == "notice" or row.body.get("direct"):
        await _stuck(desk, row, refused)
        return
    body = {**row.body, "direct": True}
    await change(desk, row, lambda now: replace(now, body=body))


async def _addressees(desk: Desk, row: MessageRow, view: CardView) -> list[str]:
    asked = view.request
    if row.kind == "run" or asked is None or not by_approvers(asked.kind):
        return [view.run.requester]
    if row.destination.startswith(("U", "W", "D")):
        return []
    users = await desk.people.members_of(asked.rule.approvers)
    if not asked.rule.self_approval:
        users = [user for user in users if user != view.run.requester]
    return users[:MOST_DIRECT]


def _fallback_names(view: CardView, row: MessageRow) -> str:
    asked = view.request
    if row.kind == "run" or asked is None or not by_approvers(asked.kind):
        return "you"
    handles = [who.handle for who in asked.rule.approvers if who.handle]
    return ", ".join(handles) or "the approvers"


def _place(view: CardView, row: MessageRow) -> str:
    asked = view.request
    if asked is not None and asked.rule.post_to == row.destination:
        return asked.rule.post_to_name
    return "the channel where you asked"


def _others(row: MessageRow, view: CardView) -> bool:
    """Whether another card of the same request can still be used."""
    return any(
        m.id != row.id and m.request == row.request and m.state == "live"
        for m in view.messages
        if m.kind == row.kind
    )


async def _gone(desk: Desk, row: MessageRow, refused: Refusal) -> None:
    await change(desk, row, lambda now: replace(now, state="gone", error=refused.code))


async def _stuck(desk: Desk, row: MessageRow, refused: Refusal) -> None:
    """Nothing more can be tried now: kept, logged, and said to whoever asked."""
    log.error("message_stuck", message=row.id, run=row.run, code=refused.code)
    await change(desk, row, lambda now: replace(now, state="stuck", error=refused.code))
    if row.kind in ("request", "run"):
        await _tell(desk, row, {"what": "stuck"})


async def _tell(desk: Desk, row: MessageRow, body: Mapping[str, str]) -> None:
    """Queue a notice to the requester, once per message and matter."""
    parts = desk.parts

    def unit(tx: Tx) -> None:
        now = parts.clock.now()
        key = f"told:{row.run}:{row.request}:{body['what']}"
        if parts.store.first_time(tx, parts.tenant, key, now) is not None:
            return
        notice = MessageRow(
            tenant=parts.tenant,
            kind="notice",
            run=row.run,
            request=row.request,
            destination="",
            due_at=now,
            body=dict(body),
        )
        parts.store.add_message(tx, notice)

    await parts.store.write(unit)


__all__ = ["deliver", "react"]
