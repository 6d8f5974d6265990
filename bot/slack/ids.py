"""Every action_id and block_id, and how a control carries its own token.

A control's value is `<ref>.<mac>`: ref names a row (128 random bits), mac binds it to
one decision, so that a card can be redrawn from the store and nothing can be guessed
(T21). The action id says which decision; the two must agree.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from bot.core.keys import Keyring, mac, mac_matches

#: action_id -> the decision that its token is made for.
ACTIONS = {
    "cs_approve": "approve",
    "cs_deny": "deny",
    "cs_done": "done",
    "cs_decline": "decline",
    "cs_cancel": "cancel",
    "cs_ran": "ran",
    "cs_not_run": "not_run",
    "cs_again": "again",
}
#: The decisions about a request; the others are about a run or one of its calls.
REQUEST_DECISIONS = frozenset({"approve", "deny", "done", "decline"})
OUTCOME_DECISIONS = frozenset({"ran", "not_run", "again"})

_ACTION_OF = {decision: action for action, decision in ACTIONS.items()}
_TOKEN = re.compile(r"([A-Za-z0-9_-]{22})\.([A-Za-z0-9_-]{22})")

#: Makes the value of a control: (ref, decision) -> token.
Sign = Callable[[str, str], str]


@dataclass(frozen=True, kw_only=True)
class Control:
    """What a clicked control says: which row, and which decision about it."""

    ref: str
    decision: str


def signer(keys: Keyring) -> Sign:
    """The function that makes control values under the newest key."""

    def sign(ref: str, decision: str) -> str:
        return f"{ref}.{mac(keys.newest, ref, decision)}"

    return sign


def action_id(decision: str) -> str:
    """The action_id of the control for a decision."""
    return _ACTION_OF[decision]


def control(keys: Keyring, action: object, value: object) -> Control | None:
    """Read a control that we made; `None` for everything else."""
    if not isinstance(action, str) or not isinstance(value, str):
        return None
    decision = ACTIONS.get(action)
    found = _TOKEN.fullmatch(value)
    if decision is None or found is None:
        return None
    ref, given = found.groups()
    if not mac_matches(keys, given, ref, decision):
        return None
    return Control(ref=ref, decision=decision)
