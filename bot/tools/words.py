"""`key=value …` as a person types it: words to pairs, quotes included.

Pure. What a value means is read in `arguments.py` by the tool's schema. A value may
stand in straight or curly quotes, because phones and editors curl them unasked; inside
straight double quotes a backslash stands before a quote or another backslash.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

NOTHING_STARTED = "Nothing was started."

#: What Slack lets through at most; a longer text did not come from a person.
LONGEST = 40_000


@dataclass(frozen=True, kw_only=True)
class Refused:
    """Words that cannot be taken, and what to tell the person who wrote them."""

    text: str


_DOUBLES, _SINGLES = "“”„‟", "‘’‚‛"
_KEY = re.compile(rf"[^\s=\"'{_DOUBLES}{_SINGLES}]+(?==)")
_WORD = re.compile(r"\S*")
_GAP = re.compile(r"\s*")
_STRAIGHT = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_ESCAPE = re.compile(r'\\(["\\])')
_QUOTED = {
    "'": re.compile(r"'([^']*)'"),
    '"': _STRAIGHT,
    **dict.fromkeys(_DOUBLES, re.compile(rf"[{_DOUBLES}]([^{_DOUBLES}]*)[{_DOUBLES}]")),
    **dict.fromkeys(_SINGLES, re.compile(rf"[{_SINGLES}]([^{_SINGLES}]*)[{_SINGLES}]")),
}
_UNFIT = re.compile(r"[\x00\ud800-\udfff]")
_PLAIN = re.compile(rf"[^\s\"'{_DOUBLES}{_SINGLES}]+")


def parse_words(text: str) -> list[tuple[str, str]] | Refused:
    """The pairs of key and raw value in a text, in the order they were written."""
    if len(text) > LONGEST:
        return _refused(f"The arguments are longer than {LONGEST:,} characters.")
    if unfit(text):
        return _refused("The arguments hold a character that no text can hold.")
    pairs: dict[str, str] = {}
    at = _end(_GAP, text, 0)
    while at < len(text):
        key = _KEY.match(text, at)
        if key is None:
            return _not_a_pair(text[at : _end(_WORD, text, at)])
        if key[0] in pairs:
            return _refused(f"{shortened(key[0])} is given twice.")
        value = _value(text, key.end() + 1, shortened(key[0]))
        if isinstance(value, Refused):
            return value
        pairs[key[0]], at = value
        at = _end(_GAP, text, at)
    return list(pairs.items())


def split_words(text: str) -> list[str] | Refused:
    """The words of a text in order; what stands in quotes is one word."""
    if len(text) > LONGEST:
        return _refused(f"That is longer than {LONGEST:,} characters.")
    if unfit(text):
        return _refused("There is a character in it that no text can hold.")
    words: list[str] = []
    at = _end(_GAP, text, 0)
    while at < len(text):
        value = _value(text, at, f"word {len(words) + 1}")
        if isinstance(value, Refused):
            return value
        words.append(value[0])
        at = _end(_GAP, text, value[1])
    return words


def unfit(text: str) -> bool:
    """Whether a text holds NUL or half of a surrogate pair."""
    return _UNFIT.search(text) is not None


def as_typed(text: str) -> str:
    """A value as a person would have to type it, in quotes where it needs them."""
    if _PLAIN.fullmatch(text):
        return text
    if "'" not in text:
        return f"'{text}'"
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def shortened(text: str, limit: int = 60) -> str:
    """The beginning of a text, for words in which its end does not matter."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _value(text: str, at: int, key: str) -> tuple[str, int] | Refused:
    """The raw value that begins at a place, and the place behind it."""
    pattern = _QUOTED.get(text[at : at + 1])
    if pattern is None:
        word = text[at : _end(_WORD, text, at)]
        halves = word.count('"') % 2 or sum(map(word.count, _DOUBLES)) % 2
        return _unclosed(word, key, at) if halves else (word, at + len(word))
    match = pattern.match(text, at)
    if match is None:
        return _unclosed(text[at:], key, at)
    behind = text[match.end() : _end(_WORD, text, match.end())]
    if behind:
        return _refused(
            f'"{shortened(behind)}" stands right behind the closing quote of {key}. '
            "Put a space between them, or the whole value in quotes."
        )
    inside = match[1]
    return _ESCAPE.sub(r"\1", inside) if pattern is _STRAIGHT else inside, match.end()


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return at if match is None else match.end()


def _not_a_pair(word: str) -> Refused:
    return _refused(
        f'"{shortened(word)}" is not an argument: they are written key=value, '
        "and a value with spaces in it in quotes."
    )


def _unclosed(rest: str, key: str, at: int) -> Refused:
    return _refused(
        f"A quote in {key} has no partner: {shortened(rest)} (character {at + 1}). "
        "Close it, or put the whole value in quotes of the other sort."
    )


def _refused(sentence: str) -> Refused:
    return Refused(text=f"{sentence} {NOTHING_STARTED}")
