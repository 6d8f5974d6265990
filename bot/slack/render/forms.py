"""Forms: the modals that a control opens. Pure; what they carry is no authority.

A form says whose words it asks for and who will read them; what is submitted is
checked again from the rows (T14).
"""

from __future__ import annotations

from typing import Any

from bot.core.answers import MOST_REASON
from bot.ports import CardView
from bot.slack.ids import REASON_BLOCK, REASON_FIELD
from bot.slack.words import SHORT_NAME, label, requester

Form = dict[str, Any]


def deny_why(view: CardView, callback_id: str, token: str) -> Form:
    """*Deny, say why*: one field, which may stay empty."""
    return {
        "type": "modal",
        "callback_id": callback_id,
        "private_metadata": token,
        "title": _plain(f"Deny {label(view.run, view.request)}"),
        "submit": _plain("Deny"),
        "close": _plain("Back"),
        "blocks": [
            {
                "type": "input",
                "block_id": REASON_BLOCK,
                "optional": True,
                "label": _plain(f"Why? {_readers(view)} will read this."),
                "element": {
                    "type": "plain_text_input",
                    "action_id": REASON_FIELD,
                    "multiline": True,
                    "max_length": MOST_REASON,
                },
            }
        ],
    }


def _readers(view: CardView) -> str:
    who = requester(view.run, SHORT_NAME)
    return f"{who} and the model" if view.run.state.model else who


def _plain(words: str) -> Form:
    return {"type": "plain_text", "text": words, "emoji": False}
