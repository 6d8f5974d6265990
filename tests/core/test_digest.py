"""Canonical bytes and digests (T26, T27)."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core.digest import (
    MAX_DEPTH,
    NotCanonical,
    arguments_digest,
    call_digest,
    canonical,
    definition_digest,
    parsed,
    question_digest,
    shown,
)

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=("Cs",))),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(st.characters(exclude_categories=("Cs",))), inner, max_size=4
        )
    ),
    max_leaves=20,
)

CALL = {
    "enterprise": "",
    "team": "T1",
    "run": "r",
    "turn": 1,
    "ordinal": 1,
    "tool": "pay",
    "definition": "d",
    "arguments": '{"iban":"DE1"}',
    "acting": "bot",
    "kind": "approval",
    "prompt": "Run pay?",
    "data": None,
    "url": None,
    "expiry": "1800",
    "rule": "r1",
}


def same(left, right):
    """Equal, and of the same JSON types all the way down."""
    return left == right and json.dumps(left) == json.dumps(right)


@settings(max_examples=2000, deadline=None)
@given(VALUES)
def test_reading_the_canonical_text_gives_the_value_back(value):
    assert same(
        json.loads(json.dumps(parsed(canonical(value)), sort_keys=True)),
        json.loads(json.dumps(value, sort_keys=True)),
    )


def test_key_order_does_not_matter():
    assert canonical({"b": 1, "a": 2}) == canonical({"a": 2, "b": 1})


def test_number_types_are_kept():
    assert canonical(1) != canonical(1.0)
    assert parsed("1e0") == 1.0
    assert canonical(2**53 + 1) == "9007199254740993"


def test_composed_and_decomposed_letters_differ():
    assert arguments_digest(canonical("é")) != arguments_digest(canonical("e\u0301"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"amount":1,"amount":1000000}', "duplicate key amount"),
        ('{"a":{"b":1,"b":1}}', "duplicate key b"),
        ("NaN", "NaN"),
        ("[Infinity]", "Infinity"),
        ("-Infinity", "-Infinity"),
        ('"\\ud800"', "surrogate"),
        ('{"a": ' + "1" * 5_000 + "}", "too long to read"),
        ('{"\\udfff":1}', "surrogate"),
        ("{not json", "not JSON"),
        ("[" * 100_000, "nested"),
    ],
)
def test_what_has_no_canonical_form_is_refused(text, words):
    with pytest.raises(NotCanonical, match=words):
        parsed(text)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1: 2}, {1}, b"x"])
def test_values_that_json_cannot_carry_are_refused(value):
    with pytest.raises(NotCanonical):
        canonical(value)


@pytest.mark.parametrize(
    ("depth", "taken"), [(MAX_DEPTH, True), (MAX_DEPTH + 1, False)]
)
def test_depth_has_a_limit(depth, taken):
    value = None
    for _ in range(depth):
        value = [value]

    if taken:
        assert canonical(value)
    else:
        with pytest.raises(NotCanonical, match="levels"):
            canonical(value)


@pytest.mark.parametrize("field", sorted(CALL))
def test_every_part_of_a_call_changes_its_digest(field):
    changed = dict(CALL)
    value = CALL[field]
    changed[field] = {"x": 1} if value is None else value + type(value)("1")
    if field in ("url",):
        changed[field] = "https://x"

    assert call_digest(**changed) != call_digest(**CALL)


def test_a_docstring_is_no_part_of_the_definition():
    base = {"name": "t", "source": "native", "input_schema": {}, "version": None}

    assert definition_digest(**base) == definition_digest(**base)
    for change in (
        {"name": "u"},
        {"source": "x"},
        {"input_schema": {"type": "object"}},
        {"version": "2"},
    ):
        assert definition_digest(**(base | change)) != definition_digest(**base)


def test_the_same_question_has_the_same_digest():
    base = {
        "tool": "t",
        "definition": "d",
        "arguments": '{"a":1}',
        "acting": "bot",
        "kind": "input",
        "prompt": "Which?",
        "url": None,
        "data": {"a": 1},
    }

    assert question_digest(**base) == question_digest(**(base | {"data": {"a": 1}}))
    assert question_digest(**base) != question_digest(**(base | {"prompt": "What?"}))


def test_digests_of_different_schemes_cannot_meet():
    digest = arguments_digest("{}")

    assert digest.startswith("cs1:")
    assert len(shown(digest).replace(" ", "")) == 12
