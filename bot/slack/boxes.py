"""The labelled boxes that hold words which are not ours: calls, prompts, results.

The label says whose words they are; the box holds them literally. On an open card
nothing is cut (T29); elsewhere what is cut is counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from unicodedata import bidirectional

from bot.core.digest import parsed
from bot.core.display import cut, flat, json_text, key, shown, texts_in
from bot.ports import CallRow, RequestRow
from bot.slack.blocks import Part, bold, box, line

#: Names longer than this are not lined up with the others.
_LINED_UP = 16


def labelled(label: str, words: str, limit: int | None = None) -> tuple[Part, ...]:
    """A box of honest text under its label."""
    words = words if words.strip() else json_text(words)
    return line(bold(label)), box(words if limit is None else cut(words, limit))


def call_text(call: CallRow) -> str:
    """A call in full: the tool, then one line for each argument, by name."""
    return "\n".join([flat(call.tool), *_assignments(parsed(call.arguments))])


def arguments_text(call: CallRow) -> str:
    """The arguments of a call on one line."""
    return ", ".join(_assignments(parsed(call.arguments), width=0))


def prompt_text(request: RequestRow) -> str:
    """What a tool says, with its line breaks."""
    return shown(request.prompt)


def details_text(request: RequestRow) -> str:
    """What a request carries beside its prompt: kind, url and data."""
    details: dict[str, Any] = {"kind": request.kind}
    if request.url is not None:
        details["url"] = request.url
    lines = _assignments(details)
    return "\n".join([*lines, *_data(request.data)])


def suspects(call: CallRow, request: RequestRow) -> dict[str, str]:
    """Every text whose letters could mislead, by the name it has on the card."""
    arguments = parsed(call.arguments)
    named = {call.tool: call.tool}
    for name, value in arguments.items():
        named[name] = " ".join([name, *texts_in(value)])
    if not request.gate:
        named |= {"kind": request.kind, "prompt": request.prompt}
        named |= {"url": request.url or "", "data": " ".join(texts_in(request.data))}
    return named


def _assignments(values: Mapping[str, Any], width: int = _LINED_UP) -> list[str]:
    named = [
        line for name, value in sorted(values.items()) for line in _leaves(name, value)
    ]
    fitting = [len(name) for name, _ in named if len(name) <= width]
    column = max(fitting, default=0)
    return [f"{name.ljust(column)} = {value}" for name, value in named]


def _leaves(name: str, value: Any) -> list[tuple[str, str]]:
    """One argument as one line; as one for each value in it when some run backwards.

    Letters written from right to left would reorder what stands beside them on a line,
    and show values in an order that they do not have (T30).
    """
    if not isinstance(value, dict | list) or not _runs_backwards(value):
        return [(key(name), json_text(value))]
    lines: list[tuple[str, str]] = []
    waiting: list[tuple[str, Any]] = [(key(name), value)]
    while waiting:
        path, item = waiting.pop(0)
        if isinstance(item, dict) and item:
            inner = [(f"{path}.{key(k)}", v) for k, v in sorted(item.items())]
            waiting = inner + waiting
        elif isinstance(item, list) and item:
            waiting = [(f"{path}[{n}]", v) for n, v in enumerate(item)] + waiting
        else:
            lines.append((path, json_text(item)))
    return lines


def _runs_backwards(value: Any) -> bool:
    return any(
        bidirectional(letter) in ("R", "AL", "AN")
        for words in texts_in(value)
        for letter in words
    )


def _data(data: Mapping[str, Any] | None) -> list[str]:
    if data is None:
        return []
    if not data:
        return ["data = {}"]
    return [f"data.{key(k)} = {json_text(v)}" for k, v in data.items()]
