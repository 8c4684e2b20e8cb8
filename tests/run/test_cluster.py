"""On a cluster of Dask everything comes to what it comes to here, whatever dies meanwhile.

Schedulers and workers are real, in processes on 127.0.0.1.
"""

from __future__ import annotations

import importlib.util
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from faultclock.errors import InputError
from faultclock.explore.engine import ExploreRequest, explore
from faultclock.load.error_model import load_error_model
from faultclock.model.report.exploration import Exploration, Reached, Tried
from faultclock.run.prepare import hosted
from faultclock.run.process import cluster as module
from faultclock.run.process.cluster import Cluster
from faultclock.run.process.cluster_worker import check_alike, facts
from faultclock.run.process.workers import Shared, Workers, as_finished, in_order, working_at
from tests.architecture.source_tree import PROJECT
from tests.cli.process import process
from tests.explore.worlds import varying
from tests.run import cluster_tasks as tasks

ITEMS = tuple(range(23))
SQUARES = tuple(tasks.squares(ITEMS))
RUNS = 18
SCENARIO = "rate-limits/retry-after-integer"
EXPLORE = ("explore", SCENARIO, "--runs", "8")

#: A client that tries again too early, after a wait that is not the same twice: what the kernel
#: gives it is not simulated.
UNSTEADY = """
import ctypes, json, time, urllib.error, urllib.request

GETRANDOM = ctypes.CDLL(None).getrandom


def ask(prompt):
    body = {"model": "gpt-5-mini", "messages": [{"role": "user", "content": prompt}]}
    headers = {"Authorization": "Bearer key", "Content-Type": "application/json"}
    url = "https://api.openai.com/v1/chat/completions"
    while True:
        try:
            request = urllib.request.Request(url, json.dumps(body).encode(), headers)
            with urllib.request.urlopen(request) as answer:
                return json.load(answer)["choices"][0]["message"]["content"]
        except urllib.error.HTTPError:
            buffer = ctypes.create_string_buffer(4)
            GETRANDOM(buffer, 4, 0)
            time.sleep(int.from_bytes(buffer.raw, "big") / 1e10)
"""


def nothing(item: int) -> int:
    """Stand for a result that nobody lived to tell."""
    return -item


@pytest.fixture(scope="module", autouse=True)
def _tests_are_importable() -> Iterator[None]:
    """Let workers find the functions of these tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(PROJECT))
        patch.setenv("PYTHONHASHSEED", "0")
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder in which the workers are, with subjects in files."""
    place = tmp_path_factory.mktemp("cluster")
    (place / "unsteady.py").write_text(UNSTEADY, "utf-8")
    return place


@pytest.fixture(scope="module")
def cluster(folder: Path) -> Iterator[Cluster]:
    """Return a cluster of two workers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        with Cluster("local:2") as found:
            yield found


@pytest.fixture
def address(cluster: Cluster) -> str:
    """Return the address of its scheduler."""
    return cluster._address


# ------------------------------------------------------------------ tasks


@pytest.mark.parametrize("size", [1, 4, 100])
def test_results_come_in_the_order_of_the_items(cluster: Cluster, size: int) -> None:
    """In chunks of whatever size, whoever finishes first."""
    with working_at(cluster), Workers(1) as workers:
        assert workers.ahead == 4
        assert tuple(in_order(workers, tasks.squares, ITEMS, size=size, lost=nothing)) == SQUARES


def test_a_shared_value_is_sent_once_and_named_from_then_on(cluster: Cluster) -> None:
    """Each worker has it, though none was forked from this process."""
    shared = Shared(7)
    with working_at(cluster), Workers() as workers:
        function = partial(tasks.times, shared)
        found = tuple(in_order(workers, function, ITEMS, size=2, lost=nothing))
    shared.close()
    assert found == tuple(7 * item for item in ITEMS)


def test_what_is_asked_for_twice_is_done_twice(cluster: Cluster) -> None:
    """Dask would give the first result again: a flaky subject would look like one that is not."""
    with working_at(cluster), Workers() as workers:
        found = tuple(in_order(workers, tasks.stamped, (1,) * 8, size=1, lost=lambda _: (0, 0)))
    assert len(set(found)) == 8


def test_what_a_task_raises_is_raised_where_its_result_is_read(cluster: Cluster) -> None:
    """An error of ours is no lost run."""
    with pytest.raises(InputError, match="five"), working_at(cluster), Workers() as workers:
        tuple(in_order(workers, tasks.failing, ITEMS, size=4, lost=nothing))


def test_the_item_that_kills_its_process_is_told_and_no_other_is_lost(cluster: Cluster) -> None:
    """All others are there once."""
    with working_at(cluster), Workers() as workers:
        found = tuple(in_order(workers, tasks.mortal, ITEMS, size=4, lost=nothing))
    assert found == tuple(-13 if item == 13 else item * item for item in ITEMS)


def test_a_worker_that_is_killed_loses_nothing(cluster: Cluster, tmp_path: Path) -> None:
    """What it had in hand is done by another one, and each result comes once."""
    function = partial(tasks.kill_worker_once, tmp_path / "killed")
    with working_at(cluster), Workers() as workers:
        chunks = list(as_finished(workers, function, ITEMS, size=4, lost=nothing))
    assert (tmp_path / "killed").exists()
    assert sorted(item for chunk in chunks for item in chunk.items) == list(ITEMS)
    assert all(chunk.results == tuple(tasks.squares(chunk.items)) for chunk in chunks)


# ------------------------------------------------------------------ a scheduler of a person's own


def free_port() -> int:
    """Return a port on which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port


class Started:
    """A scheduler at a fixed address, and its workers, as a person starts them."""

    def __init__(self, port: int) -> None:
        self.address = f"tcp://127.0.0.1:{port}"
        self._port = port
        self.processes: list[subprocess.Popen[bytes]] = []

    def start_scheduler(self) -> None:
        """Start a scheduler, at the same address each time."""
        place = ("--host", "127.0.0.1", "--port", str(self._port))
        self._start("scheduler", *place, "--no-dashboard")

    def start_worker(self) -> None:
        """Start a worker, which waits for the scheduler."""
        self._start("worker", self.address, "--no-nanny", "--nthreads", "1", "--no-dashboard")

    def kill(self) -> None:
        """Kill all of it."""
        for child in self.processes:
            child.kill()
            child.wait()
        self.processes.clear()

    def _start(self, *words: str) -> None:
        command = [sys.executable, "-m", "dask", *words]
        with Path(os.devnull).open("wb") as out:
            self.processes.append(subprocess.Popen(command, stdout=out, stderr=out))


@pytest.fixture
def started() -> Iterator[Started]:
    """Return what starts a scheduler, and ends what was started."""
    found = Started(free_port())
    yield found
    found.kill()


def test_a_scheduler_may_go_and_come_back(
    started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was under way is asked for again, and what had come is not counted twice."""
    started.start_scheduler()
    monkeypatch.setattr(module, "_START_LIMIT_S", 0.1)
    with pytest.raises(InputError, match="has no workers") as lone, Cluster(started.address) as it:
        it.hands()
    assert f"dask worker {started.address}" in str(lone.value)
    monkeypatch.undo()

    started.start_worker()
    chunks = []
    with Cluster(started.address) as cluster, working_at(cluster), Workers() as workers:
        for chunk in as_finished(workers, tasks.squares, ITEMS, size=2, lost=nothing):
            if not chunks:
                started.kill()
                started.start_scheduler()
                started.start_worker()
            chunks.append(chunk)
        assert sorted(item for chunk in chunks for item in chunk.items) == list(ITEMS)
        assert all(chunk.results == tuple(tasks.squares(chunk.items)) for chunk in chunks)

        # And if it does not come back, what is finished of an exploration is in its history.
        cluster._connected()._client._timeout = 0.1
        started.kill()
        with pytest.raises(InputError, match=r"scheduler at .* is gone") as gone:
            tuple(in_order(workers, tasks.squares, ITEMS, size=2, lost=nothing))
        assert "--resume" in str(gone.value)


# ------------------------------------------------------------------ runs


class Kept:
    """A ledger in memory."""

    def __init__(self) -> None:
        self.kept: list[tuple[Tried, Reached]] = []

    def done(self, *_: object) -> tuple[tuple[Tried, Reached], ...]:
        """Return nothing: nothing was made before."""
        return ()

    def record(self, batch: Any) -> None:
        """Keep a batch."""
        self.kept += batch


def explored(**options: Any) -> Exploration:
    """Explore with a subject that fails in some runs."""
    request = ExploreRequest(
        scenarios=(varying(),),
        binding=hosted("mini-ignores-retry-after"),
        subject_spec="mini-ignores-retry-after",
        model=load_error_model("stud-cli"),
        runs=RUNS,
        chunk=3,
    )
    return explore(request, **options)


def test_an_exploration_is_the_same_though_a_worker_is_killed(cluster: Cluster) -> None:
    """Each run is recorded once, and what they come to together is what it is here."""
    ledger = Kept()
    left = [1]

    def kill_one(_: Tried) -> None:
        if left:
            left.clear()
            pids = cluster._connected()._client.run(os.getpid)
            os.kill(min(pids.values()), signal.SIGKILL)

    with working_at(cluster):
        found = explored(ledger=ledger, on_run=kill_one)
    assert found == explored()
    assert found.groups
    assert sorted(tried.number for tried, _ in ledger.kept) == list(range(1, RUNS + 1))


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("run", SCENARIO, "--subject", "mini-ignores-retry-after", "--seeds", "6"), 1),
        ((*EXPLORE, "--subject", "mini-ignores-retry-after", "--shrink-runs", "10"), 1),
        (("census", "requests-retry", "--scenario", SCENARIO), 0),
        (("run", SCENARIO, "--subject", "unsteady.py:ask", "--seeds", "2"), 3),
    ],
    ids=["run", "explore", "census", "unsteady"],
)
def test_a_report_is_the_same_byte_for_byte(
    folder: Path, address: str, words: tuple[str, ...], code: int
) -> None:
    """Whoever made the runs, in any order; a subject that is unsteady is told to be."""
    here = process(folder, *words, "--json", "here.json", "-q")
    there = process(folder, *words, "--json", "there.json", "-q", "--cluster", address)
    assert (here.returncode, there.returncode) == (code, code), there.stderr
    if "unsteady.py:ask" not in words:
        assert (folder / "here.json").read_bytes() == (folder / "there.json").read_bytes()


def test_a_certificate_is_the_same_byte_for_byte(folder: Path, address: str) -> None:
    """Its traces, its digests and its signature."""
    assert process(folder, "keygen", "-o", "k.key").returncode == 0
    words = ("certify", "reference-store", "--model", "stud-cli", "--level", "core")
    for name, where in (("here", ()), ("there", ("--cluster", address))):
        done = process(folder, *words, "--key", "k.key", "-o", name, "-q", *where)
        assert done.returncode == 0, done.stderr
    here, there = (
        {file.relative_to(folder / name): file.read_bytes() for file in _files(folder / name)}
        for name in ("here", "there")
    )
    assert here == there
    assert here


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file())


# ------------------------------------------------------------------ what is refused


def refused(folder: Path, address: str, subject: str = "reference") -> str:
    """Run on a cluster that does not fit, and return what was said: no run is made."""
    done = process(folder, "run", SCENARIO, "--subject", subject, "--cluster", address)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    return done.stderr


def test_a_worker_with_another_source_of_the_subject_is_refused(
    folder: Path, address: str, tmp_path: Path
) -> None:
    """Its runs would be of something else."""
    (tmp_path / "unsteady.py").write_text(f"{UNSTEADY}\n# changed\n", "utf-8")
    said = refused(tmp_path, address, "unsteady.py:ask")
    assert said.startswith("faultclock: worker tcp://127.0.0.1:")
    assert "it has another unsteady:ask: source digest" in said


def test_a_worker_without_the_file_of_the_subject_is_refused(address: str, tmp_path: Path) -> None:
    """It says which file it lacks."""
    (tmp_path / "only_here.py").write_text(UNSTEADY, "utf-8")
    said = refused(tmp_path, address, "only_here.py:ask")
    assert said.startswith("faultclock: worker tcp://127.0.0.1:")
    assert "only_here.py" in said


@pytest.mark.parametrize(
    ("lie", "truth", "said"),
    [
        (
            "import faultclock; faultclock.__version__ = '0.0.9'",
            "import faultclock; faultclock.__version__ = '0.1.0'",
            "has Faultclock 0.0.9, and this is 0.1.0",
        ),
        (
            "import platform; platform.kept = platform.python_version;"
            " platform.python_version = lambda: '3.10.1'",
            "import platform; platform.python_version = platform.kept",
            "has Python 3.10.1, and this is 3.",
        ),
    ],
    ids=["Faultclock", "Python"],
)
def test_a_worker_of_another_version_is_refused(
    folder: Path, cluster: Cluster, address: str, lie: str, truth: str, said: str
) -> None:
    """Before anything is run by any of them."""
    client = cluster._connected()._client
    client.run(exec, lie)
    try:
        assert said in refused(folder, address)
    finally:
        client.run(exec, truth)


def test_what_joins_later_is_held_to_the_same_files_of_faultclock() -> None:
    """Two states of one version are two programs."""
    check_alike(facts())
    with pytest.raises(InputError, match=r"it has files of faultclock .*, and this is another"):
        check_alike({**facts(), "files of faultclock": "another"})


def test_an_address_where_nothing_listens_is_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says what an address is."""
    monkeypatch.setattr(module, "_CONNECT_LIMIT_S", 0.1)
    cluster = Cluster(f"tcp://127.0.0.1:{free_port()}")
    with pytest.raises(InputError, match="cannot be reached") as told, cluster:
        cluster.hands()
    assert "tcp://host:8786" in str(told.value)


def test_without_the_extra_its_name_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dask is imported only where it is used."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(InputError) as told:
        Cluster("local:2")
    assert "pip install 'faultclock[dask]'" in str(told.value)


@pytest.mark.parametrize("words", [("--jobs", "2"), ("--inline",), ("--cpu-profile", "cpu.json")])
def test_what_is_about_this_machine_does_not_go_with_a_cluster(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    """It would be ignored."""
    done = process(
        tmp_path, "run", SCENARIO, "--subject", "reference", "--cluster", "local:2", *words
    )
    assert done.returncode == 2
    assert f"{words[0]} is about processes of this machine" in done.stderr


@pytest.mark.parametrize("place", ["local:0", "local", "host:8786", "http://host:8786"])
def test_what_is_no_address_is_refused(tmp_path: Path, place: str) -> None:
    """The message says how one is written."""
    done = process(tmp_path, "run", SCENARIO, "--subject", "reference", "--cluster", place)
    assert done.returncode == 2
    assert "write it like tcp://host:8786, or local:4" in done.stderr
