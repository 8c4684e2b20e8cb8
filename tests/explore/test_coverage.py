"""What runs reached is counted, and what none of them did is named."""

from __future__ import annotations

from collections.abc import Callable

from faultclock.explore.coverage import Tally, reached_by
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.exploration import Reached
from faultclock.oracle.judge import Judge
from faultclock.run.suite import run_one
from faultclock.subjects.binding import Binding
from tests.run.conftest import limited, small


def test_a_run_reaches_checks_requirements_faults_and_pairs(
    model: ErrorModel, bound: Callable[[str], Binding]
) -> None:
    """Each of them once, however often it came."""
    scenario = small(provider=limited(retry_after="2"))
    trace = run_one(scenario, bound("reference"), 0, isolate=False)
    reached = reached_by(scenario, trace, Judge(model).judge(trace))
    assert "backoff.retry-after" in reached.checks
    assert reached.requirements
    assert reached.faults == ("tests/small#limited",)
    assert "http.request > fault.fired" in reached.pairs
    assert list(reached.pairs) == sorted(set(reached.pairs))


def test_a_fault_that_nobody_met_is_not_reached(
    model: ErrorModel, bound: Callable[[str], Binding]
) -> None:
    """It is there, and never fired."""
    provider = limited()
    provider["faults"][0]["when"] = {"attempts": 7}
    scenario = small(provider=provider)
    binding = bound("reference")
    trace = run_one(scenario, binding, 0, isolate=False)
    reached = reached_by(scenario, trace, Judge(model).judge(trace))
    assert reached.faults == ()
    tally = Tally()
    tally.add(reached)
    coverage = tally.coverage(model, binding.info(), (scenario,))
    assert coverage.faults_never == ("tests/small#limited",)


def test_runs_are_counted_and_what_is_left_is_named(
    model: ErrorModel, bound: Callable[[str], Binding]
) -> None:
    """For a subject of this role: nobody misses what it could not reach."""
    tally = Tally()
    for _ in range(2):
        tally.add(Reached(checks=("backoff.wait",), pairs=("a > b", "b > c")))
    tally.add(Reached(pairs=("b > a",)))
    coverage = tally.coverage(model, bound("reference").info(), ())
    assert coverage.checks == {"backoff.wait": 2}
    assert "backoff.attempts" in coverage.checks_never
    assert "backoff.wait" not in coverage.checks_never
    others = ("tool.", "store.", "extension.", "approvals.", "ordering.tool", "ordering.sm-")
    assert not [name for name in coverage.checks_never if name.startswith(others)]
    assert coverage.pairs == {"a > b": 2, "b > a": 1, "b > c": 2}
    assert coverage.pairs_never == ("c > b",)
    assert coverage.requirements_never
