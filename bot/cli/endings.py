"""How commands end: the exit codes, and faults in words in place of a traceback."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import click

from bot.errors import BotError, ConfigError, Locked

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
    click.echo(str(error), err=True)
    if isinstance(error, ConfigError):
        sys.exit(CONFIG)
    sys.exit(HELD if isinstance(error, Locked) else FAULT)
