"""A store's lives: what it is asked, what a crash takes, what the next process finds."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from faultclock.agents.store import FileStore, reference_store, reference_store_async
from faultclock.run import folder
from faultclock.run.expand import crash_after
from faultclock.run.suite import run_one
from faultclock.subjects.bind_store import session_store
from tests.run.store_runs import Memory, drive, facts, outcomes, scenario, write

LOOK = {"id": "look", "do": "read"}


@pytest.mark.parametrize("store", [reference_store, reference_store_async], ids=lambda b: b.id)
def test_a_store_is_asked_in_the_order_of_the_tasks(store: Any) -> None:
    """It is made, asked, and given time to come to rest; blocking or not, the facts are alike."""
    trace = drive(store, scenario(write("first", 1), LOOK))
    assert trace.footer.ending == "completed"
    assert outcomes(trace) == {"start/1": "done", "first/1": "done", "look/1": "found"}
    (wrote, read) = (item for item in facts(trace, "call.started") if "session" in item)
    (answer,) = (item for item in facts(trace, "call.returned") if item.get("found"))
    assert wrote["value_sha256"] == answer["value_sha256"]
    assert read["session"] == "alpha"
    assert [item["op"] for item in facts(trace, "disk.acted")] == [f"d{n}" for n in range(1, 8)]


@pytest.mark.parametrize("store", [reference_store, reference_store_async], ids=lambda b: b.id)
@pytest.mark.parametrize("seq", [1, 2, 3])
def test_a_process_may_die_before_it_was_asked_anything(store: Any, seq: int) -> None:
    """Right after the run began, its process started, or its first call did."""
    trace = drive(store, crash_after(scenario(write("first", 1)), seq))
    assert trace.footer.ending == "completed"
    assert [item["life"] for item in facts(trace, "process.started")][-1] == 2
    (crash,) = trace.of_kind("process.crashed")
    # What the disk makes of it comes first, and nothing else does.
    assert {event.kind for event in trace.events[seq : crash.seq - 1]} == {
        "disk.survived",
        "fault.fired",
    }


@pytest.mark.parametrize("isolate", [False, True], ids=["inline", "apart"])
def test_after_a_crash_a_fresh_store_is_asked_for_everything(isolate: bool) -> None:
    """Whether or not each life has a process of its own, only the folder goes on."""
    made: list[int] = []

    class Store(Memory):
        def __init__(self, surroundings: Any) -> None:
            super().__init__(surroundings)
            made.append(os.getpid())

    run = scenario(
        write("first", 1),
        write("other", 2, session="beta"),
        LOOK,
        crashes=[{"id": "power", "on": {"kind": "call.returned", "where": {"call": "other/1"}}}],
    )
    trace = run_one(run, session_store(id="s")(Store), 0, isolate=isolate)
    assert len(made) == (0 if isolate else 2)
    assert outcomes(trace) == {
        "start/1": "done",
        "first/1": "done",
        "other/1": "done",
        "start/2": "done",
        "recover/1": "nothing",
        "recover/2": "nothing",
        "look/1": "nothing",
    }
    assert [item["life"] for item in facts(trace, "process.started")] == [1, 2]
    assert facts(trace, "process.crashed")[0]["crash"] == "power"
    assert [event.seq for event in trace.events] == list(range(1, len(trace.events) + 1))
    assert sorted(event.at_ns for event in trace.events) == [e.at_ns for e in trace.events]


@pytest.mark.parametrize(
    ("then", "calls"), [("next", ["look/1"]), ("again", ["second/2", "look/1"])]
)
def test_a_task_that_was_cut_off_is_asked_again_or_not(then: str, calls: list[str]) -> None:
    """The scenario says which; the call that was cut off has crashed."""
    run = scenario(
        write("first", 1),
        write("second", 2),
        LOOK,
        crashes=[
            {
                "id": "power",
                "on": {"kind": "disk.acted", "where": {"call": "second/1", "act": "write"}},
                "then": then,
            }
        ],
    )
    found = outcomes(drive(reference_store, run))
    assert found["second/1"] == "crashed"
    assert [call for call in found if call in ("second/2", "look/1")] == calls


@pytest.mark.parametrize("leaves", ["nothing", "part", "all"])
def test_a_crash_in_an_act_says_what_it_leaves(leaves: str) -> None:
    """The nth act is the last one, and it is told what the disk has kept."""
    run = scenario(write("first", 1), crashes=[{"id": "power", "write": 4, "leaves": leaves}])
    trace = drive(reference_store, run)
    last = facts(trace, "disk.acted")[3]
    assert (last["op"], last["error"]) == ("d4", "crashed")
    assert facts(trace, "disk.survived")[0]["leaves"] == leaves
    assert facts(trace, "fault.unmet") == []


def test_a_crash_at_a_time_kills_whatever_runs() -> None:
    """A slow sync is cut off in the middle, from outside."""
    run = scenario(
        write("first", 1),
        disk={"rules": [{"id": "slow", "when": {"act": "fsync"}, "then": {"kind": "slow"}}]},
        crashes=[{"id": "power", "at": "10s", "restart_after": "5s"}],
    )
    trace = drive(reference_store, run)
    assert outcomes(trace)["first/1"] == "crashed"
    (_, second) = trace.of_kind("process.started")
    assert second.at_ns == 15_000_000_000


def test_a_restart_in_good_order_keeps_the_page_cache() -> None:
    """Nothing was synced, and nothing is lost: the system goes on."""

    class Store(Memory):
        def __init__(self, surroundings: Any) -> None:
            self.path = surroundings.folder / "a"

        def read(self, session_id: str) -> Any:
            return {"text": self.path.read_text()} if self.path.exists() else None

        def write(self, session_id: str, manifest: Any) -> None:
            self.path.write_text("kept")

    run = scenario(write("first", 1), {"id": "later", "do": "restart"}, LOOK)
    trace = drive(Store, run, inline=True)
    assert outcomes(trace)["look/1"] == "found"
    assert facts(trace, "leak") == []


def test_what_a_store_cannot_do_is_not_asked() -> None:
    """Optional methods are those that are there; a rule for such a task need not be met."""
    run = scenario(
        {"id": "note", "do": "append", "arguments": {"entry": 1}},
        LOOK,
        disk={"rules": [{"id": "full", "when": {"task": "note"}, "then": {"kind": "no_space"}}]},
    )
    trace = drive(Memory, run)
    assert facts(trace, "call.skipped")[0]["why"] == "the store has no append"
    assert facts(trace, "fault.unmet")[0]["optional"] is True
    assert "look/1" in outcomes(trace)


def test_a_store_that_cannot_be_made_is_asked_nothing() -> None:
    """What its constructor raises is the outcome of the start."""

    class Broken(Memory):
        def __init__(self, surroundings: Any) -> None:
            folder = surroundings.folder
            raise RuntimeError(f"no config in {folder}, {folder}/x or {folder}/x/a.json")

    trace = drive(Broken, scenario(LOOK))
    assert outcomes(trace) == {"start/1": "RuntimeError"}
    assert facts(trace, "call.skipped")[0]["task"] == "look"
    message = facts(trace, "call.raised")[0]["chain"][0]["message"]
    assert message == "no config in …/, …/x or …/a.json", "the folder has another name each time"


def test_closing_is_asked_when_a_process_ends_in_good_order() -> None:
    """Before a restart, and after the last task; a crash asks nobody."""
    closed: list[str] = []

    class Store(Memory):
        def close(self) -> None:
            closed.append("closed")

    drive(Store, scenario(LOOK, {"id": "later", "do": "restart"}), inline=True)
    assert closed == ["closed", "closed"]
    drive(Store, scenario(LOOK, {"id": "end", "do": "close"}), inline=True)
    assert len(closed) == 3


def test_a_coroutine_of_a_blocking_store_is_told() -> None:
    """A factory that makes an async store has to say so."""

    class Store(Memory):
        async def read(self, session_id: str) -> Any:
            return None

    binding = session_store(id="s", style="sync")(Store)
    trace = drive(binding, scenario(LOOK))
    assert "style='async'" in facts(trace, "call.raised")[0]["chain"][0]["message"]


@pytest.mark.parametrize("value", [object(), {1: {2}}, [1], "text", 7], ids=range(5))
def test_whatever_a_store_returns_is_data(value: Any) -> None:
    """What is no JSON has no digest, and ends no run."""

    class Store(Memory):
        def read(self, session_id: str) -> Any:
            return value

    trace = drive(Store, scenario(LOOK))
    assert trace.footer.ending == "completed"
    assert outcomes(trace)["look/1"] == "found"


@pytest.mark.parametrize("how", ["half", "empty", "garbage", "zeros"])
def test_files_are_changed_between_two_lives(how: str) -> None:
    """Each file that the pattern names, and the store is told nothing."""
    run = scenario(
        write("first", 1),
        {"id": "later", "do": "restart"},
        LOOK,
        disk={"edits": [{"before_life": 2, "files": "*manifest*", "how": how}]},
    )
    trace = drive(reference_store, run)
    assert [item["how"] for item in facts(trace, "disk.edited")] == [how]
    assert outcomes(trace)["look/1"] == "ManifestDrift"


def test_a_life_that_hangs_keeps_what_was_recorded_before_it() -> None:
    """It gets a part of the time that is left, so that it can say where it hung."""

    class Store(Memory):
        def read(self, session_id: str) -> Any:
            while True:
                pass

    tasks = (write("first", 1), {"id": "later", "do": "restart"}, LOOK)
    binding = session_store(id="s")(Store)
    trace = run_one(scenario(*tasks), binding, 0, isolate=True, wall_limit_s=4)
    assert trace.footer.ending == "watchdog"
    assert "read" in trace.footer.detail[1]
    assert [item["life"] for item in facts(trace, "process.started")] == [1, 2]
    done = ("start/1", "first/1", "later/1", "start/2")
    assert outcomes(trace) == dict.fromkeys(done, "done")
    assert trace.events[-1].kind == "call.started"


def test_a_life_that_sends_itself_our_signals_comes_to_no_result() -> None:
    """What it has so far is no result of a life."""

    class Store(Memory):
        def read(self, session_id: str) -> Any:
            os.kill(os.getpid(), signal.SIGUSR1)
            time.sleep(1)

    tasks = (write("first", 1), {"id": "later", "do": "restart"}, LOOK)
    trace = run_one(scenario(*tasks), session_store(id="s")(Store), 0, isolate=True)
    assert trace.footer.ending == "harness_error"
    assert "a signal that is Faultclock's own" in trace.footer.detail[0]


def test_equal_runs_are_equal_to_the_byte() -> None:
    """The folder has another name in each of them, and nobody can tell."""
    run = scenario(
        write("first", 1), write("second", 2), LOOK, crashes=[{"id": "power", "write": 9}]
    )
    digests = {drive(reference_store, run).footer.digest for _ in range(2)}
    apart = session_store(id="reference-store", title=reference_store.title)(FileStore)
    digests.add(drive(apart, run).footer.digest)
    assert len(digests) == 1


def test_nothing_of_a_run_is_left_behind() -> None:
    """The folder goes with the run, however that ends."""
    places: list[Path] = []

    class Store(Memory):
        def __init__(self, surroundings: Any) -> None:
            super().__init__(surroundings)
            places.append(surroundings.folder)

        def write(self, session_id: str, manifest: Any) -> None:
            (places[-1] / "a").write_text("x")

    drive(Store, scenario(write("first", 1)), inline=True)
    assert len(places) == 1
    assert not places[0].exists()


def test_folders_of_killed_runs_are_taken_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that the watchdog killed cannot clean up; the next one does, and spares the living."""
    monkeypatch.setattr(folder, "_MEMORY", tmp_path)
    dead = tmp_path / f"faultclock-store-{2**22 + 1}-abc"
    alive = tmp_path / f"faultclock-store-{os.getpid()}-abc"
    dead.mkdir()
    alive.mkdir()
    drive(Memory, scenario(LOOK), inline=True)
    assert list(tmp_path.iterdir()) == [alive]
