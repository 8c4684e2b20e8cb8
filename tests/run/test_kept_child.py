"""Several runs share a child, and none of them is another one than it would be alone."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.finding import Report
from faultclock.run.process.leftovers import state
from faultclock.run.suite import SuiteRequest, run_suite
from faultclock.subjects.binding import Binding
from tests.run.conftest import limited, small
from tests.run.runtime_runs import working
from tests.run.small_runtime import small_runtime
from tests.run.unsteady_subjects import binding_of, of_process_state

LIMITED = small(provider=limited(retry_after="2"))
SEEDS = 12


def suite(model: ErrorModel, binding: Binding, **options: Any) -> Report:
    """Run a limited call under some seeds."""
    request = {"scenarios": (LIMITED,), "subject_spec": "s", "model": model, "seeds": SEEDS}
    return run_suite(SuiteRequest(binding=binding, **request | options))


def alone(model: ErrorModel, binding: Binding) -> Report:
    """Do the same with a child for each run."""
    return suite(model, binding, confirm=False)


class Hidden:
    """Counts the runs of a process where only a library could have it, so it is not looked at."""

    def __enter__(self) -> Callable[[], int]:
        vars(json)["_runs"] = 0

        def run() -> int:
            vars(json)["_runs"] += 1
            return int(vars(json)["_runs"])

        return run

    def __exit__(self, *_: object) -> None:
        del vars(json)["_runs"]


@pytest.fixture
def hidden() -> Iterator[Callable[[], int]]:
    """Return what says which limited run of its process it is, from 1."""
    with Hidden() as run:
        yield run


def processes(path: Path) -> list[str]:
    """Return the processes that have written their number, in order."""
    return path.read_text("utf-8").split()


@contextmanager
def noting(path: Path) -> Iterator[Callable[[], object]]:
    """Yield what writes the number of its process."""
    with path.open("a", encoding="utf-8") as file:
        yield lambda: os.write(file.fileno(), f"{os.getpid()}\n".encode())


def test_runs_share_a_child(model: ErrorModel, tmp_path: Path) -> None:
    """It first makes two healthy calls; every second run has a process of its own."""
    with noting(tmp_path / "processes") as note:
        report = suite(model, binding_of("steady", float, before=note))
    assert report.totals == {"PASS": SEEDS}
    assert not report.alone
    counts = Counter(processes(tmp_path / "processes"))
    (kept,) = (count for count in counts.values() if count > 1)
    assert kept == 2 + SEEDS
    assert report == alone(model, binding_of("steady", float))


def test_each_run_of_an_agent_has_a_child_of_its_own(model: ErrorModel, tmp_path: Path) -> None:
    """Frameworks of agents keep more than clients do."""
    with noting(tmp_path / "processes") as note:

        def made(*args: Any, **options: Any) -> Any:
            note()
            return small_runtime.function(*args, **options)

        suite(
            model,
            replace(small_runtime, function=made),
            scenarios=(working(),),
            seeds=8,
        )
    found = processes(tmp_path / "processes")
    assert len(found) == len(set(found)) >= 8


def test_each_of_the_first_few_runs_is_proved(model: ErrorModel, hidden: Callable[[], int]) -> None:
    """One that passes otherwise after another one is found, though it is not the last."""
    # A microsecond more is as legal as none.
    differs = binding_of("differs", lambda: 1e-6 if hidden() == 2 else 0.0)
    report = suite(model, differs)
    assert report.alone
    assert report.runs == alone(model, binding_of("differs", float)).runs


def test_no_child_is_left_when_all_runs_are_made(model: ErrorModel, tmp_path: Path) -> None:
    """What is kept for more runs ends with the last request."""
    with noting(tmp_path / "processes") as note:
        suite(model, binding_of("steady", float, before=note))
    for process in set(processes(tmp_path / "processes")):
        with pytest.raises(ProcessLookupError):
            os.kill(int(process), 0)


def test_no_run_shares_a_child_where_that_is_not_wanted(model: ErrorModel, tmp_path: Path) -> None:
    """As in a certificate; a second run is one more process."""
    with noting(tmp_path / "processes") as note:
        report = suite(model, binding_of("steady", float, before=note), share=False)
    found = processes(tmp_path / "processes")
    assert len(found) == len(set(found)) == SEEDS + sum(run.made_twice for run in report.runs)


def test_each_run_that_changes_its_process_is_the_last_one_there(model: ErrorModel) -> None:
    """What it counts is in reach of the subject's own code, so it is seen."""
    too_long_s = of_process_state(ends_at=100)
    report = suite(model, binding_of("counts", too_long_s))
    assert report == alone(model, binding_of("counts", too_long_s))
    assert not report.alone


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_failure_that_only_an_earlier_run_has_caused_is_not_reported(
    model: ErrorModel, hidden: Callable[[], int], jobs: int
) -> None:
    """Where no one sees what was left behind, the second run of a failure does."""
    breaks = binding_of("breaks", lambda: 60.0 if hidden() > 1 else 0.0)
    report = suite(model, breaks, jobs=jobs)
    assert report.totals == {"PASS": SEEDS}
    assert report.alone


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_pass_that_is_owed_to_an_earlier_run_is_not_earned(
    model: ErrorModel, hidden: Callable[[], int], jobs: int
) -> None:
    """The last of some runs is made once more: it has most behind it."""
    learns = binding_of("learns", lambda: 60.0 if hidden() == 1 else 0.0)
    report = suite(model, learns, jobs=jobs)
    assert report.totals == {"FAIL": SEEDS}
    assert report.alone


def test_a_run_that_hangs_after_others_is_made_again_alone(
    model: ErrorModel, hidden: Callable[[], int]
) -> None:
    """It may hang in what an earlier one left behind."""

    def too_long_s() -> float:
        while hidden() > 1:
            pass
        return 0.0

    report = suite(model, binding_of("hangs", too_long_s), wall_limit_s=1.0, seeds=2)
    assert report.totals == {"PASS": 2}


def test_a_run_that_dies_after_others_is_made_again_alone(
    model: ErrorModel, hidden: Callable[[], int]
) -> None:
    """And the ones after it find a new child."""

    def too_long_s() -> float:
        if hidden() > 1:
            os._exit(3)
        return 0.0

    report = suite(model, binding_of("dies", too_long_s))
    assert report.totals == {"PASS": SEEDS}


def test_a_subject_that_does_not_survive_a_healthy_run_has_a_child_for_each(
    model: ErrorModel, hidden: Callable[[], int]
) -> None:
    """Here at the second of the two healthy calls."""

    def dies_at_second_call() -> None:
        if hidden() > 1:
            os._exit(3)

    report = suite(model, binding_of("dies", float, before=dies_at_second_call))
    assert report.totals == {"PASS": SEEDS}


def test_a_run_that_is_ended_after_others_is_made_again_alone(
    model: ErrorModel, hidden: Callable[[], int]
) -> None:
    """Here at the limit of virtual time, which an earlier one may have brought about."""
    report = suite(model, binding_of("sleeps", lambda: 1e9 if hidden() > 1 else 0.0))
    assert report.totals == {"PASS": SEEDS}
    assert not report.alone


def test_a_run_with_a_crash_has_a_child_for_each_life(model: ErrorModel) -> None:
    """What is killed there is a process, and no other run may be in it."""
    scenario = working(crashes=[{"id": "dead", "on": {"kind": "tool.effect"}}])
    asked = {"scenarios": (scenario,), "seeds": 4, "sweep": False}
    report = suite(model, small_runtime, **asked)
    assert report == suite(model, small_runtime, **asked, share=False)
    assert {run.ending for run in report.runs} == {"completed"}


def test_what_a_run_writes_is_its_own(model: ErrorModel) -> None:
    """What goes to a descriptor past Python belongs to the run that wrote it."""

    def write() -> None:
        os.write(1, b"one line\n")

    # Notes are kept of what fails.
    report = suite(model, binding_of("writes", lambda: 60.0, before=write))
    lines = [[line.text for line in run.notes.output] for run in report.runs if run.notes]
    assert lines == [["one line"]] * SEEDS


def test_an_interrupt_that_the_subject_raises_is_no_persons(model: ErrorModel) -> None:
    """It ends that run, and none after it."""

    def interrupts() -> float:
        raise KeyboardInterrupt

    binding = binding_of("interrupts", interrupts)
    assert suite(model, binding).totals == alone(model, binding).totals


# ------------------------------------------------------------------ what is looked at


COUNTED = {"runs": 0}


class Breaker:
    """Has a state like those of a client's circuit breaker."""

    opened_by: tuple[str, ...] = ()

    def __init__(self) -> None:
        self.failures = 0


BREAKER = Breaker()


def changed_by(act: Callable[[], object], *roots: object) -> bool:
    """Return whether `act` is seen."""
    before = state(*roots)
    assert state(*roots) == before, "nothing has changed"
    act()
    return state(*roots) != before


def asks() -> None:
    """Stand for the function of a subject in this module."""


def test_what_a_module_counts_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a container, in an object, and in a class."""
    assert changed_by(lambda: COUNTED.update(runs=1), asks)
    assert changed_by(lambda: vars(BREAKER).update(failures=1), asks)
    assert changed_by(lambda: setattr(Breaker, "opened_by", ("429",)), asks)
    assert changed_by(lambda: monkeypatch.setitem(globals(), "NEW", 1), asks)


def test_what_a_function_keeps_is_seen() -> None:
    """In a closure, in a default, and on the function."""
    kept: list[int] = []

    def keeps(number: int = 0, *, others: list[int] = []) -> None:  # noqa: B006 - as people write
        kept.append(number)
        others.append(number)

    alone: Callable[..., Any] = keeps
    assert changed_by(lambda: kept.append(1), keeps)
    assert changed_by(lambda: (keeps.__kwdefaults__ or {})["others"].append(1), keeps)
    assert changed_by(lambda: setattr(alone, "calls", 1), keeps)


def test_what_a_process_has_is_seen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its environment, its folder, its descriptors and its threads."""
    assert changed_by(lambda: monkeypatch.setenv("FAULTCLOCK_TESTS_STATE", "1"))
    assert changed_by(lambda: monkeypatch.chdir(tmp_path))
    opened: list[socket.socket] = []
    assert changed_by(lambda: opened.append(socket.socket()))
    for item in opened:
        with closing(item):
            pass
    ended = threading.Event()
    thread = threading.Thread(target=ended.wait)
    try:
        assert changed_by(thread.start)
    finally:
        ended.set()
        thread.join()
