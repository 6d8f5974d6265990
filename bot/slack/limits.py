"""Slack's documented limits, and our own budgets below them (slack-facts.md §2).

Lengths are UTF-16 units, the larger of the two units that Slack might count in.
"""

from __future__ import annotations

from typing import Any

from bot.core.display import length

BLOCKS = 50  # per message
ACTIONS = 25  # elements of one actions block
CONTEXT = 10  # elements of one context block
SECTION_TEXT = 3_000
BUTTON_TEXT = 75
BUTTON_VALUE = 2_000
ID = 255  # block_id, action_id
ALL_TEXT = 13_200  # of all blocks of one message together; not published by Slack

#: An open card with more text than this is not asked (T29).
CARD_BUDGET = 10_000
#: The words that a phone shows (experience.md §2).
NOTIFICATION = 120
#: Of a tool's result on a card.
RESULT = 2_000
#: Of what ran, on a settled card.
FOLDED = 1_000
#: Of a button, in our own words (experience.md §7.1).
LABEL = 24

# A reference is drawn as a name, which Slack knows and we do not.
_REFERENCE = 30
_REFERENCES = frozenset({"user", "usergroup", "channel"})


def size(part: Any) -> int:
    """The characters of all texts in blocks, references and times included."""
    if isinstance(part, list):
        return sum(size(one) for one in part)
    if not isinstance(part, dict):
        return 0
    total = _REFERENCE if part.get("type") in _REFERENCES else 0
    for name, content in part.items():
        if name in ("text", "fallback") and isinstance(content, str):
            total += length(content)
        else:
            total += size(content)
    return total
