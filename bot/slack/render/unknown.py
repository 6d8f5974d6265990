"""A call that nobody can say ran or not: what is said of it, and its choices."""

from __future__ import annotations

from bot.core.run import Slot
from bot.ports import CallRow, CardView
from bot.slack.blocks import Block, actions, button
from bot.slack.fate import state_of
from bot.slack.ids import Sign
from bot.slack.words import Words, clock


def explained(call: CallRow) -> Words:
    """What is known of a call that never reported back."""
    said: Words = []
    if call.claimed_at is not None:
        moment = {**clock(call.claimed_at), "format": "{time_secs}"}
        said = ["Started ", moment, "; the bot stopped before the tool reported back."]
    return [*said, "\nIt will not be started again by itself."]


def choices(view: CardView, call: CallRow, sign: Sign) -> Block:
    """The controls with which a person closes an unknown outcome."""
    controls = [
        button("It ran", "ran", sign(call.ref, "ran")),
        button("It did not run", "not_run", sign(call.ref, "not_run")),
    ]
    if not view.run.state.cancelled:
        anew = call.rule.gate == "ask"
        words = "Run again, asks anew" if anew else "Run again"
        controls.append(button(words, "again", sign(call.ref, "again")))
    return actions(*controls)


def is_unknown(view: CardView, call: CallRow) -> bool:
    """Whether a call's outcome is open, for a person to say."""
    state = state_of(view, call)
    return state is not None and state.slot is Slot.UNKNOWN
