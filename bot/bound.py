"""`[[command]]`: further slash commands, each bound to a tool or to a prompt.

What can be said about one without its tool is checked here; `tools/bound.py` checks the
rest at start, and reads what people type after such a command.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Self

from pydantic import AfterValidator, StrictStr, model_validator

from bot.errors import Problem
from bot.reading import Fault, Model

#: Our own, without the prefix of the settings.
OWN = ("run", "tool", "runs", "approvals")
#: Slack allows 32 characters, slash included.
LONGEST = 32
#: An app has so many commands at most, ours among them (slack-facts §7.1).
MOST = 50
PROMPT_MAX = 2_000
DESCRIPTION_MAX = 200


def _name(text: str) -> str:
    if not re.fullmatch(r"/[a-z0-9_-]+", text):
        raise Fault(
            "is not a command",
            'write a slash, then lower-case letters, digits, - and _: "/deploy".',
        )
    if len(text) > LONGEST:
        what = f"is {len(text)} characters long"
        raise Fault(what, f"use {LONGEST} at most: Slack allows no more.")
    return text


def _argument(text: str) -> str:
    if text.isidentifier() and text.isascii() and len(text) <= 60:
        return text
    raise Fault(
        "is not the name of an argument", 'write it as the tool does: "service".'
    )


def _prompt(text: str) -> str:
    if not text.strip():
        raise Fault("is empty", "say what the model is to do.")
    if len(text) > PROMPT_MAX:
        raise Fault(f"is {len(text):,} characters long", f"use {PROMPT_MAX:,} at most.")
    for _, name, form, conversion in _parts(text):
        if name is not None and (form or conversion or not name.isidentifier()):
            raise _no_argument()
    return text


def _parts(text: str) -> list[tuple[str, str | None, str | None, str | None]]:
    try:
        return list(string.Formatter().parse(text))
    except ValueError:
        raise _no_argument() from None


def _no_argument() -> Fault:
    return Fault(
        "has braces that name no argument",
        "write {service} for an argument, {{ and }} for braces.",
    )


def _description(text: str) -> str:
    if len(text) > DESCRIPTION_MAX:
        raise Fault(
            f"is {len(text)} characters long", f"use {DESCRIPTION_MAX} at most."
        )
    if not text.isprintable():
        raise Fault("has a control character in it", "write it on one line.")
    return text


class BoundCommand(Model):
    """One `[[command]]`: its words go to a tool, or into a prompt, one by one."""

    name: Annotated[StrictStr, AfterValidator(_name)]
    tool: StrictStr | None = None
    prompt: Annotated[StrictStr, AfterValidator(_prompt)] | None = None
    arguments: tuple[Annotated[StrictStr, AfterValidator(_argument)], ...] = ()
    description: Annotated[StrictStr, AfterValidator(_description)] = ""

    @model_validator(mode="after")
    def _whole(self) -> Self:
        twice = _repeated(self.arguments)
        if twice:
            raise Fault(f"names {twice} twice", "name each argument once.")
        if (self.tool is None) == (self.prompt is None):
            which = "neither" if self.tool is None else "both"
            fix = "give one of them: tool calls it, prompt starts a run of the model."
            raise Fault(f"has {which} of tool and prompt", fix)
        if self.prompt is not None:
            self._check_prompt(placeholders(self.prompt))
        return self

    def _check_prompt(self, used: tuple[str, ...]) -> None:
        for name in used:
            if name not in self.arguments:
                what = f"shows {{{name}}} in its prompt, which is no argument"
                raise Fault(what, f'add "{name}" to its arguments.')
        for name in self.arguments:
            if name not in used:
                what = f"takes {name}, which its prompt does not show"
                raise Fault(what, f"write {{{name}}} where it belongs.")

    def filled(self, values: Mapping[str, str]) -> str:
        """The prompt with the words that somebody typed, each as it was typed."""
        # Not str.format: a value is never looked into.
        return "".join(
            literal + (values[name] if name is not None else "")
            for literal, name, _, _ in _parts(self.prompt or "")
        )


def placeholders(prompt: str) -> tuple[str, ...]:
    """The arguments that a prompt shows, each once, in order."""
    names = (name for _, name, _, _ in _parts(prompt) if name is not None)
    return tuple(dict.fromkeys(names))


def clashes(commands: Sequence[BoundCommand], prefix: str) -> Iterator[Problem]:
    """Names that are taken, by one of ours or by another of these; and too many."""
    taken = {f"/{prefix}{name}" for name in OWN}
    seen: set[str] = set()
    for command in commands:
        said = f"the command {command.name}"
        if command.name in taken:
            yield Problem(what=f"{said} is one of ours.", fix="give it another name.")
        elif command.name in seen:
            yield Problem(what=f"{said} is there twice.", fix="make them one.")
        seen.add(command.name)
    most = MOST - len(OWN)
    if len(commands) > most:
        what = f"there are {len(commands)} commands; Slack allows {most} beside ours."
        yield Problem(what=what, fix="take some out.")


def _repeated(names: Iterable[str]) -> str:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return ""
