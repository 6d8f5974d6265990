"""News: replies in the thread of a card, and notices to one person.

Whoever must learn something is mentioned, and nobody else (experience.md §2). The
words are those of the notification; losing or doubling one of them never matters.
"""

from __future__ import annotations

from collections.abc import Iterable

from bot.core.display import one_line
from bot.core.headline import headline
from bot.ports import CallRow, CardView, RequestRow
from bot.slack import limits
from bot.slack.blocks import bold, escaped, line, rich, user
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
from bot.slack.render.settled import reason
from bot.slack.words import (
    NAME,
    SHORT_NAME,
    duration,
    joined,
    label,
    name,
    notification,
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


def unknown(view: CardView) -> Message:
    """Nobody can say whether the call ran; those who can find out are told."""
    told = _told(view, "Outcome unknown: ", ". It may or may not have run. ")
    return _reply(view, told, _asked_and_approved(view, also=True))


def undeliverable(view: CardView, place: str, fallback: str) -> Message:
    """Its card could not go where the policy says; to whoever asked.

    `place` is a channel's id or name, `fallback` those who got the card instead.
    """
    place, instead = _place_name(view, place), one_line(fallback, NAME)
    number = label(view.run, view.request)
    short = f"The card for {number} could not go to {place}, so it went to {instead}"
    said = f"{short} directly. To fix it: /invite @Countersign in {place}"
    text = escaped(said)
    if len(text) > limits.NOTIFICATION:
        before = f"The card for {number} could not go to "
        text = notification(before, place, ".")
    return Message(text=text, blocks=[rich(line(said))])


def stuck(view: CardView) -> Message:
    """Its card could be shown to nobody; to whoever asked."""
    number = label(view.run, view.request)
    told = (
        f"The card for {number} could not be shown to anybody: ",
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
        return _told(view, f"{who} {verb}: ", f". {_nothing(view)} ")
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
    did_not = "did not go on" if call.execution else "did not run"
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
            return f"No longer valid, {did_not}"
        case Fate.NOT_RUN:
            return "Not run"
        case _:
            return f"{became.value.capitalize()}, {did_not}"


def _told(view: CardView, before: str, after: str) -> Told:
    return before, _subject(view), f"{after}{label(view.run, view.request)}"


def _subject(view: CardView) -> str:
    call = _call(view)
    rule = view.request.rule if view.request is not None else call.rule
    return headline(rule, call.tool, call.arguments)


def _who(view: CardView, request: RequestRow) -> str:
    voters = [name(v.name, v.user, SHORT_NAME) for v in agreed(view, request)]
    return one_line(joined(voters) or decider(request), SHORT_NAME)


def _nothing(view: CardView) -> str:
    return "It did not go on." if view.call.execution else "It did not run."


def _place_name(view: CardView, place: str) -> str:
    """What a channel is called; the rows keep the names of the policy's only."""
    named = {r.rule.post_to: r.rule.post_to_name for r in view.requests}
    if place == view.run.channel:
        return named.get(place) or "the channel you asked in"
    return one_line(named.get(place) or place, NAME)


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


def _reply(view: CardView, told: Told, people: Iterable[str]) -> Message:
    before, subject, after = told
    mentions = [part for one in people for part in (user(one), " ")]
    parts = [line(*mentions, before, bold(subject), after)]
    if view.request is not None and _fate(view) is Fate.DENIED:
        parts += reason(view.request)
    return Message(text=notification(*told), blocks=[rich(*parts)])
