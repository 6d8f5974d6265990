"""`approval`: may this call run? The whole call is on the card, then yes or no."""

from __future__ import annotations

from bot.core.headline import headline
from bot.core.policy import APPROVAL
from bot.ports import CardView, RequestRow
from bot.slack.blocks import Part, line
from bot.slack.boxes import call_text, details_text, labelled, prompt_text
from bot.slack.fate import Fate, fate
from bot.slack.kind import Choice, Face, Kind
from bot.slack.limits import FOLDED
from bot.slack.words import SHORT_NAME, acting, label, notification, requester


def _card(view: CardView) -> Face:
    request, subject = _about(view)
    number = label(view.run, request)
    asking = requester(view.run, SHORT_NAME)
    will_run = labelled("What will run", call_text(view.call))
    return Face(
        title=f"{subject}?",
        asks=f"{requester(view.run)} asks, in run {label(view.run)}.",
        text=notification("Approve? ", subject, f". {asking} asks. {number}"),
        parts=(*will_run, line(acting(view.call, view.run)), *_tool_words(request)),
    )


def _past(view: CardView) -> Face:
    _, subject = _about(view)
    return Face(
        title=subject,
        asks=f"{requester(view.run)} asked, in run {label(view.run)}.",
        parts=labelled(_tense(view), call_text(view.call), FOLDED),
    )


def _tense(view: CardView) -> str:
    """What may be said of the call: never that it ran when nobody knows that."""
    became = fate(view)
    if became is Fate.RUNNING:
        return "What is running"
    if became in (Fate.DONE, Fate.FAILED):
        return "What ran"
    return "What was started" if view.call.execution else "What was asked for"


def _about(view: CardView) -> tuple[RequestRow, str]:
    if view.request is None:
        raise ValueError("the view is about no request")
    call = view.call
    return view.request, headline(view.request.rule, call.tool, call.arguments)


def _tool_words(request: RequestRow) -> tuple[Part, ...]:
    """What the tool itself said when it asked; a gate has nothing to add."""
    if request.gate:
        return ()
    return (
        *labelled("What the tool says (not checked)", prompt_text(request)),
        *labelled("Details", details_text(request)),
    )


KIND = Kind(
    name=APPROVAL,
    choices=(
        Choice(decision="approve", label="Approve", style="primary"),
        Choice(decision="deny", label="Deny"),
        Choice(decision="deny_why", label="Deny, say why"),
    ),
    lapse="then denied",
    card=_card,
    past=_past,
)
