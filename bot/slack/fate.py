"""What became of a request and of its call, told from the rows in one word each.

Cards, thread replies, lists and refusals all say it in their own words; none of them
looks at slots and outcomes itself, so they cannot disagree.
"""

from __future__ import annotations

from enum import StrEnum

from bot.core.run import Call, Outcome, Slot
from bot.ports import CallRow, CardView, RequestRow, VoteRow
from bot.slack.words import name


class Fate(StrEnum):
    """Where a call stands, as far as people are concerned."""

    OPEN = "open"  # its request waits for an answer
    READY = "ready"
    WAITING = "waiting"  # for the answer to a further request
    AGAIN = "again"  # it was of unknown outcome and is asked anew
    RUNNING = "running"
    UNKNOWN = "unknown"
    REPORTED = "reported"  # it was of unknown outcome; a person said what happened
    DONE = "done"
    FAILED = "failed"
    DENIED = "denied"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    VOID = "void"
    UNRESOLVED = "unresolved"
    NOT_RUN = "not run"


_OF_STATUS = {
    "open": Fate.OPEN,
    "denied": Fate.DENIED,
    "declined": Fate.DENIED,
    "expired": Fate.EXPIRED,
    "cancelled": Fate.CANCELLED,
    "void": Fate.VOID,
}
_OF_SLOT = {
    Slot.READY: Fate.READY,
    Slot.ASKED: Fate.WAITING,
    Slot.RUNNING: Fate.RUNNING,
    Slot.UNKNOWN: Fate.UNKNOWN,
}
_OF_OUTCOME = {
    Outcome.OK: Fate.DONE,
    Outcome.ERROR: Fate.FAILED,
    Outcome.DECLINED: Fate.DENIED,
    Outcome.EXPIRED: Fate.EXPIRED,
    Outcome.UNRESOLVED: Fate.UNRESOLVED,
    Outcome.CANCELLED: Fate.CANCELLED,
    Outcome.VOID: Fate.VOID,
    Outcome.UNKNOWN: Fate.REPORTED,
    Outcome.NOT_RUN: Fate.NOT_RUN,
}
#: The call ended without having been entered.
NOT_ENTERED = frozenset(
    {Fate.DENIED, Fate.EXPIRED, Fate.CANCELLED, Fate.VOID, Fate.NOT_RUN}
)
#: Nothing more will happen to the call.
ENDED = NOT_ENTERED | {Fate.DONE, Fate.FAILED, Fate.REPORTED, Fate.UNRESOLVED}


def fate(view: CardView) -> Fate:
    """What became of the request that a view is about, or else of its only call."""
    request = view.request
    if request is None:
        return call_fate(view, view.calls[0])
    settled = _OF_STATUS.get(request.status)
    if settled is not None:
        return settled
    return Fate.AGAIN if asked_again(view) else call_fate(view, view.call)


def call_fate(view: CardView, call: CallRow) -> Fate:
    """What became of one call."""
    state = state_of(view, call)
    if state is not None and state.slot is not Slot.DONE:
        return _OF_SLOT[state.slot]
    if state is not None and state.outcome is not None:
        return _OF_OUTCOME[state.outcome]
    return _OF_OUTCOME[Outcome(call.outcome)] if call.outcome else Fate.READY


def state_of(view: CardView, call: CallRow) -> Call | None:
    """The state of a call; None when its turn is over."""
    run = view.run.state
    if call.turn != run.turn:
        return None
    return next((c for c in run.calls if c.ordinal == call.ordinal), None)


def asked_again(view: CardView) -> RequestRow | None:
    """The newer gate request for the same call, if its outcome was unknown before."""
    standing = ("open", "approved")
    later = (r for r in _later(view) if r.gate and r.status in standing)
    return next(later, None)


def further(view: CardView) -> RequestRow | None:
    """The request that the call waits for, or ended with, after this one."""
    return next(iter(reversed(_later(view))), None)


def _later(view: CardView) -> list[RequestRow]:
    request = view.request
    if request is None:
        return []
    return [
        other
        for other in view.requests
        if (other.turn, other.ordinal) == (request.turn, request.ordinal)
        and other.number > request.number
    ]


def votes(view: CardView, request: RequestRow) -> list[VoteRow]:
    """The counted votes on a request, oldest first."""
    counted = [vote for vote in view.votes if vote.request == request.ref]
    return sorted(counted, key=lambda vote: vote.at)


def agreed(view: CardView, request: RequestRow) -> list[VoteRow]:
    """The votes by which a request was approved or answered."""
    return [v for v in votes(view, request) if v.decision in ("approve", "done")]


def decider(request: RequestRow) -> str:
    """The name of whoever settled a request."""
    return name(request.decided_name, request.decided_by or "the bot")


def canceller(view: CardView) -> str:
    """The name of whoever cancelled the run."""
    return name(view.run.cancelled_name, view.run.cancelled_by or "the bot")


def says_it_ran(call: CallRow) -> bool:
    """What the person reported who closed an unknown outcome."""
    return call.output.endswith("says it ran")


def spent(call: CallRow) -> int | None:
    """How long the call took, in milliseconds."""
    if call.claimed_at is None or call.ended_at is None:
        return None
    return max(call.ended_at - call.claimed_at, 0)
