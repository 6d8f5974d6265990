"""What people type after a command of the workspace's own, and whether it can work.

Pure. The words are taken one by one, in the order of the command's `arguments`, by the
same rules as values of `/tool`: quotes stand around one word, and the tool's schema
says what a word means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from bot.bound import BoundCommand
from bot.contract.types import Tool
from bot.core.policy import Rule
from bot.errors import Problem
from bot.tools.arguments import Arguments, read_values
from bot.tools.wanted import resolved
from bot.tools.words import NOTHING_STARTED, Refused, as_typed, split_words


def command_problems(
    commands: Iterable[BoundCommand],
    tool: Callable[[str], Tool | None],
    rule: Callable[[str], Rule | None],
) -> Iterator[Problem]:
    """What stops a start: a command whose tool is missing, or takes something else."""
    for command in commands:
        if command.tool is None:
            continue
        found, said = tool(command.tool), f"the command {command.name}"
        allowed = rule(command.tool)
        if found is None:
            what = f"{said} names the tool {command.tool}, which there is not."
            yield Problem(what=what, fix="mend its name, or add its module to tools.")
        elif allowed is None or allowed.gate == "deny":
            what = f"{said} names {command.tool}, which the policy does not let run."
            yield Problem(what=what, fix=f'write a rule for "{command.tool}".')
        else:
            yield from _unfit(command, found, said)


def tool_arguments(command: BoundCommand, tool: Tool, text: str) -> Arguments | Refused:
    """The arguments for the tool of a command, from the words behind it."""
    words = _counted(command, text, len(_needed(command, tool)))
    if isinstance(words, Refused):
        return words
    pairs = list(zip(command.arguments, words, strict=False))
    return read_values(pairs, tool.name, tool.input_schema)


def prompt_words(command: BoundCommand, text: str) -> str | Refused:
    """What the model is asked, with the words behind a command filled in."""
    words = _counted(command, text, len(command.arguments))
    if isinstance(words, Refused):
        return words
    return command.filled(dict(zip(command.arguments, words, strict=True)))


def usage(command: BoundCommand) -> str:
    """How a command is written."""
    return " ".join([command.name, *(name.upper() for name in command.arguments)])


def _counted(command: BoundCommand, text: str, least: int) -> list[str] | Refused:
    words = split_words(text)
    if isinstance(words, Refused):
        return words
    most = len(command.arguments)
    if least <= len(words) <= most:
        return words
    wanted = f"{least} to {most}" if least < most else str(most)
    noun = "word" if wanted == "1" else "words"
    hint = "" if len(words) <= most else f" For example: {_quoted(command, words)}"
    return Refused(
        text=f"Write {usage(command)}: it takes {wanted} {noun}, and there were"
        f" {len(words)}. What has blanks in it stands in quotes.{hint}"
        f" {NOTHING_STARTED}"
    )


def _quoted(command: BoundCommand, words: list[str]) -> str:
    """The same with all that is too much in the last word, where it often belongs."""
    last = len(command.arguments) - 1
    if last < 0:
        return command.name
    merged = [*words[:last], " ".join(words[last:])]
    return " ".join([command.name, *map(as_typed, merged)])


def _needed(command: BoundCommand, tool: Tool) -> tuple[str, ...]:
    """The arguments up to the last one that the tool cannot do without."""
    required = _required(tool)
    places = [n for n, name in enumerate(command.arguments, 1) if name in required]
    return command.arguments[: max(places, default=0)]


def _required(tool: Tool) -> list[str]:
    found = resolved(tool.input_schema, tool.input_schema).get("required")
    return found if isinstance(found, list) else []


def _unfit(command: BoundCommand, tool: Tool, said: str) -> Iterator[Problem]:
    """Arguments that the tool does not take, and those that it needs."""
    properties = resolved(tool.input_schema, tool.input_schema).get("properties", {})
    for name in command.arguments:
        if name not in properties:
            what = f"{said} takes {name}, which {tool.name} does not."
            known = ", ".join(properties) or "nothing"
            yield Problem(
                what=what, fix=f"mend its arguments; {tool.name} takes {known}."
            )
    for name in _required(tool):
        if name not in command.arguments:
            what = f"{said} cannot work: {tool.name} needs {name}."
            yield Problem(what=what, fix=f'add "{name}" to its arguments.')
