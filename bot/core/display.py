"""The one way from untrusted text to text that is safe and honest to show (T30).

What cannot be seen becomes a visible escape, long runs of blanks become counts, and
letters that only look like others are warned about. Nothing here knows where the text
is going, and nothing here is ever used for what runs: execution keeps the original.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

#: More marks than this on one base letter are written out.
MOST_MARKS = 3
MOST_WARNINGS = 3

# Default_Ignorable_Code_Point of the Unicode standard, unassigned ones included.
_IGNORABLE = (
    (0x00AD, 0x00AD),
    (0x034F, 0x034F),
    (0x061C, 0x061C),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x206F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFF8),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
)
# Assigned, visible by their class, and drawn as nothing all the same.
_BLANK = ((0x2800, 0x2800), (0x13441, 0x13442), (0x16FE4, 0x16FE4), (0x1D159, 0x1D159))

_UNSEEN = re.compile(
    "[" + "".join(f"{chr(a)}-{chr(b)}" for a, b in (*_IGNORABLE, *_BLANK)) + "]"
)
_LONG_RUN = re.compile(r"\n{3,}| {9,}")
# Text that would pass for an escape or a count of ours, so that both stay readable.
_IMITATED = re.compile(r"⟨(?=U\+|newline|\d)")
_ESCAPE_AT_END = re.compile(r"⟨[^⟨⟩]{0,40}\Z")
_WORD = re.compile(r"\w+")
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_.\-/]+")
_JSON_ESCAPES = {'"': '\\"', "\\": "\\\\", "\t": "\\t", "\r": "\\r"}
_SKIN_TONES = ("\U0001f3fb", "\U0001f3ff")


def shown(text: str) -> str:
    """Untrusted text made honest; it may keep its line breaks."""
    return _LONG_RUN.sub(_count, _escaped(text, {}))


def flat(text: str) -> str:
    """Untrusted text made honest on one line, in full."""
    return shown(text).replace("\n", "⟨newline⟩")


def one_line(text: str, limit: int) -> str:
    """Untrusted text on one line of at most `limit` characters, what is cut counted.

    A limit under 40 leaves no room for the count and counts as 40.
    """
    return cut(flat(text), limit)


def cut(text: str, limit: int) -> str:
    """Text that was made honest, cut to `limit` characters with a count."""
    if length(text) <= limit:
        return text
    limit = max(limit, 40)
    kept = _prefix(text, limit - length(_more(length(text))))
    return kept + _more(length(text) - length(kept))


def length(text: str) -> int:
    """UTF-16 units of a text, never fewer than its code points (T29)."""
    return len(text) + sum(char > "\uffff" for char in text)


def literal_json(value: str) -> str:
    """A string as JSON text, with letters of every script kept as they are."""
    escaped = _escaped(value, _JSON_ESCAPES)
    return '"' + _LONG_RUN.sub(_count, escaped).replace("\n", "\\n") + '"'


def json_text(value: Any) -> str:
    """Any JSON value as text on one line; its strings as `literal_json` writes them."""
    if isinstance(value, str):
        return literal_json(value)
    if isinstance(value, Mapping):
        inner = (f"{literal_json(k)}: {json_text(v)}" for k, v in value.items())
        return "{" + ", ".join(inner) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(json_text(item) for item in value) + "]"
    return json.dumps(value)


def key(name: str) -> str:
    """An argument's name: bare when it is plain, else as a JSON string."""
    return name if _PLAIN_NAME.fullmatch(name) else literal_json(name)


def warnings(named: Mapping[str, str]) -> list[str]:
    """A line for each named text that has a word of mixed scripts, at most three."""
    found = [one_line(name, 60) for name, text in named.items() if _mixed(text)]
    if len(found) > MOST_WARNINGS:
        lines = [_look_alike(f'"{name}"') for name in found[: MOST_WARNINGS - 1]]
        return [*lines, _look_alike(f"{len(found) - len(lines)} more places")]
    return [_look_alike(f'"{name}"') for name in found]


# -- characters -----------------------------------------------------------------------


def _escaped(text: str, special: Mapping[str, str]) -> str:
    """Every character that cannot be seen for what it is, written out."""
    imitated = {found.start() for found in _IMITATED.finditer(text)}
    parts: list[str] = []
    marks = MOST_MARKS  # a mark with no letter before it would land on our own words
    for at, char in enumerate(text):
        if char in special:
            parts.append(special[char])
            marks = 0
        elif char == "\n":
            parts.append(char)
            marks = MOST_MARKS
        elif at in imitated or _hidden(char):
            parts.append(_escape(char))
            marks = MOST_MARKS
        elif unicodedata.category(char)[0] == "M":
            marks += 1
            parts.append(char if marks <= MOST_MARKS else _escape(char))
        else:
            parts.append(char)
            marks = 0
    return "".join(parts)


def _hidden(char: str) -> bool:
    # `isprintable` is false for control, format, surrogate, private-use and
    # unassigned characters, and for every separator but the space.
    return not char.isprintable() or _UNSEEN.match(char) is not None


def _escape(char: str) -> str:
    return f"⟨U+{ord(char):04X}⟩"


def _count(run: re.Match[str]) -> str:
    noun = "newlines" if run[0][0] == "\n" else "spaces"
    return f"⟨{len(run[0]):,} {noun}⟩"


# -- cutting --------------------------------------------------------------------------


def _more(count: int) -> str:
    return f"… ({count:,} more characters)"


def _prefix(text: str, units: int) -> str:
    """The longest beginning that fits and ends between whole characters of people."""
    kept = text[: max(units, 0)]
    while kept and length(kept) > units:
        kept = kept[: len(kept) - max(1, (length(kept) - units) // 2)]
    while kept and _continues(text[len(kept)]):
        kept = kept[:-1]
    return _ESCAPE_AT_END.sub("", kept)


def _continues(char: str) -> bool:
    tone = _SKIN_TONES[0] <= char <= _SKIN_TONES[1]
    return tone or unicodedata.category(char)[0] == "M"


# -- look-alikes ----------------------------------------------------------------------


def _mixed(text: str) -> bool:
    """Whether some word has Latin letters together with Cyrillic or Greek ones."""
    if text.isascii():
        return False
    # What is drawn on or between letters does not part a word in two.
    letters = "".join(char for char in text if not _between(char))
    return any(_two_scripts(w) for w in _WORD.findall(letters) if not w.isascii())


def _between(char: str) -> bool:
    category = unicodedata.category(char)
    return category[0] == "M" or category == "Cf" or _UNSEEN.match(char) is not None


def _two_scripts(word: str) -> bool:
    scripts = {_script(char) for char in set(word)}
    return "LATIN" in scripts and bool(scripts & {"CYRILLIC", "GREEK"})


def _script(char: str) -> str:
    name = unicodedata.name(char, "").removeprefix("FULLWIDTH ")
    return name.partition(" ")[0]


def _look_alike(where: str) -> str:
    return f"Contains a look-alike letter in {where}."


def texts_in(value: Any) -> Iterable[str]:
    """Every string in a JSON value, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield name
            yield from texts_in(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from texts_in(inner)
