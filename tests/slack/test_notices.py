import ast
from dataclasses import replace
from pathlib import Path

import pytest
from reading import faults, ours, references, words
from views import (
    ASK,
    EVERY,
    asked_by_tool,
    card_view,
    reported,
    request_row,
    ungated_view,
    vote_row,
)

from bot.core import policy
from bot.core.policy import Who
from bot.slack.ids import ACTIONS, FORMS
from bot.slack.render import notices
from bot.slack.render.notices import REFUSALS, receipt, refusal

#: threat-model §0.3, and what else the engine refuses a click with.
CODES = {
    "unknown_request",
    "wrong_workspace",
    "wrong_message",
    "not_approver",
    "self_approval",
    "external_user",
    "guest_user",
    "bot_user",
    "inactive_user",
    "identity_unverified",
    "already_answered",
    "expired",
    "cancelled",
    "superseded",
    "duplicate_vote",
    "void_changed",
    "busy",
    "ended",
    "outcome_known",
    "cannot_run_again",
    "rule_changed",
}
BLIND = ["unknown_request", "wrong_workspace", "wrong_message"]
ONLY_FOR_STARTING = {"no_rule", "not_caller"}
OUR_NAMES = ("sre", "Ada", "Ben", "CS-318", "restart", "eu")


def said(code, name="open", **more):
    more = {"user": "U0BEN", "decision": "approve", **more}
    return refusal(code, view=EVERY[name], **more)


def test_every_code_has_a_text_and_every_text_a_code():
    assert set(REFUSALS) == CODES


def test_every_code_of_the_policy_has_a_text():
    tree = ast.parse(Path(policy.__file__).read_text())
    literals = {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    codes = {
        word
        for word in literals
        if "_" in word and word.isidentifier() and not word.startswith("_")
    }

    assert codes - set(policy.Rule.__dataclass_fields__) <= CODES | ONLY_FOR_STARTING


@pytest.mark.parametrize("code", sorted(CODES))
@pytest.mark.parametrize("name", EVERY)
def test_every_refusal_can_be_said_in_every_state(code, name):
    for decision in ACTIONS.values():
        drawn = said(code, name, decision=decision)

        assert faults(drawn) == []
        assert not any(word in drawn.text.lower() for word in ("please", "!", "oops"))


@pytest.mark.parametrize(
    "code", ["unknown_request", "wrong_workspace", "wrong_message"]
)
def test_what_does_not_concern_them_reveals_nothing(code):
    blind = refusal(code)

    assert said(code) == blind
    assert not any(name in words(blind) for name in OUR_NAMES)
    assert words(blind) == (
        "This card cannot be answered. /approvals shows what waits for you."
    )


TEXTS = [
    (
        "not_approver",
        "open",
        "CS-318 can be answered by @sre-oncall. You are not in that group now."
        " Nothing changed.",
    ),
    (
        "self_approval",
        "open",
        "You asked for CS-318, so your yes does not count. @sre-oncall can agree;"
        " you can deny it here, or cancel it with /runs.",
    ),
    ("guest_user", "open", "Guests cannot answer CS-318. Nothing changed."),
    (
        "inactive_user",
        "open",
        "Your account is not active here, so your click was not counted.",
    ),
    (
        "identity_unverified",
        "open",
        "Slack did not tell us just now who is in @sre-oncall, so your click was not"
        " counted. Click again in a minute.",
    ),
    (
        "already_answered",
        "done",
        "Ben approved CS-318 at 14:25 UTC and it ran. Your click changed nothing.",
    ),
    (
        "already_answered",
        "denied",
        "Ben denied CS-318 at 14:25 UTC. It did not run. Your click changed nothing.",
    ),
    (
        "already_answered",
        "unknown",
        "Ben approved CS-318 at 14:25 UTC and nobody knows yet whether it ran."
        " Your click changed nothing.",
    ),
    (
        "duplicate_vote",
        "running",
        "Your yes was counted at 14:25 UTC and it is running.",
    ),
    (
        "expired",
        "expired",
        "CS-318 expired at 14:52 UTC and did not run. Ada can ask again.",
    ),
    ("cancelled", "cancelled", "Ada cancelled CS-318 at 14:30 UTC. It did not run."),
    (
        "cancelled",
        "cancelled too late",
        "Ada cancelled CS-318 at 14:30 UTC. It had started by then and may have taken"
        " effect.",
    ),
    (
        "void_changed",
        "void",
        "CS-318 is no longer valid: its call, its rule or who may agree to it changed"
        " after it was asked. It did not run.",
    ),
    (
        "busy",
        "open",
        "Your click could not be recorded, so nothing changed."
        " Click again in a few seconds.",
    ),
]


@pytest.mark.parametrize(("code", "name", "text"), TEXTS)
def test_a_refusal_reads_as_designed(code, name, text):
    assert said(code, name).text == text


def test_people_in_a_private_reply_are_shown_by_reference():
    rule = replace(
        ASK, approvers=(Who(user="U0BEN", handle="Ben"), Who(user="U0CLEO", handle="C"))
    )
    drawn = refusal("not_approver", view=card_view(rule=rule), user="U0DAN")

    assert references(drawn) == {"U0BEN", "U0CLEO"}
    assert "You are not among them now." in words(drawn)
    assert "Ben or C." in drawn.text


def test_names_that_are_known_are_used_where_only_words_can_stand():
    rule = replace(ASK, approvers=(Who(user="U0BEN"),))
    view = card_view(rule=rule)
    drawn = refusal("not_approver", view=view, people={"U0BEN": "Ben\u202e <!here>"})

    assert drawn.text == (
        "CS-318 can be answered by Ben⟨U+202E⟩ &lt;!here&gt;. Nothing changed."
    )


def test_who_may_cancel_is_said_to_whoever_may_not():
    gated = said("not_approver", "open", decision="cancel", user="U0DAN")
    free = refusal("not_approver", view=ungated_view(), decision="cancel")

    assert gated.text.startswith("CS-318: @sre-oncall or Ada can cancel it.")
    assert free.text.startswith("CS-318: Ada can cancel it.")


def test_a_report_that_came_second_hears_the_first():
    drawn = refusal("outcome_known", view=reported(ran=True), decision="not_run")

    assert drawn.text == (
        "Cleo said at 14:42 UTC that CS-318 ran. Your click changed nothing."
    )


def test_only_the_clickers_own_vote_is_told():
    votes = (vote_row(at=1), vote_row(user="U0CLEO", person="T0:U0CLEO"))
    view = replace(EVERY["running"], votes=votes)

    assert "14:25" in refusal("duplicate_vote", view=view, user="U0CLEO").text


def test_a_code_without_a_text_is_a_fault():
    with pytest.raises(KeyError):
        refusal("no_such_code", view=EVERY["open"])


@pytest.mark.parametrize("decision", sorted(set(ACTIONS.values()) - set(FORMS)))
@pytest.mark.parametrize("name", EVERY)
def test_a_click_that_counted_is_acknowledged_in_words(decision, name):
    drawn = receipt(EVERY[name], decision)

    assert faults(drawn) == []
    assert "CS-318" in ours(drawn)


def test_a_receipt_says_what_did_not_happen():
    cancelled = EVERY["cancelled"]

    assert receipt(EVERY["denied"], "deny").text == (
        "You denied CS-318: Restart api in eu. It did not run."
    )
    assert receipt(cancelled, "cancel").text == "You cancelled CS-318. It did not run."
    assert receipt(EVERY["cancelled too late"], "cancel").text == (
        "You cancelled CS-318. It had started by then and may have taken effect."
    )


def test_running_again_says_whether_it_is_asked_anew():
    second = request_row(number=2, ref="second-request-ref-012")
    anew = replace(EVERY["unknown"], request=second)

    assert receipt(anew, "again").text == (
        "CS-318 is asked anew as CS-318.2. It has not run again."
    )
    assert receipt(ungated_view(), "again").text == (
        "CS-318 runs again; its card shows how it ends."
    )


def test_a_decline_of_a_question_did_not_go_on():
    drawn = refusal("expired", view=asked_by_tool(status="expired"), decision="done")

    assert "and did not go on" in drawn.text
    assert notices.CANNOT not in drawn.text


def test_our_commands_are_named_with_their_prefix():
    said = refusal("unknown_request", prefix="cs-").text

    assert "/cs-approvals shows" in said
    own = refusal("self_approval", view=replace(EVERY["open"], prefix="cs-")).text
    assert "or cancel it with /cs-runs." in own
    for view in EVERY.values():
        drawn = refusal("superseded", view=replace(view, prefix="cs-")).text
        assert "/cs-approvals CS-318" in drawn
