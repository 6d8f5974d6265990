"""The command `init`: settings, policy, a key and an example tool, ready to change.

With `--slack` it walks through a real workspace, which is in `wizard.py`. A file that
exists is never replaced.
"""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

import click

from bot.cli.endings import FAULT, problems_end
from bot.cli.writing import FILES, KEY_HERE, write_all
from bot.core.keys import generate
from bot.store.files import advice


@click.command()
@click.option(
    "--dir",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(),
    help="Write them into this folder. [default: the current one]",
)
@click.option(
    "--slack",
    is_flag=True,
    help="Walk through a real workspace: app, tokens, channel, first approval.",
)
def command(folder: Path, slack: bool) -> None:
    """Write settings, a policy, a key and an example tool."""
    try:
        if slack:
            # Slack's libraries take a while to load.
            walk = importlib.import_module("bot.cli.wizard").walk
            with problems_end():
                walk(folder, os.environ)
        else:
            _write(folder)
    except OSError as error:
        click.echo(f"{error.filename}: {error.strerror}", err=True)
        sys.exit(FAULT)
    if folder.stat().st_mode & 0o022:
        click.echo(f"{_OPEN} {advice(folder, folder.stat())}.")


def _write(folder: Path) -> None:
    written, kept = write_all(folder, FILES, {KEY_HERE: generate()})
    for name in written:
        click.echo(f"Written  {folder / name}{_aside(name)}")
    for name in kept:
        click.echo(f"Kept     {folder / name}, which was there")
    if written:
        click.echo(_NEXT)


def _aside(name: str) -> str:
    return " (only you can read it; keep it out of version control)" * (name == ".env")


_OPEN = """Note: others may write to this folder, so serve will keep no database in it.
  fix:"""
_NEXT = """
Next
  1. countersign tools          shows what may run, and who must agree
  2. countersign init --slack   connects it to Slack, step by step
  3. countersign serve          runs it
Without a Slack account: countersign playground"""
