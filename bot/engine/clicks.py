"""A click, as far as deciding needs it, and what every kind of click shares.

A refusal is always one audit row and never a change; the card that was clicked is
drawn anew, since it may be stale, and a stray copy of ours loses its controls.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from bot.engine.parts import Parts, committed
from bot.engine.transition import label
from bot.ports import AuditRow, CardView, MessageRow, Tx


@dataclass(frozen=True, kw_only=True)
class Click:
    """A verified click, as far as deciding needs it."""

    user: str
    ref: str  # of a request, a call or a run, depending on the decision
    decision: str
    channel: str  # where the card is that was clicked
    ts: str
    ours: bool  # the card was posted by this app
    private: bool = False  # it was a private reply: drawn for that person, never kept
    form: bool = False  # it is our own form, drawn for this very person: on no card
    home: bool = False  # it is the Home tab, drawn for this very person: on no card
    reason: str = ""  # what they typed into it
    lookups: float = 1.2  # seconds for finding people out
    deadline: float | None = None  # monotonic: when the write must have begun


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What became of a click: a code ("" = it counted), and what it is about."""

    code: str = ""
    view: CardView | None = None
    run: str = ""  # to be looked at


UNKNOWN = Reply(code="unknown_request")
#: So long after a change its own edits may be on their way: no others are asked for.
SETTLING = 5_000  # milliseconds


async def unknown(parts: Parts, click: Click) -> Reply:
    """A click that leads to nothing: audited, and a stray card of ours neutralised."""

    def unit(tx: Tx) -> Reply:
        now = parts.clock.now()
        row = AuditRow(
            action="refused unknown_request",
            actor=click.user,
            body={"decision": click.decision},
        )
        parts.store.audit(tx, parts.tenant, row, now)
        known = parts.store.message_at(tx, parts.tenant, click.channel, click.ts)
        if known is not None and known.run:
            _repair(parts, tx, click, known.run, now)
        elif click.ours and not click.private:
            neutralised(parts, tx, click, now)
        return UNKNOWN

    return await committed(parts, unit, click.deadline)


def refuse(
    parts: Parts, tx: Tx, click: Click, view: CardView, code: str, now: int
) -> Reply:
    """One audit row, and the card that was clicked is drawn anew: it may be stale."""
    row = AuditRow(
        action=f"refused {code}",
        actor=click.user,
        request=view.request.ref if view.request else view.run.id,
        label=label(view.run, view.request),
        body={"decision": click.decision},
    )
    parts.store.audit(tx, parts.tenant, row, now)
    decided = view.request.decided_at if view.request is not None else None
    changed = max(decided or 0, view.run.ended_at or 0)
    if changed and now - changed >= SETTLING:
        _repair(parts, tx, click, view.run.id, now)
    return Reply(code=code, view=view)


def _repair(parts: Parts, tx: Tx, click: Click, run: str, now: int) -> None:
    """Have the cards drawn anew; the clicked one also if its last edit was given up."""
    parts.store.redraw(tx, run, None, now)
    at = parts.store.message_at(tx, parts.tenant, click.channel, click.ts)
    if at is not None and at.state == "stuck":
        again = replace(at, state="live", attempts=0, wanted=at.wanted + 1, due_at=now)
        parts.store.save_message(tx, again)


def adopted(parts: Parts, tx: Tx, click: Click, cards: list[MessageRow]) -> bool:
    """Take a copy of ours, whose post's reply is not recorded, for the card (T23).

    Only one of `cards` that was meant for this place, or for this very person.
    """
    if not click.ours or not click.channel or not click.ts:
        return False
    for card in cards:
        meant_here = card.destination in (click.channel, click.user)
        unrecorded = not card.ts and card.intent_at is not None
        if meant_here and unrecorded and card.state == "live":
            placed = replace(card, channel=click.channel, ts=click.ts, sent=0)
            parts.store.save_message(tx, replace(placed, intent_at=None))
            return True
    return False


def neutralised(parts: Parts, tx: Tx, click: Click, now: int) -> bool:
    """Take the controls off a message of ours that is no card; False when it is one."""
    if not click.channel or not click.ts:
        return False
    at = parts.store.message_at(tx, parts.tenant, click.channel, click.ts)
    if at is None:
        row = MessageRow(
            tenant=parts.tenant,
            kind="neutral",
            channel=click.channel,
            ts=click.ts,
            due_at=now,
        )
        parts.store.add_message(tx, row)
    elif at.kind == "neutral":
        again = replace(at, wanted=at.wanted + 1, due_at=now, state="live")
        parts.store.save_message(tx, again)
    return at is None or at.kind == "neutral"
