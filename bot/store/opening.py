"""Opening the file and closing it: checks before anything is touched, then settings.

A file that is not ours, newer than this program or damaged is refused as it is, with
what to do about it (threat T60). The settings that keep commits through a loss of power
are read back, since SQLite ignores what it does not understand (T63).
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path
from urllib.parse import quote

from sqlite_utils import Database

from bot.errors import Problem, StoreError
from bot.store import files
from bot.store.migrations import MIGRATIONS, NAMES

APPLICATION_ID = 0x4353474E  # "CSGN", in the file's header
BUSY_MS = 1000
_MAGIC = b"SQLite format 3\0"
#: pragma -> what it is set to, and what it must then say of itself.
SETTINGS: dict[str, tuple[str, object]] = {
    "journal_mode": ("WAL", "wal"),
    "synchronous": ("FULL", 2),
    "foreign_keys": ("ON", 1),
    "busy_timeout": (str(BUSY_MS), BUSY_MS),
}
_RESTORE = (
    "restore the newest copy of it; or move it away to start empty, and what "
    "waits for an answer now is then forgotten"
)


def connect(path: Path) -> sqlite3.Connection:
    """The one read-write connection, checked, set, migrated; `StoreError` if not."""
    files.prepare(path)
    try:
        empty = _inspect(path)
        connection = sqlite3.connect(path, BUSY_MS / 1000, isolation_level=None)
    except (sqlite3.Error, OSError) as error:
        raise _damaged(path, str(error)) from error
    try:
        _set_up(connection, path, empty)
    except BaseException as error:
        connection.close()
        if isinstance(error, sqlite3.Error | OSError):
            raise StoreError(f"{path} cannot be used: {error}") from error
        raise
    return connection


def reading(path: Path) -> sqlite3.Connection | None:
    """A connection that cannot write, beside whoever holds the database; None if new.

    `StoreError` says why it cannot be used, as it would at a start.
    """
    if path.parent.exists():
        files.prepare(path)
    try:
        return None if _nothing_yet(path) else _reader(path)
    except (sqlite3.Error, OSError) as error:
        raise _damaged(path, str(error)) from error


def read_whole(connection: sqlite3.Connection, path: Path) -> None:
    """Read every page; `StoreError` when one is damaged."""
    try:
        _check_pages(connection, path)
    except sqlite3.Error as error:
        raise _damaged(path, str(error)) from error


def close(connection: sqlite3.Connection) -> None:
    """Note that this stop is a clean one, and leave one file."""
    # Without the note the next start only checks the whole file.
    with contextlib.suppress(sqlite3.Error):
        connection.execute("UPDATE marker SET clean = 1")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


# -- before the file is touched -----------------------------------------------------


def _inspect(path: Path) -> bool:
    """Whether the file holds nothing yet; `StoreError` for one we must not open."""
    if _nothing_yet(path):
        if not path.exists():
            files.create(path)
        return True
    with contextlib.closing(_reader(path)) as connection:
        if not _was_clean(connection):
            _check_pages(connection, path)
    return False


def _nothing_yet(path: Path) -> bool:
    """Whether there is no database; `StoreError` where there was one (T60)."""
    if path.exists() and path.stat().st_size > 0:
        return False
    log = files.beside(path, "-wal")
    if log.exists() and log.stat().st_size > 0:
        raise _refusal(f"{path} is gone, but its log {log.name} is not.", _RESTORE)
    return True


def _reader(path: Path) -> sqlite3.Connection:
    """A connection that cannot write, to a database that is ours to read."""
    with path.open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise _refusal(f"{path} is not a SQLite database.", "choose another path")
    connection = sqlite3.connect(
        f"file:{quote(str(path))}?mode=ro",
        BUSY_MS / 1000,
        isolation_level=None,
        uri=True,
    )
    try:
        _check_owner(connection, path)
        _check_version(connection, path)
    except BaseException:
        connection.close()
        raise
    connection.row_factory = sqlite3.Row
    return connection


def _check_owner(reader: sqlite3.Connection, path: Path) -> None:
    if _pragma(reader, "application_id") != APPLICATION_ID:
        raise _refusal(
            f"{path} is a database of another program.", "choose another path"
        )


def _check_version(reader: sqlite3.Connection, path: Path) -> None:
    newer = [name for name in _applied(reader) if name not in NAMES]
    if newer:
        raise _refusal(
            f"{path} was written by a newer Countersign (it has {', '.join(newer)}).",
            "install that version, or restore the copy made before the update",
        )


def _check_pages(reader: sqlite3.Connection, path: Path) -> None:
    """Read the whole file."""
    found = reader.execute("PRAGMA quick_check(1)").fetchone()[0]
    if found != "ok":
        raise _damaged(path, found)


def _was_clean(reader: sqlite3.Connection) -> bool:
    sql = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'marker'"
    if reader.execute(sql).fetchone() is None:
        return False
    row = reader.execute("SELECT clean FROM marker").fetchone()
    return row is not None and row[0] == 1


# -- then ---------------------------------------------------------------------------


def _set_up(connection: sqlite3.Connection, path: Path, empty: bool) -> None:
    connection.row_factory = sqlite3.Row
    if empty:
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    for name, (wanted, reads) in SETTINGS.items():
        connection.execute(f"PRAGMA {name} = {wanted}")
        found = _pragma(connection, name)
        if found != reads:
            raise StoreError(
                f"{path}: SQLite does not keep {name} = {wanted} here, it says {found}"
            )
    _migrate(connection, path)
    connection.execute("UPDATE marker SET clean = 0")


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    applied = _applied(connection)
    if len(applied) == len(NAMES):
        return
    if applied:
        _copy(connection, path)
    MIGRATIONS.apply(_database(connection))


def _copy(connection: sqlite3.Connection, path: Path) -> None:
    """Keep the database as it was before the newest steps, for the way back."""
    copy = _free(files.beside(path, f".before-{len(NAMES)}"))
    partial = files.beside(copy, ".partial")
    partial.unlink(missing_ok=True)
    files.create(partial)
    with contextlib.closing(sqlite3.connect(partial)) as target:
        connection.backup(target)
    partial.rename(copy)
    files.sync_directory(path.parent)


def _free(path: Path) -> Path:
    count = 1
    free = path
    while os.path.lexists(free):
        count += 1
        free = files.beside(path, f".{count}")
    return free


def _applied(connection: sqlite3.Connection) -> list[str]:
    return [step.name for step in MIGRATIONS.applied(_database(connection))]


def _database(connection: sqlite3.Connection) -> Database:
    return Database(connection, recursive_triggers=False, execute_plugins=False)


def _pragma(connection: sqlite3.Connection, name: str) -> object:
    value: object = connection.execute(f"PRAGMA {name}").fetchone()[0]
    return value


def _damaged(path: Path, found: str) -> StoreError:
    return _refusal(f"{path} is damaged: {found}. It was left as it is.", _RESTORE)


def _refusal(what: str, fix: str) -> StoreError:
    return StoreError(str(Problem(what=what, fix=fix)))
