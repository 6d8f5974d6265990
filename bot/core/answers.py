"""What a person typed into a form, made into data that is safe to hand on (T40).

Kept apart from `display.py`: what is shown is escaped, what is kept is the words
themselves without what nobody can see. Who may answer is `policy.py`'s to say.
"""

from __future__ import annotations

import unicodedata

#: Characters of a reason, at most.
MOST_REASON = 3_000

# They join letters and pictures of people into one; without them words change.
_JOINERS = frozenset("\u200c\u200d")
_UNSEEN = frozenset({"Cc", "Cf", "Cs"})


def reason(typed: str) -> str:
    """A reason as it is kept: lines of visible characters, with no blanks around."""
    lines = (_visible(line) for line in typed.replace("\t", " ").splitlines())
    return "\n".join(lines).strip()


def _visible(line: str) -> str:
    return "".join(
        char
        for char in line
        if char in _JOINERS or unicodedata.category(char) not in _UNSEEN
    )
