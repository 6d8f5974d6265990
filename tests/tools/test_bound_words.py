"""Commands of the settings: what is wrong with them, and what words behind one mean."""

import pytest

from bot.bound import BoundCommand
from bot.contract.types import Tool
from bot.core.policy import Rule
from bot.tools.arguments import Arguments
from bot.tools.bound import command_problems, prompt_words, tool_arguments
from bot.tools.define import define_tool
from bot.tools.words import LONGEST, Refused, split_words


def scale(service: str, count: int, region: str = "eu") -> str:
    """Run so many of a service."""
    return f"{service} {count} {region}"


SCALE: Tool = define_tool(scale)
BOUND = BoundCommand(
    name="/scale", tool="scale", arguments=("service", "count", "region")
)
ASKS = BoundCommand(
    name="/look",
    prompt="Look at {service} in {region}, {service} alone. {{no}}",
    arguments=("region", "service"),
)


def said(*commands, tools=(SCALE,), rules=(("scale", "ask"),)):
    found = {tool.name: tool for tool in tools}
    known = {name: Rule(name=name, gate=gate) for name, gate in rules}
    problems = command_problems(commands, found.get, known.get)
    return [f"{problem.what} / {problem.fix}" for problem in problems]


# -- at start -------------------------------------------------------------------------


def test_a_command_that_fits_its_tool_has_no_problem():
    assert said(BOUND, ASKS) == []


def test_a_tool_that_is_not_there_is_a_problem():
    assert said(BOUND, tools=()) == [
        "the command /scale names the tool scale, which there is not. / "
        "mend its name, or add its module to tools."
    ]


@pytest.mark.parametrize("rules", [(), (("scale", "deny"),)])
def test_a_tool_that_the_policy_does_not_let_run_is_a_problem(rules):
    assert said(BOUND, rules=rules) == [
        "the command /scale names scale, which the policy does not let run. / "
        'write a rule for "scale".'
    ]


def test_arguments_must_be_those_of_the_tool():
    wrong = BoundCommand(name="/s", tool="scale", arguments=("service", "pods"))

    assert said(wrong) == [
        "the command /s takes pods, which scale does not. / "
        "mend its arguments; scale takes service, count, region.",
        "the command /s cannot work: scale needs count. / "
        'add "count" to its arguments.',
    ]


# -- words for a tool -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("api 3 us", {"service": "api", "count": 3, "region": "us"}),
        ("  api\t3 ", {"service": "api", "count": 3}),
        ('"a b" 3', {"service": "a b", "count": 3}),
        ("“a b” 3 ‘u s’", {"service": "a b", "count": 3, "region": "u s"}),
        ("'3' 3", {"service": "3", "count": 3}),
        ("count=3 3", {"service": "count=3", "count": 3}),
        ('"" 3', {"service": "", "count": 3}),
        (r'"say \"hi\"" 3', {"service": 'say "hi"', "count": 3}),
    ],
)
def test_words_are_taken_in_order_and_read_by_the_schema(text, values):
    assert tool_arguments(BOUND, SCALE, text) == Arguments(values=values)


@pytest.mark.parametrize(
    ("text", "words"),
    [("", "there were 0."), ("api", "there were 1."), ("a 3 b c", "there were 4.")],
)
def test_too_few_and_too_many_words_get_the_usage(text, words):
    refused = tool_arguments(BOUND, SCALE, text)

    assert isinstance(refused, Refused)
    assert refused.text.startswith(
        "Write /scale SERVICE COUNT REGION: it takes 2 to 3 words, and "
    )
    assert words in refused.text
    assert refused.text.endswith(" Nothing was started.")


def test_too_many_words_may_belong_together():
    refused = tool_arguments(BOUND, SCALE, "api 3 far away")

    assert "For example: /scale api 3 'far away'" in refused.text


def test_a_word_of_the_wrong_type_is_said_by_its_name():
    refused = tool_arguments(BOUND, SCALE, "api many")

    assert refused == Refused(
        text='count must be a number; you wrote "many". Nothing was started.'
    )


def test_a_quote_without_a_partner_is_refused():
    refused = tool_arguments(BOUND, SCALE, 'api "3')

    assert "A quote in word 2 has no partner" in refused.text


def test_a_command_without_arguments_takes_no_words():
    nothing = BoundCommand(name="/all", prompt="look at all of it")

    assert prompt_words(nothing, "  ") == "look at all of it"
    assert "it takes 0 words, and there were 1" in prompt_words(nothing, "x").text


# -- words for a prompt ---------------------------------------------------------------


def test_words_stand_in_the_prompt_as_they_were_typed():
    asked = prompt_words(ASKS, "eu 'api {region} {0} %s'")

    assert asked == (
        "Look at api {region} {0} %s in eu, api {region} {0} %s alone. {no}"
    )


@pytest.mark.parametrize("text", ["", "eu", "eu api more"])
def test_a_prompt_needs_every_word(text):
    refused = prompt_words(ASKS, text)

    assert isinstance(refused, Refused)
    assert refused.text.startswith("Write /look REGION SERVICE: it takes 2 words")


# -- splitting ------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["a" * (LONGEST + 1), "a\0b", "\ud800"])
def test_texts_that_no_person_types_are_refused(text):
    assert isinstance(split_words(text), Refused)


def test_a_word_right_behind_a_quote_is_refused():
    assert isinstance(split_words('"a"b'), Refused)
