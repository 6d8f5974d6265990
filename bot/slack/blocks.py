"""Small builders of the only blocks we use: rich text, context, actions.

Nothing here can make `mrkdwn`, a header or an image, so untrusted text has nowhere to
be interpreted (T31). What text may stand where is decided by the callers; all text
that is not ours has been through `core/display.py` before it comes here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from bot.slack.ids import action_id
from bot.slack.limits import LABEL

Element = dict[str, Any]  # within a line of rich text
Part = dict[str, Any]  # of a rich_text block
Block = dict[str, Any]
Style = Literal["primary", "danger", ""]


# -- elements -------------------------------------------------------------------------


def text(words: str) -> Element:
    """Literal text."""
    return {"type": "text", "text": words}


def bold(words: str) -> Element:
    """Literal text in bold: for our own headlines and labels."""
    return {"type": "text", "text": words, "style": {"bold": True}}


def code(words: str) -> Element:
    """Literal text set apart from ours, within a line."""
    return {"type": "text", "text": words, "style": {"code": True}}


def user(user_id: str) -> Element:
    """A reference to a person: it notifies them, except in an edit."""
    return {"type": "user", "user_id": user_id}


def group(usergroup_id: str) -> Element:
    """A reference to a user group: it notifies its members, except in an edit."""
    return {"type": "usergroup", "usergroup_id": usergroup_id}


def channel(channel_id: str) -> Element:
    """A channel by id, which Slack draws as its name; it notifies nobody."""
    return {"type": "channel", "channel_id": channel_id}


def linked(words: str, address: str) -> Element:
    """A link of ours to a message in the same workspace; never to anybody's else."""
    return {"type": "link", "url": address, "text": words}


# -- parts and blocks -----------------------------------------------------------------


def line(*elements: Element | str) -> Part:
    """Our own words, with elements among them; empty words are left out."""
    made = [text(one) if isinstance(one, str) else one for one in elements if one]
    return {"type": "rich_text_section", "elements": made}


def box(words: str) -> Part:
    """Words that are not ours, in a box of their own."""
    return {"type": "rich_text_preformatted", "elements": [text(words)]}


def quote(words: str) -> Part:
    """Words of a person, set apart as a quotation."""
    return {"type": "rich_text_quote", "elements": [text(words)]}


def rich(*parts: Part) -> Block:
    """A rich_text block."""
    return {"type": "rich_text", "elements": list(parts)}


def small(words: str) -> Block:
    """A line in small print, of our own words only."""
    return {
        "type": "context",
        "elements": [{"type": "plain_text", "text": words, "emoji": False}],
    }


def button(label: str, decision: str, value: str, style: Style = "") -> Element:
    """A control; its label is always ours."""
    return control(label, action_id(decision), value, style)


def control(label: str, action: str, value: str, style: Style = "") -> Element:
    """A control under an action id of its own."""
    if len(label) > LABEL:
        raise ValueError(f"the label {label!r} is over {LABEL} characters")
    made: Element = {
        "type": "button",
        "action_id": action,
        "text": {"type": "plain_text", "text": label, "emoji": False},
        "value": value,
    }
    return {**made, "style": style} if style else made


def actions(*controls: Element) -> Block:
    """A row of controls."""
    return {"type": "actions", "elements": list(controls)}


# -- the words without the blocks -----------------------------------------------------


def spoken(elements: Iterable[Element | str], names: Mapping[str, str]) -> str:
    """A line of elements as words alone; `names` of the ids that are referred to."""
    return "".join(_word(one, names) for one in elements)


def escaped(words: str) -> str:
    """Words for a message's `text`, where Slack reads `<…>` as its own (§3.1)."""
    return words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _word(element: Element | str, names: Mapping[str, str]) -> str:
    if isinstance(element, str):
        return element
    match element["type"]:
        case "user":
            return _named(element["user_id"], names)
        case "usergroup":
            return _named(element["usergroup_id"], names)
        case "channel":
            return _named(element["channel_id"], names)
        case "date":
            return str(element["fallback"])
        case _:
            return str(element["text"])


def _named(written: str, names: Mapping[str, str]) -> str:
    return names.get(written, written)
