"""What a kind of request offers: how its card speaks, and its controls.

The frame around it (who is needed, warnings, digest, expiry) is the same for all and
stands in `render/request.py`; who may answer is `core/policy.py`'s to say.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bot.ports import CardView
from bot.slack.blocks import Part, Style


@dataclass(frozen=True, kw_only=True)
class Choice:
    """One control: the decision it stands for, and its label."""

    decision: str
    label: str
    style: Style = ""


@dataclass(frozen=True, kw_only=True)
class Face:
    """What a kind puts into the frame of a card."""

    title: str  # the first block, in our words
    asks: str  # who asks, in our words
    parts: tuple[Part, ...]  # what is asked, in labelled boxes
    text: str = ""  # the notification of an open card, finished


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One kind of request; both functions are pure."""

    name: str | None  # None: the kind for every name that has no file
    choices: tuple[Choice, ...]
    lapse: str  # what running out of time means: "then denied"
    card: Callable[[CardView], Face]  # while it is open
    past: Callable[[CardView], Face]  # once it is settled
