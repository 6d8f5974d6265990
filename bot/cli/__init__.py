"""The command `countersign`: finds a command's module by name when it is called.

So `--version` and `--help` load nothing of Slack, the database or the settings. What a
command does stands in the module of its name; `playground` has a folder of its own.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass

import click


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a command is, and the line that `--help` shows for it."""

    module: str
    summary: str


PLACES: Mapping[str, Place] = {
    "playground": Place(
        module="bot.playground.command",
        summary="Try it in a Slack of your own, on this machine.",
    ),
    "init": Place(
        module="bot.cli.init",
        summary="Write settings, policy, a key and an example tool.",
    ),
    "check": Place(
        module="bot.cli.check",
        summary="Look at everything that can be wrong; each fault with its fix.",
    ),
    "serve": Place(module="bot.cli.serve", summary="Run the bot."),
    "tools": Place(
        module="bot.cli.tools", summary="List the tools and the rule for each."
    ),
    "manifest": Place(
        module="bot.cli.manifest", summary="Print the manifest of the Slack app."
    ),
    "backup": Place(
        module="bot.cli.backup",
        summary="Copy the database into one file while the bot runs.",
    ),
}


class _Lazy(click.Group):
    """A group whose commands are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(PLACES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        place = PLACES.get(cmd_name)
        if place is None:
            return None
        command = importlib.import_module(place.module).command
        if not isinstance(command, click.Command):
            raise TypeError(f"{place.module}.command is not a command")
        return command

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        rows = [(name, place.summary) for name, place in PLACES.items()]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def _version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        version = importlib.import_module("bot").__version__
        click.echo(f"countersign {version}")
        ctx.exit()


@click.group(
    cls=_Lazy,
    name="countersign",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_version,
    help="Print the version.",
)
def main() -> None:
    """Software asks people in Slack before it acts, and then carries on."""
