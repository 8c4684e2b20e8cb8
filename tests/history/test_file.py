"""The file: what is wrong with it is said in one sentence, and another's stays as it is."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from faultclock.errors import InputError
from faultclock.history.file import move_aside, opened_to_write
from faultclock.history.reading import read_history
from faultclock.history.schema import VERSION
from faultclock.history.store import HistoryStore
from tests.history.made_up import outcomes, settings

#: Nobody, on every Linux.
_NOBODY = 65534


def not_a_database(path: Path) -> None:
    """Write a text where the history should be."""
    path.write_text("scenario: no database\n" * 100, "utf-8")


def of_another_program(path: Path) -> None:
    """Write somebody else's database."""
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE addresses (name TEXT)")
    connection.close()


def newer(path: Path) -> None:
    """Write what a later Faultclock would have written."""
    with HistoryStore(path) as store:
        store.begin(settings())
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    connection.close()


def damaged(path: Path) -> None:
    """Write a history, and noise into the middle of it."""
    with HistoryStore(path) as store:
        store.begin(settings()).record(outcomes(1, 50))
    content = path.read_bytes()
    path.write_bytes(content[:100] + bytes(len(content) // 2) + content[100 + len(content) // 2 :])


def changed(*statements: str) -> Callable[[Path], None]:
    """Return what writes a history and then has statements change it, past our own code."""

    def make(path: Path) -> None:
        with HistoryStore(path) as store:
            store.begin(settings()).record(outcomes(1, 3))
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            for statement in statements:
                connection.execute(statement)

    return make


_ENTRY = "UPDATE sqlite_schema SET sql = replace(sql, 'verdict TEXT', 'verdikt TEXT')"
#: What is wrong in the file, to the words about it. All of it is found by reading.
DAMAGED: dict[str, tuple[Callable[[Path], object], str]] = {
    "version 0": (changed("PRAGMA user_version = 0"), "a part of it cannot be read"),
    "no runs": (
        changed("DROP TABLE evidence", "DROP TABLE run"),
        "its table `run` has no column `id`",
    ),
    "a column": (
        changed("PRAGMA writable_schema = ON", _ENTRY),
        "its table `run` has no column `verdict`",
    ),
    "no UTF-8": (
        changed("UPDATE session SET started_at = CAST(x'ff41' AS TEXT)"),
        "a part of it cannot be read",
    ),
    "settings": (changed("UPDATE session SET settings = '{}'"), "it holds values that Faultclock"),
    "no JSON": (changed("UPDATE session SET settings = '{'"), "it holds values that Faultclock"),
    "a name list": (
        changed("UPDATE run SET verdict = 'FAIL', fingerprints = '[' WHERE number = 2"),
        "it holds values that Faultclock never writes (JSONDecodeError)",
    ),
    "a verdict": (
        changed("UPDATE run SET verdict = '['"),
        "it holds values that Faultclock never writes (ValueError)",
    ),
    "orphans": (
        changed("PRAGMA foreign_keys = OFF", "DELETE FROM session"),
        "refers to rows that are not there",
    ),
    "types": (
        changed(
            "PRAGMA writable_schema = ON",
            "PRAGMA ignore_check_constraints = ON",
            "UPDATE run SET unsteady = 7",
        ),
        "CHECK constraint failed in run",
    ),
}


def schema_overwritten(path: Path) -> None:
    """Write a history, and bytes that are no UTF-8 over the text of a table."""
    changed("PRAGMA journal_mode = DELETE")(path)
    content = path.read_bytes()
    assert content.count(b"CREATE TABLE name_list") == 1
    path.write_bytes(content.replace(b"CREATE TABLE name_list", b"CREATE \xf9\xfe\xfdLE name_list"))


DAMAGED["schema"] = (schema_overwritten, "names that are not UTF-8")


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_history_is_refused_with_what_is_damaged_and_the_command(
    tmp_path: Path, name: str
) -> None:
    """A file that was damaged is nobody's bug: the next step is to move it aside."""
    make, words = DAMAGED[name]
    path = tmp_path / "h.sqlite"
    make(path)
    with pytest.raises(InputError) as caught:
        read_history(path)
    assert caught.value.message.startswith(f"{path}: the file is damaged: ")
    assert words in caught.value.message
    assert "--move-aside" in str(caught.value.hint)


def test_rows_that_were_left_over_stop_no_writer_with_a_bug(tmp_path: Path) -> None:
    """A session that is new gets the number of one that is gone, and meets its scenarios."""
    path = tmp_path / "h.sqlite"
    changed("PRAGMA foreign_keys = OFF", "DELETE FROM session")(path)
    with HistoryStore(path) as store, pytest.raises(InputError, match="the file is damaged: "):
        store.begin(settings())


def test_a_file_that_is_moved_aside_is_lost_in_no_part(tmp_path: Path) -> None:
    """Neither is what lies in its log, nor what was moved aside before."""
    path = tmp_path / "h.sqlite"
    moved = []
    for content in (b"one", b"two"):
        path.write_bytes(content)
        Path(f"{path}-wal").write_bytes(content + b" log")
        moved.append(move_aside(path))
    assert [Path(f"{name}{end}").read_bytes() for name in moved for end in ("", "-wal")] == [
        *(b"one", b"one log"),
        *(b"two", b"two log"),
    ]
    assert sorted(item.name for item in tmp_path.iterdir()) == [
        *("h.sqlite.damaged-1", "h.sqlite.damaged-1-wal"),
        *("h.sqlite.damaged-2", "h.sqlite.damaged-2-wal"),
    ]
    with pytest.raises(InputError, match="there is no such file"):
        move_aside(path)


WRONG: dict[str, tuple[Callable[[Path], object], str]] = {
    "folder": (Path.mkdir, "this is a folder"),
    "text": (not_a_database, "this is not a history of Faultclock"),
    "other program": (of_another_program, "a database of another program"),
    "newer": (newer, f"written by a newer Faultclock (version {VERSION + 1} of the file"),
    "damaged": (damaged, "the file is damaged"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_history_is_refused_and_left_alone(tmp_path: Path, name: str) -> None:
    """By whoever writes and by whoever reads, in words that name the file."""
    make, words = WRONG[name]
    path = tmp_path / "h.sqlite"
    make(path)
    before = path.read_bytes() if path.is_file() else None
    for use in (HistoryStore, read_history):
        with pytest.raises(InputError) as caught:
            use(path)
        assert caught.value.message.startswith(f"{path}: ")
        assert words in caught.value.message
    assert (path.read_bytes() if path.is_file() else None) == before


def test_a_file_that_is_not_there_is_not_begun_by_reading(tmp_path: Path) -> None:
    """And a folder that is not there is not made by writing."""
    with pytest.raises(InputError, match="there is no such file"):
        read_history(tmp_path / "h.sqlite")
    assert not (tmp_path / "h.sqlite").exists()
    with pytest.raises(InputError, match="there is no folder"):
        HistoryStore(tmp_path / "none" / "h.sqlite")


def test_strange_names_are_names(tmp_path: Path) -> None:
    """SQLite takes the place as a URI, in which some of these mean something."""
    for name in ("a b.sqlite", "50%.sqlite", "what?mode=memory", "x#y", ":memory:", "-"):
        with HistoryStore(tmp_path / name) as store:
            store.begin(settings())
        assert (tmp_path / name).is_file()
        assert len(read_history(tmp_path / name).sessions) == 1


def test_whoever_finds_it_locked_waits_and_then_says_so(tmp_path: Path) -> None:
    """A batch takes milliseconds; a person in a database browser takes longer."""
    path = tmp_path / "h.sqlite"
    with HistoryStore(path) as store:
        store.begin(settings())
    other = opened_to_write(path)
    other.execute("BEGIN IMMEDIATE")
    with (
        HistoryStore(path, wait_s=0.05) as store,
        pytest.raises(InputError, match="another process is writing to it"),
    ):
        store.begin(settings())
    assert len(read_history(path, wait_s=0.05).sessions) == 1
    other.execute("COMMIT")
    other.close()


def test_readers_see_what_is_committed_while_somebody_writes(tmp_path: Path) -> None:
    """Neither waits for the other."""
    path = tmp_path / "h.sqlite"
    with HistoryStore(path) as store:
        session = store.begin(settings())
        for last in (5, 10):
            session.record(outcomes(last - 4, last))
            (line,) = read_history(path).sessions
            assert (line.runs, line.state) == (last, "open")


def test_a_write_ahead_log_is_on_and_everything_is_synced(tmp_path: Path) -> None:
    """What was recorded outlives a process that is killed, and a power cut."""
    with HistoryStore(tmp_path / "h.sqlite"):
        connection = opened_to_write(tmp_path / "h.sqlite")
        told = [
            connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        ]
        connection.close()
    assert told == ["wal", 2, 1, 10_000]


def test_a_file_that_may_not_be_written_is_read_and_not_written() -> None:
    """Even where its folder has no place for the files of the log."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "h.sqlite")
        with HistoryStore(path) as store:
            store.begin(settings()).record(outcomes(1, 5))
        path.chmod(0o444)
        Path(folder).chmod(0o555)
        answer, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.write(write, told_to_nobody(path).encode())
            finally:
                os._exit(0)
        os.close(write)
        os.waitpid(child, 0)
        with os.fdopen(answer) as lines:
            told = lines.read()
        Path(folder).chmod(0o755)
    assert told == f"5 runs\n{path}: cannot be written: permission denied"


def told_to_nobody(path: Path) -> str:
    """Return what whoever may not write is told; in a child, since root may write everything."""
    if os.geteuid() == 0:
        os.setuid(_NOBODY)
    (line,) = read_history(path).sessions
    try:
        HistoryStore(path).begin(settings())
    except InputError as error:
        return f"{line.runs} runs\n{error.message}"
    return f"{line.runs} runs\nwritten"
