"""A copy of the database in one file, made beside the bot that uses it.

SQLite's own backup, over a connection that cannot write: what is copied is the state of
one moment, and nobody waits for it. Until it is whole the copy is called `….partial`.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path

from bot.errors import Problem, StoreError
from bot.store import files
from bot.store.opening import read_whole, reading


def copy(database: Path, target: Path) -> int:
    """Write a new file with all that is in the database; its size in bytes."""
    partial = files.beside(target, ".partial")
    if os.path.lexists(target):
        raise _refusal(f"{target} is there already.", "name a file that is not.")
    connection = reading(database)
    if connection is None:
        raise _refusal(f"{database} is not there.", "name the settings with --config.")
    with contextlib.closing(connection):
        try:
            files.create(partial)
        except FileExistsError:
            raise _unfinished(partial) from None
        except OSError as error:
            raise StoreError(f"{partial}: {error.strerror}") from error
        try:
            return _written(connection, partial, target)
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"{target} could not be written: {error}") from error
        finally:
            partial.unlink(missing_ok=True)


def _written(connection: sqlite3.Connection, partial: Path, target: Path) -> int:
    with contextlib.closing(sqlite3.connect(partial)) as copied:
        connection.backup(copied)
        # One file, whatever the original had beside it.
        copied.execute("PRAGMA journal_mode = DELETE")
        read_whole(copied, partial)
    size = partial.stat().st_size
    with partial.open("rb") as file:
        os.fsync(file.fileno())
    # Unlike a rename, this never replaces what has come there meanwhile.
    os.link(partial, target)
    files.sync_directory(target.parent)
    return size


def _unfinished(partial: Path) -> StoreError:
    return _refusal(
        f"{partial} is there: another copy is being made, or one was cut off.",
        "wait for it; if nothing is making one, remove that file.",
    )


def _refusal(what: str, fix: str) -> StoreError:
    return StoreError(str(Problem(what=what, fix=fix)))
