import ast
from dataclasses import replace
from pathlib import Path

import pytest
from reading import boxes, faults, ours, references, words
from views import ASK, ENTER, EVERY, ungated_view

from bot.core import policy
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
    drawn = starting.started(EVERY["open"])

    assert drawn.text == (
        "CS-318: Restart api in eu. Asked of @sre-oncall in #ops. It has not run yet."
    )
    assert references(drawn) == {"S0SRE"}


def test_a_card_in_direct_messages_is_said_to_be_there():
    view = EVERY["open"]
    unnamed = replace(view.request, rule=replace(ASK, post_to=None, post_to_name=""))
    view = replace(view, request=unnamed)

    assert " here. It has not run yet." in starting.started(view).text


def test_an_ungated_run_says_that_it_was_not_asked():
    assert starting.started(ungated_view()).text == (
        "CS-318: status. It runs without asking; its card shows how it ends."
    )
    assert "runs without asking" in starting.started(ungated_view((ENTER,))).text


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
