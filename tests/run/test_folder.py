"""The folder of a run: what a subject writes is there, over its lives, and nowhere else."""

# ruff: noqa: PTH103, PTH104, PTH105, PTH107, PTH109, PTH110, PTH111, PTH116, PTH118, PTH123, PTH208

from __future__ import annotations

import io
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from faultclock.model.scenario.scenario import Scenario
from faultclock.model.trace.trace import Trace
from faultclock.run.execute import execute
from faultclock.run.folder import name_when_loading
from faultclock.run.suite import run_one
from faultclock.sim.host import sqlite_files
from faultclock.sim.patches import installed
from faultclock.subjects.bind_runtime import runtime
from faultclock.subjects.binding import Binding
from faultclock.subjects.ports import Surroundings
from tests.run.runtime_runs import working

_TWO_TURNS: tuple[dict[str, Any], ...] = ({"id": "one"}, {"id": "two"})
_KILLED = {"id": "dead", "on": {"kind": "call.started", "where": {"call": "two/1"}}}


def _agent(turn: Callable[[Surroundings], Any]) -> Binding:
    """Return a runtime whose every turn does `turn` and says what came of it."""

    class Agent:
        def __init__(self, surroundings: Surroundings) -> None:
            self.around = surroundings

        def run_turn(self, _text: str) -> str:
            self.around.host.event("seen", value=turn(self.around))
            return "done"

    return runtime(Agent)


def _scenario(**changes: Any) -> Scenario:
    return working(tools=(), interactors=(), **changes)


def _said(trace: Trace) -> list[Any]:
    assert trace.footer.ending == "completed", trace.footer.detail
    return [event.payload["fields"]["value"] for event in trace.of_kind("declared.event")]


def _value(turn: Callable[[Surroundings], Any], **changes: Any) -> Any:
    return _said(execute(_scenario(**changes), _agent(turn), 0))[-1]


@pytest.fixture
def origin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with one file in it, and one folder with another."""
    (tmp_path / "prompt.txt").write_text("Be brief.")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "facts.txt").write_text("Water is wet.")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _files(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in folder.rglob("*")
        if path.is_file()
    }


# ---------------------------------------------------------------------- where things are


@pytest.mark.parametrize(
    "path",
    [
        lambda around: "new.txt",
        lambda around: around.folder / "new.txt",
        lambda around: Path.cwd() / "new.txt",
        lambda around: os.path.expanduser("~/new.txt"),
        lambda around: Path(tempfile.gettempdir()) / "new.txt",
        lambda around: Path(os.environ["HOME"]) / "new.txt",
    ],
    ids=["relative", "folder", "cwd", "home", "temporary", "environment"],
)
def test_what_is_written_is_in_the_folder_of_the_run(
    origin: Path, path: Callable[[Surroundings], Any]
) -> None:
    """It is read again in the run, and the machine is as it was."""
    before = _files(origin)

    def turn(around: Surroundings) -> Any:
        Path(path(around)).write_text("mine")
        whole = Path(path(around)).resolve()
        return whole.read_text(), str(whole).startswith(str(around.folder.parent))

    assert _value(turn) == ["mine", True]
    assert _files(origin) == before
    assert not (Path.home() / "new.txt").exists()


def test_an_absolute_path_of_the_system_is_led_into_the_folder(
    origin: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A file beside the code, or anywhere else: the run sees what it wrote, and nobody else."""
    outside = tmp_path_factory.mktemp("outside")
    (outside / "old.txt").write_text("old")

    def turn(_around: Surroundings) -> Any:
        (origin / "beside.txt").write_text("beside")
        with open(outside / "old.txt", "a") as file:
            file.write(" and new")
        os.makedirs(outside / "deep" / "er")
        (outside / "deep" / "er" / "x").touch()
        os.replace(outside / "deep" / "er" / "x", outside / "y")
        return [
            Path("beside.txt").read_text(),
            (outside / "old.txt").read_text(),
            sorted(os.listdir(outside)),
            os.path.exists(outside / "y"),
            os.path.exists(outside / "deep" / "er" / "x"),
        ]

    assert _value(turn) == ["beside", "old and new", ["deep", "old.txt", "y"], True, False]
    assert _files(outside) == {"old.txt": "old"}
    assert sorted(_files(origin)) == ["data/facts.txt", "prompt.txt"]


def test_files_of_the_working_directory_show_through(origin: Path) -> None:
    """Data files are found as they are, and changing one changes a copy."""

    def turn(_around: Surroundings) -> Any:
        before = (Path("prompt.txt").read_text(), (Path("data") / "facts.txt").read_text())
        Path("prompt.txt").write_text("Be long.")
        (Path("data") / "more.txt").touch()
        os.remove(os.path.join("data", "facts.txt"))
        listed = sorted(entry.name for entry in os.scandir("data"))
        return [before, Path("prompt.txt").read_text(), sorted(os.listdir()), listed]

    assert _value(turn) == [
        ["Be brief.", "Water is wet."],
        "Be long.",
        ["data", "prompt.txt"],
        ["more.txt"],
    ]
    assert _files(origin) == {"prompt.txt": "Be brief.", "data/facts.txt": "Water is wet."}


def test_an_error_names_the_path_that_was_asked_for(origin: Path) -> None:
    """Nothing of the real folder is in it, which is another one in each run."""

    def turn(_around: Surroundings) -> Any:
        said = []
        for attempt in (
            lambda: Path("nowhere/new.txt").write_text(""),
            lambda: (origin / "nowhere" / "new.txt").write_text(""),
            lambda: os.remove(origin / "gone.txt"),
            lambda: os.rename("gone.txt", "there.txt"),
        ):
            try:
                attempt()
            except OSError as error:
                said.append(str(error).replace(str(origin), "ORIGIN"))
        return said

    assert _value(turn) == [
        "[Errno 2] No such file or directory: 'nowhere/new.txt'",
        "[Errno 2] No such file or directory: 'ORIGIN/nowhere/new.txt'",
        "[Errno 2] No such file or directory: 'ORIGIN/gone.txt'",
        "[Errno 2] No such file or directory: 'gone.txt' -> 'there.txt'",
    ]


def test_the_folder_is_gone_after_the_run_and_the_process_is_as_it_was(origin: Path) -> None:
    """Working directory, environment and temporary folder are given back."""
    before = (os.getcwd(), dict(os.environ), tempfile.gettempdir())
    assert _value(lambda around: os.stat(around.folder).st_ino)
    assert (os.getcwd(), dict(os.environ), tempfile.gettempdir()) == before
    left = list(Path("/dev/shm").glob(f"faultclock-run-{os.getpid()}-*"))
    assert left == []


@pytest.mark.parametrize("path", ["left.txt", "~/left.txt", "/tmp/left.txt", "/srv/left.txt"])
def test_the_folder_is_gone_also_where_files_are_left_in_it(path: str, origin: Path) -> None:
    """In the working directory, in `~`, in the folder for temporary files, and elsewhere."""
    whole = path.replace("/tmp", "$TMPDIR")

    def turn(_around: Surroundings) -> bool:
        left = Path(os.path.expandvars(os.path.expanduser(whole)))
        left.parent.mkdir(parents=True, exist_ok=True)
        left.write_text("left")
        return left.exists()

    assert _value(turn) is True
    assert list(Path("/dev/shm").glob(f"faultclock-run-{os.getpid()}-*")) == []


def test_a_folder_can_be_removed_as_a_whole(origin: Path) -> None:
    """What `shutil` does by descriptors stays in the folder of the run."""

    def turn(_around: Surroundings) -> Any:
        os.makedirs("out/deep")
        Path("out/deep/x").touch()
        shutil.copytree("out", "copy")
        shutil.rmtree("out")
        return sorted(os.listdir())

    assert _value(turn) == ["copy", "data", "prompt.txt"]


def test_a_temporary_file_needs_no_name(origin: Path) -> None:
    """`tempfile` makes one without a name where the system can, and goes on where it cannot."""

    def turn(_around: Surroundings) -> Any:
        with tempfile.TemporaryFile("w+") as file, tempfile.TemporaryDirectory() as folder:
            file.write("kept")
            file.seek(0)
            return [file.read(), Path(folder).is_dir(), os.listdir(tempfile.gettempdir())]

    text, is_there, listed = _value(turn)
    assert (text, is_there, len(listed)) == ("kept", True, 1)


@pytest.mark.parametrize(
    ("reach", "named"),
    [
        (lambda origin: io.FileIO(origin / "a", "w"), "io.FileIO"),
        (lambda origin: Path("l").symlink_to("a"), "symbolic link"),
        (lambda origin: shutil.rmtree(origin / "data"), "below a folder of the system"),
    ],
    ids=["FileIO", "symlink", "rmtree"],
)
def test_what_cannot_be_led_is_refused_by_name(
    origin: Path, reach: Callable[[Path], Any], named: str
) -> None:
    """The run ends as an escape that says what was reached for; nothing is changed."""
    before = _files(origin)
    trace = execute(_scenario(), _agent(lambda _: reach(origin)), 0)
    assert trace.footer.ending == "escape"
    assert named in trace.footer.detail[0]
    assert _files(origin) == before


def test_a_run_begins_with_as_many_files_open_as_there_may_be_below_its_folders_descriptor(
    origin: Path,
) -> None:
    """The folder is opened then by the very number that it would be moved to."""
    with ExitStack() as held:
        while held.enter_context(Path(os.devnull).open()).fileno() < 249:
            pass
        trace = execute(_scenario(), _agent(lambda _: (origin / "a").read_text()), 0)
    assert trace.footer.ending == "completed"


# ---------------------------------------------------------------------- lives


def _counts(around: Surroundings) -> Any:
    """Count turns in a file, without a sync."""
    path = around.folder / "count"
    before = path.read_text() if path.exists() else ""
    path.write_text(f"{before}x")
    return before


@pytest.mark.parametrize("isolate", [False, True], ids=["inline", "forked"])
def test_a_crash_of_the_process_keeps_what_was_written(origin: Path, *, isolate: bool) -> None:
    """Where the scenario says nothing of a disk, the machine stays when the process dies."""
    scenario = _scenario(tasks=(*_TWO_TURNS, {"id": "three"}), crashes=[_KILLED])
    trace = run_one(scenario, _agent(_counts), 0, isolate=isolate)
    assert _said(trace) == ["", "x"]
    assert not list(trace.of_kind("disk.acted", "disk.survived"))
    assert trace.events[-1].payload["disk_write"] == 1


@pytest.mark.parametrize(
    ("unsynced", "found"), [("nothing", ""), ("all", "x")], ids=["nothing", "all"]
)
def test_a_scenario_with_a_disk_says_what_a_crash_leaves(
    origin: Path, unsynced: str, found: str
) -> None:
    """Then every act is a fact, and what was not synced can be lost."""
    scenario = _scenario(
        tasks=(*_TWO_TURNS, {"id": "three"}), crashes=[_KILLED], disk={"unsynced": unsynced}
    )
    trace = execute(scenario, _agent(_counts), 0)
    assert _said(trace) == ["", found]
    acts = [(e.payload["act"], e.payload["file"]) for e in trace.of_kind("disk.acted")]
    assert acts[:2] == [("create", "work/count"), ("write", "work/count")]
    survived = next(trace.of_kind("disk.survived")).payload
    assert bool(survived["differing"]) is (unsynced == "nothing")


def test_a_restart_in_good_order_keeps_everything(origin: Path) -> None:
    """The next life is another process, on the same folder."""
    tasks = ({"id": "one"}, {"id": "again", "do": "restart"}, {"id": "two"})
    assert _said(execute(_scenario(tasks=tasks), _agent(_counts), 0)) == ["", "x"]


def test_a_scenario_says_what_is_there_at_the_start(origin: Path) -> None:
    """Its files are durable, so a crash of the first life finds them again."""
    disk = {"files": {"count": "abc", "notes/a.txt": "a"}}
    trace = execute(
        _scenario(tasks=(*_TWO_TURNS, {"id": "three"}), crashes=[_KILLED], disk=disk),
        _agent(_counts),
        0,
    )
    assert _said(trace) == ["abc", "abc"]
    assert _value(lambda around: os.listdir("notes"), disk=disk) == ["a.txt"]


def test_a_disk_is_full_from_so_many_bytes_on(origin: Path) -> None:
    """What fits is written, the rest is ENOSPC, and there is place again after a removal."""

    def turn(_around: Surroundings) -> Any:
        said = []
        for name in ("a", "b"):
            try:
                with open(name, "wb", buffering=0) as file:
                    said += [file.write(b"x" * 60), file.write(b"x" * 60)]
            except OSError as error:
                said.append(error.strerror)
        os.remove("a")
        Path("c").write_bytes(b"x" * 60)
        return said

    full = "No space left on device"
    assert _value(turn, disk={"size_bytes": 100}) == [60, 40, full]


def test_a_full_disk_is_what_sqlite_calls_it(origin: Path) -> None:
    """The error is the real one, and what was committed before is still there."""

    def turn(_around: Surroundings) -> Any:
        connection = sqlite3.connect("a.db")
        said = ""
        with connection:
            connection.execute("create table if not exists t(a)")
        try:
            with connection:
                connection.execute("insert into t values (zeroblob(100000))")
        except sqlite3.OperationalError as error:
            said = str(error)
        rows = connection.execute("select count(*) from t").fetchone()[0]
        connection.close()
        return [said, rows]

    assert _value(turn, disk={"size_bytes": 40_000}) == ["database or disk is full", 0]


def test_a_rule_of_the_disk_that_nothing_met_is_a_fact(origin: Path) -> None:
    """A fault that never came must not look like one that was survived."""
    rule = {"id": "bad", "when": {"file": "*.db"}, "then": {"kind": "io_error"}}
    trace = execute(_scenario(disk={"rules": [rule]}), _agent(_counts), 0)
    unmet = [event.payload["fault"] for event in trace.of_kind("fault.unmet")]
    assert unmet == ["bad"]


# ---------------------------------------------------------------------- databases


def test_a_database_that_was_opened_when_the_subject_was_loaded_begins_every_life(
    origin: Path,
) -> None:
    """A connection of the module works in each life, on what the one before it has committed."""
    with installed(), sqlite_files.loading(name_when_loading):
        connection = sqlite3.connect("module.db", check_same_thread=False)
        connection.execute("create table if not exists t(a)")
        connection.commit()

    def turn(_around: Surroundings) -> Any:
        with connection:
            connection.execute("insert into t values (current_timestamp)")
        connection.execute("insert into t values ('never committed')")
        other = sqlite3.connect("module.db")
        rows = other.execute("select a from t").fetchall()
        other.close()
        connection.rollback()
        return [row for (row,) in rows]

    scenario = _scenario(tasks=(*_TWO_TURNS, {"id": "three"}), crashes=[_KILLED])
    trace = run_one(scenario, _agent(turn), 0, isolate=True)
    assert _said(trace) == [
        ["2026-01-01 00:00:00"],
        ["2026-01-01 00:00:00", "2026-01-01 00:00:01"],
    ]
    assert not (origin / "module.db").exists()
    connection.close()


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_a_killed_process_leaves_what_it_has_committed(origin: Path, journal: str) -> None:
    """What it had not committed is rolled back by the next life."""

    def turn(_around: Surroundings) -> Any:
        connection = sqlite3.connect("a.db")
        connection.execute(f"pragma journal_mode={journal}")
        connection.execute("create table if not exists t(a)")
        before = connection.execute("select count(*) from t").fetchone()[0]
        connection.execute("insert into t values (1)")
        connection.commit()
        connection.execute("insert into t values (zeroblob(9000000))")
        _OPEN.append(connection)
        return before

    scenario = _scenario(tasks=(*_TWO_TURNS, {"id": "three"}), crashes=[_KILLED])
    assert _said(run_one(scenario, _agent(turn), 0, isolate=True)) == [0, 1]


#: Connections that a process still has when it is killed.
_OPEN: list[sqlite3.Connection] = []
