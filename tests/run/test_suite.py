"""A suite is ordered, isolated, and never green by accident."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import replace

import pytest

from faultclock.errors import InputError
from faultclock.load.matrix import Crossing
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.finding import Report, SourcePlace, Verdict
from faultclock.model.scenario.scenario import Scenario
from faultclock.run.bind_scenario import cannot_be_said
from faultclock.run.suite import SuiteRequest, run_suite
from faultclock.subjects.binding import Binding, provider_adapter
from faultclock.subjects.ports import ProviderRequest
from tests.run.conftest import limited, shipped, small


def suite(model: ErrorModel, binding: Binding, *scenarios: object, **options: object) -> Report:
    """Run scenarios against a binding."""
    request = {"scenarios": scenarios, "binding": binding, "subject_spec": "s", "model": model}
    return run_suite(SuiteRequest(**(request | options)))  # type: ignore[arg-type]


def playable(binding: Binding) -> list[Scenario]:
    """Return a dozen shipped scenarios that can be played for a subject."""
    return [item for item in shipped() if cannot_be_said(item, binding) is None][:12]


def test_an_empty_selection_is_refused(model: ErrorModel, bound: Callable[[str], Binding]) -> None:
    """Nothing that ran is nothing that passed."""
    with pytest.raises(InputError, match="no scenario"):
        suite(model, bound("reference"))


def test_two_workers_give_the_report_of_one(
    model: ErrorModel, bound: Callable[[str], Binding]
) -> None:
    """The order of the results is that of the request, whoever finishes first."""
    some = playable(bound("reference"))
    one = suite(model, bound("reference"), *some, jobs=1)
    two = suite(model, bound("reference"), *some, jobs=2)
    assert one == two


def test_inline_and_isolated_runs_give_the_same_report(
    model: ErrorModel, bound: Callable[[str], Binding]
) -> None:
    """Isolation protects the next run; it changes nothing in this one. The report says which."""
    some = playable(bound("reference"))
    isolated = suite(model, bound("reference"), *some, isolate=True)
    inline = suite(model, bound("reference"), *some, isolate=False)
    assert (isolated.inline, inline.inline) == (False, True)
    assert isolated == inline.model_copy(update={"inline": False})


def test_a_swallowed_escape_makes_the_run_inconclusive(model: ErrorModel) -> None:
    """The refusal is caught, a good answer returned, and nothing is proved."""

    @provider_adapter(id="sly")
    def sly(request: ProviderRequest) -> str:
        try:
            subprocess.run(["true"], check=False)
        except BaseException:
            return "all is well"
        return "it ran"

    (run,) = suite(model, sly, small()).runs
    (leak,) = [f for f in run.findings if f.check == "evidence.no-leaks"]
    assert run.verdict is Verdict.INCONCLUSIVE
    assert "subprocess" in leak.reason
    assert "test_suite" in leak.reason


def test_a_fault_that_nobody_met_makes_the_run_inconclusive(
    model: ErrorModel, bound: Callable[[str], Binding]
) -> None:
    """The situation never came about, so surviving it proves nothing."""
    provider = limited(retry_after="1")
    provider["faults"][0]["when"] = {"attempts": 2}
    (run,) = suite(model, bound("reference"), small(provider=provider)).runs
    assert run.verdict is Verdict.INCONCLUSIVE


def test_a_subject_that_hangs_for_real_is_ended_by_the_watchdog(model: ErrorModel) -> None:
    """No virtual clock sees an endless loop; the report says where it was."""

    @provider_adapter(id="spins")
    def spins(request: ProviderRequest) -> str:
        while True:
            pass

    (run,) = suite(model, spins, small(), wall_limit_s=0.5).runs
    assert (run.ending, run.verdict) == ("watchdog", Verdict.INCONCLUSIVE)
    assert any("spins" in line for line in run.ending_detail)
    assert [call.task for call in run.calls] == ["ask"], "what it did before is in the report"


def test_a_subject_that_ends_the_process_is_not_green(model: ErrorModel) -> None:
    """Nor does it take the suite with it."""

    @provider_adapter(id="exits")
    def exits(request: ProviderRequest) -> str:
        os._exit(0)

    (run,) = suite(model, exits, small()).runs
    assert (run.ending, run.verdict) == ("harness_error", Verdict.INCONCLUSIVE)


def test_the_replay_command_names_exactly_one_run(
    model: ErrorModel, bound: Callable[[str], Binding]
) -> None:
    """Selector, subject, readings and seed; quoted for a shell."""
    (run,) = suite(
        model,
        bound("reference"),
        small(),
        seed=9,
        readings={"quota-429": "terminal"},
        selectors={"tests/small": "my dir/small.yaml"},
    ).runs
    assert run.replay == (
        "faultclock run 'my dir/small.yaml' --subject s --model stud-cli "
        "--reading quota-429=terminal --seed 9 --seeds 1"
    )


def test_coverage_tells_tested_failed_excluded_and_not_exercised_apart(
    model: ErrorModel, bound: Callable[[str], Binding]
) -> None:
    """A requirement that nothing touched is not green."""
    report = suite(model, bound("reference"), small(provider=limited(retry_after="2")))
    status = {item.id: item.status for item in report.coverage}
    assert status["STUD-RATE-01"] == "tested"
    assert status["STUD-RATE-03"] == "not exercised"
    assert status["STUD-CLASS-01"] == "excluded"


def test_a_crossing_counts_the_variants_that_were_run(
    bound: Callable[[str], Binding], model: ErrorModel
) -> None:
    """What was chosen out of it is counted, and not what the file could have come to."""
    crossing = Crossing(scenario="tests/crossed", cells=3, omitted=(("c", "it cannot be"),))
    scenario = small().model_copy(update={"id": "tests/crossed", "variant": "a"})
    report = run_suite(
        SuiteRequest(
            scenarios=(scenario,),
            binding=bound("reference"),
            subject_spec="reference",
            model=model,
            crossings=(crossing,),
        )
    )
    (told,) = report.crossings
    assert (told.cells, told.run, told.omitted) == (3, 1, {"it cannot be": ("c",)})


def test_a_report_names_the_files_of_a_persons_own_and_no_others(
    model: ErrorModel, bound: Callable[[str], Binding]
) -> None:
    """What was not run, lies elsewhere or is absolute is no place to show a finding at."""
    mine, other, far = (shipped()[index] for index in range(3))
    selectors = {
        mine.id: "./cases/mine.yaml",
        other.id: "../other.yaml",
        far.id: "/far.yaml",
        "not/run": "b.yaml",
    }
    place = SourcePlace(file="my_adapter.py", line=3)
    binding = replace(bound("reference"), source=place)
    report = suite(model, binding, mine, other, far, selectors=selectors)
    assert report.scenario_files == {mine.id: "cases/mine.yaml"}
    assert report.source == place
