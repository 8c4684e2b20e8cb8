"""Crash everywhere: every event of a run is a moment at which the process can die."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from faultclock.errors import InputError
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.finding import Report
from faultclock.model.scenario.scenario import Scenario
from faultclock.model.trace.trace import TraceEvent
from faultclock.run.execute import execute
from faultclock.run.expand import cell_of, crash_after, crash_event, crash_points, variant_of
from faultclock.run.replay import replay
from faultclock.run.suite import SuiteRequest, run_suite
from faultclock.subjects.binding import Binding
from tests.run.conftest import small
from tests.run.runtime_runs import BOTH, working
from tests.run.small_runtime import small_runtime


def suite(model: ErrorModel, scenario: Scenario, **options: Any) -> Report:
    """Run one scenario with the small runtime."""
    request = {
        "scenarios": (scenario,),
        "binding": small_runtime,
        "subject_spec": "small.py:subject",
        "model": model,
        "isolate": False,
    }
    return run_suite(SuiteRequest(**(request | options)))


def facts(event: TraceEvent) -> tuple[object, ...]:
    """Return an event as values that can be compared; how many lives shared the process aside."""
    payload = dict(event.payload)
    if payload.get("name") == "RuntimeMade":
        payload["fields"] = {**payload["fields"], "seen": 0}
    return (event.seq, event.at_ns, event.actor, event.kind, payload)


@BOTH
def test_every_event_of_a_run_can_be_the_last_of_its_process(subject: Binding) -> None:
    """The run is the same up to there, then the process is dead, and a fresh one resumes."""
    scenario = working()
    base = execute(scenario, subject, 3)
    points = crash_points(base)
    assert len(points) > 40
    for seq in points:
        trace = execute(crash_after(scenario, seq), subject, 3)
        assert list(map(facts, trace.events[:seq])) == list(map(facts, base.events[:seq]))
        following = [event.kind for event in trace.events[seq : seq + 2]]
        assert following == ["fault.fired", "process.crashed"], base.events[seq - 1].kind
        assert Counter(event.kind for event in trace.events)["process.started"] == 2
        assert not list(trace.of_kind("fault.unmet"))
        assert trace.footer.ending == "completed"


def test_points_lie_between_the_first_call_and_the_end_of_the_last() -> None:
    """And a fact about a process that is over is none."""
    tasks = [{"id": "ask"}, {"id": "fresh", "do": "restart"}, {"id": "more"}]
    base = execute(working(tasks=tasks), small_runtime, 0)
    points = crash_points(base)
    kinds = {seq: base.events[seq - 1].kind for seq in points}
    assert kinds[points[0]] == "call.started"
    assert kinds[points[-1]] == "call.returned"
    assert "world.touched" not in kinds.values()
    assert "process.started" in kinds.values()


def test_a_run_that_did_not_end_has_no_points() -> None:
    """Nothing is known of what would have come."""
    base = execute(working(limits={"virtual_time": "150ms"}), small_runtime, 0)
    assert base.footer.ending == "virtual_time_limit"
    assert crash_points(base) == ()


def test_a_derived_scenario_says_what_it_is() -> None:
    """Also when it is made from a variant of a matrix."""
    plain, varied = working(), working().model_copy(update={"variant": "state=open"})
    assert crash_after(plain, 17).variant == "crash after event 17"
    assert crash_after(varied, 17).variant == "state=open, crash after event 17"
    assert [crash_event(crash_after(item, 17)) for item in (plain, varied)] == [17, 17]
    assert [variant_of(crash_after(item, 17)) for item in (plain, varied)] == [None, "state=open"]
    assert (crash_event(varied), variant_of(varied)) == (None, "state=open")


def test_only_a_runtime_can_be_killed() -> None:
    """Any other scenario is refused."""
    with pytest.raises(InputError, match="can be killed"):
        crash_after(small(), 5)


def test_a_suite_runs_and_judges_each_point(model: ErrorModel) -> None:
    """Right behind the run that it comes from, with a command that does it again."""
    scenario = working(crash_everywhere=True, seeds=2)
    report = suite(model, scenario)
    base = execute(scenario, small_runtime, 0)
    points = crash_points(base)
    of_seed = [run for run in report.runs if run.seed == 0]
    assert [run.crash_point for run in of_seed] == [None, *points]
    assert {run.resumes for run in of_seed[1:]} == {1}
    assert {run.seed for run in report.runs} == {0, 1}
    assert of_seed[0].replay.endswith("--seed 0 --seeds 1 --no-crash-everywhere")
    assert of_seed[1].replay.endswith(f"--seed 0 --seeds 1 --crash-at-event {points[0]}")
    assert of_seed[1].variant == f"crash after event {points[0]}"


def test_two_workers_sweep_as_one_does(model: ErrorModel) -> None:
    """In the same order, with the same result."""
    provider = {"replies": [{"text": "Nothing to do."}]}
    scenario = working(crash_everywhere=True, provider=provider, tools=[], interactors=[])
    one, two = (suite(model, scenario, isolate=True, jobs=jobs) for jobs in (1, 2))
    assert one == two
    assert len(one.runs) > 10


def test_a_sweep_starts_from_the_run_without_crashes(model: ErrorModel) -> None:
    """The scenario's own crash is one run, and each event without it another."""
    crash = {"id": "own", "on": {"kind": "tool.effect"}}
    report = suite(model, working(crash_everywhere=True, crashes=[crash]))
    points = crash_points(execute(working(), small_runtime, 0))
    assert [run.crash_point for run in report.runs] == [None, *points]


def test_a_sweep_can_be_left_out(model: ErrorModel) -> None:
    """Then the scenario is run as it is."""
    report = suite(model, working(crash_everywhere=True), sweep=False)
    assert [run.crash_point for run in report.runs] == [None]


def test_a_derived_run_is_replayed_from_its_trace() -> None:
    """Its scenario is whole: nothing of the sweep has to be known."""
    scenario = crash_after(working(crash_everywhere=True), 30)
    trace = execute(scenario, small_runtime, 0)
    again = replay(trace, small_runtime, isolate=False)
    recorded, observed = (list(map(facts, item.events)) for item in (trace, again.trace))
    assert recorded == observed


@pytest.mark.parametrize(
    ("variant", "cell"),
    [
        (None, None),
        ("crash after event 3", None),
        ("disk=ext4, cache=lost", "disk=ext4, cache=lost"),
        ("disk=ext4, cache=lost, crash after event 8", "disk=ext4, cache=lost"),
    ],
)
def test_a_crash_stays_in_the_cell_of_its_run(variant: str | None, cell: str | None) -> None:
    """A sweep over a matrix adds runs to it, and no cells."""
    assert cell_of(variant) == cell
