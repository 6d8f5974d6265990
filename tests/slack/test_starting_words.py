import ast
from dataclasses import replace
from pathlib import Path

import pytest
from reading import boxes, faults, ours, references, words
from views import ASK, ENTER, EVERY, card_view, posted, ungated_view

from bot.core import policy
from bot.core.events import Returned
from bot.core.policy import Who
from bot.engine import starting as engine
from bot.slack.render import starting
from bot.slack.render.starting import NOT_STARTED, Offer, not_started

HOSTILE = "<!channel> *b* `x` \u202e"


def codes_in(module, function):
    """The codes that a module, or one function of it, refuses with."""
    tree = ast.parse(Path(module.__file__).read_text())
    return {
        node.value.value
        for scope in ast.walk(tree)
        if isinstance(scope, ast.AsyncFunctionDef | ast.FunctionDef)
        and scope.name == function
        for node in ast.walk(scope)
        if isinstance(node, ast.keyword)
        and node.arg == "code"
        and isinstance(node.value, ast.Constant)
    }


def test_every_code_of_a_start_has_a_text():
    codes = codes_in(engine, "start") | codes_in(policy, "may_start")

    assert codes >= {"no_rule", "no_approver", "too_big", "identity_unverified"}
    assert codes <= set(NOT_STARTED)


@pytest.mark.parametrize("code", sorted(NOT_STARTED))
def test_every_text_says_that_nothing_was_started(code):
    for rule in (None, ASK, replace(ASK, callers=(Who(user="U0BEN"),))):
        drawn = not_started(code, tool=HOSTILE, rule=rule, text="It is too long.")

        assert faults(drawn) == []
        assert "othing was started" in ours(drawn) or "may not run" in ours(drawn)
        assert "<!channel>" not in ours(drawn)


def test_the_sentences_read_as_designed():
    assert not_started("no_rule", tool="deploy").text == (
        "deploy has no rule in the policy, so it may not run."
        " Ask whoever keeps the policy."
    )
    assert not_started("no_approver", tool="restart", rule=ASK).text == (
        "Nobody can approve this: @sre-oncall has no member except you."
        " Nothing was started."
    )
    assert starting.unknown_tool("restrat", "restart", "/tool").text == (
        'There is no tool "restrat". Did you mean "restart"? /tool lists them.'
    )
    assert starting.unknown_tool("zzz", None, "/cs-tool").text == (
        'There is no tool "zzz". /cs-tool lists them.'
    )
    assert starting.busy().text == (
        "Your request could not be recorded, so nothing was started."
        " Try again in a few seconds."
    )


def test_what_was_typed_stands_apart_and_is_cleaned():
    drawn = starting.unknown_tool(HOSTILE, None, "/tool")

    assert faults(drawn) == []
    assert "channel" not in ours(drawn)
    assert "\u202e" not in words(drawn) + drawn.text


def test_an_empty_word_is_still_shown():
    assert '""' in starting.unknown_tool("", None, "/tool").text


def test_whoever_started_hears_whom_it_was_asked_of_and_where():
    view = EVERY["open"]
    view = replace(view, run=replace(view.run, channel="C0HERE"))
    drawn = starting.started(posted(view, "C0OPS"))

    assert drawn.text == (
        "CS-318: Restart api in eu. Asked of @sre-oncall in #ops. It has not run yet."
    )
    assert references(drawn) == {"S0SRE"}


@pytest.mark.parametrize(
    ("destinations", "said"),
    [
        (["C0HERE"], "here"),
        (["C0OPS"], "in #ops"),
        (["C0SECRET"], "in <C0SECRET>"),
        (["U0BEN"], "in direct messages"),
        (["U0BEN", "U0CLEO"], "in direct messages"),
    ],
)
def test_where_it_was_asked_is_said_as_it_is(destinations, said):
    view = EVERY["open"]
    view = replace(view, run=replace(view.run, channel="C0HERE"))

    drawn = starting.started(posted(view, *destinations))

    assert words(drawn).endswith(f" {said}. It has not run yet.")
    assert faults(drawn) == []


def test_typed_in_the_bots_own_messages_the_card_is_here():
    view = EVERY["open"]
    view = replace(view, run=replace(view.run, channel="D0ADA"))

    assert " here. It" in starting.started(posted(view, "D0ADA")).text


def test_what_the_policy_denies_is_not_said_to_have_no_rule():
    assert not_started("denied", tool="drop").text == (
        "drop may not run: the policy denies it. Ask whoever keeps the policy."
    )


def test_a_tool_that_nobody_may_start_is_said_to_be_that():
    rule = replace(ASK, callers=())

    assert not_started("not_caller", tool="greet", rule=rule).text == (
        "Nobody can start greet: its rule names no callers. Nothing was started."
    )


@pytest.mark.parametrize(
    ("approvers", "said"),
    [
        ([Who(user="U0ADA")], "the policy names nobody except you."),
        ([Who(user="U0BEN", handle="Ben")], "of Ben nobody is active except you."),
        (
            [Who(group="S0", handle="@x"), Who(user="U0BEN", handle="Ben")],
            "of @x and Ben nobody is active except you.",
        ),
    ],
)
def test_nobody_can_approve_is_said_of_whoever_is_named(approvers, said):
    rule = replace(ASK, approvers=tuple(approvers))
    drawn = not_started("no_approver", tool="x", rule=rule, user="U0ADA")

    assert drawn.text == f"Nobody can approve this: {said} Nothing was started."


def test_a_command_of_another_workspace_is_told_nothing():
    assert starting.not_here().text == "This command cannot be used here."


def test_an_ungated_run_says_that_it_was_not_asked():
    assert starting.started(ungated_view()).text == (
        "CS-318: status. It runs without anybody's approval;"
        " its card shows how it goes on."
    )
    assert "without anybody's approval" in starting.started(ungated_view((ENTER,))).text
    ran = Returned(ordinal=1, execution=1, output="x")
    assert starting.started(ungated_view((ENTER, ran))).text == (
        "CS-318: status. It has run; its card shows how it ended."
    )


def test_the_same_again_is_said_to_be_the_same():
    view = EVERY["open"]

    for asked in (posted(view, "C0OPS"), ungated_view()):
        assert starting.started(asked, (317, 4_200)).text.endswith(
            " It is the same as run CS-317, started 4 s ago."
        )


def test_channels_whose_members_are_asked_are_named_as_places():
    ops, crew = Who(channel="C0OPS", handle="#ops"), Who(channel="C0CREW", handle="#x")
    rule = replace(ASK, post_to=None, post_to_name="", approvers=(ops, crew))
    view = card_view(rule=rule)
    view = replace(view, run=replace(view.run, channel="C0HERE"))

    drawn = starting.started(posted(view, "C0OPS", "C0CREW"))

    assert drawn.text.endswith(
        "Asked of #ops or #x in #ops and #x. It has not run yet."
    )


def test_tools_are_listed_with_their_usage():
    offers = [
        Offer(usage="restart service=…\nservice: text", about="Restart a service."),
        Offer(usage="status service=…", about=""),
    ]
    drawn = starting.tools(offers, "/tool")

    assert boxes(drawn) == [
        "restart service=…\n    service: text\n    Restart a service.\nstatus service=…"
    ]
    assert faults(drawn) == []


def test_a_long_list_of_tools_is_cut_with_a_count():
    offers = [Offer(usage=f"tool{n} a=…", about=HOSTILE * 20) for n in range(200)]
    drawn = starting.tools(offers, "/tool")

    assert faults(drawn) == []
    assert boxes(drawn)[0].endswith(" more characters)")


def test_no_tools_is_said():
    assert "no tool that you may start" in starting.tools([], "/tool").text
