"""What the person who types `/tool` is told, in private (experience.md §7.5).

Every text says whether something was started. Names and values that they or a tool
wrote are set apart from our own words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bot.core.display import cut, flat, one_line, shown
from bot.core.headline import headline
from bot.core.policy import Rule
from bot.ports import CardView, RequestRow
from bot.slack.blocks import Element, bold, box, code, rich
from bot.slack.fate import Fate, fate
from bot.slack.render.message import Message, message, paragraphs
from bot.slack.words import (
    Words,
    cards_of,
    eligible,
    is_direct,
    label,
    listed,
    names_of,
    people,
    place,
    roughly,
)

NOTHING = "Nothing was started."
BUSY = (
    "Your request could not be recorded, so nothing was started."
    " Try again in a few seconds."
)
_NAME = 60
_VALUE = 100
_LIST = 8_000  # characters of the list of tools


@dataclass(frozen=True, kw_only=True)
class Offer:
    """One tool that somebody may start."""

    usage: str  # "restart service=… [region=…]"
    about: str  # what the tool says of itself


@dataclass(frozen=True, kw_only=True)
class _Refused:
    tool: str
    rule: Rule | None
    text: str
    user: str = ""  # who typed it
    prefix: str = ""  # of our commands


def started(view: CardView, like: tuple[int, int] | None = None) -> Message:
    """What was asked of whom and where; or that nobody has to agree to it.

    `like` is the number and the age in milliseconds of the same, begun just before.
    """
    run, request = view.run, view.request
    call = view.calls[0]
    subject = headline(call.rule, call.tool, call.arguments)
    number = label(run)
    if request is None or request.status != "open":
        said = "It runs without anybody's approval; its card shows how it goes on."
        if fate(view) in (Fate.DONE, Fate.FAILED):
            said = "It has run; its card shows how it ended."
        return message(f"{number}: {subject}. {said}{_same(like)}")
    asked = people(eligible(request, run), mention=True)
    where = _where(view, request)
    said = f"{number}: {subject}. Asked of "
    names = names_of(eligible(request, run))
    nothing = f". It has not run yet.{_same(like)}"
    return message(said, *asked, " ", *where, nothing, names=names)


def run_started(view: CardView) -> Message:
    """A run of the model has begun."""
    number = label(view.run)
    return message(f"{number} has begun. Its card shows each step and how it ends.")


def words_do_not_count() -> Message:
    """Somebody wrote to us under a card."""
    return message("Words do not count here. Use the buttons on the card.")


def run_usage(command: str) -> Message:
    """`/run` without words."""
    return message(
        f"Say in your own words what is to be done, after {command}. For example: ",
        code(f"{command} restart the api and tell me if it is healthy"),
        f". {NOTHING}",
    )


def not_started(
    code: str,
    *,
    tool: str = "",
    rule: Rule | None = None,
    text: str = "",
    user: str = "",
    prefix: str = "",
) -> Message:
    """Why nothing was started; `KeyError` for a code that has no text.

    `user` is whoever typed it.
    """
    refused = _Refused(tool=tool, rule=rule, text=text, user=user, prefix=prefix)
    entries = rule.approvers if rule is not None else ()
    callers = rule.callers or () if rule is not None else ()
    names = names_of((*entries, *callers))
    return message(*NOT_STARTED[code](refused), names=names)


def not_here() -> Message:
    """A command of another workspace; it reveals nothing of ours."""
    return message("This command cannot be used here.")


def unknown_tool(written: str, near: str | None, command: str) -> Message:
    """No tool of that name; the nearest one, if it is near enough."""
    said: Words = ["There is no tool ", _quoted(written), ". "]
    if near is not None:
        said += ["Did you mean ", _quoted(near), "? "]
    return message(*said, f"{command} lists them.")


def busy() -> Message:
    """The command could not be recorded in time."""
    return message(BUSY)


def tools(offers: Sequence[Offer], command: str) -> Message:
    """The command without words: the tools that this person may start, with usage."""
    if not offers:
        return message("There is no tool that you may start. The policy names none.")
    listed = "\n".join(_offer(offer) for offer in offers)
    first: Words = [
        bold("Tools that you can start"),
        f"\n{command} and then one of these:",
    ]
    return paragraphs(first, rich(box(cut(listed, _LIST))))


# -- the parts ------------------------------------------------------------------------


def _where(view: CardView, request: RequestRow) -> Words:
    """Where its cards go, as far as that is known now."""
    cards = cards_of(view, request)
    places = dict.fromkeys(c.destination for c in cards if not is_direct(c))
    there = [place(view, one) for one in places]
    if there and (len(there) > 1 or isinstance(there[0], str)):
        return ["in ", *listed(there, "and")]  # by its name, also when it is right here
    if all(card.destination == view.run.channel for card in cards):
        return ["here"]
    return ["in ", *there] if there else ["in direct messages"]


def _same(like: tuple[int, int] | None) -> str:
    """That it was asked twice: perhaps meant, perhaps a second press of Enter (T7)."""
    if like is None:
        return ""
    number, age = like
    return f" It is the same as run CS-{number}, started {roughly(age)} ago."


def _offer(offer: Offer) -> str:
    about = one_line(offer.about, 200)
    usage = "\n    ".join(flat(line) for line in offer.usage.splitlines())
    return f"{usage}\n    {about}" if about.strip() else usage


def _literal(words: str, limit: int = _NAME) -> Element:
    return code(one_line(words, limit) or '""')


def _quoted(words: str, limit: int = _NAME) -> Element:
    return code(f'"{one_line(words, limit)}"')


def _no_rule(refused: _Refused) -> Words:
    said = " has no rule in the policy, so it may not run."
    return [_literal(refused.tool), said, " Ask whoever keeps the policy."]


def _denied(refused: _Refused) -> Words:
    said = " may not run: the policy denies it. Ask whoever keeps the policy."
    return [_literal(refused.tool), said]


def _not_caller(refused: _Refused) -> Words:
    callers = refused.rule.callers or () if refused.rule is not None else ()
    tool = _literal(refused.tool)
    if not callers:
        return ["Nobody can start ", tool, f": its rule names no callers. {NOTHING}"]
    listed = people(callers, mention=True)
    now = f". You are not among them now. {NOTHING}"
    return [tool, " can be started by ", *listed, now]


def _no_approver(refused: _Refused) -> Words:
    approvers = refused.rule.approvers if refused.rule is not None else ()
    if not approvers:
        return [f"Nobody can approve this: the policy names no approvers. {NOTHING}"]
    listed = people(approvers, mention=True, last="and")
    users = {who.user for who in approvers if who.user}
    said: Words = ["Nobody can approve this: "]
    if users == {refused.user} and len(approvers) == 1:
        return [*said, f"the policy names nobody except you. {NOTHING}"]
    if not users and len(approvers) == 1:
        return [*said, *listed, f" has no member except you. {NOTHING}"]
    return [*said, "of ", *listed, f" nobody is active except you. {NOTHING}"]


def _not_canonical(refused: _Refused) -> Words:
    why = one_line(refused.text, 200)
    return ["The arguments cannot be kept as they are: ", code(why), f". {NOTHING}"]


def _unverified(refused: _Refused) -> Words:
    callers = refused.rule.callers or () if refused.rule is not None else ()
    groups = [who for who in callers if not who.user]
    what = ["who is in ", *people(groups, mention=True)] if groups else ["who you are"]
    said = "Slack did not tell us just now "
    return [said, *what, f". {NOTHING} Try again in a minute."]


def _fixed(words: str) -> Callable[[_Refused], Words]:
    return lambda refused: [words]


#: Every code that a start can be refused with, and its sentence.
NOT_STARTED: Mapping[str, Callable[[_Refused], Words]] = {
    "no_rule": _no_rule,
    "denied": _denied,
    "not_caller": _not_caller,
    "no_approver": _no_approver,
    "not_canonical": _not_canonical,
    "too_big": lambda refused: [f"{shown(refused.text)} {NOTHING}"],
    "identity_unverified": _unverified,
    "guest_user": _fixed(f"Guests cannot start tools here. {NOTHING}"),
    "external_user": _fixed(
        f"People of other workspaces cannot start tools here. {NOTHING}"
    ),
    "bot_user": _fixed(f"Apps cannot start tools here. {NOTHING}"),
    "inactive_user": _fixed(f"Your account is not active here. {NOTHING}"),
    "no_model": lambda refused: [
        f"No model is set, so /{refused.prefix}run cannot start."
        f" /{refused.prefix}tool works without one. {NOTHING}"
    ],
    "too_many_words": lambda refused: [
        f"That is {refused.text} characters; 3,000 are the limit. {NOTHING}"
    ],
    "busy": _fixed(BUSY),
}
