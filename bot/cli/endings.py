"""How commands end: the exit codes, and faults in words in place of a traceback."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import click

from bot.errors import BotError, ConfigError, Locked, Problem, counted

FAULT = 1
CONFIG = 2  # settings, policy, secrets or tools cannot be used
HELD = 75  # another process holds the database: trying later may work

CONFIG_OPTION = click.option(
    "--config",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The settings file. [default: $COUNTERSIGN_CONFIG, else countersign.toml]",
)


@contextmanager
def problems_end() -> Iterator[None]:
    """End the command in words when one of our own errors comes up."""
    try:
        yield
    except BotError as error:
        end(error)


def end(error: BotError) -> NoReturn:
    """Say what went wrong and exit with its code."""
    if isinstance(error, Locked):
        fix = "stop that one first, or give this one a database of its own."
        click.echo(counted([str(Problem(what=str(error), fix=fix))]), err=True)
        sys.exit(HELD)
    click.echo(str(error), err=True)
    sys.exit(CONFIG if isinstance(error, ConfigError) else FAULT)
