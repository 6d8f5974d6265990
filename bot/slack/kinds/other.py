"""Any kind that we have never heard of: its words as they are, done or not.

Its answer never counts as approval of a call, so nothing here is called so.
"""

from __future__ import annotations

from bot.core.display import one_line
from bot.core.policy import addressed
from bot.ports import CardView, RequestRow
from bot.slack.blocks import Part
from bot.slack.boxes import details_text, labelled, prompt_text
from bot.slack.kind import Choice, Face, Kind
from bot.slack.limits import FOLDED
from bot.slack.words import SHORT_NAME, label, notification, requester

_TOOL = 80  # characters of a tool's name in a title


def _card(view: CardView) -> Face:
    request = _request(view)
    tool = one_line(view.call.tool, _TOOL)
    number = label(view.run, request)
    return Face(
        title=f"{tool} asks something{_of(view, request)}",
        asks=f"Asked in run {label(view.run)}.",
        text=notification(
            "", tool, f" asks something{_of(view, request, SHORT_NAME)}. {number}"
        ),
        parts=_words(request),
    )


def _past(view: CardView) -> Face:
    request = _request(view)
    tool = one_line(view.call.tool, _TOOL)
    return Face(
        title=f"{tool} asked something{_of(view, request)}",
        asks=f"Asked in run {label(view.run)}.",
        parts=_words(request, FOLDED),
    )


def _request(view: CardView) -> RequestRow:
    if view.request is None:
        raise ValueError("the view is about no request")
    return view.request


def _of(view: CardView, request: RequestRow, limit: int = _TOOL) -> str:
    """Of whom it is asked, when that is one person."""
    if addressed(request.kind, request.rule) is None:
        return f" of {requester(view.run, limit)}"
    return ""


def _words(request: RequestRow, limit: int | None = None) -> tuple[Part, ...]:
    return (
        *labelled("What the tool says (not checked)", prompt_text(request), limit),
        *labelled("Details", details_text(request), limit),
    )


KIND = Kind(
    name=None,
    choices=(
        Choice(decision="done", label="Done"),
        Choice(decision="decline", label="Decline"),
    ),
    lapse="then declined",
    card=_card,
    past=_past,
)
