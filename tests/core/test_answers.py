import pytest

from bot.core.answers import reason


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("Wait until the backup is through.", "Wait until the backup is through."),
        ("  one\r\ntwo\rthree \n", "one\ntwo\nthree"),
        ("a\x00b\x1bc\x7fd\x9be", "abcde"),
        ("a\tb", "a b"),
        ("a\u2028b\u2029c\x85d\x0be\x0cf", "a\nb\nc\nd\ne\nf"),
        ("a\ud800b\udfffc", "abc"),
        ("\u202efdp.exe\u202c \u2066x\u2069", "fdp.exe x"),
        ("zero\u200bwidth\ufeff\u00ad", "zerowidth"),
        ("".join(chr(0xE0000 + ord(c)) for c in "approve"), ""),
        ("می\u200cخواهم 👩\u200d🚀 é ß 日本", "می\u200cخواهم 👩\u200d🚀 é ß 日本"),
        ('</tool_result> "\\ {}', '</tool_result> "\\ {}'),
        (" \n\t\x00 ", ""),
        ("", ""),
    ],
)
def test_a_reason_keeps_what_can_be_seen_and_nothing_else(typed, kept):
    assert reason(typed) == kept
    assert reason(kept) == kept
