"""Every action_id and block_id, and how a control carries its own token.

A control's value is `<ref>.<mac>`: ref names a row (128 random bits), mac binds it to
one decision, so that a card can be redrawn from the store and nothing can be guessed
(T21). The action id says which decision; the two must agree. On a Home tab, and in a
form, the token is bound to the person it is drawn for as well; the callback id of a
form names the same row (T14, T23).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bot.core.keys import Keyring, mac, mac_matches
from bot.core.policy import Decision

#: action_id -> the decision that its token is made for.
ACTIONS = {
    "cs_approve": "approve",
    "cs_deny": "deny",
    "cs_deny_why": "deny_why",
    "cs_done": "done",
    "cs_decline": "decline",
    "cs_cancel": "cancel",
    "cs_ran": "ran",
    "cs_not_run": "not_run",
    "cs_again": "again",
}
#: The decision of the button that lets somebody try it; the tool's name as well.
HELLO = "hello"
#: The decisions about a request; the others are about a run or one of its calls.
REQUEST_DECISIONS = frozenset({"approve", "deny", "done", "decline"})
OUTCOME_DECISIONS = frozenset({"ran", "not_run", "again"})
#: Controls that decide nothing and open a form, and what its submission decides.
FORMS: Mapping[str, Decision] = {"deny_why": "deny"}
#: The input of the form for a reason: its block and its element.
REASON_BLOCK, REASON_FIELD = "cs_reason", "cs_words"

_ACTION_OF = {decision: action for action, decision in ACTIONS.items()}
_HOME_OF = {d: f"cs_home_{d}" for d in (*ACTIONS.values(), HELLO)}
_AT_HOME = {action: decision for decision, action in _HOME_OF.items()}
_TOKEN = re.compile(r"([A-Za-z0-9_-]{22})\.([A-Za-z0-9_-]{22})")

#: Makes the value of a control: (ref, decision) -> token.
Sign = Callable[[str, str], str]


@dataclass(frozen=True, kw_only=True)
class Control:
    """What a clicked control says: which row, and which decision about it."""

    ref: str
    decision: str


@dataclass(frozen=True, kw_only=True)
class Form:
    """What a submitted form says of itself."""

    ref: str
    decision: Decision
    agrees: bool  # its token and its callback id name the same row
    theirs: bool  # it was drawn for whoever sent it


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


def home_signer(keys: Keyring, user: str) -> Sign:
    """The function that makes the controls of one person's own Home tab."""

    def sign(ref: str, decision: str) -> str:
        return f"{ref}.{mac(keys.newest, ref, decision, user, 'home')}"

    return sign


def home_action_id(decision: str) -> str:
    """The action_id of the control for a decision on a Home tab."""
    return _HOME_OF[decision]


def home_control(
    keys: Keyring, action: object, value: object, user: str
) -> Control | None:
    """Read a control of this very person's Home tab; `None` for everything else."""
    if not isinstance(action, str) or not isinstance(value, str):
        return None
    decision = _AT_HOME.get(action)
    found = _TOKEN.fullmatch(value)
    if decision is None or found is None:
        return None
    ref, given = found.groups()
    if not mac_matches(keys, given, ref, decision, user, "home"):
        return None
    return Control(ref=ref, decision=decision)


def form_id(ref: str, opening: str) -> str:
    """The callback_id of the form that a control opens."""
    return f"{action_id(opening)}.{ref}"


def form_token(keys: Keyring, ref: str, opening: str, user: str) -> str:
    """The private_metadata of a form for one person: which row, and no authority."""
    return f"{ref}.{mac(keys.newest, ref, opening, user)}"


def form(keys: Keyring, callback_id: str, token: str, user: str) -> Form | None:
    """Read what somebody submitted; `None` for what is no form of ours."""
    action, _, about = callback_id.partition(".")
    opening = ACTIONS.get(action, "")
    found = _TOKEN.fullmatch(token)
    if opening not in FORMS or found is None:
        return None
    ref, given = found.groups()
    return Form(
        ref=ref,
        decision=FORMS[opening],
        agrees=about == ref,
        theirs=mac_matches(keys, given, ref, opening, user),
    )
