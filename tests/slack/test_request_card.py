from dataclasses import replace

import pytest
from reading import (
    boxes,
    buttons,
    faults,
    first_line,
    labels,
    ours,
    references,
    words,
)
from views import (
    ASK,
    AT,
    CANCEL,
    ENTER,
    EVERY,
    LOST,
    MINUTE,
    NO,
    STARTED,
    approved,
    asked_by_tool,
    card_view,
    done,
    failed,
    request_row,
    settled,
    signed,
    unknown,
    vote_row,
)

from bot.core.digest import canonical
from bot.core.events import Answered, Cancelled, Reopened, Suspended, Voided
from bot.core.policy import Who
from bot.slack import limits
from bot.slack.boxes import call_text
from bot.slack.ids import ACTIONS
from bot.slack.render import request as cards


def card(view, *, direct=False):
    return cards.card(view, signed, direct=direct)


# -- open ----------------------------------------------------------------------


def test_open_card_reads_as_designed():
    drawn = card(EVERY["open"])

    assert drawn.text == "Approve? Restart api in eu. Ada asks. CS-318"
    assert words(drawn).split("\n") == [
        "Restart api in eu?",
        "Ada asks, in run CS-318.",
        "Needs one of <S0SRE>, not Ada.",
        "What will run",
        "restart",
        'region  = "eu"',
        'service = "api"',
        "acting as the bot",
        "[Approve] [Deny] [Deny, say why]",
        "CS-318 · until <14:52>, then denied · 4c1f 88a0 93d2"
        " · questions: in the thread",
    ]


def test_controls_carry_the_request_and_their_decision():
    drawn = card(EVERY["open"])

    assert buttons(drawn) == [
        ("Approve", "cs_approve", "request-ref-0123456789.approve"),
        ("Deny", "cs_deny", "request-ref-0123456789.deny"),
        ("Deny, say why", "cs_deny_why", "request-ref-0123456789.deny_why"),
    ]


def test_only_approve_has_a_style():
    styles = [e.get("style") for e in card(EVERY["open"]).blocks[-2]["elements"]]

    assert styles == ["primary", None, None]


@pytest.mark.parametrize("name", EVERY)
def test_every_card_is_taken_by_slack(name):
    for direct in (True, False):
        assert faults(card(EVERY[name], direct=direct)) == []


def test_a_card_mentions_those_who_must_act_and_nobody_else():
    assert references(card(EVERY["open"])) == {"S0SRE"}
    assert references(card(EVERY["asked by a tool"])) == {"U0ADA"}


@pytest.mark.parametrize("name", EVERY)
def test_direct_and_settled_cards_mention_nobody(name):
    view = EVERY[name]

    assert references(card(view, direct=True)) == set()
    if view.request.status != "open":
        assert references(card(view)) == set()


def test_beyond_five_people_the_rest_is_counted():
    people = tuple(Who(user=f"U{n}") for n in range(8))
    view = card_view(rule=replace(ASK, approvers=people))

    assert "Needs one of <U0>, <U1>, <U2>, <U3>, <U4> or 3 more." in words(card(view))
    assert "Needs one of U0, U1, U2, U3, U4 or 3 more." in words(
        card(view, direct=True)
    )


def test_people_named_by_id_are_called_by_their_names_where_nobody_is_mentioned():
    people = (Who(user="U0BEN", handle="Ben\u202e"), Who(user="U0CLEO", handle="Cleo"))
    drawn = card(card_view(rule=replace(ASK, approvers=people)), direct=True)

    assert "Needs one of Ben⟨U+202E⟩ or Cleo." in words(drawn)


def test_only_a_card_that_others_read_asks_for_questions_in_its_thread():
    assert "questions: in the thread" in words(card(EVERY["open"]))
    assert "thread" not in words(card(EVERY["open"], direct=True))
    assert "thread" not in words(cards.minimal(EVERY["open"], signed, direct=True))


def test_a_card_fits_wherever_it_goes():
    long = tuple(Who(group=f"S{n}", handle="x" * 60) for n in range(60))
    view = card_view(rule=replace(ASK, approvers=long))

    for direct in (True, False):
        assert limits.size(card(view, direct=direct).blocks) <= cards.size(view)


def test_a_requester_who_may_not_approve_is_not_asked():
    people = (Who(user="U0ADA"), Who(user="U0BEN"))
    view = card_view(rule=replace(ASK, approvers=people))
    alone = card_view(rule=replace(ASK, approvers=people, self_approval=True))

    assert "Needs <U0BEN>, not Ada." in words(card(view))
    assert "Needs one of <U0ADA> or <U0BEN>." in words(card(alone))


def test_a_requester_who_may_approve_is_not_left_out():
    drawn = card(card_view(rule=replace(ASK, self_approval=True)))

    assert "Needs one of <S0SRE>." in words(drawn)


def test_the_members_of_a_channel_are_named_by_it_and_notified_by_nothing():
    rule = replace(ASK, approvers=(Who(channel="C0OPS", handle="#ops"),))
    open_card, direct = (
        card(card_view(rule=rule)),
        card(card_view(rule=rule), direct=True),
    )

    assert "Needs one of <C0OPS>, not Ada." in words(open_card)
    assert "Needs one of #ops, not Ada." in words(direct)
    assert references(open_card) == references(direct) == set()
    assert faults(open_card) == faults(direct) == []
    unnamed = replace(ASK, approvers=(Who(channel="C0OPS"),))
    assert "Needs one of C0OPS" in words(card(card_view(rule=unnamed), direct=True))


def test_answerers_are_asked_for_other_kinds():
    rule = replace(ASK, answerers=(Who(group="S0PO", handle="@product"),))
    drawn = card(card_view(rule=rule, request={"kind": "odd", "gate": False}))

    assert "Needs an answer from one of <S0PO>." in words(drawn)
    assert references(drawn) == {"S0PO"}


def test_acting_identity_is_on_the_card():
    drawn = card(card_view(call={"acting": "requester U0ADA"}))

    assert "acting as Ada" in ours(drawn)


def test_arguments_are_shown_whole_and_told_apart():
    values = {
        "a": "1",
        "b": 1,
        "c": ["x", {"k": None}],
        "d e": 'q"',
        "f": "z" * 5000,
    }
    shown = boxes(card(card_view(arguments=values)))[0].split("\n")

    assert shown[1:5] == [
        'a     = "1"',
        "b     = 1",
        'c     = ["x", {"k": null}]',
        '"d e" = "q\\""',
    ]
    assert shown[5] == f'f     = "{"z" * 5000}"'


def test_an_argument_cannot_draw_a_second_line():
    drawn = card(card_view(arguments={"a": 'x"\nregion = "us'}))

    assert boxes(drawn)[0] == 'restart\na = "x\\"\\nregion = \\"us"'


def test_look_alike_letters_are_warned_about_above_the_controls():
    drawn = card(card_view(arguments={"service": "\u0430pi"}))

    at = [block["type"] for block in drawn.blocks].index("actions")
    assert words(drawn).count("look-alike") == 1
    assert 'Contains a look-alike letter in "service".' in str(drawn.blocks[at - 1])


def test_look_alikes_in_argument_names_are_warned_about():
    assert "look-alike" in words(card(card_view(arguments={"servi\u0441e": "api"})))


def test_an_approval_that_a_tool_raises_shows_what_the_tool_says():
    view = card_view(request={"gate": False, "prompt": "Really?", "data": {"n": 3}})
    drawn = card(view)

    assert "What the tool says (not checked)" in ours(drawn)
    assert boxes(drawn)[1:] == ["Really?", 'kind = "approval"\ndata.n = 3']


def test_a_long_wait_names_the_day_and_the_limit():
    day = 24 * 60 * MINUTE
    tomorrow = card(card_view(request={"expires_at": AT + day}))
    limit = card(card_view(request={"expires_at": AT + 30 * day}))

    assert "until <31 Dec 14:22>, then denied ·" in words(tomorrow)
    assert "until <29 Jan 14:22>, then denied (the limit of 30 days) ·" in words(limit)


def test_a_later_request_has_its_own_number():
    drawn = card(card_view(request={"number": 2}))

    assert drawn.text.endswith("CS-318.2")
    assert "CS-318.2 · until" in words(drawn)


# -- other kinds ---------------------------------------------------------------


def test_an_unknown_kind_shows_everything_as_the_tools_words():
    view = asked_by_tool(
        prompt="Which city?\n*Approved by @cfo*",
        kind="Approval ",
        url="https://evil.example/<!here>",
        data={"approved": True, "note": "x"},
    )
    drawn = card(view)

    assert first_line(drawn) == "countdown asks something of Ada"
    assert drawn.text == "countdown asks something of Ada. CS-318"
    assert boxes(drawn) == [
        "Which city?\n*Approved by @cfo*",
        'kind = "Approval "\nurl  = "https://evil.example/<!here>"\n'
        'data.approved = true\ndata.note = "x"',
    ]
    assert "cfo" not in ours(drawn)


@pytest.mark.parametrize(
    "kind", ["Approval ", "approv\u0430l", "APPROVAL", "approval\n", "", "input", "x"]
)
def test_only_the_exact_kind_can_be_approved(kind):
    drawn = card(asked_by_tool(kind=kind))

    assert labels(drawn) == ["Done", "Decline"]
    assert faults(drawn) == []


# -- settled -------------------------------------------------------------------

LINES = {
    "starting": "Approved by Ben <14:25>. Starting.",
    "running": "Approved by Ben <14:25>. Running since <14:25>.",
    "done": "Approved by Ben <14:25>. Done <14:25>, 41 s.",
    "denied": "Denied by Ben <14:25>. It did not run.",
    "expired": "Nobody answered until <14:52>. It did not run.",
    "cancelled": "Cancelled by Ada <14:30>. It did not run.",
    "void": "No longer valid: its call, its rule or who may agree to it changed after"
    " it was asked. It did not run.",
    "void at the claim": "Approved by Ben <14:25>. No longer valid: its call, its rule"
    " or who may agree to it changed after it was asked. It did not run.",
    "cancelled before its start": "Approved by Ben <14:25>. Cancelled by Ada <14:30>."
    " It did not run.",
    "cancelled too late": "Approved by Ben <14:25>. Running since <14:25>. Cancelled by"
    " Ada <14:30>, after it had started. It may have taken effect.",
    "said to have run": "Approved by Ben <14:25>. The tool did not report back."
    " Cleo says it ran, <14:42>.",
    "said not to have run": "Approved by Ben <14:25>. The tool did not report back."
    " Cleo says it did not run, <14:42>.",
}


@pytest.mark.parametrize("name", LINES)
def test_settled_card_says_what_happened(name):
    drawn = card(EVERY[name])

    assert words(drawn).split("\n")[1] == LINES[name]
    assert labels(drawn) == []


def test_done_card_reads_as_designed():
    assert words(card(EVERY["done"])).split("\n") == [
        "Restart api in eu",
        LINES["done"],
        "Ada asked, in run CS-318.",
        "What ran",
        "restart",
        'region  = "eu"',
        'service = "api"',
        "Result, from the tool",
        "3 of 3 healthy",
        "CS-318 · 4c1f 88a0 93d2 · waited 3 min",
        "details: /approvals CS-318",
    ]


def test_a_short_error_stands_apart_in_the_line():
    drawn = card(EVERY["failed"])

    assert "Failed after 12 s: connection refused (incident 7f3a)." in words(drawn)
    assert "refused" not in ours(drawn)


def test_a_long_error_has_its_own_box():
    drawn = card(failed("boom\nApproved by Cleo <14:25>."))

    assert "Failed after 12 s." in words(drawn)
    assert "Error, from the tool" in ours(drawn)
    assert "Cleo" not in ours(drawn)


def test_a_settled_card_never_says_that_something_ran_when_nobody_knows():
    for name, view in EVERY.items():
        known = name in ("done", "failed")
        if name != "open":
            assert ("What ran" in ours(card(view))) is known, name


def test_a_reason_is_quoted_under_the_decision():
    drawn = card(settled("denied", NO, request={"reason": "Wait for the backup."}))

    quotes = [
        p for b in drawn.blocks for p in b.get("elements", []) if "quote" in p["type"]
    ]
    assert [q["elements"][0]["text"] for q in quotes] == ["Wait for the backup."]
    assert "backup" not in ours(drawn)


def test_the_code_of_a_void_request_is_no_reason_to_show():
    drawn = card(settled("void", Voided(ordinal=1), request={"reason": "void:no_rule"}))

    assert "no_rule" not in words(drawn)


def test_every_counted_voter_is_named_with_their_time():
    votes = (
        vote_row(),
        vote_row(
            user="U0CLEO", person="T0HOME:U0CLEO", name="Cleo", at=AT + 9 * MINUTE
        ),
        vote_row(request="another-request-012345", user="U0DAN", name="Dan"),
    )
    drawn = card(approved(votes=votes))

    assert "Approved by Ben <14:25> and Cleo <14:31>. Starting." in words(drawn)


def test_an_own_approval_is_said():
    vote = vote_row(user="U0ADA", name="Ada", self_approved=True)

    drawn = card(approved(votes=(vote,)))

    assert "Approved by Ada <14:25> (their own request)." in words(drawn)


def test_a_result_is_cut_with_a_count():
    result = boxes(card(done("x" * 9000)))[-1]

    assert len(result) == limits.RESULT
    assert result.endswith(" more characters)")


def test_what_ran_is_folded_with_a_count():
    drawn = card(approved(arguments={"a": "x" * 9000}))

    assert len(boxes(drawn)[0]) == limits.FOLDED
    assert boxes(drawn)[0].endswith(" more characters)")


def test_a_tool_that_stopped_at_its_question_did_not_go_on():
    question = Suspended(ordinal=1, execution=1, prompt="City?", question="q")
    declined = {"status": "declined", "decided_by": "U0BEN", "decided_name": "Ben"}
    view = card_view(
        (ENTER, question, NO),
        request={"gate": False, "kind": "wait", **declined},
        call=STARTED,
    )

    assert "Declined by Ben. It did not go on." in words(card(view))


def test_an_approved_call_whose_question_was_declined_did_not_go_on():
    question = Suspended(ordinal=1, execution=1, prompt="City?", question="q")
    declined = Answered(request=2, ok=False)
    other = request_row(number=2, ref="second-ref-0123456789", gate=False, kind="x")
    other = replace(other, status="declined")
    view = approved(ENTER, question, declined, call=STARTED, others=(other,))

    assert "CS-318.2 was declined. It did not go on." in words(card(view))


def test_a_late_cancel_of_a_call_that_ran_leaves_no_doubt():
    view = done()
    state = replace(view.run.state, cancelled=True)
    view = replace(view, run=replace(view.run, state=state, **CANCEL))

    assert "41 s. Cancelled by Ada <14:30>, after it had started.\n" in words(
        card(view)
    )
    assert "may have" not in words(card(view))


def test_an_approved_call_that_asks_further_says_for_what_it_waits():
    question = Suspended(ordinal=1, execution=1, prompt="City?", question="q")
    other = request_row(number=2, ref="second-request-ref-012", gate=False, kind="x")
    view = approved(ENTER, question, call=STARTED, others=(other,))

    assert "Waiting for an answer to CS-318.2." in words(card(view))


# -- outcome unknown -----------------------------------------------------------


def test_unknown_outcome_is_open_and_says_what_to_do():
    drawn = card(EVERY["unknown"])

    assert first_line(drawn) == "Outcome unknown: Restart api in eu"
    assert "Ben approved. Started <14:25>; the bot stopped before" in words(drawn)
    assert "It will not be started again by itself." in words(drawn)
    assert buttons(drawn) == [
        ("It ran", "cs_ran", "call-ref-0123456789abc.ran"),
        ("It did not run", "cs_not_run", "call-ref-0123456789abc.not_run"),
        ("Run again, asks anew", "cs_again", "call-ref-0123456789abc.again"),
    ]


def test_a_cancelled_run_cannot_be_run_again():
    view = approved(ENTER, Cancelled(), LOST, call=STARTED, run=CANCEL)

    assert labels(card(view)) == ["It ran", "It did not run"]
    assert "Cancelled by Ada <14:30>, after it had started." in words(card(view))


def test_asked_anew_the_first_card_points_to_the_second():
    again = Reopened(ordinal=1, gate="Run restart?")
    second = request_row(number=2, ref="second-request-ref-012")
    view = approved(ENTER, LOST, again, call=STARTED, others=(second,))
    drawn = card(view)

    assert (
        "Outcome unknown: it may or may not have run. Asked anew as CS-318.2."
        in words(drawn)
    )
    assert labels(drawn) == []
    assert labels(card(replace(view, request=second))) == [
        "Approve",
        "Deny",
        "Deny, say why",
    ]


def test_denied_anew_it_did_not_run_again():
    second = {"number": 2, "ref": "second-request-ref-012"}
    view = settled("denied", NO, request=second, call=STARTED)

    assert "Denied by Ben <14:25>. It did not run again." in words(card(view))


# -- size ----------------------------------------------------------------------


def test_a_card_is_refused_at_the_first_character_over_the_budget():
    empty = cards.size(card_view(arguments={"a": ""}))
    most = limits.CARD_BUDGET - empty
    full = card_view(arguments={"a": "x" * most})
    over = card_view(arguments={"a": "x" * (most + 1)})

    assert cards.fits(full) is None
    assert cards.size(full) == limits.CARD_BUDGET
    assert faults(card(full)) == []
    assert cards.fits(over) == (
        "The card of restart would need 10,001 characters;"
        " the limit is 10,000, and nothing is left out of a card."
    )


def test_the_last_character_of_a_fitting_card_is_seen():
    view = card_view(arguments={"a": "x" * 9000 + "!"})

    assert cards.fits(view) is None
    assert boxes(card(view))[0].endswith('x!"')


def test_size_counts_what_is_shown_in_the_larger_unit():
    plain = cards.size(card_view(arguments={"a": "x" * 100}))
    astral = cards.size(card_view(arguments={"a": "😀" * 100}))
    escaped = cards.size(card_view(arguments={"a": "\u202e" * 100}))

    assert astral == plain + 100
    assert escaped == plain + 100 * (len("⟨U+202E⟩") - 1)


# -- in place of a card --------------------------------------------------------


def test_a_card_that_slack_refuses_cannot_be_approved():
    drawn = cards.minimal(EVERY["open"], signed, direct=False)
    other = cards.minimal(EVERY["asked by a tool"], signed, direct=False)

    assert labels(drawn) == ["Deny", "Deny, say why"]
    assert labels(other) == ["Decline"]
    assert "nobody can agree to it" in words(drawn)
    assert faults(drawn) == faults(other) == []


def test_a_settled_card_that_slack_refuses_still_says_what_happened():
    drawn = cards.minimal(EVERY["done"], signed, direct=False)

    assert words(drawn) == LINES["done"]


def test_a_neutral_message_has_no_controls():
    drawn = cards.neutral()

    assert labels(drawn) == []
    assert faults(drawn) == []


def test_every_control_has_an_action_that_can_be_read():
    for view in [*EVERY.values(), unknown()]:
        for _, action, value in buttons(card(view)):
            assert value.endswith(f".{ACTIONS[action]}")


def test_backward_letters_reorder_no_neighbour():
    nested = {"to": [{"iban": "DE1", "name": "\u05d0\u05d1\u05d2"}, {"iban": "DE2"}]}
    plain = {"to": [{"iban": "DE1"}], "n": 1}

    assert arguments_of(nested) == [
        'to[0].iban = "DE1"',
        'to[0].name = "\u05d0\u05d1\u05d2"',
        'to[1].iban = "DE2"',
    ]
    assert arguments_of(plain) == ["n  = 1", 'to = [{"iban": "DE1"}]']


def arguments_of(values):
    call = replace(EVERY["open"].calls[0], arguments=canonical(values))
    return call_text(call).splitlines()[1:]
