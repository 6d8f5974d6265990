"""The headline of a call: the policy author's sentence, filled in (experience.md §2).

It is decoration: consent is bound to the arguments. A placeholder takes only values
that cannot pretend to be words of ours; any other reads `(name: see card)`.
"""

from __future__ import annotations

import json
import re

from bot.core.digest import parsed
from bot.core.display import one_line
from bot.core.policy import Rule

MOST = 40  # characters of one value
LIMIT = 150  # characters of a whole headline

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_PLAIN = re.compile(r"[A-Za-z0-9._/\-]{1,40}")


def headline(rule: Rule, tool: str, arguments: str) -> str:
    """What a call is called: the rule's headline filled in, or the tool's name.

    `arguments` is the call's canonical JSON text.
    """
    if not rule.headline:
        return one_line(tool, LIMIT) or '""'
    values = parsed(arguments)

    def fill(found: re.Match[str]) -> str:
        name = found[1]
        text = _plain(values.get(name)) if isinstance(values, dict) else None
        return text if text is not None else f"({name}: see card)"

    return one_line(_PLACEHOLDER.sub(fill, rule.headline), LIMIT)


def _plain(value: object) -> str | None:
    """A value as a headline may show it; None when it may not."""
    if isinstance(value, str):
        return value if _PLAIN.fullmatch(value) else None
    if isinstance(value, bool | int | float):
        text = json.dumps(value)
        return text if len(text) <= MOST else None
    return None
