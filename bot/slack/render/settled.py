"""What a settled card says happened: by whom, when, and what did not happen.

Every line is made from the rows (T76). Names stand as names, never as references.
"""

from __future__ import annotations

from bot.core.display import cut, flat, shown
from bot.ports import CallRow, CardView, RequestRow
from bot.slack.blocks import Element, Part, code, quote, text
from bot.slack.boxes import labelled
from bot.slack.fate import (
    Fate,
    agreed,
    asked_again,
    canceller,
    decider,
    fate,
    further,
    says_it_ran,
    spent,
)
from bot.slack.limits import RESULT
from bot.slack.words import Words, clock, duration, label, name

#: A tool's error up to this length stands in the status line, set apart as its words.
SHORT_ERROR = 120
#: Of a reason, in a reply; its card has as much as one may write.
REASON = 300

#: Why a request is void, in words that are true whatever it was that changed.
CHANGED = "its call, its rule or who may agree to it changed after it was asked."


def outcome(view: CardView, request: RequestRow) -> Words:
    """The line that says how a request was settled and what became of its call."""
    if request.status in ("approved", "answered"):
        return [*_yes(view, request), " ", *_afterwards(view, request)]
    return _no(view, request)


def reason(request: RequestRow, limit: int = REASON) -> tuple[Part, ...]:
    """Why somebody said no, in their words; of a void request it is a code of ours."""
    if request.status not in ("denied", "declined") or not request.reason.strip():
        return ()
    return (quote(cut(shown(request.reason), limit)),)


def result(call: CallRow, became: Fate) -> tuple[Part, ...]:
    """What the tool gave back, as far as a card holds it."""
    if became is Fate.DONE and call.output:
        return labelled("Result, from the tool", shown(call.output), RESULT)
    if became is Fate.FAILED and not _short(call.output):
        return labelled("Error, from the tool", shown(call.output), RESULT)
    return ()


def finished(call: CallRow, became: Fate) -> Words:
    """How a call that gave something back ended, and how long it took."""
    took = spent(call)
    if became is Fate.DONE:
        return [
            "Done",
            *_at(call.ended_at),
            f", {duration(took)}." if took is not None else ".",
        ]
    after = f" after {duration(took)}" if took is not None else ""
    return [f"Failed{after}", *error(call), "."]


def error(call: CallRow) -> Words:
    """A short error in the tool's words, set apart from ours."""
    words = flat(call.output.strip())
    return [": ", code(words)] if _short(call.output) else []


def reported(call: CallRow) -> Words:
    """Who said what of a call that never reported back."""
    who = name(call.reported_name, call.reported_by)
    word = "it ran" if says_it_ran(call) else "it did not run"
    said = f"The tool did not report back. {who} says {word}"
    return [said, *_at(call.reported_at, ", "), "."]


def cancelled(view: CardView) -> Words:
    """Who cancelled the run, and when."""
    return ["Cancelled by ", canceller(view), *_at(view.run.cancelled_at)]


def cancelled_late(view: CardView, became: Fate) -> Words:
    """That the run was cancelled when its call had already started."""
    started = (Fate.RUNNING, Fate.UNKNOWN, Fate.REPORTED, Fate.DONE, Fate.FAILED)
    if not view.run.state.cancelled or became not in started:
        return []
    said = [" ", *cancelled(view), ", after it had started."]
    return said if became is Fate.DONE else [*said, " It may have taken effect."]


def not_run(view: CardView, request: RequestRow) -> str:
    """What did not happen, as a sentence."""
    return f"It {did_not(view, request)}."


def did_not(view: CardView, request: RequestRow | None) -> str:
    """What did not happen: it did not run, not again, or did not go on."""
    if not view.call.execution:
        return "did not run"
    if request is not None and request.gate and further(view) is None:
        return "did not run again"
    return "did not go on"


# -- the parts ------------------------------------------------------------------------


def _yes(view: CardView, request: RequestRow) -> Words:
    verb = "Approved by " if request.status == "approved" else "Marked done by "
    voters: list[Words] = [
        [name(v.name, v.user), *_at(v.at), *_own(v.self_approved)]
        for v in agreed(view, request)
    ] or [[decider(request), *_at(request.decided_at)]]
    said: Words = [verb]
    for at, voter in enumerate(voters):
        said += [*([" and "] if at else []), *voter]
    return [*said, "."]


def _own(self_approved: bool) -> Words:
    return [" (their own request)"] if self_approved else []


def _afterwards(view: CardView, request: RequestRow) -> Words:
    """What became of the call after the yes."""
    became = fate(view)
    match became:
        case Fate.READY:
            said: Words = ["Starting." if request.gate else "Going on."]
        case Fate.RUNNING:
            said = ["Running since", *_at(view.call.claimed_at), "."]
        case Fate.DONE | Fate.FAILED:
            said = finished(view.call, became)
        case Fate.REPORTED:
            said = reported(view.call)
        case Fate.AGAIN | Fate.WAITING:
            said = _asked_since(view, became)
        case _:
            said = _stopped(view, request, became)
    return [*said, *cancelled_late(view, became)]


def _asked_since(view: CardView, became: Fate) -> Words:
    if became is Fate.AGAIN:
        number = label(view.run, asked_again(view))
        said = "Outcome unknown: it may or may not have run."
        return [f"{said} Asked anew as {number}."]
    number = label(view.run, further(view))
    return [f"Waiting for an answer to {number}."]


def _stopped(view: CardView, request: RequestRow, became: Fate) -> Words:
    """Why a call that was agreed to gave no result."""
    nothing = not_run(view, request)
    if became is Fate.CANCELLED and view.run.state.cancelled:
        return [*cancelled(view), f". {nothing}"]
    if became is Fate.VOID:
        return [f"No longer valid: {CHANGED} {nothing}"]
    if became is Fate.UNRESOLVED:
        return [f"It asked the same again, or too often. {nothing}"]
    last = further(view)
    if last is not None:
        return [f"{label(view.run, last)} was {last.status}. {nothing}"]
    return [f"An earlier step did not succeed. {nothing}"]


def _no(view: CardView, request: RequestRow) -> Words:
    nothing = not_run(view, request)
    when = _at(request.decided_at)
    match request.status:
        case "denied" | "declined":
            verb = "Denied" if request.status == "denied" else "Declined"
            return [f"{verb} by {decider(request)}", *when, f". {nothing}"]
        case "expired":
            until = clock(request.expires_at, request.created_at)
            return ["Nobody answered until ", until, f". {nothing}"]
        case "cancelled" if view.run.state.cancelled:
            return [*cancelled(view), f". {nothing}"]
        case "cancelled":
            return [f"Not needed: an earlier step did not succeed. {nothing}"]
        case _:
            return [f"No longer valid: {CHANGED} {nothing}"]


def _at(moment: int | None, before: str = " ") -> list[Element]:
    return [text(before), clock(moment)] if moment is not None else []


def _short(words: str) -> bool:
    stripped = words.strip()
    return (
        bool(stripped) and "\n" not in stripped and len(flat(stripped)) <= SHORT_ERROR
    )
