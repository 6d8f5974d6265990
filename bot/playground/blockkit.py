"""The Block Kit validator: what Slack refuses is refused, with the place named.

Also what Slack adds to blocks when it stores them (ids, `emoji`, `verbatim`), and
ways to look through them. The limits themselves are in `block_rules.py`.
"""

import copy
import secrets
from collections.abc import Iterator
from typing import Any

from bot.playground.block_rules import BLOCK, VIEW
from bot.playground.checks import array, length, problem

Json = dict[str, Any]

BLOCKS_MAX = 50
# Slack publishes no number; one report saw refusals from about here on.
TEXT_SUM_MAX = 13_200

_MESSAGE = array(BLOCK, most=BLOCKS_MAX)


def message_problems(blocks: list[Any]) -> list[str]:
    """Everything Slack would refuse in the blocks of a message."""
    out: list[str] = []
    _MESSAGE(blocks, "/blocks", out)
    if not out:
        out += _repeated_ids(blocks, "/blocks")
    return out


def view_problems(view: Json) -> list[str]:
    """Everything Slack would refuse in a modal or a Home view."""
    out: list[str] = []
    VIEW(view, "/view", out)
    if out:
        return out
    blocks: list[Json] = view["blocks"]
    out += _repeated_ids(blocks, "/view/blocks")
    has_input = any(block["type"] == "input" for block in blocks)
    if view["type"] == "modal" and has_input and "submit" not in view:
        out.append(problem("missing required field: submit", "/view"))
    return out


def elements(blocks: list[Json]) -> Iterator[tuple[Json, Json]]:
    """Each block together with each interactive element it holds."""
    for block in blocks:
        kind = block.get("type")
        if kind == "actions":
            yield from ((block, element) for element in block["elements"])
        elif kind == "section" and "accessory" in block:
            yield block, block["accessory"]
        elif kind == "input":
            yield block, block["element"]


def texts(part: Any) -> Iterator[str]:
    """Every text that a person would read, in the order of the blocks."""
    if isinstance(part, list):
        for one in part:
            yield from texts(one)
    elif isinstance(part, dict):
        for name, content in part.items():
            if name == "text" and isinstance(content, str):
                yield content
            else:
                yield from texts(content)


def text_sum(blocks: list[Any]) -> int:
    """The length of all texts of a message's blocks together."""
    return sum(length(text) for text in texts(blocks))


def stored(blocks: list[Any]) -> list[Json]:
    """The blocks as Slack keeps them: missing ids and defaults filled in."""
    kept: list[Json] = copy.deepcopy(blocks)
    for block in kept:
        block.setdefault("block_id", secrets.token_urlsafe(4))
    for _, element in elements(kept):
        element.setdefault("action_id", secrets.token_urlsafe(4))
    _fill(kept)
    return kept


def _fill(part: Any) -> None:
    if isinstance(part, list):
        for one in part:
            _fill(one)
    elif isinstance(part, dict):
        if part.get("type") == "plain_text":
            part.setdefault("emoji", True)
        elif part.get("type") == "mrkdwn":
            part.setdefault("verbatim", False)
        for content in part.values():
            _fill(content)


def _repeated_ids(blocks: list[Json], at: str) -> list[str]:
    out: list[str] = []
    seen_blocks: set[str] = set()
    seen_actions: set[tuple[int, str]] = set()
    focused = 0
    for index, block in enumerate(blocks):
        block_id = block.get("block_id")
        if block_id in seen_blocks:
            out.append(problem(f"block_id already exists: {block_id}", f"{at}/{index}"))
        if block_id is not None:
            seen_blocks.add(block_id)
        for _, element in elements([block]):
            focused += element.get("focus_on_load") is True
            action_id = element.get("action_id")
            if (index, action_id) in seen_actions:
                words = f"action_id already exists: {action_id}"
                out.append(problem(words, f"{at}/{index}"))
            if action_id is not None:
                seen_actions.add((index, action_id))
    if focused > 1:
        out.append(problem("only one element may have focus_on_load", at))
    return out
