"""Small checks of JSON values that the Block Kit rules are composed of.

A check takes a value, its JSON pointer and a list, and appends one line to the list
for each thing that is wrong. Lengths are counted in UTF-16 code units, the larger
of the two units Slack might use. What Slack allows where is in `block_rules.py`.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

Check = Callable[[Any, str, list[str]], None]


def length(text: str) -> int:
    """The number of UTF-16 code units of a text."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def problem(words: str, pointer: str) -> str:
    """One line as Slack writes it into `response_metadata.messages`."""
    return f"[ERROR] {words} [json-pointer:{pointer}]"


def string(*, most: int, least: int = 1, pattern: str | None = None) -> Check:
    """A text of a bounded length, of a given shape if there is a pattern."""

    def check(value: Any, at: str, out: list[str]) -> None:
        if not isinstance(value, str):
            out.append(problem("must provide a string", at))
        elif length(value) < least:
            out.append(problem(f"must be more than {least - 1} characters", at))
        elif length(value) > most:
            out.append(problem(f"must be less than {most + 1} characters", at))
        elif pattern and not re.fullmatch(pattern, value, re.ASCII):
            out.append(problem(f"must match the pattern {pattern}", at))

    return check


def boolean(value: Any, at: str, out: list[str]) -> None:
    """True or false, and not a string that looks like one."""
    if not isinstance(value, bool):
        out.append(problem("must provide a boolean", at))


def integer(*, least: int, most: int) -> Check:
    """A whole number within bounds."""

    def check(value: Any, at: str, out: list[str]) -> None:
        if isinstance(value, bool) or not isinstance(value, int):
            out.append(problem("must provide an integer", at))
        elif value < least:
            out.append(problem(f"must be at least {least}", at))
        elif value > most:
            out.append(problem(f"must be at most {most}", at))

    return check


def choice(*allowed: str) -> Check:
    """One of a few words."""

    def check(value: Any, at: str, out: list[str]) -> None:
        if value not in allowed:
            out.append(problem(f"must be one of: {', '.join(allowed)}", at))

    return check


def array(item: Check, *, most: int | None = None) -> Check:
    """A list of at least one and at most so many items."""

    def check(value: Any, at: str, out: list[str]) -> None:
        if not isinstance(value, list):
            out.append(problem("must provide an array", at))
            return
        if not value:
            out.append(problem("no fewer than 1 items allowed", at))
        if most is not None and len(value) > most:
            out.append(problem(f"no more than {most} items allowed", at))
            return
        for index, one in enumerate(value):
            item(one, f"{at}/{index}", out)

    return check


def record(
    required: Mapping[str, Check],
    optional: Mapping[str, Check] | None = None,
    *also: Check,
) -> Check:
    """An object with these fields and no others; `type` is always allowed."""
    fields = {**required, **(optional or {})}

    def check(value: Any, at: str, out: list[str]) -> None:
        if not isinstance(value, dict):
            out.append(problem("must provide an object", at))
            return
        before = len(out)
        for name in required:
            if name not in value:
                out.append(problem(f"missing required field: {name}", at))
        for name, content in value.items():
            if name in fields:
                fields[name](content, f"{at}/{name}", out)
            elif name != "type":
                out.append(problem(f"invalid additional property: {name}", at))
        if len(out) == before:
            for further in also:
                further(value, at, out)

    return check


def by_type(kinds: Mapping[str, Check]) -> Check:
    """An object whose `type` is one of those allowed at this place."""

    def check(value: Any, at: str, out: list[str]) -> None:
        if not isinstance(value, dict):
            out.append(problem("must provide an object", at))
            return
        kind = value.get("type")
        if kind is None:
            out.append(problem("missing required field: type", at))
        elif not isinstance(kind, str) or kind not in kinds:
            words = f"unsupported type: {kind} (not in the playground's list here)"
            out.append(problem(words, f"{at}/type"))
        else:
            kinds[kind](value, at, out)

    return check
