"""New files for somebody's bot: the texts of `example/`, private folders, secrets.

What exists is never replaced. A secret is added at the end of `.env`, and nothing else
in it changes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import resources
from pathlib import Path

#: A text of `example/`, where it goes, and the mode of the file.
File = tuple[str, str, int]

FILES: tuple[File, ...] = (
    ("countersign.toml", "countersign.toml", 0o644),
    ("policy.toml", "policy.toml", 0o644),
    ("package.txt", "ops/__init__.py", 0o644),
    ("tools.txt", "ops/tools.py", 0o644),
    ("env.txt", ".env", 0o600),
)
#: What stands in `env.txt` in place of a key.
KEY_HERE = "KEY_GOES_HERE"


def write_all(
    folder: Path,
    files: tuple[File, ...],
    filled: Mapping[str, str],
) -> tuple[list[str], list[str]]:
    """Write the files that are missing; the names written, and those left alone.

    `filled` says what stands in the texts in place of its keys.
    """
    examples = resources.files("bot.cli").joinpath("example")
    written: list[str] = []
    kept: list[str] = []
    make_folder(folder)
    for source, name, mode in files:
        text = examples.joinpath(source).read_text(encoding="utf-8")
        for place, value in filled.items():
            text = text.replace(place, value)
        target = folder / name
        make_folder(target.parent)
        (written if write(target, text, mode) else kept).append(name)
    return written, kept


def write(path: Path, text: str, mode: int) -> bool:
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


def append(path: Path, line: str) -> None:
    """Add a line to a file that is there; what stands in it stays as it is."""
    with open(os.open(path, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW), "ab") as file:
        size = os.fstat(file.fileno()).st_size
        ended = size == 0 or os.pread(file.fileno(), 1, size - 1) == b"\n"
        file.write(("" if ended else "\n").encode() + line.encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it, for its owner alone."""
    if not folder.is_dir():
        make_folder(folder.parent)
        # A database will lie here (T50).
        folder.mkdir(mode=0o700)
