"""The command `serve`: check everything, then run the bot until it is told to stop.

All problems are said before anything is opened. Exit codes: 2 for settings, policy,
secrets or tools; 75 when another process holds the database; 1 for any other fault.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import signal
import sys
import threading
import traceback
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import click

from bot.cli.endings import CONFIG_OPTION, FAULT, end, problems_end
from bot.config import Loaded, load
from bot.errors import BotError
from bot.logs import redactor, setup

#: How long a tool's thread that has nothing to do may take to end, in seconds.
JOIN = 0.2


@click.command()
@CONFIG_OPTION
@click.option("--host", default="127.0.0.1", show_default=True, help="Listen here.")
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    default=3000,
    show_default=True,
    help="Listen on this port.",
)
@click.option(
    "--accept",
    multiple=True,
    metavar="NAME",
    help="A @handle or #channel of the policy that may mean another one than before.",
)
def command(config: Path | None, host: str, port: int, accept: tuple[str, ...]) -> None:
    """Run the bot."""
    with problems_end():
        loaded = load(config, os.environ)
    for warning in loaded.warnings:
        click.echo(f"Note: {warning}", err=True)
    setup(loaded.secrets.values())
    # Slack's libraries take a while to load; a fault in a file is said before that.
    app = importlib.import_module("bot.app")
    run_service(app.serve(loaded, host, port, frozenset(accept)), loaded)


def run_service(service: Coroutine[Any, Any, None], loaded: Loaded) -> None:
    try:
        asyncio.run(_until_told(service))
        _leave_behind(0)
    except KeyboardInterrupt:
        _leave_behind(128 + signal.SIGINT)
        sys.exit(128 + signal.SIGINT)
    except BotError as error:
        end(error)
    except OSError as error:
        # Their own words: "address already in use", "permission denied".
        click.echo(f"Countersign cannot go on: {error.strerror or error}.", err=True)
        sys.exit(FAULT)
    except Exception as error:
        _broken(error, loaded)


def _leave_behind(code: int) -> None:
    """End now when a plain tool still runs: the interpreter would wait for its thread.

    It had its time. What it was doing is *outcome unknown* at the next start (T66).
    """
    working = [t for t in threading.enumerate() if t.name.startswith("tool_")]
    for thread in working:
        thread.join(JOIN)
    if any(thread.is_alive() for thread in working):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


async def _until_told(service: Coroutine[Any, Any, None]) -> None:
    """Run the service; SIGTERM ends it in order, as Ctrl-C does."""
    task = asyncio.create_task(service)
    stopped = False

    def stop() -> None:
        nonlocal stopped
        stopped = True
        task.cancel()

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop)
    try:
        await task
    except asyncio.CancelledError:
        if not stopped:
            raise


def _broken(error: Exception, loaded: Loaded) -> None:
    """A fault of ours: where it is, for a report; never a value of a secret."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    words = f"{type(error).__name__} at {Path(frame.filename).name}:{frame.lineno}"
    redacted = redactor(loaded.secrets.values())
    click.echo(redacted(f"Countersign stopped: {words}: {error}"), err=True)
    sys.exit(FAULT)
