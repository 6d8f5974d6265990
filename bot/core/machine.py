"""The run machine: step(run, event) -> (run, effects). All transitions stand here.

Theory. A run is a sequence of turns; a turn is an ordered list of calls; a call moves
through the slots of `run.Slot`:

    READY ──Entering──▶ RUNNING ──Returned──▶ DONE
      ▲                  │   │
      │                  │   └──Interrupted──▶ UNKNOWN ──Reported──▶ DONE
      │                  └──Suspended──▶ ASKED             │
      └────────Answered(ok)──────────────┘ ◀───Reopened────┘
                                ASKED ──not ok, Expired, Voided, Cancelled──▶ DONE

Rules of this file:
* If it changes a run, it is here. It knows no clock, store, message or kind of request,
  and branches only on `ok` (SPEC §10).
* An event that cannot happen in this state raises `Illegal` and changes nothing. An
  event that merely lost a race (a stale result, a claim after a cancel) returns the
  run as it was, with no effects.
* `due` says what a run wants done now, from its state alone, so a driver needs no
  memory of the effects it was once given: after a crash it asks again.
* A gated call is never entered before its consent: `_entering` is the only way in.
* A call that was entered never ends as one that was not: without a result, UNKNOWN.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

from bot.core.events import (
    Answered,
    Ask,
    AskModel,
    CallTool,
    Cancelled,
    Effect,
    Enter,
    Entering,
    Event,
    Expired,
    Finish,
    Interrupted,
    ModelFailed,
    ModelReplied,
    Planned,
    Reopened,
    Reported,
    Results,
    Returned,
    Settle,
    Started,
    Suspended,
    Voided,
)
from bot.core.run import NOT_OK, Call, Outcome, Rules, Run, Slot, Stage

#: A tool declared idempotent may be entered this often under one key.
MAX_ATTEMPTS = 3

Step = tuple[Run, tuple[Effect, ...]]


class Illegal(Exception):
    """The event cannot happen to a run in this state; nothing was changed."""


def begin(rules: Rules, started: Started) -> Step:
    """A new run, and what it wants first."""
    if not started.calls:
        run = Run(rules=rules, model=True, stage=Stage.THINKING)
        return run, (AskModel(),)
    run = Run(rules=rules, model=False, stage=Stage.WORKING)
    return _plan(run, started.calls)


def step(run: Run, event: Event) -> Step:
    """The run after an event, and what is to be done about it."""
    handler = cast(Callable[[Run, Any], Step] | None, _HANDLERS.get(type(event)))
    if handler is None:
        raise Illegal(f"{type(event).__name__} cannot happen to a run that has begun")
    if run.stage is Stage.ENDED:
        return _after_the_end(run, event)
    return handler(run, event)


def due(run: Run) -> tuple[Effect, ...]:
    """What a run in this state wants done now."""
    if run.stage is Stage.THINKING:
        return (AskModel(),)
    return tuple(Enter(ordinal=c.ordinal) for c in run.calls if _enterable(run, c))


def waiting(run: Run) -> bool:
    """Whether a run that has not ended can only go on when a person acts."""
    return run.stage is Stage.WORKING and not due(run) and not _running(run)


# -- transitions ------------------------------------------------------------------


def _after_the_end(run: Run, event: Event) -> Step:
    if isinstance(event, Entering | Returned | Suspended | Interrupted | Cancelled):
        return run, ()
    raise Illegal(f"{type(event).__name__} after the end of the run")


def _model_replied(run: Run, event: ModelReplied) -> Step:
    if run.stage is not Stage.THINKING:
        raise Illegal("the model was not asked")
    if run.cancelled:
        return _finish(run, Outcome.CANCELLED)
    if not event.calls:
        return _finish(run, Outcome.OK)
    return _plan(replace(run, stage=Stage.WORKING), event.calls)


def _model_failed(run: Run, event: ModelFailed) -> Step:
    if run.stage is not Stage.THINKING:
        raise Illegal("the model was not asked")
    return _finish(run, Outcome.CANCELLED if run.cancelled else Outcome.ERROR)


def _plan(run: Run, planned: tuple[Planned, ...]) -> Step:
    """Lay out a turn: ready-made results stand, every gated call is asked at once."""
    calls: list[Call] = []
    effects: list[Effect] = []
    asked = run.asked
    for ordinal, plan in enumerate(planned, 1):
        call = Call(
            ordinal=ordinal,
            tool=plan.tool,
            arguments=plan.arguments,
            gated=plan.gate is not None,
        )
        if plan.result is not None:
            call = _done(call, Outcome.ERROR, plan.result)
        elif plan.gate is not None:
            asked += 1
            call = replace(call, slot=Slot.ASKED, request=asked, prompt=plan.gate)
            effects.append(Ask(ordinal=ordinal, number=asked, gate=True))
        calls.append(call)
    # Until the next turn is laid out, the last one's calls stay where they are.
    run = replace(run, turn=run.turn + 1, calls=tuple(calls), asked=asked)
    return _settled(run, effects)


def _entering(run: Run, event: Entering) -> Step:
    call = run.call(event.ordinal)
    if not _enterable(run, call):
        return run, ()
    execution = call.execution if call.again else call.execution + 1
    call = replace(
        call,
        slot=Slot.RUNNING,
        execution=execution,
        attempts=call.attempts + 1 if call.again else 1,
        again=False,
        reopened=False,
    )
    effect = CallTool(ordinal=call.ordinal, execution=execution)
    return run.with_call(call), (effect,)


def _returned(run: Run, event: Returned) -> Step:
    call = run.call(event.ordinal)
    if not _is_current(call, event.execution):
        return run, ()
    outcome = Outcome.ERROR if event.is_error else Outcome.OK
    return _close(run, call, outcome, event.output)


def _suspended(run: Run, event: Suspended) -> Step:
    call = run.call(event.ordinal)
    if not _is_current(call, event.execution):
        return run, ()
    call = replace(call, prompt=event.prompt)
    if run.cancelled:
        return _close(run, call, Outcome.CANCELLED, _not_run(call))
    if event.stale:
        return _close(run, call, Outcome.EXPIRED, _declined(event.prompt))
    repeated = event.question in call.questions
    if repeated or len(call.questions) >= run.rules.questions:
        return _close(run, call, Outcome.UNRESOLVED, f"unresolved: {event.prompt}")
    number = run.asked + 1
    call = replace(
        call,
        slot=Slot.ASKED,
        request=number,
        questions=(*call.questions, event.question),
    )
    run = replace(run.with_call(call), asked=number)
    return run, (Ask(ordinal=call.ordinal, number=number, gate=False),)


def _answered(run: Run, event: Answered) -> Step:
    call = _asking(run, event.request)
    if not event.ok:
        settle = Settle(number=event.request, status="declined")
        if call.reopened:
            return run.with_call(_lost(call)), (settle,)
        output = _declined(call.prompt, event.words)
        return _close(run, call, Outcome.DECLINED, output, settle)
    own = call.consent is not None or not call.gated
    if own:
        call = replace(call, answers=(*call.answers, event.request))
    else:
        call = replace(call, consent=event.request)
    call = replace(call, slot=Slot.READY, request=None)
    return run.with_call(call), (Settle(number=event.request, status="ok"),)


def _expired(run: Run, event: Expired) -> Step:
    call = _asking(run, event.request)
    settle = Settle(number=event.request, status="expired")
    if call.reopened:
        return run.with_call(_lost(call)), (settle,)
    return _close(run, call, Outcome.EXPIRED, _declined(call.prompt), settle)


def _voided(run: Run, event: Voided) -> Step:
    call = run.call(event.ordinal)
    if call.slot not in (Slot.READY, Slot.ASKED):
        return run, ()
    effects = (
        [Settle(number=call.request, status="void")] if call.request is not None else []
    )
    if call.again or call.reopened:
        return run.with_call(_lost(call)), tuple(effects)
    return _close(run, call, Outcome.VOID, f"void: {call.prompt}", *effects)


def _cancelled(run: Run, event: Cancelled) -> Step:
    """Nothing new starts; a call that is running, or of unknown outcome, stays open."""
    run = replace(run, cancelled=True)
    if run.stage is Stage.THINKING:
        return _finish(run, Outcome.CANCELLED)
    effects: list[Effect] = []
    for call in run.calls:
        if call.request is not None:
            effects.append(Settle(number=call.request, status="cancelled"))
        if call.again or call.reopened:
            run = run.with_call(_lost(call))
        elif call.slot in (Slot.READY, Slot.ASKED):
            run = run.with_call(_done(call, Outcome.CANCELLED, _not_run(call)))
    return _settled(run, effects)


def _interrupted(run: Run, event: Interrupted) -> Step:
    call = run.call(event.ordinal)
    if not _is_current(call, event.execution):
        return run, ()
    if event.idempotent and call.attempts < MAX_ATTEMPTS and not run.cancelled:
        return run.with_call(replace(call, slot=Slot.READY, again=True)), ()
    return run.with_call(_lost(call)), ()


def _reported(run: Run, event: Reported) -> Step:
    call = run.call(event.ordinal)
    if call.slot is not Slot.UNKNOWN:
        raise Illegal("the outcome of this call is known")
    word = "it ran" if event.ran else "it did not run"
    return _close(
        run, call, Outcome.UNKNOWN, f"outcome unknown: {event.by} says {word}"
    )


def _reopened(run: Run, event: Reopened) -> Step:
    call = run.call(event.ordinal)
    if call.slot is not Slot.UNKNOWN or run.cancelled:
        raise Illegal("this call cannot be run again")
    call = replace(
        call,
        consent=None,
        questions=(),
        answers=(),
        attempts=0,
        again=False,
        gated=event.gate is not None,
        slot=Slot.READY,
        reopened=True,
    )
    if event.gate is None:
        return run.with_call(call), ()
    number = run.asked + 1
    call = replace(call, slot=Slot.ASKED, request=number, prompt=event.gate)
    run = replace(run.with_call(call), asked=number)
    return run, (Ask(ordinal=call.ordinal, number=number, gate=True),)


# -- what the transitions share -----------------------------------------------------


def _enterable(run: Run, call: Call) -> bool:
    if run.stage is not Stage.WORKING or run.cancelled or call.slot is not Slot.READY:
        return False
    if call.gated and call.consent is None:
        return False
    earlier = (c for c in run.calls if c.ordinal < call.ordinal)
    return not run.rules.ordered or all(c.done for c in earlier)


def _running(run: Run) -> bool:
    return any(call.slot is Slot.RUNNING for call in run.calls)


def _is_current(call: Call, execution: int) -> bool:
    return call.slot is Slot.RUNNING and call.execution == execution


def _asking(run: Run, number: int) -> Call:
    call = run.asking(number)
    if call is None:
        raise Illegal(f"request {number} is not open")
    return call


def _done(call: Call, outcome: Outcome, output: str) -> Call:
    return replace(
        call, slot=Slot.DONE, outcome=outcome, output=output, request=None, again=False
    )


def _lost(call: Call) -> Call:
    """It was entered, and nobody can say how that ended: only a person can."""
    return replace(call, slot=Slot.UNKNOWN, request=None, again=False, reopened=False)


def _close(
    run: Run, call: Call, outcome: Outcome, output: str, *effects: Effect
) -> Step:
    """One call has its result; when it was not ok, the rest of the turn is not run."""
    run = run.with_call(_done(call, outcome, output))
    done: list[Effect] = list(effects)
    if outcome in NOT_OK and run.rules.stop_when_not_ok:
        run = _stop_later(run, call, done)
    return _settled(run, done)


def _stop_later(run: Run, failed: Call, effects: list[Effect]) -> Run:
    for call in run.calls:
        untouched = call.slot in (Slot.READY, Slot.ASKED) and call.execution == 0
        if call.ordinal <= failed.ordinal or not untouched:
            continue
        if call.request is not None:
            effects.append(Settle(number=call.request, status="cancelled"))
        output = f"not run: {failed.prompt or failed.tool}"
        run = run.with_call(_done(call, Outcome.NOT_RUN, output))
    return run


def _settled(run: Run, effects: list[Effect]) -> Step:
    """Close the turn once every call has its result."""
    if not all(call.done for call in run.calls):
        return run, tuple(effects)
    effects.append(Results(turn=run.turn))
    if run.cancelled:
        run, finish = _finish(run, Outcome.CANCELLED)
        return run, (*effects, *finish)
    if not run.model:
        run, finish = _finish(run, run.calls[-1].outcome or Outcome.ERROR)
        return run, (*effects, *finish)
    effects.append(AskModel())
    return replace(run, stage=Stage.THINKING), tuple(effects)


def _finish(run: Run, ending: Outcome) -> Step:
    return replace(run, stage=Stage.ENDED, ending=ending), (Finish(ending=ending),)


def _declined(prompt: str, words: str = "") -> str:
    line = f"declined/expired: {prompt}"
    return f"{line}\n{words}" if words else line


def _not_run(call: Call) -> str:
    return f"not run: {call.prompt or call.tool}"


def words(by: str, reason: str) -> str:
    """The second line of a result that was refused with words (design §3)."""
    return json.dumps({"by": by, "reason": reason}, ensure_ascii=False)


_HANDLERS: dict[type, Callable[..., Step]] = {
    ModelReplied: _model_replied,
    ModelFailed: _model_failed,
    Entering: _entering,
    Returned: _returned,
    Suspended: _suspended,
    Answered: _answered,
    Expired: _expired,
    Voided: _voided,
    Cancelled: _cancelled,
    Interrupted: _interrupted,
    Reported: _reported,
    Reopened: _reopened,
}
