import json
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.display import (
    cut,
    flat,
    json_text,
    key,
    length,
    literal_json,
    one_line,
    shown,
    texts_in,
    warnings,
)

TEXTS = st.text(st.characters(), max_size=60)

# Inputs of T30, and exactly what people see of them.
TABLE = [
    ("", ""),
    ("plain words", "plain words"),
    ("two\nlines", "two\nlines"),
    ("a\n\nb", "a\n\nb"),
    ("a\n\n\nb", "a⟨3 newlines⟩b"),
    ("a" + "\n" * 500 + "b", "a⟨500 newlines⟩b"),
    ("a" + " " * 8 + "b", "a" + " " * 8 + "b"),
    ("a" + " " * 9 + "b", "a⟨9 spaces⟩b"),
    ("a" + " " * 3000 + "b", "a⟨3,000 spaces⟩b"),
    ("tab\there", "tab⟨U+0009⟩here"),
    ("line\r\nend", "line⟨U+000D⟩\nend"),
    ("nul\x00", "nul⟨U+0000⟩"),
    ("\x1b[2J", "⟨U+001B⟩[2J"),
    ("\x7f", "⟨U+007F⟩"),
    ("\x85", "⟨U+0085⟩"),
    ("evil\u202egnp.exe", "evil⟨U+202E⟩gnp.exe"),
    ("\u2066x\u2069", "⟨U+2066⟩x⟨U+2069⟩"),
    ("zero\u200bwidth", "zero⟨U+200B⟩width"),
    ("join\u200dme", "join⟨U+200D⟩me"),
    ("\ufeffbom", "⟨U+FEFF⟩bom"),
    ("soft\u00adhyphen", "soft⟨U+00AD⟩hyphen"),
    ("no\u00a0break", "no⟨U+00A0⟩break"),
    ("wide\u3000space", "wide⟨U+3000⟩space"),
    ("line\u2028sep", "line⟨U+2028⟩sep"),
    ("par\u2029sep", "par⟨U+2029⟩sep"),
    ("tag\U000e0041", "tag⟨U+E0041⟩"),
    ("vs\ufe0f", "vs⟨U+FE0F⟩"),
    ("vs\U000e0100", "vs⟨U+E0100⟩"),
    ("hangul\u3164filler", "hangul⟨U+3164⟩filler"),
    ("\uffa0\u115f\u1160", "⟨U+FFA0⟩⟨U+115F⟩⟨U+1160⟩"),
    ("braille\u2800blank", "braille⟨U+2800⟩blank"),
    ("private\ue000", "private⟨U+E000⟩"),
    ("unassigned\u0378", "unassigned⟨U+0378⟩"),
    ("none\uffff", "none⟨U+FFFF⟩"),
    ("half\ud800", "half⟨U+D800⟩"),
    ("grapheme\u034fjoiner", "grapheme⟨U+034F⟩joiner"),
    ("e\u0301", "e\u0301"),
    ("z" + "\u0301" * 3, "z" + "\u0301" * 3),
    ("z" + "\u0301" * 5, "z" + "\u0301" * 3 + "⟨U+0301⟩" * 2),
    ("\u0338start", "⟨U+0338⟩start"),
    ("a\n\u0338b", "a\n⟨U+0338⟩b"),
    ("\u202e\u0338", "⟨U+202E⟩⟨U+0338⟩"),
    ("⟨U+202E⟩", "⟨U+27E8⟩U+202E⟩"),
    ("⟨500 newlines⟩", "⟨U+27E8⟩500 newlines⟩"),
    ("⟨newline⟩", "⟨U+27E8⟩newline⟩"),
    ("⟨x|y⟩", "⟨x|y⟩"),
    ("<!channel> *b* `c` :x:", "<!channel> *b* `c` :x:"),
    ("مرحبا بالعالم", "مرحبا بالعالم"),
    ("नमस्ते दुनिया", "नमस्ते दुनिया"),
    ("你好，世界", "你好，世界"),
    ("สวัสดี", "สวัสดี"),
    ("👍🏽 🇫🇷", "👍🏽 🇫🇷"),
    ("👩\u200d💻", "👩⟨U+200D⟩💻"),
    ("аpprove", "аpprove"),
]


@pytest.mark.parametrize(("given_text", "seen"), TABLE)
def test_hidden_text_is_shown_as_it_is(given_text, seen):
    assert shown(given_text) == seen


def test_every_character_of_the_hidden_classes_is_escaped():
    hidden = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs")
    left = [
        f"U+{code:04X}"
        for code in range(sys.maxunicode + 1)
        if unicodedata.category(char := chr(code)) in hidden
        and char not in "\n "
        and shown(char) != f"⟨U+{code:04X}⟩"
    ]

    assert left == []


def test_default_ignorable_characters_are_escaped_even_as_letters_or_marks():
    # The ones that Unicode does not class as format characters.
    for code in (0x34F, 0x115F, 0x17B4, 0x180B, 0x180F, 0x2065, 0x3164, 0xFE00, 0xFFA0):
        assert shown("a" + chr(code)) == f"a⟨U+{code:04X}⟩"
    for code in (0xE0000, 0xE0100, 0xE01EF, 0xE0FFF):
        assert shown("a" + chr(code)) == f"a⟨U+{code:04X}⟩"


@given(TEXTS, TEXTS)
def test_two_texts_never_look_the_same_unless_they_are(one, other):
    if one != other:
        assert shown(one) != shown(other)
        assert flat(one) != flat(other)
        assert literal_json(one) != literal_json(other)


@given(st.text(st.sampled_from("⟨⟩U+2 0\n9newlinsp\u200b"), max_size=40), st.data())
def test_counts_and_escapes_cannot_be_imitated(one, data):
    other = data.draw(st.text(st.sampled_from("⟨⟩U+2 0\n9newlinsp\u200b"), max_size=40))

    assert (shown(one) == shown(other)) == (one == other)


@given(TEXTS)
def test_nothing_unseen_is_left_over(text):
    assert all(char == "\n" or char.isprintable() for char in shown(text))
    assert flat(text).isprintable()
    assert literal_json(text).isprintable()


@given(TEXTS, st.integers(40, 80))
def test_one_line_keeps_to_its_limit_and_counts_the_rest(text, limit):
    line = one_line(text * 3, limit)

    assert length(line) <= limit
    assert "\n" not in line
    if flat(text * 3) != line:
        kept, _, note = line.rpartition("… (")
        count = int(note.removesuffix(" more characters)").replace(",", ""))
        assert length(kept) + count == length(flat(text * 3))


def test_a_line_break_is_named_on_one_line():
    assert one_line("a\nb", 50) == "a⟨newline⟩b"


def test_a_cut_never_splits_an_escape_or_a_letter():
    escaped = shown("x" * 24 + "\u202e" * 40)
    accented = "e\u0301" * 60
    astral = "😀" * 60

    assert cut(escaped, 60).partition("…")[0].count("⟨") == cut(escaped, 60).count("⟩")
    for limit in (60, 61):
        assert not cut(accented, limit).partition("…")[0].endswith("e")
    assert length(cut(astral, 61)) <= 61
    assert cut("a" * 200, 50) == "a" * 27 + "… (173 more characters)"


def test_a_limit_without_room_for_the_count_is_widened():
    assert one_line("a" * 100, 3) == "a" * 17 + "… (83 more characters)"


def test_length_counts_the_larger_unit():
    assert length("a😀") == 3


JSON_TABLE = [
    ("api", '"api"'),
    ('say "hi"', '"say \\"hi\\""'),
    ("back\\slash", '"back\\\\slash"'),
    ("a\nb", '"a\\nb"'),
    ("a\tb\rc", '"a\\tb\\rc"'),
    ("\x00", '"⟨U+0000⟩"'),
    ("\u202e", '"⟨U+202E⟩"'),
    ("żółć привет 你好", '"żółć привет 你好"'),
    ("\n" * 500, '"⟨500 newlines⟩"'),
    ("\u0338", '"⟨U+0338⟩"'),
]


@pytest.mark.parametrize(("value", "seen"), JSON_TABLE)
def test_strings_are_shown_as_json_with_their_letters(value, seen):
    assert literal_json(value) == seen


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text('aż \n"\\', max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.text("ab", max_size=3), inner, max_size=3)
        ),
        max_leaves=8,
    )
)
def test_values_without_hidden_text_are_shown_as_json(value):
    if "\n\n\n" not in json.dumps(value).replace("\\n", "\n"):
        assert json.loads(json_text(value)) == value


def test_numbers_and_strings_are_told_apart():
    assert [json_text(v) for v in (1, "1", 1.0, True, None)] == [
        "1", '"1"', "1.0", "true", "null",
    ]  # fmt: skip


def test_a_strange_name_is_quoted():
    assert key("service") == "service"
    assert key('region = "eu"') == '"region = \\"eu\\""'
    assert key("") == '""'


LATIN_CYRILLIC = "\u0430pi"  # its first letter is Cyrillic


def test_mixed_scripts_are_warned_about():
    found = warnings({"service": LATIN_CYRILLIC, "region": "eu"})

    assert found == ['Contains a look-alike letter in "service".']


@pytest.mark.parametrize(
    "text",
    [
        "approve",
        "привет мир",
        "привет world",
        "/home/файл.txt",
        "γειά σου",
        "naïve café",
        "你好hello",
        "api — файл",
    ],
)
def test_words_of_one_script_are_not_warned_about(text):
    assert warnings({"text": text}) == []


@pytest.mark.parametrize(
    "text",
    [
        "\u0430pprove",
        "a\u0440i_key",
        "pr\u03bfd",
        "\u0430\u200bpprove",
        "\u0430\u0301pprove",
        "\uff41\u0440\u0440",
    ],
)
def test_a_look_alike_is_found_behind_marks_and_gaps(text):
    assert len(warnings({"text": text})) == 1


def test_more_than_three_warnings_are_counted():
    found = warnings(dict.fromkeys("abcde", LATIN_CYRILLIC))

    assert found == [
        'Contains a look-alike letter in "a".',
        'Contains a look-alike letter in "b".',
        "Contains a look-alike letter in 3 more places.",
    ]


def test_strings_are_found_anywhere_in_a_value():
    assert list(texts_in({"a": ["b", {"c": 1}], "d": None})) == ["a", "b", "c", "d"]


def test_long_hostile_texts_are_shown_without_delay():
    # Quadratic work on any of these would take minutes, and time the suite out.
    for text in ("⟨" * 60_000, "\u0301" * 60_000, " \n" * 30_000, "\u0430p" * 30_000):
        assert shown(text)
        assert literal_json(text)
        assert length(one_line(text, 100)) <= 100
        warnings({"a": text})
