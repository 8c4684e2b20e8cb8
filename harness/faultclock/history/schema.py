"""The tables of the history file, and the steps that bring an older file to them.

`PRAGMA user_version` is the number of steps that a file has taken. A step that was ever released
is never edited: what has to change is a step more. So a file of any version is opened by any later
Faultclock, and one of a later version is refused in words.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from faultclock.errors import InputError

#: "Fclk" in ASCII: marks our files among SQLite databases (`PRAGMA application_id`).
APPLICATION_ID = 0x46636C6B

#: What each step does, one statement each. Text is JSON where it says so. Digests of traces are 32
#: bytes, and the rest of them hex texts, because those are in few rows.
STEPS: tuple[tuple[str, ...], ...] = (
    (
        # `settings` is JSON, without the scenarios, which have a table. `world`, `judge` and
        # `drawn` are digests of parts of it (model/report/session.py).
        # `turn` counts how often it was begun or resumed: one with an older turn may not write.
        """
        CREATE TABLE session (
          id INTEGER PRIMARY KEY,
          command TEXT NOT NULL,
          subject TEXT NOT NULL,
          settings TEXT NOT NULL,
          settings_digest TEXT NOT NULL,
          world TEXT NOT NULL,
          judge TEXT NOT NULL,
          drawn TEXT NOT NULL,
          state TEXT NOT NULL CHECK (state IN ('open', 'stopped', 'done')),
          turn INTEGER NOT NULL DEFAULT 1,
          started_at TEXT NOT NULL,
          ended_at TEXT
        ) STRICT
        """,
        # The variant is '' where there is none: NULLs would all be different from each other.
        """
        CREATE TABLE scenario (
          id INTEGER PRIMARY KEY,
          name TEXT NOT NULL,
          variant TEXT NOT NULL,
          digest TEXT NOT NULL,
          UNIQUE (name, variant, digest)
        ) STRICT
        """,
        # What was asked for, in its order. The runs of a sweep have variants beside these.
        """
        CREATE TABLE session_scenario (
          session INTEGER NOT NULL REFERENCES session,
          place INTEGER NOT NULL CHECK (place >= 1),
          scenario INTEGER NOT NULL REFERENCES scenario,
          PRIMARY KEY (session, place)
        ) STRICT, WITHOUT ROWID
        """,
        # What runs reach is much the same from run to run: each name is kept once, and each list
        # of names too, as a JSON list of ids.
        """
        CREATE TABLE name (
          id INTEGER PRIMARY KEY,
          name TEXT NOT NULL UNIQUE
        ) STRICT
        """,
        """
        CREATE TABLE name_list (
          id INTEGER PRIMARY KEY,
          names TEXT NOT NULL UNIQUE
        ) STRICT
        """,
        # `tape` is the digest of the choices, NULL where they are not noted; `fingerprints` a JSON
        # list, NULL where nothing failed.
        """
        CREATE TABLE run (
          id INTEGER PRIMARY KEY,
          session INTEGER NOT NULL REFERENCES session,
          scenario INTEGER NOT NULL REFERENCES scenario,
          number INTEGER NOT NULL CHECK (number >= 1),
          seed INTEGER NOT NULL,
          schedule TEXT NOT NULL,
          verdict TEXT NOT NULL,
          ending TEXT NOT NULL,
          events INTEGER NOT NULL,
          virtual_ns INTEGER NOT NULL,
          trace_digest BLOB NOT NULL,
          tape TEXT,
          fingerprints TEXT,
          unsteady INTEGER NOT NULL CHECK (unsteady IN (0, 1)),
          checks INTEGER NOT NULL REFERENCES name_list,
          requirements INTEGER NOT NULL REFERENCES name_list,
          faults INTEGER NOT NULL REFERENCES name_list,
          pairs INTEGER NOT NULL REFERENCES name_list,
          UNIQUE (session, scenario, number)
        ) STRICT
        """,
        # Tape, findings and the like of the runs that failed: compressed JSON, in a table of its
        # own so that a count of verdicts does not read past it.
        """
        CREATE TABLE evidence (
          run INTEGER PRIMARY KEY REFERENCES run,
          packed BLOB NOT NULL
        ) STRICT
        """,
    ),
    # What `--schedule` calls fifo was called tape.
    (
        "UPDATE run SET schedule = 'fifo' WHERE schedule = 'tape'",
        """
        UPDATE session
        SET settings = replace(settings, '"schedules":"tape', '"schedules":"fifo')
        """,
    ),
)
_STATE = """
SELECT (SELECT application_id FROM pragma_application_id),
       (SELECT user_version FROM pragma_user_version),
       (SELECT count(*) FROM sqlite_schema)
"""
#: Of the files that are written now.
VERSION = len(STEPS)


def bring_up_to_date(
    connection: sqlite3.Connection, shown: str, steps: Sequence[Sequence[str]] = STEPS
) -> None:
    """Take the steps that the file has not taken, all in one transaction or none.

    Args:
        connection: in autocommit mode.
        shown: the path, for messages.

    Raises:
        InputError: it is a database of something else, or of a later Faultclock.
        sqlite3.Error: it cannot be read or written.
    """
    if _taken(connection, shown, len(steps)) == len(steps):
        return
    # Looked at again with the file reserved: two processes may meet in a new file.
    with writing(connection):
        for step in steps[_taken(connection, shown, len(steps)) :]:
            for statement in step:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {len(steps)}")


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


def _taken(connection: sqlite3.Connection, shown: str, known: int) -> int:
    """Return how many steps the file has taken."""
    # One statement, so that it is one moment: another process may be making the tables.
    application, version, tables = connection.execute(_STATE).fetchone()
    if application != APPLICATION_ID:
        if application == 0 and version == 0 and tables == 0:
            return 0
        raise InputError(
            f"{shown}: this is a database of another program, and no history of Faultclock",
            hint="name a file of its own for the history",
        )
    if version > known:
        raise InputError(
            f"{shown}: it was written by a newer Faultclock (version {version} of the file, and"
            f" this one knows {known})",
            hint="upgrade Faultclock, or name another file",
        )
    return int(version)
