"""The run machine: single transitions, then random interleavings of everything."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core import machine
from bot.core.events import (
    Answered,
    Ask,
    AskModel,
    CallTool,
    Cancelled,
    Enter,
    Entering,
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
from bot.core.machine import Illegal, begin, due, step, waiting
from bot.core.run import (
    DURABLE,
    Outcome,
    Rules,
    Run,
    Slot,
    Stage,
    from_json,
    to_json,
)


def plan(*gates, results=None):
    """One call per gate prompt; None for a call without a gate."""
    ready = results or {}
    return tuple(
        Planned(tool=f"t{i}", arguments="{}", gate=gate, result=ready.get(i))
        for i, gate in enumerate(gates, 1)
    )


def direct(gate="Run t1?"):
    return begin(DURABLE, Started(calls=plan(gate)))[0]


def agent(*gates, **kwargs):
    run, _ = begin(DURABLE, Started())
    return step(run, ModelReplied(calls=plan(*gates, **kwargs)))


def approved(run, number=1):
    return step(run, Answered(request=number, ok=True))[0]


def entered(run, ordinal=1):
    return step(run, Entering(ordinal=ordinal))[0]


def suspended(run, question="q", execution=1, **kwargs):
    event = Suspended(
        ordinal=1, execution=execution, prompt="Sure?", question=question, **kwargs
    )
    return step(run, event)


def unknown():
    run = entered(approved(direct()))
    return step(run, Interrupted(ordinal=1, execution=1, idempotent=False))[0]


def test_gated_call_asks_before_it_is_entered():
    run, effects = begin(DURABLE, Started(calls=plan("Run t1?")))

    assert effects == (Ask(ordinal=1, number=1, gate=True),)
    assert due(run) == ()
    assert step(run, Entering(ordinal=1)) == (run, ())
    assert waiting(run)


def test_ungated_call_may_be_entered_at_once():
    run, effects = begin(DURABLE, Started(calls=plan(None)))

    assert effects == ()
    assert due(run) == (Enter(ordinal=1),)
    assert not waiting(run)


def test_approval_makes_the_call_due():
    run, effects = step(direct(), Answered(request=1, ok=True))

    assert effects == (Settle(number=1, status="ok"),)
    assert due(run) == (Enter(ordinal=1),)


def test_entering_claims_once():
    run, effects = step(approved(direct()), Entering(ordinal=1))

    assert effects == (CallTool(ordinal=1, execution=1),)
    assert step(run, Entering(ordinal=1)) == (run, ())


def test_denied_direct_run_ends_without_entering():
    run, effects = step(
        direct(), Answered(request=1, ok=False, words=machine.words("U1", "no"))
    )

    assert effects == (
        Settle(number=1, status="declined"),
        Results(turn=1),
        Finish(ending=Outcome.DECLINED),
    )
    assert run.call(1).output == (
        'declined/expired: Run t1?\n{"by": "U1", "reason": "no"}'
    )


def test_denial_without_words_has_one_line():
    run, _ = step(direct(), Answered(request=1, ok=False))

    assert run.call(1).output == "declined/expired: Run t1?"


def test_expired_request_ends_its_call():
    run, effects = step(direct(), Expired(request=1))

    assert effects[0] == Settle(number=1, status="expired")
    assert run.ending is Outcome.EXPIRED


@pytest.mark.parametrize("is_error", [False, True])
def test_result_ends_a_direct_run(is_error):
    run = entered(approved(direct()))

    run, effects = step(
        run, Returned(ordinal=1, execution=1, output="x", is_error=is_error)
    )

    assert run.ending is (Outcome.ERROR if is_error else Outcome.OK)
    assert effects == (Results(turn=1), Finish(ending=run.ending))


def test_stale_result_changes_nothing():
    run = entered(approved(direct()))

    assert step(run, Returned(ordinal=1, execution=2, output="late")) == (run, ())


def test_second_answer_is_illegal_and_changes_nothing():
    run = approved(direct())

    with pytest.raises(Illegal):
        step(run, Answered(request=1, ok=False))


def test_cancel_before_the_claim_wins():
    run = approved(direct())

    run, effects = step(run, Cancelled())

    assert effects == (Results(turn=1), Finish(ending=Outcome.CANCELLED))
    assert step(run, Entering(ordinal=1)) == (run, ())


def test_cancel_settles_the_open_request():
    _, effects = step(direct(), Cancelled())

    assert effects[0] == Settle(number=1, status="cancelled")


def test_cancel_while_running_waits_for_the_tool():
    run = entered(approved(direct()))

    run, effects = step(run, Cancelled())
    assert effects == ()
    assert run.stage is Stage.WORKING
    run, effects = step(run, Returned(ordinal=1, execution=1, output="done"))

    assert run.call(1).outcome is Outcome.OK
    assert run.ending is Outcome.CANCELLED
    assert effects == (Results(turn=1), Finish(ending=Outcome.CANCELLED))


def test_suspension_after_a_cancel_asks_nobody():
    run, _ = step(entered(approved(direct())), Cancelled())

    run, effects = suspended(run)

    assert run.ending is Outcome.CANCELLED
    assert not any(isinstance(e, Ask) for e in effects)


def test_own_question_is_asked_and_its_answer_reaches_the_tool():
    run = entered(direct(gate=None))

    run, effects = suspended(run)
    assert effects == (Ask(ordinal=1, number=1, gate=False),)
    run, _ = step(run, Answered(request=1, ok=True))

    assert run.call(1).answers == (1,)
    assert due(run) == (Enter(ordinal=1),)


def test_consent_is_not_an_answer():
    run = approved(direct())

    assert run.call(1).consent == 1
    assert run.call(1).answers == ()


def test_answer_after_consent_leaves_the_consent_standing():
    run, _ = suspended(entered(approved(direct())))

    run = approved(run, 2)

    assert run.call(1).consent == 1
    assert run.call(1).answers == (2,)


def test_same_question_again_is_unresolved():
    run, _ = suspended(entered(direct(gate=None)))
    run = entered(approved(run, 1))

    run, _ = suspended(run, execution=2)

    assert run.call(1).output == "unresolved: Sure?"
    assert run.ending is Outcome.UNRESOLVED


@pytest.mark.parametrize(("asked", "outcome"), [(3, None), (4, Outcome.UNRESOLVED)])
def test_a_call_may_ask_three_different_questions(asked, outcome):
    run = direct(gate=None)

    for n in range(1, asked + 1):
        run, _ = suspended(entered(run), question=f"q{n}", execution=n)
        if run.stage is Stage.WORKING:
            run = approved(run, n)

    assert run.call(1).outcome is outcome


def test_a_gates_consent_is_not_one_of_the_three_questions():
    run = approved(direct())

    for n in range(1, 4):
        run, _ = suspended(entered(run), question=f"q{n}", execution=n)
        run = approved(run, n + 1)

    assert due(run) == (Enter(ordinal=1),)


def test_stale_suspension_is_not_asked():
    run, effects = suspended(entered(direct(gate=None)), stale=True)

    assert run.ending is Outcome.EXPIRED
    assert not any(isinstance(e, Ask) for e in effects)


def test_interrupted_call_is_unknown_and_never_entered_by_itself():
    run = unknown()

    assert run.call(1).slot is Slot.UNKNOWN
    assert due(run) == ()
    assert waiting(run)
    assert step(run, Entering(ordinal=1)) == (run, ())


def test_idempotent_call_is_entered_three_times_under_one_execution():
    run = entered(direct(gate=None))

    for _ in range(2):
        run, _ = step(run, Interrupted(ordinal=1, execution=1, idempotent=True))
        run, effects = step(run, Entering(ordinal=1))
        assert effects == (CallTool(ordinal=1, execution=1),)
    run, _ = step(run, Interrupted(ordinal=1, execution=1, idempotent=True))

    assert run.call(1).slot is Slot.UNKNOWN


@pytest.mark.parametrize(
    ("ran", "words"), [(True, "it ran"), (False, "it did not run")]
)
def test_a_persons_word_closes_an_unknown_outcome(ran, words):
    run, effects = step(unknown(), Reported(ordinal=1, ran=ran, by="Ben"))

    assert run.call(1).output == f"outcome unknown: Ben says {words}"
    assert effects[-1] == Finish(ending=Outcome.UNKNOWN)


def test_run_again_asks_anew_and_forgets_the_old_consent():
    run, effects = step(unknown(), Reopened(ordinal=1, gate="Run t1?"))

    assert effects == (Ask(ordinal=1, number=2, gate=True),)
    assert due(run) == ()
    run, effects = step(approved(run, 2), Entering(ordinal=1))
    assert effects == (CallTool(ordinal=1, execution=2),)


@pytest.mark.parametrize(
    ("event", "status"),
    [
        (Answered(request=2, ok=False), "declined"),
        (Expired(request=2), "expired"),
        (Voided(ordinal=1), "void"),
        (Cancelled(), "cancelled"),
    ],
)
def test_a_refused_second_try_leaves_the_first_one_unknown(event, status):
    run, _ = step(unknown(), Reopened(ordinal=1, gate="Run t1?"))

    run, effects = step(run, event)

    assert effects == (Settle(number=2, status=status),)
    assert run.call(1).slot is Slot.UNKNOWN
    assert run.stage is Stage.WORKING
    run, _ = step(run, Reported(ordinal=1, ran=True, by="Ben"))
    assert run.ending in (Outcome.UNKNOWN, Outcome.CANCELLED)


def test_known_outcome_cannot_be_reported():
    with pytest.raises(Illegal):
        step(direct(), Reported(ordinal=1, ran=True, by="Ben"))


def test_void_call_is_not_entered():
    run, effects = step(approved(direct()), Voided(ordinal=1))

    assert run.call(1).output == "void: Run t1?"
    assert effects == (Results(turn=1), Finish(ending=Outcome.VOID))


@pytest.mark.parametrize("event", [Voided(ordinal=1), Cancelled()])
def test_a_call_that_was_entered_never_ends_as_not_run(event):
    run = entered(approved(direct()))
    run, _ = step(run, Interrupted(ordinal=1, execution=1, idempotent=True))

    run, effects = step(run, event)

    assert run.call(1).slot is Slot.UNKNOWN
    assert effects == ()
    assert run.stage is Stage.WORKING


def test_void_of_an_open_request_settles_it():
    _, effects = step(direct(), Voided(ordinal=1))

    assert effects[0] == Settle(number=1, status="void")


def test_all_gated_calls_of_a_turn_are_asked_at_once():
    _, effects = agent("a", None, "b")

    assert effects == (
        Ask(ordinal=1, number=1, gate=True),
        Ask(ordinal=3, number=2, gate=True),
    )


def test_later_call_waits_for_the_earlier_result():
    run, _ = agent("a", "b")

    run = approved(run, 2)
    assert due(run) == ()
    run = approved(run, 1)

    assert due(run) == (Enter(ordinal=1),)


def test_a_call_that_is_not_ok_stops_the_rest_of_the_turn():
    run, _ = agent("a", "b", None)

    run, effects = step(run, Answered(request=1, ok=False))

    assert effects[:2] == (
        Settle(number=1, status="declined"),
        Settle(number=2, status="cancelled"),
    )
    assert [c.output for c in run.calls[1:]] == ["not run: a", "not run: a"]
    assert run.stage is Stage.THINKING
    assert run.turn == 1


def test_an_ordinary_error_does_not_stop_the_turn():
    run, _ = agent(None, None)
    run = entered(run)

    run, _ = step(run, Returned(ordinal=1, execution=1, output="x", is_error=True))

    assert due(run) == (Enter(ordinal=2),)


def test_ready_made_result_is_never_entered():
    run, _ = agent(None, None, results={1: "unknown tool: t1"})

    assert run.call(1).outcome is Outcome.ERROR
    assert due(run) == (Enter(ordinal=2),)


def test_complete_turn_goes_back_to_the_model():
    run, _ = agent(None)

    run, effects = step(entered(run), Returned(ordinal=1, execution=1, output="x"))

    assert effects == (Results(turn=1), AskModel())
    assert due(run) == (AskModel(),)


def test_the_next_turn_begins_when_the_model_has_replied():
    run, _ = agent(None)
    run, _ = step(entered(run), Returned(ordinal=1, execution=1, output="x"))

    run, _ = step(run, ModelReplied(calls=plan("a", "b")))

    assert run.turn == 2
    assert [call.ordinal for call in run.calls] == [1, 2]


def test_model_without_calls_finishes_the_run():
    run, _ = begin(DURABLE, Started())

    assert step(run, ModelReplied())[1] == (Finish(ending=Outcome.OK),)


def test_model_failure_finishes_the_run():
    run, _ = begin(DURABLE, Started())

    assert step(run, ModelFailed())[1] == (Finish(ending=Outcome.ERROR),)


def test_unordered_rules_let_every_call_in_at_once():
    run, _ = begin(
        Rules(ordered=False, stop_when_not_ok=False, questions=1),
        Started(calls=plan(None, None)),
    )

    assert due(run) == (Enter(ordinal=1), Enter(ordinal=2))


def test_events_after_the_end_are_late_or_illegal():
    run, _ = step(direct(), Cancelled())

    assert step(run, Returned(ordinal=1, execution=1, output="late")) == (run, ())
    assert step(run, Cancelled()) == (run, ())
    with pytest.raises(Illegal):
        step(run, Answered(request=1, ok=True))


def test_started_cannot_happen_twice():
    with pytest.raises(Illegal):
        step(direct(), Started())


# -- random interleavings -------------------------------------------------------------

GATES = st.lists(st.sampled_from(["a?", "b?", None]), min_size=1, max_size=4)
MOVE = st.tuples(
    st.sampled_from(
        [
            "enter",
            "return",
            "suspend",
            "answer",
            "expire",
            "void",
            "cancel",
            "interrupt",
            "report",
            "reopen",
            "model",
            "round trip",
        ]
    ),
    st.integers(1, 6),
    st.booleans(),
)
MOVES = st.lists(MOVE, max_size=40)


class Watch:
    """Remembers what happened, and knows what must never happen (I1 to I3)."""

    def __init__(self):
        self.consented: set[int] = set()
        self.settled: dict[int, str] = {}
        self.asked: dict[int, Ask] = {}
        self.executions: dict[tuple[int, int], list[int]] = {}
        self.finished = 0

    def see(self, before: Run, event, after: Run, effects) -> None:
        if isinstance(event, Answered) and event.ok:
            self.consented.add(event.request)
        for effect in effects:
            if isinstance(effect, Ask):
                assert effect.number not in self.asked
                self.asked[effect.number] = effect
            if isinstance(effect, Settle):
                assert effect.number in self.asked
                assert effect.number not in self.settled
                self.settled[effect.number] = effect.status
            if isinstance(effect, CallTool):
                self._entered(before, effect)
            self.finished += isinstance(effect, Finish)
        assert self.finished == (after.stage is Stage.ENDED)
        self._open_requests(after)
        self._entered_calls_have_results(before, event, after)

    def _entered_calls_have_results(self, before: Run, event, after: Run) -> None:
        """What is running, or may have run, ends by a result or a person's word."""
        if before.turn != after.turn:
            return
        for call in before.calls:
            lost = call.again or call.reopened
            running = call.slot in (Slot.RUNNING, Slot.UNKNOWN) or lost
            if running and after.call(call.ordinal).done:
                assert isinstance(event, Returned | Suspended | Reported)

    def _entered(self, before: Run, effect: CallTool) -> None:
        call = before.call(effect.ordinal)
        assert not before.cancelled
        assert all(c.done for c in before.calls if c.ordinal < effect.ordinal)
        if call.gated:
            assert call.consent in self.consented
            assert self.settled[call.consent] == "ok"
            assert self.asked[call.consent].gate
        starts = self.executions.setdefault((before.turn, effect.ordinal), [])
        starts.append(effect.execution)
        assert starts == sorted(starts)
        assert starts.count(effect.execution) <= machine.MAX_ATTEMPTS

    def _open_requests(self, run: Run) -> None:
        open_now = {c.request for c in run.calls if c.request is not None}
        assert open_now == set(self.asked) - set(self.settled)
        if run.stage is Stage.ENDED:
            assert not open_now


def event_for(move, run: Run):
    name, n, flag = move
    ordinal = min(n, len(run.calls)) or 1
    call = run.call(ordinal) if run.calls else None
    execution = call.execution if call else 1
    return {
        "enter": Entering(ordinal=ordinal),
        "return": Returned(
            ordinal=ordinal, execution=execution, output="", is_error=flag
        ),
        "suspend": Suspended(
            ordinal=ordinal, execution=execution, prompt="p", question=f"q{n}"
        ),
        "answer": Answered(request=n, ok=flag),
        "expire": Expired(request=n),
        "void": Voided(ordinal=ordinal),
        "cancel": Cancelled(),
        "interrupt": Interrupted(ordinal=ordinal, execution=execution, idempotent=flag),
        "report": Reported(ordinal=ordinal, ran=flag, by="x"),
        "reopen": Reopened(ordinal=ordinal, gate="g?" if flag else None),
        "model": ModelReplied(calls=plan("a?", None) if flag else ()),
    }.get(name)


@settings(max_examples=2000, deadline=None)
@given(GATES, MOVES, st.booleans())
def test_no_interleaving_breaks_the_promise(gates, moves, with_model):
    watch = Watch()
    if with_model:
        run, effects = begin(DURABLE, Started())
        event = ModelReplied(calls=plan(*gates))
        after, effects = step(run, event)
        watch.see(run, event, after, effects)
        run = after
    else:
        started = Started(calls=plan(*gates))
        run, effects = begin(DURABLE, started)
        watch.see(run, started, run, effects)

    for move in moves:
        if move[0] == "round trip":
            assert from_json(to_json(run)) == run
            continue
        event = event_for(move, run)
        try:
            after, effects = step(run, event)
        except (Illegal, KeyError):
            continue
        watch.see(run, event, after, effects)
        run = after

    assert from_json(to_json(run)) == run
    stuck = run.stage is Stage.WORKING and waiting(run)
    assert not stuck or any(
        c.request is not None or c.slot is Slot.UNKNOWN for c in run.calls
    )


def test_round_trip_keeps_every_field():
    run = approved(direct())
    run = replace(run, cancelled=True, ending=Outcome.VOID)

    assert from_json(to_json(run)) == run
