"""News: replies in the thread of a card, and notices to one person.

Whoever must learn something is mentioned, and nobody else (experience.md §2). The
words are those of the notification; losing or doubling one of them never matters.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from bot.core.display import one_line
from bot.core.headline import headline
from bot.core.policy import Who, by_approvers
from bot.core.run import Outcome
from bot.ports import CallRow, CardView, RequestRow
from bot.slack import limits
from bot.slack.blocks import Element, bold, escaped, line, linked, rich, spoken, user
from bot.slack.fate import (
    ENDED,
    Fate,
    agreed,
    call_fate,
    decider,
    fate,
    says_it_ran,
    spent,
)
from bot.slack.render.message import Message
from bot.slack.render.settled import did_not, reason
from bot.slack.words import (
    SHORT_NAME,
    Words,
    duration,
    eligible,
    handle,
    joined,
    label,
    name,
    notification,
    people,
    place,
)

Told = tuple[str, str, str]  # our words, the headline, our words


def decided(view: CardView) -> Message:
    """A request was answered one way or another; whoever asked is told."""
    return _reply(view, _decision(view), [view.run.requester])


def ended(view: CardView) -> Message:
    """The call ended; of a failure whoever approved is told as well."""
    failed = _fate(view) is Fate.FAILED
    return _reply(view, _ending(view), _asked_and_approved(view, also=failed))


def decided_and_ended(view: CardView) -> Message:
    """Both at once, when the result came within seconds of the decision."""
    failed = _fate(view) is Fate.FAILED
    return _reply(view, _both(view), _asked_and_approved(view, also=failed))


def run_ended(view: CardView) -> Message:
    """A run of the model ended, one way or another; whoever asked is told."""
    run = view.run
    took = duration(max((run.ended_at or run.created_at) - run.created_at, 0))
    number = label(run)
    match run.state.ending:
        case Outcome.OK:
            told = (f"Done in {took}: ", f"run {number}", "")
        case Outcome.CANCELLED:
            told = ("Cancelled: ", f"run {number}", "")
        case _:
            why = one_line(run.reason, 60) or "see its card"
            told = ("Stopped: ", f"run {number}", f". {why}")
    return _said(told, [run.requester])


def link(view: CardView, address: str) -> Message:
    """Where the card of a run is that was asked for in a thread."""
    number = label(view.run)
    said = line(f"{number} has begun. ", linked("Its card", address), ".")
    return Message(
        text=notification(f"{number} has begun.", "", ""), blocks=[rich(said)]
    )


def unknown(view: CardView) -> Message:
    """Nobody can say whether the call ran; those who can find out are told."""
    told = _told(view, "Outcome unknown: ", ". It may or may not have run. ")
    return _reply(view, told, _asked_and_approved(view, also=True))


def undeliverable(view: CardView, where: str, *, card: str, code: str) -> Message:
    """A card could not go where it should, and went to people directly instead; to
    whoever asked.

    `where` is the id of that channel, `card` the kind of the card's row, `code` the
    platform's word for what was in the way.
    """
    there = place(view, where)
    which = _which(view, card)
    went = ["went to ", *_instead(view, card), " directly."]
    if code == "is_archived":
        said: Words = [there, f" is archived, so the {which} ", *went]
    else:
        said = [f"The {which} could not go to ", there, ", so it ", *went]
        said += _mended(there, code)
    # Its name is not in the policy, but they know where they typed.
    names = {view.run.channel: "the channel you asked in"}
    words = spoken(said, names)
    text = escaped(words[:1].upper() + words[1:])
    if len(text) > limits.NOTIFICATION:
        text = notification(
            f"The {which} could not go to ", spoken([there], names), "."
        )
    return Message(text=text, blocks=[rich(line(*said))])


def stuck(view: CardView, *, card: str = "request") -> Message:
    """Its card could be shown to nobody; to whoever asked."""
    told = (
        f"The {_which(view, card)} could not be shown to anybody: ",
        _subject(view),
        ".",
    )
    nothing = f" It has not run. /{view.prefix}runs can cancel it."
    said = rich(line(f"{''.join(told)}{nothing}"))
    return Message(text=notification(*told), blocks=[said])


def words(view: CardView) -> str:
    """The notification that tells how things stand, of a card no longer open."""
    became = fate(view)
    if became is Fate.UNKNOWN:
        return notification(*_told(view, "Outcome unknown: ", ". "))
    ended = became in ENDED
    return notification(*(_ending(view) if ended else _decision(view)))


# -- what is said ---------------------------------------------------------------------


def _decision(view: CardView) -> Told:
    request = view.request
    if request is None or request.status not in ("approved", "answered"):
        return _ending(view)
    verb = "approved" if request.status == "approved" else "answered"
    going = "Starting. " if request.status == "approved" else "Going on. "
    under_way = _fate(view) in (Fate.READY, Fate.RUNNING)
    return _told(view, f"{_who(view, request)} {verb}: ", f". {going * under_way}")


def _ending(view: CardView) -> Told:
    request = view.request
    if request is not None and request.status in ("denied", "declined"):
        verb = request.status
        who = name(request.decided_name, request.decided_by or "the bot", SHORT_NAME)
        return _told(view, f"{who} {verb}: ", f". It {did_not(view, request)}. ")
    return _told(view, f"{_ended_word(view)}: ", ". ")


def _both(view: CardView) -> Told:
    request, became = view.request, _fate(view)
    given = became in (Fate.DONE, Fate.FAILED)
    if request is None or request.status not in ("approved", "answered") or not given:
        return _ending(view)
    verb = "approved" if request.status == "approved" else "answered"
    said = _ended_word(view)
    return _told(view, f"{_who(view, request)} {verb}. {said}: ", ". ")


def _ended_word(view: CardView) -> str:
    """How a call ended, in a few words."""
    call, became = _call(view), _fate(view)
    took = spent(call)
    nothing = did_not(view, view.request)
    match became:
        case Fate.DONE:
            return f"Done in {duration(took)}" if took is not None else "Done"
        case Fate.FAILED:
            return "Failed"
        case Fate.REPORTED:
            who = name(call.reported_name, call.reported_by, SHORT_NAME)
            return f"{who} says it {'ran' if says_it_ran(call) else 'did not run'}"
        case Fate.UNKNOWN:
            return "Outcome unknown"
        case Fate.UNRESOLVED:
            return "Ended without an answer"
        case Fate.OPEN | Fate.READY | Fate.WAITING | Fate.AGAIN | Fate.RUNNING:
            return "Not ended"
        case Fate.VOID:
            return f"No longer valid, {nothing}"
        case Fate.NOT_RUN:
            return "Not run"
        case _:
            return f"{became.value.capitalize()}, {nothing}"


def _told(view: CardView, before: str, after: str) -> Told:
    return before, _subject(view), f"{after}{label(view.run, view.request)}"


def _subject(view: CardView) -> str:
    call = _call(view)
    rule = view.request.rule if view.request is not None else call.rule
    return headline(rule, call.tool, call.arguments)


def _who(view: CardView, request: RequestRow) -> str:
    voters = [name(v.name, v.user, SHORT_NAME) for v in agreed(view, request)]
    return one_line(joined(voters) or decider(request), SHORT_NAME)


def _which(view: CardView, card: str) -> str:
    """Which card it was: a run's own one may fail while its request has a card."""
    if card == "run":
        return f"card of run {label(view.run)}"
    return f"card for {label(view.run, view.request)}"


def _instead(view: CardView, card: str) -> Words:
    """Who got a card that could not go where it should."""
    request = view.request
    if card == "run" or request is None or not by_approvers(request.kind):
        return ["you"]
    entries = [_members(who) for who in eligible(request, view.run)]
    return people(entries, mention=False, last="and")


def _members(who: Who) -> Who:
    """A channel as those who are in it: each of them was written to."""
    return replace(who, handle=f"the members of {handle(who)}") if who.channel else who


def _mended(there: Element | str, code: str) -> Words:
    """What helps against a refusal; an invitation only where the bot is a stranger."""
    if code in ("not_in_channel", "channel_not_found"):
        return [" To fix it: /invite @Countersign in ", there]
    return [" Slack does not let Countersign post there."]


def _call(view: CardView) -> CallRow:
    return view.call if view.request is not None else view.calls[0]


def _fate(view: CardView) -> Fate:
    return call_fate(view, _call(view)) if view.request is None else fate(view)


# -- who is told ----------------------------------------------------------------------


def _asked_and_approved(view: CardView, *, also: bool) -> list[str]:
    """Whoever asked; and whoever approved, when that concerns them too."""
    if not also:
        return [view.run.requester]
    call = _call(view)
    about = (call.turn, call.ordinal)
    asked = [r for r in view.requests if (r.turn, r.ordinal) == about]
    yes = [v.user for r in asked for v in agreed(view, r) if v.decision == "approve"]
    return list(dict.fromkeys([view.run.requester, *yes]))


def _said(told: Told, people: Iterable[str]) -> Message:
    before, subject, after = told
    mentions = [part for one in people for part in (user(one), " ")]
    said = line(*mentions, before, bold(subject), after)
    return Message(text=notification(*told), blocks=[rich(said)])


def _reply(view: CardView, told: Told, people: Iterable[str]) -> Message:
    before, subject, after = told
    mentions = [part for one in people for part in (user(one), " ")]
    parts = [line(*mentions, before, bold(subject), after)]
    if view.request is not None and _fate(view) is Fate.DENIED:
        parts += reason(view.request)
    return Message(text=notification(*told), blocks=[rich(*parts)])
