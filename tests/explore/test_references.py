"""What exploration has found in the references and under them: each stays mended."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from faultclock.load.error_model import load_error_model
from faultclock.model.report.finding import Verdict
from faultclock.model.scenario.varied import varied
from faultclock.model.tape import PLAIN, Chance, Schedule, Tape
from faultclock.oracle.judge import Judge
from faultclock.run.suite import run_one
from faultclock.subjects.binding import Binding
from tests.run.conftest import shipped_scenario

#: Cancelled at the very start of the turn.
AT_ONCE = Tape.of({"vary/cancels.esc.when.delay": {0: 1}})


def test_a_turn_that_is_cancelled_before_its_first_step_ends_cancelled(
    bound: Callable[[str], Binding],
) -> None:
    """A task that is cancelled before it runs never does, so its turn had neither start nor end."""
    scenario = varied(shipped_scenario("exploration/probe-is-cancelled-early"), AT_ONCE)
    trace = run_one(scenario, bound("reference-afk"), 0, isolate=False, chance=PLAIN)
    findings = Judge(load_error_model("afk")).judge(trace).findings
    assert [f.check for f in findings if f.verdict is Verdict.FAIL] == []


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["random", "pct"])
def test_a_program_is_started_whatever_comes_first(
    kind: str, seed: int, bound: Callable[[str], Binding]
) -> None:
    """The standard library counts on callbacks that come before tasks when it connects pipes."""
    scenario = shipped_scenario("error-matrix/words-are-no-signals")
    schedule = Schedule.model_validate({"kind": kind, "seed": seed})
    trace = run_one(
        scenario,
        bound("reference-error-matrix"),
        scenario.seed,
        isolate=False,
        chance=Chance(schedule=schedule),
    )
    findings = Judge(load_error_model("error-matrix")).judge(trace).findings
    good = (Verdict.PASS, Verdict.NOT_APPLICABLE)
    assert [f.check for f in findings if f.verdict not in good] == []
