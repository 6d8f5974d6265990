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
from bot.engine.approvers import MOST_DIRECT
from bot.engine.asking import add_card
from bot.ports import CardView, MessageRow, Tx
from bot.slack.delivery import (
    LITERAL,
    Desk,
    change,
    draw,
    post_below,
    post_card,
    view_of,
)
from bot.slack.failures import Failure, Refusal
from bot.slack.fate import ENDED, Fate, fate
from bot.slack.render import request as request_card
from bot.slack.words import is_direct

log = structlog.get_logger(__name__)

CARDS = ("request", "run")
#: Somebody has to act, and needs a card for it.
FOR_PEOPLE = frozenset({Fate.OPEN, Fate.UNKNOWN})
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
        case _ if row.kind == "neutral":
            await _gone(desk, row, refused)  # its clicks are refused all the same
        case _ if row.kind not in CARDS:
            await _words_refused(desk, row, refused)
        case _:
            await _card_refused(desk, row, refused)


async def react_again(desk: Desk, row: MessageRow, refused: Refusal) -> None:
    """Do what a refusal of the reaction itself asks for, which tries nothing new."""
    if refused.kind in (Failure.BUG, Failure.METADATA, Failure.FIXED):
        await _stuck(desk, row, refused)
    else:
        await react(desk, row, refused)


async def _card_refused(desk: Desk, row: MessageRow, refused: Refusal) -> None:
    match refused.kind:
        case Failure.MISSING:
            await _missing(desk, row, refused)
        case Failure.METADATA if not row.ts:
            view = await view_of(desk, row)
            await post_card(desk, row, draw(desk, row, view), metadata=False)
        case Failure.BUG:
            await _undrawable(desk, row, refused)
        case Failure.HERE if not row.ts:
            await _elsewhere(desk, row, refused)
        case Failure.HERE | Failure.FIXED if row.ts:
            await _unchangeable(desk, row, refused)
        case _:
            await _stuck(desk, row, refused)


async def _words_refused(desk: Desk, row: MessageRow, refused: Refusal) -> None:
    """News that its thread did not take goes to the requester directly, once; what
    Slack cannot draw goes as plain text, once."""
    if refused.kind in (Failure.HERE, Failure.MISSING):
        flag = "direct"
    elif refused.kind is Failure.BUG:
        flag = "plain"
    else:
        await _stuck(desk, row, refused)
        return
    if row.body.get(flag) or (flag == "direct" and row.kind == "notice"):
        await _stuck(desk, row, refused)
        return
    body = {**row.body, flag: True}
    await change(desk, row, lambda now: replace(now, body=body))


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
    if row.body.get("reposted"):
        view = await view_of(desk, row)
        lost = _stuck if fate(view) in FOR_PEOPLE else _gone
        await lost(desk, row, refused)
        return

    def edit(now: MessageRow) -> MessageRow:
        where = now.destination or now.channel
        anew = replace(now, channel="", ts="", sent=0, destination=where)
        return replace(anew, body={**now.body, "reposted": True}, intent_at=None)

    await change(desk, row, edit)


async def _unchangeable(desk: Desk, row: MessageRow, refused: Refusal) -> None:
    """Its place takes no edit any more; clicks on its old controls are refused.

    Whoever must act gets another card; how it ended is said once more in the thread.
    """
    view = await view_of(desk, row)
    became = fate(view)
    if became in FOR_PEOPLE and refused.kind is Failure.HERE:
        await _elsewhere(desk, row, refused)
    elif became is Fate.UNKNOWN:
        await _missing(desk, row, refused)
    elif became in ENDED and refused.kind is Failure.HERE:
        await _gone(desk, row, refused)  # the news of it are told directly
    else:
        if became in ENDED and not row.body.get("followed"):
            await post_below(desk, row, draw(desk, row, view))
        body = {**row.body, "followed": became in ENDED}
        await change(desk, row, lambda now: replace(now, sent=row.wanted, body=body))


async def _undrawable(desk: Desk, row: MessageRow, refused: Refusal) -> None:
    """Slack does not take what we drew: a card without *Approve*, so nothing hides."""
    if row.kind != "request":
        await _stuck(desk, row, refused)
        return
    view = await view_of(desk, row)
    drawn = request_card.minimal(view, desk.sign, direct=is_direct(row))
    if row.ts:
        await desk.client.chat_update(
            channel=row.channel,
            ts=row.ts,
            text=drawn.text,
            blocks=drawn.blocks,
            **LITERAL,
        )
        await change(desk, row, lambda now: replace(now, sent=row.wanted))
    else:
        await post_card(desk, row, drawn)
    if view.request is not None and view.request.status == "open":
        await _tell(desk, row, {"what": "stuck", "card": row.kind})


async def _elsewhere(desk: Desk, row: MessageRow, refused: Refusal) -> None:
    """This place takes no card: the people who must act get it directly."""
    view = await view_of(desk, row)
    people = await _addressees(desk, row, view)
    taken = {m.destination for m in view.messages if m.kind == row.kind}
    people = [user for user in people if user not in taken]
    if not people:
        await _out_of_reach(desk, row, refused)
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
    if not is_direct(row):
        told = {
            "card": row.kind,
            "place": row.destination or row.channel,
            "code": refused.code,
        }
        await _tell(desk, row, {"what": "undeliverable", **told})


async def _out_of_reach(desk: Desk, row: MessageRow, refused: Refusal) -> None:
    """One person cannot be written to; if that was the last one, all are tried again
    at the next start. Decided in one transaction: cards fail side by side."""
    store, tenant = desk.parts.store, desk.parts.tenant

    def unit(tx: Tx) -> bool:
        cards = [
            m
            for m in store.messages(tx, row.run)
            if m.kind == row.kind and m.request == row.request
        ]
        now = store.message(tx, tenant, row.id) or row
        store.save_message(tx, replace(now, state="gone", error=refused.code))
        if any(m.state == "live" for m in cards if m.id != row.id):
            return False
        for card in cards:
            if card.state == "gone" and not card.ts and is_direct(card):
                store.save_message(tx, replace(card, state="stuck"))
        return True

    if await desk.parts.store.write(unit):
        await _stuck(desk, row, refused)


async def _addressees(desk: Desk, row: MessageRow, view: CardView) -> list[str]:
    asked = view.request
    if row.kind == "run" or asked is None or not by_approvers(asked.kind):
        return [view.run.requester]
    if is_direct(row):
        return []
    users = await desk.people.members_of(asked.rule.approvers)
    if not asked.rule.self_approval:
        users = [user for user in users if user != view.run.requester]
    return users[:MOST_DIRECT]


async def _gone(desk: Desk, row: MessageRow, refused: Refusal) -> None:
    await change(desk, row, lambda now: replace(now, state="gone", error=refused.code))


async def _stuck(desk: Desk, row: MessageRow, refused: Refusal) -> None:
    """Nothing more can be tried now: kept, logged, and said to whoever asked."""
    log.error("message_stuck", message=row.id, run=row.run, code=refused.code)
    await change(desk, row, lambda now: replace(now, state="stuck", error=refused.code))
    if row.kind in CARDS and fate(await view_of(desk, row)) is Fate.OPEN:
        await _tell(desk, row, {"what": "stuck", "card": row.kind})


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
