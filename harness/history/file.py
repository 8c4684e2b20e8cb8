"""Opens the history file and says in one sentence why it cannot be used.

The journal is a write-ahead log: readers and one writer do not disturb each other, and what was
committed outlives a process that is killed. `-wal` and `-shm` beside the file belong to it.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from harness.errors import InputError
from harness.history.schema import bring_up_to_date

__all__ = ["WAIT_S", "opened_to_read", "opened_to_write", "told", "writing"]

#: Real seconds to wait for another process that is writing. A batch takes milliseconds, so who
#: holds the file longer is stuck, or a person with an open transaction in a database browser.
WAIT_S = 10.0
#: Between two tries to begin the write-ahead log.
_PAUSE_S = 0.02
_PRIMARY_CODE = 0xFF
#: What opening says where the files of the log cannot be made.
_NO_PLACE = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
_NEW = "rwc"
_THERE = "rw"


def opened_to_write(path: str | os.PathLike[str], wait_s: float = WAIT_S) -> sqlite3.Connection:
    """Open a history, or begin a new one, and bring it up to date.

    Raises:
        InputError: it cannot be; one sentence that says why.
    """
    shown = os.fspath(path)
    _check_place(shown)
    with told(shown, wait_s):
        connection = _connected(shown, _NEW, wait_s)
        try:
            # In this order: another program's database must stay as it is.
            bring_up_to_date(connection, shown)
            _begin_log(connection, wait_s)
            # A batch is worth an fsync: it outlives a power cut as well.
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
        except BaseException:
            connection.close()
            raise
    return connection


def opened_to_read(path: str | os.PathLike[str], wait_s: float = WAIT_S) -> sqlite3.Connection:
    """Open a history that is there; of a file that may not be written, its last state.

    Raises:
        InputError: it cannot be; one sentence that says why.
    """
    shown = os.fspath(path)
    _check_place(shown)
    if not Path(shown).exists():
        raise InputError(
            f"{shown}: there is no such file",
            hint="`faultclock run SCENARIO --subject S --history FILE` begins a history",
        )
    with told(shown, wait_s):
        connection = _connected(shown, _THERE, wait_s)
        try:
            try:
                bring_up_to_date(connection, shown)
            except sqlite3.OperationalError as error:
                if _code(error) not in _NO_PLACE or _has_log(shown):
                    raise
                # A folder where nothing can be written has no place for the files of the log. As
                # nobody else can write either, the file may be read as it is.
                connection.close()
                connection = _connected(shown, "ro&immutable=1", wait_s)
                bring_up_to_date(connection, shown)
            connection.execute("PRAGMA query_only = ON")
        except BaseException:
            connection.close()
            raise
    return connection


@contextmanager
def told(shown: str, wait_s: float = WAIT_S) -> Iterator[None]:
    """Raise what SQLite says of the file as one sentence.

    Raises:
        InputError: in place of a `sqlite3.Error` that is the file's or the disk's fault.
    """
    try:
        yield
    except sqlite3.Error as error:
        code = _code(error)
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise InputError(
                f"{shown}: another process is writing to it, and did not end within {wait_s:g} s",
                hint="wait for it, or name another file",
            ) from None
        if code not in _REASONS:
            raise
        reason, hint = _REASONS[code]
        raise InputError(f"{shown}: {reason}", hint=hint) from None


@contextmanager
def writing(connection: sqlite3.Connection) -> Iterator[None]:
    """Make one transaction of what is written inside: all of it, or none."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # A full disk may have rolled it back already.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


_REASONS: dict[int, tuple[str, str | None]] = {
    sqlite3.SQLITE_NOTADB: ("this is no history of Faultclock", "name a file of its own for it"),
    sqlite3.SQLITE_CORRUPT: (
        "the file is damaged",
        "`sqlite3 FILE .recover` may save a part of it; name another file to go on",
    ),
    sqlite3.SQLITE_READONLY: ("cannot be written: permission denied", "name another file"),
    sqlite3.SQLITE_PERM: ("cannot be written: permission denied", "name another file"),
    sqlite3.SQLITE_CANTOPEN: ("cannot be opened", "look at the permissions of file and folder"),
    sqlite3.SQLITE_FULL: ("the disk is full", None),
    sqlite3.SQLITE_IOERR: ("the disk reports an error", None),
}


def _check_place(shown: str) -> None:
    target = Path(shown)
    try:
        if target.is_dir():
            raise InputError(f"{shown}: this is a folder", hint="name a file in it")
        if target.exists() and not target.is_file():
            raise InputError(f"{shown}: a history needs a regular file")
        if not target.parent.is_dir():
            raise InputError(f"{shown}: there is no folder {target.parent}")
    except ValueError:
        raise InputError(f"{shown!r} is no name of a file") from None


def _connected(shown: str, mode: str, wait_s: float) -> sqlite3.Connection:
    # As a URI, because a plain connect makes a file where none is.
    place = f"file:{quote(str(Path(shown).absolute()))}?mode={mode}"
    return sqlite3.connect(place, timeout=wait_s, isolation_level=None, uri=True)


def _begin_log(connection: sqlite3.Connection, wait_s: float) -> None:
    """Turn on the write-ahead log, which a file then keeps for good.

    SQLite does not wait for others here, so we do. Where a file system cannot carry such a log,
    the file keeps its rollback journal, which is as safe: only readers then wait for writers.
    """
    until_s = time.monotonic() + wait_s
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if _code(error) != sqlite3.SQLITE_BUSY or time.monotonic() >= until_s:
                raise
        time.sleep(_PAUSE_S)


def _has_log(shown: str) -> bool:
    log = Path(f"{shown}-wal")
    return log.exists() and log.stat().st_size > 0


def _code(error: sqlite3.Error) -> int | None:
    """Return the primary result code; None for an error of the Python module."""
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & _PRIMARY_CODE
