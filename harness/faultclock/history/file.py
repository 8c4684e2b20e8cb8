"""Opens the history file, says in one sentence why it cannot be used, and can move it aside.

The journal is a write-ahead log: readers and one writer do not disturb each other, and what was
committed outlives a process that is killed. `-wal` and `-shm` beside the file belong to it.
"""

from __future__ import annotations

import itertools
import os
import sqlite3
import time
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from faultclock.errors import InputError
from faultclock.history.schema import bring_up_to_date

#: Real seconds to wait for another process that is writing. A batch takes milliseconds, so who
#: holds the file longer is stuck, or a person with an open transaction in a database browser.
WAIT_S = 10.0
#: Between two tries to begin the write-ahead log.
_PAUSE_S = 0.02
_PRIMARY_CODE = 0xFF
#: What opening says where the files of the log cannot be made.
_NO_PLACE = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
_COLUMNS = """
SELECT tables.name, columns.name, columns.type, columns."notnull", columns.pk
FROM sqlite_schema AS tables, pragma_table_info(tables.name) AS columns
WHERE tables.type = 'table'
"""
#: What only a bug of ours, or a page that was damaged unseen, brings about.
_OURS = (sqlite3.ProgrammingError, sqlite3.InterfaceError, sqlite3.IntegrityError)
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
            _check_tables(connection, shown)
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
            _check_tables(connection, shown)
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
    except UnicodeDecodeError as error:
        # Python reads SQLite's own message so, which may repeat what is damaged.
        raise _damaged(shown, "its tables have names that are not UTF-8") from error
    except sqlite3.Error as error:
        code = _code(error)
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise InputError(
                f"{shown}: another process is writing to it, and did not end within {wait_s:g} s",
                hint="wait for it, or name another file",
            ) from None
        if code in _REASONS:
            reason, hint = _REASONS[code]
            raise InputError(f"{shown}: {reason}", hint=hint) from None
        if isinstance(error, _OURS):
            raise
        # The tables are ours and looked at when the file is opened, so what is left is their
        # content. SQLite's words may repeat damaged bytes: they are for the debugger.
        raise _damaged(shown, "a part of it cannot be read") from error


@contextmanager
def reading(shown: str, wait_s: float = WAIT_S) -> Iterator[None]:
    """Raise what is wrong with the values of a history as one sentence, too.

    Raises:
        InputError: as `told`, or a value is none that a history holds.
    """
    with told(shown, wait_s):
        try:
            yield
        except (ValueError, TypeError, LookupError, AttributeError, zlib.error) as error:
            name = type(error).__name__
            raise _damaged(
                shown, f"it holds values that Faultclock never writes ({name})"
            ) from error


def check_content(connection: sqlite3.Connection, shown: str) -> None:
    """Look at each page, value and reference, which takes as long as to read all of it.

    Raises:
        InputError: one is damaged.
    """
    (found,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
    if found != "ok":
        raise _damaged(shown, str(found))
    orphan = connection.execute("PRAGMA foreign_key_check").fetchone()
    if orphan is not None:
        raise _damaged(shown, f"its table `{orphan[0]}` refers to rows that are not there")


@contextmanager
def sound(connection: sqlite3.Connection, shown: str) -> Iterator[None]:
    """Blame the file, where it is damaged, for what its constraints refuse to take."""
    try:
        yield
    except sqlite3.IntegrityError:
        check_content(connection, shown)
        raise


def move_aside(path: str | os.PathLike[str]) -> Path:
    """Rename a history, with the files of its log, and return its new name. Nothing is lost.

    Raises:
        InputError: there is none, or it cannot be renamed.
    """
    shown = os.fspath(path)
    _check_place(shown)
    if not Path(shown).exists():
        raise InputError(f"{shown}: there is no such file")
    names = (f"{shown}.damaged-{number}" for number in itertools.count(1))
    target = next(name for name in names if not os.path.lexists(name))
    try:
        for suffix in ("-wal", "-shm", "-journal", ""):
            if os.path.lexists(shown + suffix):
                Path(shown + suffix).rename(target + suffix)
    except OSError as error:
        raise InputError(f"{shown}: cannot be moved: {error.strerror}") from None
    return Path(target)


#: What to do about a file that cannot be used; the command is in `cli/history.py`.
_ASIDE = (
    "`faultclock history FILE --move-aside` keeps it under another name, and the next run begins"
    " a new one"
)


def _damaged(shown: str, what: str) -> InputError:
    return InputError(f"{shown}: the file is damaged: {what}", hint=_ASIDE)


_REASONS: dict[int, tuple[str, str | None]] = {
    sqlite3.SQLITE_NOTADB: (
        "this is not a history of Faultclock",
        f"name a file of its own for it; if it was one, {_ASIDE}",
    ),
    sqlite3.SQLITE_CORRUPT: (
        "the file is damaged",
        f"{_ASIDE}; `sqlite3 FILE .recover` may save a part of it",
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
        raise InputError(f"{shown!r} is not a file name") from None


def _connected(shown: str, mode: str, wait_s: float) -> sqlite3.Connection:
    # As a URI, because a plain connect makes a file where none is.
    place = f"file:{quote(str(Path(shown).absolute()))}?mode={mode}"
    return sqlite3.connect(place, timeout=wait_s, isolation_level=None, uri=True)


def _check_tables(connection: sqlite3.Connection, shown: str) -> None:
    """Refuse a file that has not the tables that its steps make; it may have others, too."""
    there = set(connection.execute(_COLUMNS))
    missing = next((column for column in _columns_of_ours() if column not in there), None)
    if missing is not None:
        raise _damaged(shown, f"its table `{missing[0]}` has no column `{missing[1]}` as it should")


@cache
def _columns_of_ours() -> tuple[tuple[Any, ...], ...]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        bring_up_to_date(connection, "")
        return tuple(connection.execute(_COLUMNS))


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
