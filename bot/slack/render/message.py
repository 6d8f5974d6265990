"""What every renderer returns: the words of the notification, and the blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.core.display import cut
from bot.slack.blocks import Block, Element, escaped, line, rich, spoken
from bot.slack.limits import SECTION_TEXT


@dataclass(frozen=True, kw_only=True)
class Message:
    """A message as it is sent; its `text` is escaped for Slack already."""

    text: str
    blocks: list[Block]


def message(
    *elements: Element | str, names: Mapping[str, str] | None = None
) -> Message:
    """A message of one paragraph, its `text` saying the same.

    `names` are for the ids that the elements refer to, where only words can stand.
    """
    return paragraphs(elements, names=names)


def paragraphs(
    first: Sequence[Element | str],
    *others: Block,
    names: Mapping[str, str] | None = None,
) -> Message:
    """A message that begins with a paragraph of ours; its `text` is that one."""
    words = cut(spoken(first, names or {}), SECTION_TEXT)
    return Message(text=escaped(words), blocks=[rich(line(*first)), *others])
