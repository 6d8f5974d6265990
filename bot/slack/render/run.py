"""The card of a run: who asked for what, each step, and how it ended (§5).

A run whose request card stands elsewhere, or that nobody had to agree to, has this
card; it carries *Cancel run*, and the choices of a call of unknown outcome that no
request card could carry.
"""

from __future__ import annotations

from bot.core.display import cut, one_line, shown
from bot.core.headline import headline
from bot.core.run import Outcome, Stage
from bot.ports import CallRow, CardView, RequestRow, RunRow
from bot.slack.blocks import (
    Block,
    Element,
    actions,
    bold,
    box,
    button,
    code,
    line,
    rich,
    text,
)
from bot.slack.boxes import arguments_text, labelled
from bot.slack.fate import Fate, call_fate, says_it_ran, spent
from bot.slack.ids import Sign
from bot.slack.render.message import Message
from bot.slack.render.settled import (
    cancelled,
    cancelled_late,
    error,
    finished,
    reported,
    result,
)
from bot.slack.render.unknown import choices, explained, is_unknown
from bot.slack.words import (
    Words,
    clock,
    duration,
    eligible,
    label,
    name,
    notification,
    people,
    place,
    requester,
)

#: More calls than this are shown by the first few and the last ones.
MOST_CALLS = 12
_FIRST, _LAST = 3, 8
_ARGUMENTS = 100  # characters on a step's line
_WORDS = 300  # of what was typed
_TOOL = 60
#: Final words up to this length stand in the card; of longer ones so many are posted.
IN_CARD, IN_ANSWER = 2_000, 9_000


def card(view: CardView, sign: Sign, *, details: bool = True) -> Message:
    """The card of the run that a view is about.

    `details` says where to find more, unless this is just that.
    """
    run, unknowns = view.run, _unknowns(view, sign)
    blocks = [
        rich(line(*_first(view, lost=bool(unknowns)))),
        rich(line(*_asked(view))),
    ]
    if view.calls:
        blocks.append(rich(line(*_steps(view))))
    if ending := _ending(view):
        blocks.append(rich(line(*ending)))
    blocks += _results(view) + _last_words(view) + unknowns
    going = run.state.stage is not Stage.ENDED and not run.state.cancelled
    # Beside *It ran* a cancel would be one more answer to another question.
    if going and not unknowns:
        cancel = button("Cancel run", "cancel", sign(run.id, "cancel"))
        blocks.append(actions(cancel))
    blocks.append(rich(line(*_small_print(view, details))))
    return Message(text=_text(view, lost=bool(unknowns)), blocks=blocks)


def step_words(view: CardView, call: CallRow) -> Words:
    """Where one call stands, on its line."""
    became = call_fate(view, call)
    match became:
        case Fate.DONE:
            took = spent(call)
            return [f"done, {duration(took)}" if took is not None else "done"]
        case Fate.FAILED:
            return ["failed", *error(call)]
        case Fate.WAITING:
            return _waiting(view, call)
        case Fate.READY:
            return ["not started"]
        case Fate.UNKNOWN:
            return ["outcome unknown"]
        case Fate.REPORTED:
            who = name(call.reported_name, call.reported_by)
            word = "it ran" if says_it_ran(call) else "it did not run"
            return [f"outcome unknown: {who} says {word}"]
        case Fate.DENIED:
            return [_refused(view, call)]
        case Fate.NOT_RUN:
            return ["not run (an earlier step did not succeed)"]
        case Fate.VOID:
            return ["no longer valid, not run"]
        case _:
            return [became.value]


# -- the parts ------------------------------------------------------------------------


def _first(view: CardView, *, lost: bool) -> Words:
    """Its number and what it is called; above all, that its outcome is unknown."""
    if lost:
        return [bold(f"Outcome unknown: {_subject(view)}"), f"  {label(view.run)}"]
    return [bold(label(view.run)), f"  {_subject(view)}"]


def _last_words(view: CardView) -> list[Block]:
    """What the model said at the end, when it fits here; `answer` has the rest."""
    run = view.run
    if run.state.stage is not Stage.ENDED:
        return []
    if run.reason:
        return [rich(line(f"It stopped: {one_line(run.reason, 300)}."))]
    if not run.text.strip():
        return []
    if spills(run.text):
        return [rich(line("The model's answer follows in a message of its own."))]
    return [rich(*labelled("What the model says (not checked)", shown(run.text)))]


def spills(words: str) -> bool:
    """Whether final words are too long for the card."""
    return len(shown(words)) > IN_CARD


def answer(view: CardView) -> Message:
    """The model's final words as a message of their own."""
    said = cut(shown(view.run.text), IN_ANSWER)
    title = f"{label(view.run)}: what the model says (not checked)"
    return Message(
        text=notification("The answer of run ", label(view.run), ""),
        blocks=[rich(line(bold(title))), rich(box(said))],
    )


def _subject(view: CardView) -> str:
    """What the run is called; a model's run has no headline of ours."""
    if view.run.state.model or not view.calls:
        return f"asked by {requester(view.run)}"
    call = view.calls[0]
    return headline(call.rule, call.tool, call.arguments)


def _asked(view: CardView) -> Words:
    run = view.run
    asked: Words = [f"{requester(run)}, ", clock(run.created_at)]
    direct = not run.state.model and view.calls and run.words == view.calls[0].tool
    if direct or not run.words.strip():
        return asked
    return [*asked, ": ", code(one_line(run.words, _WORDS))]


def _steps(view: CardView) -> Words:
    """One line for each call; of many the first, how many more, and the last."""
    calls = list(view.calls)
    hidden = len(calls) - _FIRST - _LAST if len(calls) > MOST_CALLS else 0
    steps = list(enumerate(calls, 1))
    lines: list[Words] = [_step(view, n, call) for n, call in steps[:_FIRST]]
    if hidden:
        lines.append([f"… {hidden} more …"])
    rest = steps[-_LAST:] if hidden else steps[_FIRST:]
    lines += [_step(view, n, call) for n, call in rest]
    return [part for one in lines for part in ("\n", *one)][1:]


def _step(view: CardView, number: int, call: CallRow) -> Words:
    tool = code(one_line(call.tool, _TOOL) or '""')
    arguments = one_line(arguments_text(call), _ARGUMENTS)
    shown: list[Element] = [text("  "), code(arguments)] if arguments else []
    return [f"{number}  ", tool, *shown, "  ", *step_words(view, call)]


def _waiting(view: CardView, call: CallRow) -> Words:
    request = _latest(view, call)
    if request is None:
        return ["waiting"]
    entries = eligible(request, view.run)
    listed = people(entries, mention=False)
    where = request.rule.post_to if request.gate else None
    return [
        "waiting: ",
        *listed,
        *([", card in ", place(view, where)] if where else []),
    ]


def _refused(view: CardView, call: CallRow) -> str:
    request = _latest(view, call)
    if request is None or request.status not in ("denied", "declined"):
        return "denied"
    who = name(request.decided_name, request.decided_by or "the bot")
    return f"{request.status} by {who}"


def _latest(view: CardView, call: CallRow) -> RequestRow | None:
    about = (call.turn, call.ordinal)
    asked = [r for r in view.requests if (r.turn, r.ordinal) == about]
    return asked[-1] if asked else None


def _ending(view: CardView) -> Words:
    """How the run ended, or that it was cancelled while something still runs."""
    run = view.run
    if run.state.stage is not Stage.ENDED:
        became = call_fate(view, view.calls[-1]) if view.calls else Fate.READY
        late = cancelled_late(view, became)
        return late[1:]
    if not run.state.model and view.calls:
        return _direct_ending(view, view.calls[0])
    return [*_ended_word(view), *_took(view), "."]


def _direct_ending(view: CardView, call: CallRow) -> Words:
    became = call_fate(view, call)
    if became in (Fate.DONE, Fate.FAILED):
        return [*finished(call, became), *cancelled_late(view, became)]
    if became is Fate.REPORTED:
        return [*reported(call), *cancelled_late(view, became)]
    nothing = "It did not go on." if call.execution else "It did not run."
    return [*_ended_word(view), f". {nothing}"]


def _ended_word(view: CardView) -> Words:
    run = view.run
    match run.state.ending:
        case Outcome.CANCELLED:
            return cancelled(view)
        case Outcome.DECLINED if view.calls:
            said = _refused(view, view.calls[-1])
            return [said[0].upper() + said[1:]]
        case Outcome.OK:
            return ["Done"]
        case Outcome.ERROR:
            return ["Failed"]
        case Outcome.VOID:
            return ["No longer valid"]
        case Outcome.UNRESOLVED:
            return ["It asked the same again, or too often"]
        case ending:
            return [ending.value.capitalize() if ending else "Ended"]


def _took(view: CardView) -> Words:
    run = view.run
    if run.ended_at is None:
        return []
    waited = sum(max((r.decided_at or 0) - r.created_at, 0) for r in view.requests)
    spent = f" in {duration(max(run.ended_at - run.created_at, 0))}"
    if not waited:
        return [spent]
    return [f"{spent}, {duration(waited)} of it waiting for people"]


def _results(view: CardView) -> list[Block]:
    """What a direct call gave back; a model's calls give theirs to the model."""
    if view.run.state.model or not view.calls:
        return []
    call = view.calls[0]
    parts = result(call, call_fate(view, call))
    return [rich(*parts)] if parts else []


def _unknowns(view: CardView, sign: Sign) -> list[Block]:
    """The choices for calls of unknown outcome that have no request card."""
    blocks: list[Block] = []
    for call in view.calls:
        if is_unknown(view, call) and _latest(view, call) is None:
            where = [] if len(view.calls) == 1 else [f"Step {call.ordinal}. "]
            blocks += [rich(line(*where, *explained(call))), choices(view, call, sign)]
    return blocks


def _small_print(view: CardView, details: bool) -> Words:
    run = view.run
    kind = "direct call"
    if run.state.model:
        kind = f"turn {run.state.turn} · {run.tokens:,} tokens"
    ungated = [call.tool for call in view.calls if call.rule.gate == "allow"]
    said: Words = [kind]
    if ungated:
        said.append(" · ungated: ")
        names = dict.fromkeys(one_line(tool, _TOOL) or '""' for tool in ungated)
        said += [part for one in names for part in (text(", "), code(one))][1:]
    if details and run.state.stage is Stage.ENDED:
        said.append(f" · details: /{view.prefix}approvals {label(run)}")
    return said


def _text(view: CardView, *, lost: bool) -> str:
    run = view.run
    if lost:
        return notification("Outcome unknown: ", _subject(view), f". {label(run)}")
    if run.state.model:
        return notification("Run started by ", _who(run), f". {label(run)}")
    return notification(f"Started by {_who(run)}: ", _subject(view), f". {label(run)}")


def _who(run: RunRow) -> str:
    return requester(run, 40)
