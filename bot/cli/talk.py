"""How the wizard talks: steps with their number, answers below them, and Slack asked.

A question to Slack that got no answer is asked again when whoever sits there says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeVar

import click

from bot.errors import DeliveryError, Problem
from bot.slack.standing import silence

T = TypeVar("T")

STEPS = 5
_INDENT = " " * 8


def step(number: int, words: str) -> None:
    """Begin a step: "2 of 5  Install App, …"."""
    click.echo(f"{number} of {STEPS}  {words}")


def say(words: str) -> None:
    """Something below a step, moved in."""
    for line in words.splitlines():
        click.echo(f"{_INDENT}{line}")


def tell(problems: Iterable[Problem]) -> None:
    """What is wrong, each with its fix."""
    for problem in problems:
        say(str(problem))


def asked(words: str, *, hidden: bool = False) -> str:
    """What is typed; it is asked for until there is something."""
    text: str = click.prompt(f"{_INDENT}{words}", hide_input=hidden)
    return text.strip()


def enter(words: str) -> str:
    """What is typed, or nothing but Enter."""
    text: str = click.prompt(f"{_INDENT}{words}", default="", show_default=False)
    return text.strip()


def of_slack(question: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Slack's answer; a refusal is a `DeliveryError`, silence is waited out."""
    while True:
        try:
            return asyncio.run(question())
        except DeliveryError as error:
            if not error.temporary:
                raise
            tell([silence(error.code)])
            enter("Press Enter to ask again")
