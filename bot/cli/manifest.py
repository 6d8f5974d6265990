"""The command `manifest`: what to paste where Slack asks for an app's manifest.

It needs no secrets; without a settings file it uses the defaults.
"""

from __future__ import annotations

import os
from pathlib import Path

import click

from bot.cli.endings import CONFIG_OPTION, problems_end
from bot.config import Settings, default_settings, read_settings, settings_path
from bot.slack.manifest import NO_ADDRESS, as_json, as_yaml, manifest


@click.command()
@CONFIG_OPTION
@click.option("--json", "in_json", is_flag=True, help="Print JSON in place of YAML.")
def command(config: Path | None, in_json: bool) -> None:
    """Print the manifest of the Slack app for these settings."""
    with problems_end():
        settings = _settings(config)
    made = manifest(settings)
    note = "" if settings.public_url else NO_ADDRESS
    if note:
        click.echo(note, err=True)
    click.echo(as_json(made) if in_json else as_yaml(made, note), nl=False)


def _settings(config: Path | None) -> Settings:
    path = settings_path(config, os.environ)
    named = config is not None or os.environ.get("COUNTERSIGN_CONFIG")
    if not named and not path.exists():
        return default_settings(path.parent, os.environ)
    return read_settings(path, os.environ)
