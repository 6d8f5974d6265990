"""`/runs` and `/approvals`: private lists, and the receipt of one request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.core.display import one_line
from bot.core.headline import headline
from bot.core.run import Outcome, Slot, Stage
from bot.ports import CallRow, CardView, RequestRow, RunRow
from bot.slack.blocks import Block, Element, actions, bold, button, code, line, rich
from bot.slack.ids import Sign
from bot.slack.render import request as request_card
from bot.slack.render import run as run_card
from bot.slack.render.message import Message, message, paragraphs
from bot.slack.words import (
    Words,
    cards_of,
    clock,
    is_direct,
    label,
    place,
    requester,
)

#: More entries than this are counted only.
MOST_LISTED = 20
_WORDS = 80
UNSURE = (
    "Slack did not tell us just now all that we asked, so more may wait for you."
    " Try again in a minute."
)

_ENDED = {
    Outcome.OK: "done",
    Outcome.ERROR: "failed",
    Outcome.DECLINED: "denied",
    Outcome.EXPIRED: "expired",
    Outcome.UNRESOLVED: "ended without an answer",
    Outcome.CANCELLED: "cancelled",
    Outcome.VOID: "no longer valid",
    Outcome.UNKNOWN: "ended, outcome unknown",
    Outcome.NOT_RUN: "not run",
}


@dataclass(frozen=True, kw_only=True)
class Listed:
    """One run of a list, with the calls that say what it is about."""

    run: RunRow
    calls: Sequence[CallRow]  # of its current turn


def runs(found: Sequence[Listed], sign: Sign, prefix: str = "") -> Message:
    """Somebody's own runs, newest first, each unfinished one with its *Cancel run*."""
    if not found:
        said = f"You have no runs yet. /{prefix}tool lists what you can start."
        return message(said)
    blocks: list[Block] = []
    for one in found[:MOST_LISTED]:
        row = one.run
        blocks.append(rich(line(*run_line(one))))
        if row.state.stage is not Stage.ENDED and not row.state.cancelled:
            cancel = button("Cancel run", "cancel", sign(row.id, "cancel"))
            blocks.append(actions(cancel))
    first = [bold(f"Your runs · {len(found)}"), *_hidden(len(found))]
    return paragraphs(first, *blocks)


def approvals(
    views: Sequence[CardView], reader: str, *, unsure: bool = False
) -> Message:
    """What waits for the person with this id, the most urgent first.

    `unsure` says that somebody could not be looked up, so there may be more.
    """
    if not views:
        return message(UNSURE if unsure else "Nothing waits for you.")
    shown = views[:MOST_LISTED]
    entries = [rich(line(*_waiting(v, v.request, reader))) for v in shown if v.request]
    first = [bold(f"Waiting for you · {len(views)}"), *_hidden(len(views))]
    if unsure:
        first.append(f"\n{UNSURE}")
    return paragraphs(first, *entries)


def detail(view: CardView) -> Message:
    """One request or run as it is now, for those who may see it: no controls."""
    drawn = (
        request_card.card(view, _unsigned, direct=True, details=False)
        if view.request is not None
        else run_card.card(view, _unsigned, details=False)
    )
    blocks = [block for block in drawn.blocks if block["type"] != "actions"]
    return Message(text=drawn.text, blocks=blocks)


def nothing_under(number: str) -> Message:
    """No such number, or one that this person may not see: the same words."""
    written = one_line(number.strip(), 40) or '""'
    return message(f"There is nothing under {written} that you may see.")


# -- the parts ------------------------------------------------------------------------


def _unsigned(ref: str, decision: str) -> str:
    return decision


def _hidden(count: int) -> Words:
    more = count - MOST_LISTED
    return (
        [f"\nThe first {MOST_LISTED}; {more} more are not shown."] if more > 0 else []
    )


def run_line(listed: Listed) -> Words:
    """One run on one line: its number, what it is about, how it stands."""
    row = listed.run
    moment = row.ended_at if row.ended_at is not None else row.created_at
    when = " " if row.ended_at is not None else " · started "
    said: Words = [bold(label(row)), " ", _about(listed), f" · {_state(row)}{when}"]
    return [*said, clock(moment)]


def _about(listed: Listed) -> Element | str:
    """What a run is about: the headline of its one call, or what was typed."""
    row = listed.run
    if not row.state.model and listed.calls:
        call = listed.calls[0]
        return headline(call.rule, call.tool, call.arguments)
    return code(one_line(row.words.strip() or "run", _WORDS))


def _state(row: RunRow) -> str:
    state = row.state
    if state.stage is Stage.ENDED:
        return _ENDED[state.ending] if state.ending else "ended"
    slots = {call.slot for call in state.calls}
    if Slot.UNKNOWN in slots:
        return "outcome unknown"
    if state.cancelled:
        return "cancelled, still running"
    if Slot.ASKED in slots:
        return "waiting for people"
    return "running" if Slot.RUNNING in slots else "starting"


def _waiting(view: CardView, request: RequestRow, reader: str) -> Words:
    run = view.run
    subject = headline(request.rule, view.call.tool, view.call.arguments)
    said: Words = [bold(subject), f"  {requester(run)} · until "]
    until = clock(request.expires_at, request.created_at)
    there = _place(view, request, reader)
    return [*said, until, *there, f" · {label(run, request)}"]


def _place(view: CardView, request: RequestRow, reader: str) -> Words:
    """Where somebody finds the card; nothing when no card of it is for them."""
    cards = [card for card in cards_of(view, request) if card.ts]
    shared = [card for card in cards if not is_direct(card)]
    own = {card.destination for card in cards} & _own_places(view, reader)
    if own:
        return [" · in your direct messages"]
    return [" · in ", place(view, shared[0].destination)] if shared else []


def _own_places(view: CardView, reader: str) -> set[str]:
    """A person's direct messages with us, under the names that a card may go by."""
    typed_there = reader == view.run.requester and view.run.channel.startswith("D")
    return {reader, view.run.channel} if typed_there else {reader}
