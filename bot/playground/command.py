"""The command `playground`: starts the Slack side, its child, and the browser.

Only the order of events and the words printed live here.
"""

import asyncio
import contextlib
import errno
import os
import signal
import tempfile
import webbrowser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import click

from bot.playground.child import Attached, Bot, BotTrouble, Child
from bot.playground.launch import Launch, LaunchError, manifest_of, prepared
from bot.playground.seed import DEFAULT, Seed, SeedError, read_seed
from bot.playground.server import (
    HOST,
    HTTP,
    SOCKET,
    Playground,
    new_app_token,
    new_bot_token,
)


@dataclass(frozen=True, kw_only=True)
class Options:
    """What was asked for on the command line."""

    port: int
    token: str | None
    mode: str
    seed: Seed
    attach: str | None
    open_page: bool

    @property
    def app_url(self) -> str:
        """Where the bot is, or is to be."""
        return (self.attach or f"http://{HOST}:{self.port + 1}").rstrip("/")


@click.command("playground")
@click.option(
    "--port",
    type=click.IntRange(1, 65533),
    default=3030,
    show_default=True,
    help="The page's port; the bot listens on the next one.",
)
@click.option("--token", help="The page's token. Random when not given.")
@click.option(
    "--mode",
    type=click.Choice([HTTP, SOCKET]),
    default=HTTP,
    show_default=True,
    help="How the bot is reached: at its URL, or by its own WebSockets.",
)
@click.option(
    "--seed",
    "seed_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A JSON file with people, groups and channels in place of ours.",
)
@click.option(
    "--attach",
    is_flag=False,
    flag_value="",
    metavar="[URL]",
    help="Start no bot: print the environment for one that you start yourself.",
)
@click.option("--no-open", is_flag=True, help="Do not open the page in a browser.")
def command(
    port: int,
    token: str | None,
    mode: str,
    seed_file: Path | None,
    attach: str | None,
    no_open: bool,
) -> None:
    """A Slack of your own, on this machine only. No account, no key."""
    try:
        options = Options(
            port=port,
            token=token,
            mode=mode,
            seed=DEFAULT if seed_file is None else read_seed(seed_file),
            attach=attach,
            open_page=not no_open,
        )
        asyncio.run(_play(options))
    except (SeedError, LaunchError, BotTrouble) as error:
        raise click.ClickException(str(error)) from error
    except OSError as error:
        if error.errno not in (errno.EADDRINUSE, errno.EACCES):
            raise
        raise click.ClickException(_not_had(port, error)) from error


def _not_had(port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        words = f"Port {port} on {HOST} is in use."
        return (
            f"{words}\n  fix: stop what listens there, or choose another with --port."
        )
    words = f"Port {port} on {HOST} is not for everybody to open."
    return f"{words}\n  fix: choose a port above 1023 with --port."


async def _play(options: Options) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stop.set)
    with tempfile.TemporaryDirectory(prefix="countersign-play-") as name:
        work = asyncio.create_task(_run(options, Path(name), stop))
        stopped = asyncio.create_task(stop.wait())
        await asyncio.wait({work, stopped}, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        if not work.done():
            work.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await work


async def _run(options: Options, directory: Path, stop: asyncio.Event) -> None:
    launch = prepared(
        directory,
        Path.cwd(),
        port=options.port,
        app_url=options.app_url,
        bot_token=new_bot_token(),
        app_token=new_app_token() if options.mode == SOCKET else None,
    )
    async with _started(options, launch) as slack:
        _welcome(options, launch, slack)
        await stop.wait()


@asynccontextmanager
async def _started(options: Options, launch: Launch) -> AsyncIterator[Playground]:
    environment = launch.environment(os.environ)
    manifest = await manifest_of(environment)
    attached = options.attach is not None
    bot: Bot = Attached(options.app_url) if attached else _child(launch, environment)
    slack = Playground(
        manifest=manifest,
        mode=options.mode,
        app_url=options.app_url,
        port=options.port,
        token=options.token,
        seed=options.seed,
        bot=bot,
        demo_log=launch.demo_log,
        bot_token=launch.bot_token,
        app_token=launch.app_token,
        signing_secret=launch.signing_secret,
    )
    async with slack:
        if not attached:
            await slack.bring_up()
            if options.mode == HTTP:
                await _verify(slack)
        yield slack


async def _verify(slack: Playground) -> None:
    verified = await slack.verify_url()
    if verified.error is not None:
        click.echo(f"The bot's URL was not verified: {verified.error}")


def _child(launch: Launch, environment: dict[str, str]) -> Child:
    return Child(
        launch.serve_arguments(HOST, launch.port + 1),
        environment,
        launch.app_url,
        database=launch.database,
    )


def _welcome(options: Options, launch: Launch, slack: Playground) -> None:
    opened = options.open_page and _opened(slack.page_url)
    lines = [
        "",
        "  A Slack of your own, on this machine only. No account, no key.",
        f"  Open   {slack.page_url}"
        + ("      opened in your browser" if opened else ""),
    ]
    if options.seed is DEFAULT:
        lines.append("  You are Ada. Ben may approve, Cleo may not.")
    lines += ["  Stop   Ctrl-C", ""]
    click.echo("\n".join(lines))
    if options.attach is not None:
        click.echo(launch.exports())
        place = f"at {options.app_url}" if options.mode == HTTP else "to connect"
        click.echo(f"\nWaiting for the bot {place}.")


def _opened(url: str) -> bool:
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return False
    # A browser that runs in the terminal would take this terminal over.
    if type(browser) is webbrowser.GenericBrowser:
        return False
    return browser.open(url)
