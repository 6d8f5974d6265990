"""The command `backup`: the database in one file, copied while the bot runs.

It needs the settings to find the database, and no secrets. What is there is never
replaced.
"""

from __future__ import annotations

import os
from pathlib import Path

import click

from bot.cli.endings import CONFIG_OPTION, problems_end
from bot.config import read_settings, settings_path
from bot.store.copying import copy


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@CONFIG_OPTION
def command(file: Path, config: Path | None) -> None:
    """Copy the database into FILE, which must not exist yet."""
    with problems_end():
        settings = read_settings(settings_path(config, os.environ), os.environ)
        size = copy(settings.database_path.absolute(), file.absolute())
    click.echo(f"Written  {file}, {size:,} bytes. Only you can read it.")
    click.echo(
        "Keep COUNTERSIGN_KEY with it, in another place: see docs/operations.md."
    )
