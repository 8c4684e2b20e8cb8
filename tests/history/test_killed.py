"""kill -9 at any moment: what was recorded is there, and the rest is made once."""

from __future__ import annotations

import os
import signal
import sqlite3
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from faultclock.history.session import Session
from faultclock.history.store import HistoryStore
from tests.history.made_up import DIGEST, ID, made_up, settings

RUNS, BATCH = 60, 10
#: From the first of the session to its last: within batches, at their ends, and between them.
STATEMENTS = (1, 2, 3, 50, 93, 94, 95, 150, 168, 203)


def go_on(session: Session, on_batch: Callable[[], None] = lambda: None) -> None:
    """Do what an engine does: make what is not there, a batch at a time."""
    there = {tried.number for tried, _ in session.done(ID, None, DIGEST)}
    missing = [number for number in range(1, RUNS + 1) if number not in there]
    for start in range(0, len(missing), BATCH):
        session.record([made_up(number) for number in missing[start : start + BATCH]])
        on_batch()
    session.finish(complete=True)


def killed_at(path: Path, statement: int, *, resumes: bool) -> bool:
    """Go on in a child that kills itself before its n-th SQL statement; whether it was killed."""
    child = os.fork()
    if child == 0:
        try:
            store = HistoryStore(path)
            counted = Counter[str]()

            def count(_: str) -> None:
                counted["statements"] += 1
                if counted["statements"] == statement:
                    os.kill(os.getpid(), signal.SIGKILL)

            session = store.resume(settings()) if resumes else store.begin(settings())
            store._connection.set_trace_callback(count)
            go_on(session)
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def tables(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return what is in the file, but for when it was and how often it was resumed."""
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    content = {
        name: connection.execute(f"SELECT * FROM {name} ORDER BY 1").fetchall()
        for name in ("scenario", "session_scenario", "name", "name_list", "run", "evidence")
    }
    content["session"] = connection.execute("SELECT id, settings, state FROM session").fetchall()
    connection.close()
    return content


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[object, ...]]]:
    """Return what is in the file when nobody is killed."""
    path = tmp_path_factory.mktemp("whole") / "h.sqlite"
    with HistoryStore(path) as store:
        go_on(store.begin(settings()))
    return tables(path)


@pytest.mark.parametrize("statement", STATEMENTS)
def test_killed_once_it_ends_as_if_it_had_not_been(
    tmp_path: Path, statement: int, uninterrupted: dict[str, list[tuple[object, ...]]]
) -> None:
    """Between batches, within one, before a commit: the file is whole, and so is the result."""
    path = tmp_path / "h.sqlite"
    assert killed_at(path, statement, resumes=False)
    before = tables(path)
    assert len(before["run"]) % BATCH == 0
    with HistoryStore(path) as store:
        go_on(store.resume(settings()))
    assert tables(path) == uninterrupted


def test_killed_again_and_again_it_still_ends(
    tmp_path: Path, uninterrupted: dict[str, list[tuple[object, ...]]]
) -> None:
    """Every time a batch further, nothing lost and nothing twice."""
    path = tmp_path / "h.sqlite"
    with HistoryStore(path) as store:
        store.begin(settings())
    deaths = 0
    while killed_at(path, 130, resumes=True):
        deaths += 1
        assert deaths < 2 * RUNS // BATCH
        numbers = [row[3] for row in tables(path)["run"]]
        assert len(numbers) == len(set(numbers))
    assert deaths >= 3
    assert tables(path) == uninterrupted
