"""The card of a request: open, of unknown outcome, or settled (experience.md §3, §4).

The frame is written by us and the same for every kind; what stands in it comes from
the kind's file. Everything is drawn from the view and from nothing else.
"""

from __future__ import annotations

from bot.core.answers import MOST_REASON
from bot.core.digest import shown as digits
from bot.core.display import one_line, warnings
from bot.core.headline import headline
from bot.core.policy import POSITIVE
from bot.ports import CallRow, CardView, RequestRow
from bot.slack import limits
from bot.slack.blocks import Block, Part, actions, bold, button, line, rich, small
from bot.slack.boxes import call_text, labelled, suspects
from bot.slack.fate import Fate, agreed, decider, fate
from bot.slack.ids import Sign
from bot.slack.kind import Kind
from bot.slack.kinds import kind_named
from bot.slack.render.message import Message, message
from bot.slack.render.news import words
from bot.slack.render.settled import cancelled_late, outcome, reason, result
from bot.slack.render.unknown import choices, explained
from bot.slack.words import (
    LONGEST_WAIT,
    Words,
    acting,
    clock,
    joined,
    label,
    name,
    needed,
    roughly,
)


def card(view: CardView, sign: Sign, *, direct: bool, details: bool = True) -> Message:
    """The card of the request that a view is about.

    `direct` says that the message is in a direct message, where nobody is mentioned;
    `details` that it says where to find more, unless it is just that.
    """
    request = _request(view)
    if request.status == "open":
        return _open(view, request, sign, direct=direct)
    if fate(view) is Fate.UNKNOWN:
        return _unknown(view, request, sign, details)
    return _settled(view, request, details)


def size(view: CardView) -> int:
    """The characters of all texts on the open card, wherever it goes (T29)."""
    request = _request(view)
    drawn = (_open(view, request, _unsigned, direct=to) for to in (False, True))
    return max(limits.size(message.blocks) for message in drawn)


def fits(view: CardView) -> str | None:
    """None when the open card can be shown in full, else a sentence with both sizes."""
    needs = size(view)
    if needs <= limits.CARD_BUDGET:
        return None
    tool = one_line(view.call.tool, 60)
    return (
        f"The card of {tool} would need {needs:,} characters; "
        f"the limit is {limits.CARD_BUDGET:,}, and nothing is left out of a card."
    )


def minimal(view: CardView, sign: Sign, *, direct: bool) -> Message:
    """The card in place of one that Slack did not take: nothing can be agreed to.

    What cannot be shown in full has no control that agrees to it (T29).
    """
    request = _request(view)
    if request.status != "open":
        return Message(text=words(view), blocks=[rich(line(*outcome(view, request)))])
    kind = kind_named(request.kind)
    face = kind.card(view)
    said = "This card cannot be shown here in full, so nobody can agree to it."
    refusals = [c for c in kind.choices if c.decision not in POSITIVE]
    controls = [
        button(c.label, c.decision, sign(request.ref, c.decision)) for c in refusals
    ]
    blocks = [
        rich(line(bold(face.title))),
        rich(line(f"{face.asks}\n{said}")),
        actions(*controls),
        rich(line(*_until(view, request, kind, direct))),
    ]
    return Message(text=face.text, blocks=blocks)


def neutral(prefix: str = "") -> Message:
    """What becomes of a message that we posted and no longer know."""
    said = "This copy of a card cannot be answered."
    return message(f"{said} /{prefix}approvals shows what waits for you.")


# -- the three cards ------------------------------------------------------------------


def _open(view: CardView, request: RequestRow, sign: Sign, *, direct: bool) -> Message:
    kind = kind_named(request.kind)
    face = kind.card(view)
    controls = [
        button(c.label, c.decision, sign(request.ref, c.decision), c.style)
        for c in kind.choices
    ]
    blocks = [
        rich(line(bold(face.title))),
        rich(line(face.asks, "\n", *needed(request, view.run, mention=not direct))),
        rich(*face.parts),
        *_warnings(view.call, request),
        actions(*controls),
        rich(line(*_until(view, request, kind, direct))),
    ]
    return Message(text=face.text, blocks=blocks)


def _settled(view: CardView, request: RequestRow, details: bool) -> Message:
    face = kind_named(request.kind).past(view)
    became = fate(view)
    told = line(*outcome(view, request), "\n", face.asks)
    blocks = [
        rich(line(bold(face.title))),
        rich(*_with_reason(view, request, face.asks)) if request.reason else rich(told),
        rich(*face.parts),
    ]
    if given := _given(view, request, became):
        blocks.append(rich(*given))
    blocks.append(_small_print(view, request, details))
    return Message(text=words(view), blocks=blocks)


def _unknown(view: CardView, request: RequestRow, sign: Sign, details: bool) -> Message:
    call = view.call
    subject = headline(request.rule, call.tool, call.arguments)
    said: Words = [f"{_said_yes(view, request)}. ", *explained(call)]
    blocks = [
        rich(line(bold(f"Outcome unknown: {subject}"))),
        rich(line(*said, *cancelled_late(view, Fate.UNKNOWN))),
        rich(
            *labelled("What may have run", call_text(call), limits.FOLDED),
            line(acting(call, view.run)),
        ),
        choices(view, call, sign),
        _small_print(view, request, details),
    ]
    return Message(text=words(view), blocks=blocks)


# -- their parts ----------------------------------------------------------------------


def _request(view: CardView) -> RequestRow:
    if view.request is None:
        raise ValueError("the view is about no request")
    return view.request


def _unsigned(ref: str, decision: str) -> str:
    return f"{ref}.{decision}"


def _warnings(call: CallRow, request: RequestRow) -> list[Block]:
    found = warnings(suspects(call, request))
    return [rich(line("\n".join(found)))] if found else []


def _until(view: CardView, request: RequestRow, kind: Kind, direct: bool) -> Words:
    longest = request.expires_at - request.created_at >= LONGEST_WAIT
    limit = " (the limit of 30 days)" if longest else ""
    return [
        f"{label(view.run, request)} · until ",
        clock(request.expires_at, request.created_at),
        f", {kind.lapse}{limit} · {digits(request.call_digest)}",
        # Nobody else reads the thread of a direct message.
        "" if direct else " · questions: in the thread",
    ]


def _with_reason(view: CardView, request: RequestRow, asks: str) -> tuple[Part, ...]:
    return line(*outcome(view, request)), *reason(request, MOST_REASON), line(asks)


def _given(view: CardView, request: RequestRow, became: Fate) -> tuple[Part, ...]:
    agreed_to = request.status in ("approved", "answered")
    return result(view.call, became) if agreed_to else ()


def _said_yes(view: CardView, request: RequestRow) -> str:
    voters = [name(vote.name, vote.user) for vote in agreed(view, request)]
    verb = "approved" if request.status == "approved" else "marked it done"
    return f"{joined(voters) or decider(request)} {verb}"


def _small_print(view: CardView, request: RequestRow, details: bool) -> Block:
    number = label(view.run, request)
    told = [number, digits(request.call_digest)]
    if request.decided_at is not None:
        waited = max(request.decided_at - request.created_at, 0)
        told.append(f"waited {roughly(waited)}")
    more = f"\ndetails: /{view.prefix}approvals {number}" if details else ""
    return small(f"{' · '.join(told)}{more}")
