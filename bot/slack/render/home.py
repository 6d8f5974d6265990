"""The Home tab: what waits for somebody, what they asked, what was decided (§6).

What can be agreed to here is shown in full, as on its card (T29); what is too long for
that can only be refused here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bot.core.digest import shown as digits
from bot.core.display import flat, warnings
from bot.core.headline import headline
from bot.core.policy import POSITIVE
from bot.core.run import Stage
from bot.ports import CardView
from bot.slack import limits
from bot.slack.blocks import (
    Block,
    Element,
    Style,
    actions,
    bold,
    control,
    line,
    rich,
    small,
)
from bot.slack.boxes import suspects
from bot.slack.ids import HELLO, Sign, home_action_id
from bot.slack.kinds import kind_named
from bot.slack.render.lists import UNSURE, Listed, run_line
from bot.slack.render.message import Message
from bot.slack.render.settled import outcome
from bot.slack.words import Words, clock, label, requester

#: Of each list; more are counted only.
MOST, MOST_DECIDED = 10, 5
#: What one entry, and all of them together, may show of calls, in characters.
ENTRY, ENTRIES = 2_000, limits.CARD_BUDGET
NOTHING = (
    "Nothing waits for you. When a tool needs your yes, it appears here and in your"
    " messages."
)
TOO_LONG = (
    "Too long to be shown here, so it cannot be agreed to here. Its card shows it"
)

View = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Page:
    """All that one person's tab is drawn from."""

    waiting: Sequence[CardView]  # all of them, the most urgent first
    unsure: bool  # there may be more
    asked: Sequence[Listed]  # the newest ones
    asked_count: int  # of how many
    decided: Sequence[CardView]
    hello: str  # ref of the button to try it; "" for none
    sign: Sign  # for this very person
    said: Message | None  # in reply to what they did last
    prefix: str
    version: str

    @property
    def runs(self) -> frozenset[str]:
        """Every run that something in it is about."""
        views = (*self.waiting, *self.decided)
        return frozenset(
            [*(v.run.id for v in views), *(one.run.id for one in self.asked)]
        )


def view(page: Page) -> View:
    """The tab as Slack takes it."""
    blocks = [
        *(page.said.blocks if page.said is not None else []),
        *_waiting(page),
        *_asked(page),
        *_decided(page),
        *_hello(page),
        small(f"{_help(page.prefix)} · version {page.version}"),
    ]
    return {"type": "home", "blocks": blocks}


def failed(said: Message | None, prefix: str) -> View:
    """The tab when it could not be drawn."""
    sorry = "This page could not be drawn just now. Open it again in a minute."
    first = said.blocks if said is not None else []
    return {
        "type": "home",
        "blocks": [*first, rich(line(sorry)), small(_help(prefix))],
    }


# -- the lists ------------------------------------------------------------------------


def _waiting(page: Page) -> list[Block]:
    unsure = [f"\n{UNSURE}"] if page.unsure else []
    if not page.waiting:
        return [rich(line(UNSURE if page.unsure else NOTHING))]
    count = len(page.waiting)
    blocks = [rich(line(bold(f"Waiting for you · {count}"), *unsure))]
    room = ENTRIES
    for one in page.waiting[:MOST]:
        drawn, used = _entry(one, page, room)
        room -= used
        blocks += drawn
    return blocks + _more(count, f"/{page.prefix}approvals lists more")


def _entry(view: CardView, page: Page, room: int) -> tuple[list[Block], int]:
    """One request with its controls, and how much of the room it takes."""
    request = view.request
    if request is None:
        return [], 0
    kind = kind_named(request.kind)
    face = kind.card(view)
    parts = [*face.parts]
    if found := warnings(suspects(view.call, request)):
        parts.append(line("\n".join(found)))
    used = limits.size(parts)
    choices = kind.choices
    if used > min(ENTRY, room):
        place = request.rule.post_to_name
        where = f", in {flat(place)}" if place else ""
        parts, used = [line(f"{TOO_LONG}{where}.")], 0
        choices = tuple(c for c in choices if c.decision not in POSITIVE)
    told = line(bold(face.title), "\n", *_about(view))
    controls = [
        _control(c.label, c.decision, page.sign(request.ref, c.decision), c.style)
        for c in choices
    ]
    return [rich(told, *parts), actions(*controls)], used


def _about(view: CardView) -> Words:
    """Who asks, since when, until when, and the number."""
    request, run = view.request, view.run
    if request is None:
        return []
    since = clock(request.created_at, request.expires_at)
    until = clock(request.expires_at, request.created_at)
    number = f" · {label(run, request)} · {digits(request.call_digest)}"
    return [f"{requester(run)} · since ", since, " · until ", until, number]


def _asked(page: Page) -> list[Block]:
    if not page.asked:
        return []
    blocks = [rich(line(bold(f"You asked · {page.asked_count}")))]
    for one in page.asked:
        row = one.run
        blocks.append(rich(line(*run_line(one))))
        if row.state.stage is not Stage.ENDED and not row.state.cancelled:
            token = page.sign(row.id, "cancel")
            blocks.append(actions(_control("Cancel run", "cancel", token)))
    return blocks + _more(page.asked_count, f"/{page.prefix}runs lists more")


def _decided(page: Page) -> list[Block]:
    blocks = [rich(line(*_settled(one))) for one in page.decided if one.request]
    return [rich(line(bold("Decided lately"))), *blocks] if blocks else []


def _settled(view: CardView) -> Words:
    request, call = view.request, view.call
    if request is None:
        return []
    subject = headline(request.rule, call.tool, call.arguments)
    number = f" · {label(view.run, request)}"
    return [bold(subject), "  ", *outcome(view, request), number]


def _hello(page: Page) -> list[Block]:
    if not page.hello:
        return []
    token = page.sign(page.hello, HELLO)
    return [actions(_control("Try it: say hello", HELLO, token, "primary"))]


# -- the parts ------------------------------------------------------------------------


def _control(words: str, decision: str, token: str, style: Style = "") -> Element:
    return control(words, home_action_id(decision), token, style)


def _more(count: int, how: str) -> list[Block]:
    if count <= MOST:
        return []
    return [small(f"The first {MOST}; {count - MOST} more are not shown. {how}.")]


def _help(prefix: str) -> str:
    return (
        f"/{prefix}tool lists what you can start · /{prefix}runs your runs"
        f" · /{prefix}approvals what waits for you"
    )
