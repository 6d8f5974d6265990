"""`/runs` and `/approvals`: private lists, and the receipt of one request."""

from __future__ import annotations

from collections.abc import Sequence

from bot.core.display import flat, one_line
from bot.core.headline import headline
from bot.core.run import Outcome, Slot, Stage
from bot.ports import CardView, RequestRow, RunRow
from bot.slack.blocks import Block, actions, bold, button, code, line, rich
from bot.slack.ids import Sign
from bot.slack.render import request as request_card
from bot.slack.render import run as run_card
from bot.slack.render.message import Message, message, paragraphs
from bot.slack.words import Words, clock, label, requester

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


def runs(rows: Sequence[RunRow], sign: Sign, prefix: str = "") -> Message:
    """Somebody's own runs, newest first, each unfinished one with its *Cancel run*."""
    if not rows:
        said = f"You have no runs yet. /{prefix}tool lists what you can start."
        return message(said)
    blocks: list[Block] = []
    for row in rows[:MOST_LISTED]:
        blocks.append(rich(line(*_run(row))))
        if row.state.stage is not Stage.ENDED and not row.state.cancelled:
            cancel = button("Cancel run", "cancel", sign(row.id, "cancel"))
            blocks.append(actions(cancel))
    first = [bold(f"Your runs · {len(rows)}"), *_hidden(len(rows))]
    return paragraphs(first, *blocks)


def approvals(views: Sequence[CardView], *, unsure: bool = False) -> Message:
    """What waits for this person, the most urgent first.

    `unsure` says that somebody could not be looked up, so there may be more.
    """
    if not views:
        return message(UNSURE if unsure else "Nothing waits for you.")
    entries = [rich(line(*_waiting(v))) for v in views[:MOST_LISTED] if v.request]
    first = [bold(f"Waiting for you · {len(views)}"), *_hidden(len(views))]
    if unsure:
        first.append(f"\n{UNSURE}")
    return paragraphs(first, *entries)


def detail(view: CardView) -> Message:
    """One request or run as it is now, for those who may see it: no controls."""
    drawn = (
        request_card.card(view, _unsigned, direct=True)
        if view.request is not None
        else run_card.card(view, _unsigned)
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


def _run(row: RunRow) -> Words:
    words = one_line(row.words.strip() or "run", _WORDS)
    return [
        bold(label(row)),
        "  ",
        code(words),
        f"  {_state(row)}, since ",
        *_since(row),
    ]


def _since(row: RunRow) -> Words:
    return [clock(row.ended_at if row.ended_at is not None else row.created_at)]


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


def _waiting(view: CardView) -> Words:
    request, run = view.request, view.run
    if request is None:
        return []
    subject = headline(request.rule, view.call.tool, view.call.arguments)
    said: Words = [bold(subject), f"  {requester(run)} · until "]
    until = clock(request.expires_at, request.created_at)
    return [*said, until, f"{_place(request)} · {label(run, request)}"]


def _place(request: RequestRow) -> str:
    name = request.rule.post_to_name
    return f" · {flat(name)}" if name else ""
