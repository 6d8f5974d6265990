import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.tools.words import LONGEST, Refused, as_typed, parse_words


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("", []),
        ("  \n ", []),
        ("service=api", [("service", "api")]),
        ("  a=1\tb=2\n c=3 ", [("a", "1"), ("b", "2"), ("c", "3")]),
        ("a= b=2", [("a", ""), ("b", "2")]),
        ("a=x=y", [("a", "x=y")]),
        ("a=\"two words\" b='three = more words'", "two words|three = more words"),
        ("a=“two words” b=‘three words’", "two words|three words"),
        ("a=„two words“ b=‚three words‘", "two words|three words"),
        ("a=”two words” b=’three words’", "two words|three words"),
        ('a="" b=""', "|"),
        (r'a="say \"hi\" \\ C:\new" b=x', r'say "hi" \ C:\new|x'),
        (r"a='no \escape\\' b=x", r"no \escape\\|x"),
        ("a=“it's “ b=x", "it's |x"),
        ('a="line\nbreak" b=x', "line\nbreak|x"),
        ("a=O'Brien b=O’Brien", "O'Brien|O’Brien"),
        ('a=["x","y"] b={"k":1}', '["x","y"]|{"k":1}'),
        ("a=\u00a0b=x", [("a", ""), ("b", "x")]),
    ],
)
def test_words_become_pairs(text, pairs):
    if isinstance(pairs, str):
        pairs = list(zip("ab", pairs.split("|"), strict=True))

    assert parse_words(text) == pairs


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("api", '"api" is not an argument'),
        ("service=api now", '"now" is not an argument'),
        ("=api", '"=api" is not an argument'),
        ("--force", '"--force" is not an argument'),
        ('"service"=api', "is not an argument"),
        ("a=1 a=2", "a is given twice."),
        ('note="two words', 'A quote in note has no partner: "two words (character 6)'),
        ("note='two words", "A quote in note has no partner: 'two words (character 6)"),
        ("b=1 note=“two", "A quote in note has no partner: “two (character 10)"),
        ('note="two”', "A quote in note has no partner"),
        (r'note="two\"', "A quote in note has no partner"),
        ('height=6"', 'A quote in height has no partner: 6" (character 8)'),
        ('a=x"two b=words"', 'A quote in a has no partner: x"two (character 3)'),
        ("a=x“two b=words”", "A quote in a has no partner: x“two (character 3)"),
        ('a="b"c', '"c" stands right behind the closing quote of a.'),
        ("a='b''c'", "stands right behind the closing quote of a."),
        ("a=\x00", "a character that no text can hold"),
        ("a=\ud83d", "a character that no text can hold"),
        (f"a={'x' * LONGEST}", "longer than 40,000 characters"),
    ],
)
def test_what_cannot_be_taken_is_named(text, said):
    refused = parse_words(text)

    assert isinstance(refused, Refused)
    assert said in refused.text
    assert refused.text.endswith(" Nothing was started.")
    assert len(refused.text) < 300


FIT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))


@given(FIT)
def test_a_value_typed_as_shown_comes_back(value):
    assert parse_words(f"a={as_typed(value)} b=1") == [("a", value), ("b", "1")]


@given(st.text())
def test_any_text_is_pairs_or_a_refusal(text):
    found = parse_words(text)

    if not isinstance(found, Refused):
        assert all(key and "=" not in key for key, _ in found)
        assert len({key for key, _ in found}) == len(found)
