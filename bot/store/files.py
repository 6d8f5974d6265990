"""The database file and the files beside it: who may touch them (threat T50).

Directories that we make are 0700 and files 0600, whatever the umask says. What others
could read or change, or what is not a plain file, is refused with the command that
mends it. SQLite gives its own side files the mode of the database.
"""

from __future__ import annotations

import os
import shlex
import stat
from pathlib import Path

from bot.errors import Problem, StoreError

#: What may stand beside `<name>`; all of it holds what people said and decided.
_BESIDE = ("", "-wal", "-shm", "-journal", ".lock")


def prepare(path: Path) -> None:
    """Make the directory of a database; refuse what others could touch."""
    try:
        _make(path.parent)
        _check_directory(path.parent)
        for suffix in _BESIDE:
            _check_file(beside(path, suffix))
    except OSError as error:
        raise StoreError(f"{error.filename}: {error.strerror}") from error


def absolute(path: Path | str) -> Path:
    """The same path, whatever the working directory becomes."""
    return Path(path).absolute()


def beside(path: Path, suffix: str) -> Path:
    """The file next to a database whose name has something more at its end."""
    return path.with_name(path.name + suffix)


def create(path: Path) -> None:
    """Make an empty file that only we may read and write; it must not exist yet."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    descriptor = os.open(path, flags, 0o600)
    os.fchmod(descriptor, 0o600)
    os.close(descriptor)
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Have a new name in a directory survive a loss of power."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def advice(directory: Path, status: os.stat_result) -> str:
    """What to do about a directory that others may write to: one that is not ours to
    close, such as /tmp, is to be left alone."""
    own = "a directory of your own: `database` in the settings, or COUNTERSIGN_DB"
    if status.st_mode & stat.S_ISVTX or status.st_uid != os.getuid():
        return f"choose {own}"
    return f"chmod go-w {shlex.quote(str(directory))}, or choose {own}"


def _make(directory: Path) -> None:
    if directory.exists():
        return
    _make(directory.parent)
    directory.mkdir(mode=0o700)
    directory.chmod(0o700)


def _check_directory(directory: Path) -> None:
    status = directory.stat()
    if not stat.S_ISDIR(status.st_mode):
        raise _refusal(f"{directory} is not a directory.", "choose another path")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise _refusal(
            f"Others may write to {directory}, where the database is.",
            advice(directory, status),
        )


def _check_file(path: Path) -> None:
    try:
        status = path.lstat()
    except FileNotFoundError:
        return
    mode = status.st_mode
    if stat.S_ISLNK(mode):
        raise _refusal(
            f"{path} is a symbolic link.", "give the path of the file itself"
        )
    if not stat.S_ISREG(mode):
        raise _refusal(f"{path} is not a file.", "choose another path")
    if mode & 0o077:
        owned = status.st_uid == os.getuid()
        fix = f"chmod 600 {shlex.quote(str(path))}" if owned else "choose another path"
        raise _refusal(f"Others may read or write {path}.", fix)


def _refusal(what: str, fix: str) -> StoreError:
    return StoreError(str(Problem(what=what, fix=fix)))
