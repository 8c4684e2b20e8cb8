"""Versions of the file: an older one is brought up to date whole, and loses nothing."""

from __future__ import annotations

import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from faultclock.errors import InputError
from faultclock.history.reading import read_history
from faultclock.history.schema import APPLICATION_ID, STEPS, VERSION, bring_up_to_date
from faultclock.history.store import HistoryStore
from tests.history.made_up import DIGEST, ID, outcomes, settings

#: The tables of version 1 word for word, as released: whoever changes that step breaks the files
#: of people, and this test.
VERSION_1 = """
CREATE TABLE session (
  id INTEGER PRIMARY KEY, command TEXT NOT NULL, subject TEXT NOT NULL, settings TEXT NOT NULL,
  settings_digest TEXT NOT NULL, world TEXT NOT NULL, judge TEXT NOT NULL, drawn TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('open', 'stopped', 'done')),
  turn INTEGER NOT NULL DEFAULT 1, started_at TEXT NOT NULL, ended_at TEXT
) STRICT;
CREATE TABLE scenario (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL, variant TEXT NOT NULL, digest TEXT NOT NULL,
  UNIQUE (name, variant, digest)
) STRICT;
CREATE TABLE session_scenario (
  session INTEGER NOT NULL REFERENCES session, place INTEGER NOT NULL CHECK (place >= 1),
  scenario INTEGER NOT NULL REFERENCES scenario, PRIMARY KEY (session, place)
) STRICT, WITHOUT ROWID;
CREATE TABLE name (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE name_list (id INTEGER PRIMARY KEY, names TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE run (
  id INTEGER PRIMARY KEY, session INTEGER NOT NULL REFERENCES session,
  scenario INTEGER NOT NULL REFERENCES scenario, number INTEGER NOT NULL CHECK (number >= 1),
  seed INTEGER NOT NULL, schedule TEXT NOT NULL, verdict TEXT NOT NULL, ending TEXT NOT NULL,
  events INTEGER NOT NULL, virtual_ns INTEGER NOT NULL, trace_digest BLOB NOT NULL, tape TEXT,
  fingerprints TEXT, unsteady INTEGER NOT NULL CHECK (unsteady IN (0, 1)),
  checks INTEGER NOT NULL REFERENCES name_list, requirements INTEGER NOT NULL REFERENCES name_list,
  faults INTEGER NOT NULL REFERENCES name_list, pairs INTEGER NOT NULL REFERENCES name_list,
  UNIQUE (session, scenario, number)
) STRICT;
CREATE TABLE evidence (run INTEGER PRIMARY KEY REFERENCES run, packed BLOB NOT NULL) STRICT;
"""
#: What SQLite does by itself when the disk is full, and what fails after it.
_FULL_DISK = ("CREATE TABLE half (id INTEGER)", "ROLLBACK", "INSERT INTO half VALUES (1)")
_MORE = ("ALTER TABLE session ADD COLUMN note TEXT NOT NULL DEFAULT 'none'",)


def version_1(path: Path) -> None:
    """Write a file as version 1 did, with an unfinished session in it."""
    old = settings()
    connection = sqlite3.connect(path)
    connection.executescript(VERSION_1)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute("PRAGMA user_version = 1")
    connection.execute(
        "INSERT INTO session VALUES (1, 'explore', 'mine', ?, ?, ?, ?, ?, 'open', 1, ?, NULL)",
        (
            old.model_dump_json(exclude={"scenarios"}),
            *(old.digest, old.world, old.judge, old.drawn),
            "2026-01-31T12:00:00+00:00",
        ),
    )
    connection.execute("INSERT INTO scenario VALUES (1, ?, '', ?)", (ID, DIGEST))
    connection.execute("INSERT INTO session_scenario VALUES (1, 1, 1)")
    connection.execute("INSERT INTO name VALUES (1, 'check-1')")
    connection.execute("INSERT INTO name_list VALUES (1, '[1]'), (2, '[]')")
    connection.execute(
        "INSERT INTO run VALUES (1, 1, 1, 1, 7, 'tape', 'PASS', 'completed', 21, 5, ?, NULL, NULL,"
        " 0, 1, 2, 2, 2)",
        (bytes(32),),
    )
    connection.commit()
    connection.close()


def test_a_file_of_version_1_is_read_and_gone_on_with(tmp_path: Path) -> None:
    """Whatever the version is today: its runs are there, and more are added."""
    path = tmp_path / "h.sqlite"
    version_1(path)
    assert [line.runs for line in read_history(path).sessions] == [1]
    with HistoryStore(path) as store:
        session = store.resume(settings())
        ((tried, reached),) = session.done(ID, None, DIGEST)
        assert (tried.number, tried.seed, tried.trace_digest) == (1, 7, "00" * 32)
        assert (reached.checks, reached.pairs) == (("check-1",), ())
        session.record(outcomes(2, 5))
        assert tuple(session.done(ID, None, DIGEST))[1:] == tuple(outcomes(2, 5))


def test_the_tables_of_today_are_those_of_a_file_that_took_all_steps(tmp_path: Path) -> None:
    """A new file and an old one differ in nothing."""
    version_1(tmp_path / "old.sqlite")
    HistoryStore(tmp_path / "old.sqlite").close()
    HistoryStore(tmp_path / "new.sqlite").close()
    old, new = (columns(tmp_path / name) for name in ("old.sqlite", "new.sqlite"))
    assert old == new


def columns(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return the columns of each table, and what they refer to."""
    connection = sqlite3.connect(path)
    names = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
    found = {
        name: [
            row
            for pragma in ("table_info", "foreign_key_list", "index_list")
            for row in connection.execute(f"PRAGMA {pragma}({name})")
        ]
        for (name,) in names
    }
    connection.close()
    return found


def test_a_step_more_is_taken_once_and_keeps_all_rows(tmp_path: Path) -> None:
    """As a later version will do it."""
    path = tmp_path / "h.sqlite"
    version_1(path)
    connection = sqlite3.connect(path, isolation_level=None)
    for _ in range(2):
        bring_up_to_date(connection, str(path), (*STEPS, _MORE))
        assert connection.execute("SELECT id, note FROM session").fetchall() == [(1, "none")]
    assert connection.execute("SELECT schedule FROM run").fetchall() == [("fifo",)]
    assert connection.execute("PRAGMA user_version").fetchone()[0] == VERSION + 1
    connection.close()
    with pytest.raises(InputError, match="newer Faultclock"):
        read_history(path)


def test_an_order_of_an_old_file_has_its_name_of_today(tmp_path: Path) -> None:
    """It was called tape; the order of the options is that of then."""
    path = tmp_path / "h.sqlite"
    version_1(path)
    connection = sqlite3.connect(path)
    connection.execute(
        "UPDATE session SET settings = replace(settings, 'random, pct, fifo', 'tape, random, pct')"
    )
    connection.commit()
    HistoryStore(path).close()
    ((kept,),) = connection.execute("SELECT settings FROM session").fetchall()
    connection.close()
    assert json.loads(kept)["options"] == {"schedules": "fifo, random, pct"}


def test_steps_that_fail_leave_the_file_as_it_was(tmp_path: Path) -> None:
    """All of them or none: never half a version."""
    path = tmp_path / "h.sqlite"
    version_1(path)
    connection = sqlite3.connect(path, isolation_level=None)
    with pytest.raises(sqlite3.OperationalError):
        bring_up_to_date(connection, str(path), (*STEPS, _MORE, ("DROP TABLE nothing",)))
    connection.close()
    assert [line.runs for line in read_history(path).sessions] == [1]


def test_processes_that_meet_in_a_new_file_share_it(tmp_path: Path) -> None:
    """One makes the tables, the others wait for it."""

    def begin(seed: int) -> None:
        with HistoryStore(tmp_path / "h.sqlite") as store:
            store.begin(settings(seed=seed))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(begin, range(8)))
    assert len(read_history(tmp_path / "h.sqlite").sessions) == 8


def test_a_full_disk_is_what_is_told_and_not_that_nothing_could_be_taken_back(
    tmp_path: Path,
) -> None:
    """SQLite may have rolled back the steps by itself when they fail."""
    connection = sqlite3.connect(tmp_path / "h.sqlite", isolation_level=None)
    with pytest.raises(sqlite3.OperationalError, match="no such table: half"):
        bring_up_to_date(connection, "h.sqlite", (_FULL_DISK,))
    connection.close()
