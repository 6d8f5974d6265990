"""The command `init`: settings, policy, a key and an example tool, ready to change.

The texts lie beside it in `example/`. A file that exists is never touched.
"""

from __future__ import annotations

import os
import sys
from importlib import resources
from pathlib import Path

import click

from bot.cli.endings import FAULT
from bot.core.keys import generate
from bot.store.files import advice

#: Where each text of `example/` goes, and the mode of the file.
FILES = (
    ("countersign.toml", "countersign.toml", 0o644),
    ("policy.toml", "policy.toml", 0o644),
    ("package.txt", "ops/__init__.py", 0o644),
    ("tools.txt", "ops/tools.py", 0o644),
    ("env.txt", ".env", 0o600),
)
_KEY_HERE = "KEY_GOES_HERE"


@click.command()
@click.option(
    "--dir",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(),
    help="Write them into this folder. [default: the current one]",
)
def command(folder: Path) -> None:
    """Write settings, a policy, a key and an example tool."""
    try:
        written, kept = _write_all(folder)
    except OSError as error:
        click.echo(f"{error.filename}: {error.strerror}", err=True)
        sys.exit(FAULT)
    for name in written:
        click.echo(f"Written  {folder / name}{_aside(name)}")
    for name in kept:
        click.echo(f"Kept     {folder / name}, which was there")
    if folder.stat().st_mode & 0o022:
        click.echo(f"{_OPEN} {advice(folder, folder.stat())}.")
    if written:
        click.echo(_NEXT)


def _write_all(folder: Path) -> tuple[list[str], list[str]]:
    """Write what is missing; the names written, and those left alone."""
    examples = resources.files("bot.cli").joinpath("example")
    written: list[str] = []
    kept: list[str] = []
    _make(folder)
    for source, name, mode in FILES:
        text = examples.joinpath(source).read_text(encoding="utf-8")
        target = folder / name
        _make(target.parent)
        new = _write(target, text.replace(_KEY_HERE, generate()), mode)
        (written if new else kept).append(name)
    return written, kept


def _write(path: Path, text: str, mode: int) -> bool:
    """Write a new file; False when there is one, or something else, of that name."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    except FileExistsError:
        return False
    with open(handle, "w", encoding="utf-8") as file:
        # Whatever the umask is: others may read a key as little as they may write code.
        os.fchmod(file.fileno(), mode)
        file.write(text)
    return True


def _make(folder: Path) -> None:
    if not folder.is_dir():
        _make(folder.parent)
        # A database will lie here (T50).
        folder.mkdir(mode=0o700)


def _aside(name: str) -> str:
    return " (only you can read it; keep it out of version control)" * (name == ".env")


_OPEN = """Note: others may write to this folder, so serve will keep no database in it.
  fix:"""
_NEXT = """
Next
  1. countersign tools      shows what may run, and who must agree
  2. countersign manifest   prints the Slack app to create
  3. fill in .env and policy.toml, then: countersign serve
Without a Slack account: countersign playground"""
