from dataclasses import replace

from reading import buttons, faults, first_line, labels, references, words
from views import (
    ALLOW,
    ASK,
    AT,
    CANCEL,
    ENTER,
    EVERY,
    LOST,
    MINUTE,
    STARTED,
    asked_by_tool,
    call_row,
    card_view,
    request_row,
    run_row,
    signed,
    ungated_view,
)

from bot.core.events import (
    Answered,
    Cancelled,
    Entering,
    ModelReplied,
    Planned,
    Returned,
    Started,
)
from bot.core.machine import begin, step
from bot.core.policy import Who
from bot.core.run import DURABLE
from bot.ports import CardView
from bot.slack.render import run as cards

GOOD = Returned(ordinal=1, execution=1, output="all good")
ENDED = {**STARTED, "ended_at": AT + 3 * MINUTE + 600, "outcome": "ok"}


def card(view):
    return cards.card(view, signed)


def test_an_ungated_run_reads_as_designed():
    view = ungated_view((ENTER, GOOD), **ENDED, output="all good")

    assert card(view).text == "Started by Ada: status. CS-318"
    assert words(card(view)).split("\n") == [
        "CS-318  status",
        "Ada, <14:22>",
        '1  status  service = "api"  done, 0.4 s',
        "Done <14:25>, 0.4 s.",
        "Result, from the tool",
        "all good",
        "direct call · ungated: status · details: /approvals CS-318",
    ]


def test_a_run_can_be_cancelled_until_it_ends():
    assert buttons(card(ungated_view())) == [
        ("Cancel run", "cs_cancel", "run-ref-0123456789abcd.cancel")
    ]
    assert labels(card(ungated_view((ENTER, GOOD), **ENDED))) == []
    assert labels(card(ungated_view((ENTER, Cancelled()), **STARTED))) == []


def test_a_run_whose_card_is_elsewhere_says_who_it_waits_for():
    drawn = card(EVERY["open"])

    assert "waiting: @sre-oncall, card in #ops" in words(drawn)
    assert references(drawn) == set()


def test_a_card_in_a_channel_known_by_id_is_shown_by_reference():
    rule = replace(ASK, post_to="C0SECRET", post_to_name="")

    assert "waiting: @sre-oncall, card in <C0SECRET>" in words(
        card(card_view(rule=rule))
    )


def test_a_run_that_waits_for_people_named_by_id_names_them():
    rule = replace(ASK, approvers=(Who(user="U0BEN", handle="Ben"),))

    assert "waiting: Ben, card in #ops" in words(card(card_view(rule=rule)))


def test_a_run_that_waits_for_its_requester_says_so():
    assert "waiting: Ada" in words(card(asked_by_tool()))


def test_an_ungated_call_of_unknown_outcome_has_its_choices_here():
    drawn = card(ungated_view((ENTER, LOST), **STARTED))

    assert first_line(drawn) == "Outcome unknown: status  CS-318"
    assert drawn.text == "Outcome unknown: status. CS-318"
    assert labels(drawn) == ["It ran", "It did not run", "Run again"]
    assert buttons(drawn)[0][2] == "call-ref-0123456789abc.ran"
    assert "It will not be started again by itself." in words(drawn)


def test_a_gated_call_of_unknown_outcome_has_its_choices_on_its_own_card():
    assert labels(card(EVERY["unknown"])) == ["Cancel run"]
    assert "outcome unknown" in words(card(EVERY["unknown"]))


def test_every_ending_is_said():
    endings = {
        "denied": "Denied by Ben. It did not run.",
        "cancelled": "Cancelled by Ada <14:30>. It did not run.",
        "expired": "Expired. It did not run.",
        "void": "No longer valid. It did not run.",
        "said to have run": "The tool did not report back. Cleo says it ran, <14:42>.",
        "failed": "Failed after 12 s: connection refused (incident 7f3a).",
    }

    for name, said in endings.items():
        assert said in words(card(EVERY[name])).split("\n"), name


def test_every_run_card_is_taken_by_slack():
    for view in [*EVERY.values(), ungated_view(), ungated_view((ENTER, LOST))]:
        assert faults(card(view)) == []
        assert references(card(view)) == set()


def test_a_late_cancel_is_said_while_the_call_runs():
    view = ungated_view((ENTER, Cancelled()), **STARTED)
    view = replace(view, run=replace(view.run, **CANCEL))

    assert "Cancelled by Ada <14:30>, after it had started." in words(card(view))


def test_typed_words_stand_apart():
    view = ungated_view()
    view = replace(view, run=replace(view.run, words="Approved by *Ben*"))
    drawn = card(view)

    assert first_line(drawn) == "CS-318  status"
    assert {"type": "text", "text": "Approved by *Ben*", "style": {"code": True}} in (
        drawn.blocks[1]["elements"][0]["elements"]
    )


# -- a model's run ---------------------------------------------------------------


def model_view(gates, *events):
    """A run of a model whose turn has one call per gate."""
    state, _ = begin(DURABLE, Started())
    plans = tuple(
        Planned(tool=f"t{n}", arguments="{}", gate="Run it?" if gate else None)
        for n, gate in enumerate(gates, 1)
    )
    for event in (ModelReplied(calls=plans), *events):
        state, _ = step(state, event)
    calls = [
        call_row(
            ASK if gate else ALLOW, ordinal=n, tool=f"t{n}", arguments="{}", ref=f"r{n}"
        )
        for n, gate in enumerate(gates, 1)
    ]
    requests = [
        request_row(ordinal=n, number=n, ref=f"q{n}")
        for n, gate in enumerate(gates, 1)
        if gate
    ]
    return CardView(
        run=run_row(state, words="look after the api"),
        calls=calls,
        requests=requests,
        votes=[],
        messages=[],
    )


def test_each_step_of_a_turn_has_its_line():
    done = (Entering(ordinal=1), Returned(ordinal=1, execution=1, output="x"))
    view = model_view([False, True, False], *done)

    assert words(card(view)).split("\n") == [
        "CS-318  asked by Ada",
        "Ada, <14:22>: look after the api",
        "1  t1  done",
        "2  t2  waiting: @sre-oncall, card in #ops",
        "3  t3  not started",
        "[Cancel run]",
        "turn 1 · 0 tokens · ungated: t1, t3",
    ]
    assert card(view).text == "Run started by Ada. CS-318"


def test_a_step_behind_a_refusal_is_not_run():
    view = model_view([True, False])
    denied = replace(view.requests[0], status="denied", decided_name="Ben")
    state, _ = step(view.run.state, Answered(request=1, ok=False))
    # The next turn has begun; the calls of the last one are still those in view.
    state = replace(state, turn=1)
    view = replace(view, requests=[denied], run=replace(view.run, state=state))

    assert "1  t1  denied by Ben" in words(card(view))
    assert "2  t2  not run (an earlier step did not succeed)" in words(card(view))


def test_of_many_steps_the_first_and_the_last_are_shown():
    view = model_view([False] * 20)
    steps = [s for s in words(card(view)).split("\n") if s[0].isdigit() or s[0] == "…"]

    assert [s.split()[0] for s in steps] == [
        "1", "2", "3", "…", "13", "14", "15", "16", "17", "18", "19", "20",
    ]  # fmt: skip
    assert steps[3] == "… 9 more …"


def test_twelve_steps_are_all_shown():
    assert "more" not in words(card(model_view([False] * 12)))


def test_waiting_for_people_is_told_apart_from_work():
    view = model_view([True])
    asked = replace(view.requests[0], decided_at=AT + 2 * MINUTE, status="approved")
    events = (
        Answered(request=1, ok=True),
        ENTER,
        Returned(ordinal=1, execution=1, output="x"),
        ModelReplied(),
    )
    state = view.run.state
    for event in events:
        state, _ = step(state, event)
    run = replace(view.run, state=state, ended_at=AT + 3 * MINUTE + 12_000)
    view = replace(view, run=run, requests=[asked], calls=[])

    assert "Done in 3 min 12 s, 2 min of it waiting for people." in words(card(view))


def test_the_card_of_a_gated_run_names_no_ungated_tool():
    assert "ungated" not in words(card(card_view()))
