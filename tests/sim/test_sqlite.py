"""SQLite on a simulated disk: its files, its locks, its time, and what a crash leaves of it."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from faultclock.run.folder import write_folder
from faultclock.sim.host.disk_state import Leaves
from faultclock.sim.kernel.kernel import Ending
from tests.sim.disk_lab import Lab

#: Rows of a transaction, and transactions of a life.
_ROWS, _TRANSACTIONS = 3, 3
_MANY = 1_000


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """A lab in an empty folder."""
    root = tmp_path / "folder"
    root.mkdir()
    return Lab(root.resolve())


def _connect(lab: Lab, **options: Any) -> sqlite3.Connection:
    return sqlite3.connect(lab.root / "a.db", **options)


def _asked(lab: Lab, *statements: str, **options: Any) -> list[Any]:
    with closing(_connect(lab, **options)) as connection:
        for statement in statements[:-1]:
            connection.execute(statement)
        connection.commit()
        return connection.execute(statements[-1]).fetchall()


def test_what_is_written_is_there_for_the_next_connection(lab: Lab) -> None:
    """The file is a real one below the folder, and its writes are acts of the disk."""

    def use() -> Any:
        _asked(lab, "create table t(a)", "insert into t values ('kept')", "select 1")
        return _asked(lab, "select a from t")

    assert lab.value(use) == [("kept",)]
    assert (lab.root / "a.db").read_bytes().startswith(b"SQLite format 3\0")
    assert {"create a.db", "write a.db", "fsync a.db"} <= set(lab.acts)
    assert "create a.db-journal" in lab.acts


def test_time_and_chance_are_those_of_the_run(lab: Lab) -> None:
    """Two runs of one seed see the same instants and draw the same numbers."""

    def use() -> Any:
        time.sleep(5)
        return _asked(lab, "select current_timestamp, julianday('now'), random(), randomblob(4)")

    first = lab.value(use)
    assert first == lab.value(use)
    assert first[0][0] == "2026-01-01 00:00:05"


def test_a_lock_is_waited_for_in_virtual_time(lab: Lab) -> None:
    """The timeout of a connection passes on the simulated clock, and then it raises."""

    def use() -> Any:
        _asked(lab, "create table t(a)", "select 1")
        with closing(_connect(lab)) as one, closing(_connect(lab, timeout=30)) as other:
            one.execute("insert into t values (1)")
            began = time.monotonic()
            with pytest.raises(sqlite3.OperationalError, match="database is locked"):
                other.execute("insert into t values (2)")
            waited_s = time.monotonic() - began
            one.commit()
            return round(waited_s)

    assert lab.value(use) == 30


def test_a_thread_gets_the_lock_when_another_lets_it_go(lab: Lab) -> None:
    """Each connection has its own thread, as an asynchronous driver has it."""

    def late() -> None:
        with closing(_connect(lab, timeout=10)) as connection, connection:
            connection.execute("insert into t values ('late')")

    def use() -> Any:
        _asked(lab, "create table t(a)", "select 1")
        with closing(_connect(lab)) as connection:
            connection.execute("insert into t values ('early')")
            thread = threading.Thread(target=late)
            thread.start()
            time.sleep(2)
            connection.commit()
        thread.join()
        return _asked(lab, "select a from t")

    assert lab.value(use) == [("early",), ("late",)]


def test_a_log_can_be_read_while_it_is_written(lab: Lab) -> None:
    """With a write-ahead log, a reader sees the last commit and waits for nobody."""

    def use() -> Any:
        _asked(lab, "pragma journal_mode=wal", "create table t(a)", "select 1")
        with closing(_connect(lab)) as writer, closing(_connect(lab)) as reader:
            writer.execute("insert into t values (1)")
            before = reader.execute("select count(*) from t").fetchone()
            writer.commit()
            return before, reader.execute("select count(*) from t").fetchone()

    assert lab.value(use) == ((0,), (1,))


@pytest.mark.parametrize(
    ("fault", "act", "said"),
    [
        ("no_space", "write", "database or disk is full"),
        ("io_error", "write", "disk I/O error"),
        ("io_error", "fsync", "disk I/O error"),
    ],
)
def test_a_disk_that_fails_is_the_error_that_sqlite_has_for_it(
    lab: Lab, fault: str, act: str, said: str
) -> None:
    """The transaction is rolled back, and the database works again when the disk does."""
    rule = {"id": "bad", "when": {"act": act, "file": "a.db", "nth": 1}, "then": {"kind": fault}}
    lab.value(lambda: _asked(lab, "create table t(a)", "select 1"))

    def use() -> Any:
        with pytest.raises(sqlite3.OperationalError, match=said):
            _asked(lab, "insert into t values (1)", "select 1")
        return _asked(lab, "insert into t values (2)", "select a from t")

    assert lab.value(use, rules=[rule]) == [(2,)]


def _lived(lab: Lab, mode: str, synchronous: str, acknowledged: list[int]) -> None:
    with closing(_connect(lab)) as connection:
        connection.execute(f"pragma journal_mode={mode}")
        connection.execute(f"pragma synchronous={synchronous}")
        connection.execute("create table t(a, pad)")
        connection.commit()
        acknowledged.append(0)
        for number in range(1, _TRANSACTIONS + 1):
            for _ in range(_ROWS):
                connection.execute("insert into t values (?, ?)", (number, "x" * 3_000))
            connection.commit()
            acknowledged.append(number)


def _left(lab: Lab) -> str:
    """Return what the next life finds: nothing, the last whole transaction, or what is wrong."""
    with closing(_connect(lab)) as connection:
        try:
            if connection.execute("pragma integrity_check").fetchall() != [("ok",)]:
                return "corrupt"
            rows = Counter(row for (row,) in connection.execute("select a from t"))
        except sqlite3.OperationalError:
            return "-1"
        except sqlite3.DatabaseError:
            return "corrupt"
    return str(max(rows, default=0)) if set(rows.values()) <= {_ROWS} else "torn"


def _after_each_crash(
    tmp_path: Path, mode: str, synchronous: str, leaves: Leaves
) -> Counter[str | int]:
    """Return how often a crash in an act cost how many acknowledged transactions."""
    lost: Counter[str | int] = Counter()
    for act in range(1, _MANY):
        root = tmp_path / str(act)
        root.mkdir(parents=True)
        lab = Lab(root)
        acknowledged: list[int] = [-1]

        def live(lab: Lab = lab, acknowledged: list[int] = acknowledged) -> None:
            _lived(lab, mode, synchronous, acknowledged)

        if lab.run(live, crash=(act, leaves)).reason != "crashed":
            return lost
        write_folder(root, lab.state, 0)
        found = lab.value(lambda lab=lab: _left(lab))
        bad = found in ("corrupt", "torn")
        lost[found if bad else max(0, acknowledged[-1] - int(found))] += 1
    raise AssertionError("the life never came to its own end")


@pytest.mark.parametrize("leaves", ["nothing", "part", "all"])
@pytest.mark.parametrize(("mode", "synchronous"), [("wal", "full"), ("delete", "extra")])
def test_a_synced_transaction_survives_a_crash_in_any_act(
    tmp_path: Path, mode: str, synchronous: str, leaves: Leaves
) -> None:
    """As SQLite promises it: what was committed is there, and nothing is there in part."""
    assert set(_after_each_crash(tmp_path, mode, synchronous, leaves)) == {0}


def test_the_last_transaction_may_be_rolled_back_when_power_goes(tmp_path: Path) -> None:
    """Without a sync of the folder the journal may come back, as SQLite says of its default."""
    assert set(_after_each_crash(tmp_path / "gone", "delete", "full", "nothing")) == {0, 1}
    assert set(_after_each_crash(tmp_path / "kept", "delete", "full", "all")) == {0}


def test_a_log_that_is_not_synced_loses_commits_and_stays_whole(tmp_path: Path) -> None:
    """`synchronous=normal` gives up durability, not consistency."""
    lost = _after_each_crash(tmp_path, "wal", "normal", "part")
    assert max(int(number) for number in lost) > 0
    assert not {"corrupt", "torn"} & set(lost)


def test_a_database_that_never_syncs_is_corrupted(tmp_path: Path) -> None:
    """`synchronous=off` promises nothing when the machine fails."""
    assert _after_each_crash(tmp_path, "delete", "off", "part")["corrupt"] > 0


def test_a_connection_that_outlives_its_life_reaches_no_later_one(lab: Lab) -> None:
    """What a killed process still had open neither writes nor locks anything any more."""
    kept: list[sqlite3.Connection] = []

    def first() -> None:
        connection = _connect(lab)
        connection.execute("pragma journal_mode=wal")
        connection.execute("create table t(a)")
        connection.commit()
        connection.execute("insert into t values (1)")
        kept.append(connection)
        (lab.root / "mark").touch()

    ended: Ending = lab.run(first, crash=(_act_of(lab, first, "create mark"), "all"))
    assert ended.reason == "crashed"
    write_folder(lab.root, lab.state, 0)

    def second() -> Any:
        with pytest.raises(sqlite3.OperationalError):
            kept[-1].commit()
        return _asked(lab, "insert into t values (2)", "select a from t")

    assert lab.value(second) == [(2,)]
    for connection in kept:
        connection.close()


def _act_of(lab: Lab, subject: Callable[[], Any], wanted: str) -> int:
    """Return the number of an act of a run that is made once for this, on a folder of its own."""
    trial = Lab(lab.root)
    trial.value(subject)
    number = trial.acts.index(wanted) + 1
    write_folder(lab.root, lab.state, 0)
    return number
