import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.headline import headline
from bot.core.policy import Rule


def rule(words):
    return Rule(name="restart", gate="ask", headline=words)


@pytest.mark.parametrize(
    ("value", "seen"),
    [
        ("api", "api"),
        ("v1.2_3/x-y", "v1.2_3/x-y"),
        (3, "3"),
        (2.5, "2.5"),
        (True, "true"),
        ("a" * 40, "a" * 40),
        ("a" * 41, "(v: see card)"),
        ("two words", "(v: see card)"),
        ("", "(v: see card)"),
        ("żółć", "(v: see card)"),
        ("a\n", "(v: see card)"),
        ("<!channel>", "(v: see card)"),
        (None, "(v: see card)"),
        (["api"], "(v: see card)"),
        (int("9" * 40), "9" * 40),
        (int("9" * 41), "(v: see card)"),
    ],
)
def test_only_plain_values_fill_a_headline(value, seen):
    arguments = json.dumps({"v": value})

    assert headline(rule("Do {v} now"), "restart", arguments) == f"Do {seen} now"


def test_an_argument_that_is_not_there_is_named():
    assert headline(rule("Do {region}"), "restart", "{}") == "Do (region: see card)"


def test_without_a_headline_the_tool_is_named():
    assert headline(rule(""), "restart", "{}") == "restart"


def test_a_filled_in_value_is_not_filled_again():
    arguments = json.dumps({"a": "b", "b": "x"})

    assert headline(rule("{a}{b}"), "restart", arguments) == "bx"


@given(st.text(max_size=60))
def test_a_value_adds_no_words_of_its_own(value):
    made = headline(rule("Do {v} now"), "restart", json.dumps({"v": value}))

    filled = made.removeprefix("Do ").removesuffix(" now")
    plain = all(c.isascii() and (c.isalnum() or c in "._/-") for c in filled)
    assert filled == "(v: see card)" or (plain and 0 < len(filled) <= 40)
