"""The words that every surface shares: numbers, names, times, and who is needed.

Each is a pure function of rows. Names of people are cleaned here, once, and shortened;
a person is referred to (and so notified) only where a caller asks for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from bot.core.display import one_line
from bot.core.policy import Who, addressed, by_approvers, entries_of
from bot.ports import CallRow, CardView, MessageRow, RequestRow, RunRow
from bot.slack.blocks import Element, channel, escaped, group, text, user
from bot.slack.limits import NOTIFICATION

#: More people than this are not mentioned one by one.
MOST_MENTIONED = 5
NAME = 60
SHORT_NAME = 40  # in a notification

_SECOND, _MINUTE, _HOUR, _DAY = 1_000, 60_000, 3_600_000, 86_400_000
#: The longest that anything waits; a card at this limit says so (§7.4).
LONGEST_WAIT = 30 * _DAY

Words = list[Element | str]


# -- numbers and names ----------------------------------------------------------------


def label(run: RunRow, request: RequestRow | None = None) -> str:
    """The number to say aloud: `CS-318`, or `CS-318.2` for its second request."""
    part = f".{request.number}" if request is not None and request.number > 1 else ""
    return f"CS-{run.number}{part}"


def name(display_name: str, user_id: str, limit: int = NAME) -> str:
    """What a person is called; their id when Slack told no name."""
    return one_line(display_name.strip() or user_id, limit)


def requester(run: RunRow, limit: int = NAME) -> str:
    """The name of whoever asked for a run."""
    return name(run.requester_name, run.requester, limit)


def acting(call: CallRow, run: RunRow) -> str:
    """Under whose identity a call works."""
    who = "the bot" if call.acting == "bot" else requester(run)
    return f"acting as {who}"


def joined(items: Sequence[str], last: str = "and") -> str:
    """`a, b and c`."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} {last} {items[-1]}"


def notification(before: str, subject: str, after: str) -> str:
    """A message's `text`: our words around a headline, at most 120 characters."""
    room = NOTIFICATION - len(escaped(before)) - len(escaped(after))
    while room > 0:
        words = f"{escaped(before)}{escaped(one_line(subject, room))}{escaped(after)}"
        if len(words) <= NOTIFICATION:
            return words
        room -= len(words) - NOTIFICATION
    return f"{escaped(before)}{escaped(after)}"[:NOTIFICATION]


# -- times ----------------------------------------------------------------------------


def clock(at: int, since: int | None = None) -> Element:
    """A time of day in the reader's own zone; with the day when that is not plain.

    `since` is when the reader's story began: half a day later, the day is named.
    """
    moment = datetime.fromtimestamp(at / 1000, UTC)
    far = since is not None and abs(at - since) > _DAY // 2
    if far:
        form, fallback = "{date_short_pretty} {time}", f"{moment:%-d %b %H:%M} UTC"
    else:
        form, fallback = "{time}", f"{moment:%H:%M} UTC"
    return {
        "type": "date",
        "timestamp": at // 1000,
        "format": form,
        "fallback": fallback,
    }


def duration(spent: int) -> str:
    """A duration in words: `0.4 s`, `41 s`, `3 min 12 s`, `2 h 5 min`, `3 days`."""
    if spent < _SECOND:
        return f"{max(spent, 100) / _SECOND:.1f} s"
    if spent < _MINUTE:
        return f"{spent // _SECOND} s"
    if spent < _HOUR:
        return _two(spent // _MINUTE, "min", spent % _MINUTE // _SECOND, "s")
    if spent < 2 * _DAY:
        return _two(spent // _HOUR, "h", spent % _HOUR // _MINUTE, "min")
    return f"{spent // _DAY} days"


def roughly(spent: int) -> str:
    """A duration in its largest unit alone: `41 s`, `3 min`, `2 h`."""
    largest = duration(spent).split(" ")[:2]
    return " ".join(largest)


def _two(many: int, unit: str, rest: int, small: str) -> str:
    return f"{many} {unit} {rest} {small}" if rest else f"{many} {unit}"


# -- who is needed --------------------------------------------------------------------


def needed(request: RequestRow, run: RunRow, *, mention: bool) -> Words:
    """The sentence that says whose answer a request needs."""
    entries = addressed(request.kind, request.rule)
    if entries is None:
        who = user(run.requester) if mention else text(requester(run))
        return ["Needs an answer from ", who, "."]
    entries = eligible(request, run)
    if not entries:
        return ["Nobody can answer this."]
    one_of = "one of " if len(entries) > 1 or not entries[0].user else ""
    verb = "Needs " if by_approvers(request.kind) else "Needs an answer from "
    listed = people(entries, mention=mention)
    return [f"{verb}{one_of}", *listed, f"{_not_the_requester(request, run)}."]


def eligible(request: RequestRow, run: RunRow) -> tuple[Who, ...]:
    """The entries of the rule whose yes could count."""
    entries = addressed(request.kind, request.rule)
    if entries is None:
        return (Who(user=run.requester, handle=run.requester_name),)
    if by_approvers(request.kind) and not request.rule.self_approval:
        return tuple(who for who in entries if who.user != run.requester)
    return entries


def people(entries: Sequence[Who], *, mention: bool, last: str = "or") -> Words:
    """Groups, channels and people as a list; beyond five people, how many more.

    Unless they are mentioned they stand as words, since a reference would notify them.
    """
    users = [who for who in entries if who.user]
    shown = [who for who in entries if not who.user] + users[:MOST_MENTIONED]
    items = [_reference(who) if mention else handle(who) for who in shown]
    rest = len(users) - MOST_MENTIONED
    return listed([*items, f"{rest} more"] if rest > 0 else items, last)


def handle(who: Who) -> str:
    """How somebody of the policy is written for people, without notifying them: the
    name of a group, a channel or a person, or the id when Slack told none."""
    return name(who.handle, _id(who))


def names_of(entries: Sequence[Who]) -> dict[str, str]:
    """The ids of these entries with their names, for where only words can stand."""
    return {_id(who): handle(who) for who in entries}


def _id(who: Who) -> str:
    return who.user or who.group or who.channel or ""


def _reference(who: Who) -> Element:
    """A person or a group is notified by it; a channel cannot be."""
    if who.channel:
        return channel(who.channel)
    return group(who.group) if who.group else user(who.user or "")


def listed(items: Words, last: str) -> Words:
    """`a, b or c`, of elements as well as of words."""
    made: Words = []
    for at, item in enumerate(items):
        if at:
            made.append(f" {last} " if at == len(items) - 1 else ", ")
        made.append(item)
    return made


def _not_the_requester(request: RequestRow, run: RunRow) -> str:
    """That whoever asked does not count, where they could be thought to."""
    rule = request.rule
    meant = any(not who.user or who.user == run.requester for who in rule.approvers)
    if by_approvers(request.kind) and meant and not rule.self_approval:
        return f", not {requester(run)}"
    return ""


# -- where cards are ------------------------------------------------------------------


def place(view: CardView, where: str) -> Element | str:
    """A channel as people know it: by the policy's name for it, else by reference."""
    rules = [call.rule for call in view.calls] + [r.rule for r in view.requests]
    named = {who.channel: who.handle for who in entries_of(rules)}
    named |= {rule.post_to: rule.post_to_name for rule in rules if rule.post_to_name}
    return one_line(named.get(where) or "", NAME) or channel(where)


def cards_of(view: CardView, request: RequestRow) -> list[MessageRow]:
    """The cards of a request that are where they should be, or on their way."""
    cards = [m for m in view.messages if m.kind == "request" and m.state == "live"]
    return [card for card in cards if card.request == request.ref]


def is_direct(card: MessageRow) -> bool:
    """Whether a card is meant for a direct message, not for a channel."""
    return card.destination.startswith(("U", "W", "D"))
