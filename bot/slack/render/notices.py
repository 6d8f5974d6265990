"""A refusal in one or two sentences for the person who clicked; one text per code.

Said in private, so a reference notifies nobody. What happened, what did not, what to
do next (experience.md §7). Three codes share one text, which must not reveal whether
what was clicked exists (threat-model §0.3).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from bot.core.headline import headline
from bot.core.policy import POSITIVE, Who
from bot.ports import CardView, RequestRow, VoteRow
from bot.slack.blocks import spoken
from bot.slack.fate import (
    Fate,
    agreed,
    call_fate,
    canceller,
    decider,
    fate,
    says_it_ran,
    votes,
)
from bot.slack.render.message import Message, message
from bot.slack.render.settled import CHANGED, not_run
from bot.slack.words import (
    Words,
    clock,
    eligible,
    joined,
    label,
    name,
    names_of,
    people,
    requester,
)

CANNOT = "This card cannot be answered. /{prefix}approvals shows what waits for you."
CHANGED_NOTHING = "Your click changed nothing."
#: To whoever sends a form that was drawn for another person.
NOT_THEIRS = (
    "This form was opened for another person, so nothing changed."
    " Press the button on the card."
)

_STEERING = {
    "cancel": "cancel it",
    "ran": "say how it ended",
    "not_run": "say how it ended",
    "again": "run it again",
}


@dataclass(frozen=True, kw_only=True)
class Clicked:
    """A click that was not taken, as far as its sentence needs it."""

    view: CardView | None
    user: str  # who clicked
    decision: str
    people: Mapping[str, str] = field(default_factory=dict)  # ids to names, if known
    prefix: str = ""  # of our commands

    @property
    def number(self) -> str:
        """The number to say aloud."""
        if self.view is None:
            return "this card"
        about_run = self.decision in _STEERING
        return label(self.view.run, None if about_run else self.view.request)

    @property
    def known(self) -> CardView:
        """The view, for a code that only a known card can have."""
        if self.view is None:
            raise ValueError("this refusal is about a card")
        return self.view

    @property
    def request(self) -> RequestRow | None:
        """The request that the click was about."""
        return self.view.request if self.view is not None else None

    @property
    def entries(self) -> tuple[Who, ...]:
        """Those whose answer could have counted."""
        if self.view is None:
            return ()
        if self.decision in _STEERING:
            named = (who for call in self.view.calls for who in call.rule.approvers)
            return tuple(dict.fromkeys([Who(user=self.view.run.requester), *named]))
        return eligible(self.request, self.view.run) if self.request else ()


def refusal(
    code: str,
    *,
    view: CardView | None = None,
    user: str = "",
    decision: str = "",
    people: Mapping[str, str] | None = None,
    prefix: str = "",
) -> Message:
    """Why a click was not taken; `KeyError` for a code that has no text."""
    clicked = Clicked(
        view=view,
        user=user,
        decision=decision,
        people=people or {},
        prefix=view.prefix if view is not None else prefix,
    )
    return message(*REFUSALS[code](clicked), names=_names(clicked))


def plain(
    code: str,
    *,
    view: CardView | None = None,
    user: str = "",
    decision: str = "",
    prefix: str = "",
) -> str:
    """The same words for a form, where nothing but plain text can stand."""
    prefix = view.prefix if view is not None else prefix
    clicked = Clicked(view=view, user=user, decision=decision, prefix=prefix)
    return spoken(REFUSALS[code](clicked), _names(clicked))


def _names(clicked: Clicked) -> dict[str, str]:
    """What stands for the ids that a sentence refers to, where only words can."""
    names = names_of(clicked.entries)
    if clicked.view is not None:
        names[clicked.view.run.requester] = requester(clicked.view.run)
    return names | {one: name(shown, one) for one, shown in clicked.people.items()}


# -- who may not ----------------------------------------------------------------------


def _not_approver(clicked: Clicked) -> Words:
    entries = clicked.entries
    listed = people(entries, mention=True) or ["nobody"]
    if clicked.decision in _STEERING:
        verb = _STEERING[clicked.decision]
        said: Words = [f"{clicked.number}: ", *listed, f" can {verb}."]
    else:
        said = [f"{clicked.number} can be answered by ", *listed, "."]
    one = entries[0] if len(entries) == 1 else None
    if one is not None and one.user:
        return [*said, " Nothing changed."]
    where = "among them now"
    if one is not None:
        where = f"in that {'group' if one.group else 'channel'} now"
    return [*said, f" You are not {where}. Nothing changed."]


def _self_approval(clicked: Clicked) -> Words:
    listed = people(clicked.entries, mention=True) or ["Nobody else"]
    said = f"You asked for {clicked.number}, so your yes does not count. "
    own = f"you can deny it here, or cancel it with /{clicked.prefix}runs."
    return [said, *listed, f" can agree; {own}"]


def _outsider(who: str) -> Callable[[Clicked], Words]:
    return lambda clicked: [f"{who} cannot answer {clicked.number}. Nothing changed."]


def _unverified(clicked: Clicked) -> Words:
    groups = [who for who in clicked.entries if not who.user]
    what = ["who is in ", *people(groups, mention=True)] if groups else ["who you are"]
    return [
        "Slack did not tell us just now ",
        *what,
        ", so your click was not counted. Click again in a minute.",
    ]


# -- too late -------------------------------------------------------------------------


def _already_answered(clicked: Clicked) -> Words:
    view, request = clicked.known, clicked.request
    if request is None or request.status == "open":
        return [f"{clicked.number} was answered already. {CHANGED_NOTHING}"]
    if request.status in ("approved", "answered"):
        verb = "approved" if request.status == "approved" else "answered"
        who = joined([name(v.name, v.user) for v in agreed(view, request)])
        said = f"{who or decider(request)} {verb} {clicked.number}"
        then = f" {_became(view)} {CHANGED_NOTHING}"
        return [said, *_when(request.decided_at), then]
    said = f"{decider(request)} {request.status} {clicked.number}"
    nothing = "It did not go on" if view.call.execution else "It did not run"
    return [said, *_when(request.decided_at), f". {nothing}. {CHANGED_NOTHING}"]


def _became(view: CardView) -> str:
    """What became of an approved call, to follow the time of the decision."""
    match fate(view):
        case Fate.DONE:
            return "and it ran."
        case Fate.FAILED:
            return "and it ran; it failed."
        case Fate.READY | Fate.RUNNING:
            return "and it is running."
        case Fate.UNKNOWN | Fate.AGAIN:
            return "and nobody knows yet whether it ran."
        case Fate.REPORTED:
            who = name(view.call.reported_name, view.call.reported_by)
            word = "it ran" if says_it_ran(view.call) else "it did not run"
            return f"and {who} says {word}."
        case Fate.WAITING:
            return "and it waits for a further answer."
        case _ if view.call.execution:
            return "and it did not go on."
        case _:
            return "and it did not run."


def _duplicate(clicked: Clicked) -> Words:
    vote = _own_vote(clicked)
    word = "yes" if clicked.decision in POSITIVE else "no"
    moment = vote.at if vote is not None else None
    said: Words = [f"Your {word} was counted", *_when(moment)]
    if clicked.request is not None and clicked.request.status == "approved":
        return [*said, f" {_became(clicked.known)}"]
    return [*said, "."]


def _expired(clicked: Clicked) -> Words:
    request = clicked.request
    when = [] if request is None else _when(request.expires_at, request.created_at)
    again = f"{requester(clicked.known.run)} can ask again."
    nothing = "did not go on" if clicked.known.call.execution else "did not run"
    return [f"{clicked.number} expired", *when, f" and {nothing}. {again}"]


def _cancelled(clicked: Clicked) -> Words:
    view = clicked.known
    run = view.run
    if not run.state.cancelled:
        return [f"{clicked.number} is not needed any more. It did not run."]
    said = f"{canceller(view)} cancelled {clicked.number}"
    return [said, *_when(run.cancelled_at), f". {_after_cancel(view)}"]


def _after_cancel(view: CardView) -> str:
    """What a cancel could and could not stop."""
    fates = {call_fate(view, call) for call in view.calls}
    if fates & {Fate.RUNNING, Fate.UNKNOWN, Fate.REPORTED, Fate.FAILED}:
        return "It had started by then and may have taken effect."
    if Fate.DONE in fates:
        return "It had started by then and ran."
    entered = any(call.execution for call in view.calls)
    return "It did not go on." if entered else "It did not run."


def _void(clicked: Clicked) -> Words:
    nothing = "It did not go on" if clicked.known.call.execution else "It did not run"
    return [f"{clicked.number} is no longer valid: {CHANGED} {nothing}."]


def _outcome_known(clicked: Clicked) -> Words:
    view = clicked.known
    call = view.call if view.request is not None else view.calls[0]
    if call_fate(view, call) is not Fate.REPORTED:
        return [f"The outcome of {clicked.number} is known. {CHANGED_NOTHING}"]
    who = name(call.reported_name, call.reported_by)
    word = "ran" if says_it_ran(call) else "did not run"
    said: Words = [f"{who} said", *_when(call.reported_at)]
    return [*said, f" that {clicked.number} {word}. {CHANGED_NOTHING}"]


def _rule_changed(clicked: Clicked) -> Words:
    said = f"The rule of {clicked.number} changed after it was asked"
    again = f"{requester(clicked.known.run)} can cancel it and ask again."
    return [f"{said}, and your yes satisfies only one of the two. {again}"]


# -- the rest -------------------------------------------------------------------------


def _fixed(words: str) -> Callable[[Clicked], Words]:
    return lambda clicked: [words.format(number=clicked.number, prefix=clicked.prefix)]


def _own_vote(clicked: Clicked) -> VoteRow | None:
    if clicked.request is None:
        return None
    cast = votes(clicked.known, clicked.request)
    own = [vote for vote in cast if vote.user == clicked.user]
    return own[-1] if own else None


def _when(moment: int | None, since: int | None = None) -> Words:
    return [" at ", clock(moment, since)] if moment is not None else []


#: Every code that a click can be refused with, and its sentence.
REFUSALS: Mapping[str, Callable[[Clicked], Words]] = {
    "unknown_request": _fixed(CANNOT),
    "wrong_workspace": _fixed(CANNOT),
    "wrong_message": _fixed(CANNOT),
    "not_approver": _not_approver,
    "self_approval": _self_approval,
    "external_user": _outsider("People of other workspaces"),
    "guest_user": _outsider("Guests"),
    "bot_user": _outsider("Apps"),
    "inactive_user": _fixed(
        "Your account is not active here, so your click was not counted."
    ),
    "identity_unverified": _unverified,
    "already_answered": _already_answered,
    "duplicate_vote": _duplicate,
    "expired": _expired,
    "cancelled": _cancelled,
    "superseded": _fixed(
        "This is an older copy of {number}."
        " /{prefix}approvals {number} shows the live one."
    ),
    "void_changed": _void,
    "ended": _fixed(f"{{number}} has ended. {CHANGED_NOTHING}"),
    "outcome_known": _outcome_known,
    "rule_changed": _rule_changed,
    "cannot_run_again": _fixed(
        "{number} cannot be run again: it was cancelled, its tool or its rule changed,"
        " or it is not yours to start. Nothing changed."
    ),
    "busy": _fixed(
        "Your click could not be recorded, so nothing changed."
        " Click again in a few seconds."
    ),
}


# -- forms ----------------------------------------------------------------------------


def not_opened(view: CardView) -> Message:
    """The form that a control opens did not come up; Slack gives it three seconds."""
    number = label(view.run, view.request)
    said = f"The form for {number} did not open in time, so nothing changed."
    return message(f"{said} Press the button again.")


def too_long(length: int, limit: int) -> str:
    """More words than a form takes."""
    return (
        f"This is {length:,} characters long; the limit is {limit:,}. Nothing changed."
    )


# -- and what is said when a click was taken ------------------------------------------


def receipt(view: CardView, decision: str) -> Message:
    """What a click that counted did, and what it did not do."""
    number = label(view.run, None if decision in _STEERING else view.request)
    call = _subject(view)
    said = {
        "approve": f"You approved {number}{call}. Its card shows how it ends.",
        "deny": f"You denied {number}{call}. {_nothing(view)}",
        "done": f"You marked {number} as done. Its card shows how it goes on.",
        "decline": f"You declined {number}. {_nothing(view)}",
        "cancel": f"You cancelled {number}. {_after_cancel(view)}",
        "ran": f"You said that {number} ran. Nothing was started.",
        "not_run": f"You said that {number} did not run. Nothing was started.",
        "again": _again(view),
    }
    return message(said[decision])


def _subject(view: CardView) -> str:
    if view.request is None:
        return ""
    call = view.call
    return f": {headline(view.request.rule, call.tool, call.arguments)}"


def _nothing(view: CardView) -> str:
    return not_run(view, view.request) if view.request is not None else ""


def _again(view: CardView) -> str:
    """A call of unknown outcome is asked anew, or runs again as it did before."""
    number, request = label(view.run), view.request
    if request is None or request.status != "open":
        return f"{number} runs again; its card shows how it ends."
    anew = label(view.run, request)
    return f"{number} is asked anew as {anew}. It has not run again."
