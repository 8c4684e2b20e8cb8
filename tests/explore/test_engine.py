"""An exploration is the same whoever makes its runs, and none of them is lost or counted twice."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from itertools import count
from typing import Any

import pytest

from faultclock.errors import InputError
from faultclock.explore.drawing import planned
from faultclock.explore.engine import ExploreRequest, Interrupted, explore
from faultclock.explore.everything import vary_everything
from faultclock.explore.trial import rerun
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.exploration import Exploration, Reached, Tried
from faultclock.model.report.finding import Verdict
from faultclock.model.report.token import coordinates_of
from faultclock.model.scenario.scenario import scenario_digest
from faultclock.run.process import confirm
from faultclock.run.process.workers import Workers
from faultclock.subjects.binding import Binding
from tests.explore.worlds import careless, deadly, varying
from tests.run.conftest import limited, shipped_scenario, small
from tests.run.unsteady_subjects import binding_of, of_process_state

RUNS = 10


class Backwards(Executor):
    """Holds four tasks, and finishes the newest first; the oldest come last of all.

    Args:
        total: how many tasks there will be.
    """

    def __init__(self, total: int) -> None:
        self.left = total
        self.held: list[tuple[Future[Any], Any]] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Do it now, and say so later."""
        future: Future[Any] = Future()
        self.held.append((future, fn(*args, **kwargs)))
        self.left -= 1
        while self.held and (len(self.held) == 4 or not self.left):
            done, result = self.held.pop()
            done.set_result(result)
        return future


class Kept:
    """A ledger in memory."""

    def __init__(self) -> None:
        self.batches: list[list[tuple[Tried, Reached]]] = []

    def done(
        self, scenario: str, variant: str | None, digest: str
    ) -> Sequence[tuple[Tried, Reached]]:
        """Return what was recorded of one scenario; the digest has to be that of the test's."""
        assert digest in {scenario_digest(item) for item in two_scenarios()}
        return [
            outcome
            for batch in self.batches
            for outcome in batch
            if (outcome[0].scenario, outcome[0].variant) == (scenario, variant)
        ]

    def record(self, batch: Sequence[tuple[Tried, Reached]]) -> None:
        """Keep a batch."""
        self.batches.append(list(batch))

    @property
    def names(self) -> list[tuple[str, int]]:
        """Which runs were recorded."""
        return [(tried.scenario, tried.number) for batch in self.batches for tried, _ in batch]


def two_scenarios() -> tuple[Any, ...]:
    """Return two that a subject without patience fails in some runs."""
    return (varying(), varying(id="tests/other", tasks=[{"id": "one"}, {"id": "two", "at": "1s"}]))


def asked(model: ErrorModel, binding: Binding, **options: Any) -> ExploreRequest:
    """Return a request of few runs."""
    values: dict[str, Any] = {
        "scenarios": two_scenarios(),
        "binding": binding,
        "subject_spec": binding.id,
        "model": model,
        "runs": RUNS,
    }
    return ExploreRequest(**(values | options))


@pytest.fixture(scope="module")
def hasty(bound: Callable[[str], Binding]) -> Binding:
    """Return a subject that ignores Retry-After."""
    return bound("mini-ignores-retry-after")


@pytest.fixture(scope="module")
def serial(model: ErrorModel, hasty: Binding) -> Exploration:
    """Return what one worker found."""
    return explore(asked(model, hasty))


def test_failures_are_grouped_and_lead_back_to_their_first_run(
    model: ErrorModel, hasty: Binding, serial: Exploration
) -> None:
    """The token of a group makes that run again, whatever the process."""
    assert serial.complete
    assert serial.runs == 2 * RUNS
    (group, *_) = serial.groups
    assert group.finding.check == "backoff.retry-after"
    assert 1 < group.runs < serial.runs
    assert group.elsewhere == ("tests/other",)
    assert coordinates_of(group.token) == group.coordinates
    trace = rerun(varying(), hasty, group.coordinates)
    kept = Kept()
    explore(asked(model, hasty, runs=group.first), ledger=kept)
    (first,) = (
        tried
        for batch in kept.batches
        for tried, _ in batch
        if (tried.scenario, tried.number) == (group.scenario, group.first)
    )
    assert trace.footer.digest == first.trace_digest


@pytest.mark.parametrize("size", [1, 7])
def test_the_size_of_a_chunk_changes_nothing(
    model: ErrorModel, hasty: Binding, serial: Exploration, size: int
) -> None:
    """Two workers and chunks of any size find what one worker finds."""
    assert explore(asked(model, hasty, workers=2, chunk=size)) == serial


def test_the_order_in_which_runs_finish_changes_nothing(
    model: ErrorModel, hasty: Binding, serial: Exploration, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even if the first comes last."""
    # The first chunks have no more than that in any case.
    size = 2
    chunks = -(-2 * RUNS // size)
    monkeypatch.setattr(Workers, "_made", lambda _: Backwards(chunks))
    request = asked(model, hasty, workers=2, chunk=size, isolate=False)
    kept = Kept()
    assert explore(request, ledger=kept) == serial
    order = [name for name in kept.names if name[0] == "tests/varying"]
    assert order != sorted(order)


def test_a_time_limit_ends_with_a_whole_prefix(
    model: ErrorModel, hasty: Binding, serial: Exploration
) -> None:
    """What began is finished, and no run is there whose forerunner is not."""
    times = count()
    request = asked(
        model, hasty, time_s=2 * RUNS - 4, clock=lambda: float(next(times)), workers=2, chunk=3
    )
    kept = Kept()
    cut = explore(request, ledger=kept)
    assert not cut.complete
    assert cut.runs == len(kept.names) == 2 * RUNS - 5
    for scenario in two_scenarios():
        numbers = sorted(number for name, number in kept.names if name == scenario.id)
        assert numbers == list(range(1, len(numbers) + 1))
    assert cut.groups[0].coordinates == serial.groups[0].coordinates


def test_without_a_number_of_runs_the_time_alone_ends_it(model: ErrorModel, hasty: Binding) -> None:
    """Then it is complete: as many as fitted were asked for."""
    times = count()
    request = asked(model, hasty, runs=None, time_s=4, clock=lambda: float(next(times)))
    exploration = explore(request)
    assert exploration.complete
    assert exploration.runs == 3


def test_an_interrupted_exploration_is_kept_told_and_continued(
    model: ErrorModel, hasty: Binding, serial: Exploration
) -> None:
    """Continued, it makes the runs that are missing, each once, and ends as if nothing had been."""
    kept = Kept()
    made = count(1)

    def stop(_: Tried) -> None:
        if next(made) == 9:
            raise KeyboardInterrupt

    request = asked(model, hasty, workers=2, chunk=2)
    with pytest.raises(Interrupted) as stopped:
        explore(request, ledger=kept, on_run=stop)
    early = stopped.value.exploration
    assert not early.complete
    assert early.runs == len(kept.names) >= 9
    before = len(kept.names)
    assert explore(request, ledger=kept) == serial
    assert len(kept.names) == len(set(kept.names)) == 2 * RUNS > before


def test_resuming_takes_the_same_memory_after_any_number_of_runs(
    model: ErrorModel, hasty: Binding
) -> None:
    """What a history has is folded, and which runs those were is not kept beside it."""
    made = 20_000
    scenario = varying()
    ledger = Kept()
    explore(asked(model, hasty, scenarios=(scenario,), runs=1), ledger=ledger)
    ((first, reached),) = ledger.batches.pop()

    def done(*_: object) -> Iterator[tuple[Tried, Reached]]:
        for number in range(1, made + 1):
            yield first.model_copy(update={"number": number}), reached

    ledger.done = done  # type: ignore[assignment,method-assign]
    request = asked(model, hasty, scenarios=(scenario,), runs=made)
    tracemalloc.start()
    try:
        assert explore(request, ledger=ledger).runs == made
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert not ledger.batches, "there was nothing left to make"
    assert peak_bytes < 20 * made, "not even a number of each run"


def test_runs_that_ask_for_nothing_are_named_with_their_reason(model: ErrorModel) -> None:
    """They keep a scenario from being proved; one token of each reason leads back to its run."""
    scenario = small(
        tasks=[{"id": "ask", "prompt": "live"}],
        vary={"values": {"tasks.ask.prompt": {"any_of": ["raise", "live long"]}}},
    )
    kept = Kept()
    kept.done = lambda *_: ()  # type: ignore[method-assign]
    request = asked(model, careless, scenarios=(scenario,), runs=8)
    exploration = explore(request, ledger=kept)
    assert exploration.verdict is Verdict.INCONCLUSIVE
    (item,) = exploration.scenarios
    ended, raised = item.no_results
    assert {group.why.check for group in item.no_results} == {"evidence.exercised"}
    assert ended.why.reason == "it ended without a single attempt, so nothing was shown"
    assert raised.why.reason == "it raised KeyError without a single attempt, so nothing was shown"
    assert ended.first == 1 < raised.first
    assert ended.runs + raised.runs == item.spoilt == 8
    trace = rerun(scenario, careless, coordinates_of(raised.token))
    (tried,) = (one for batch in kept.batches for one, _ in batch if one.number == raised.first)
    assert trace.footer.digest == tried.trace_digest


def test_of_many_reasons_the_first_are_kept_and_no_run_is_lost(model: ErrorModel) -> None:
    """A reason may hold what is another one in each run; a report does not grow with them."""
    scenario = small(tasks=[{"id": "ask", "prompt": "live"}])
    ledger = Kept()
    ledger.done = lambda *_: ()  # type: ignore[method-assign]
    explore(asked(model, careless, scenarios=(scenario,), runs=1), ledger=ledger)
    ((first, reached),) = ledger.batches.pop()
    assert first.no_result is not None
    made = [
        first.model_copy(
            update={
                "number": number,
                "no_result": first.no_result.model_copy(update={"reason": f"it raised {number}"}),
            }
        )
        for number in range(1, 31)
    ]
    ledger.done = lambda *_: [(tried, reached) for tried in made]  # type: ignore[method-assign]
    exploration = explore(asked(model, careless, scenarios=(scenario,), runs=30), ledger=ledger)
    groups = exploration.scenarios[0].no_results
    assert [group.why.reason for group in groups] == [f"it raised {at}" for at in range(1, 22)]
    assert [group.runs for group in groups] == [1] * 20 + [10]


@pytest.mark.parametrize(
    ("subject", "scenario"),
    [
        ("reference-tool", "tool-contract/cancel-in-request"),
        ("reference-tool", "tool-contract/invalid-input"),
        ("reference-extension", "extension-contract/dispose-unused"),
    ],
)
def test_a_situation_that_does_not_come_about_in_a_drawn_run_takes_nothing_away(
    model: ErrorModel, bound: Callable[[str], Binding], subject: str, scenario: str
) -> None:
    """A cancel that comes first, or an input that is refused, leaves a slow service unasked."""
    drawn = vary_everything(shipped_scenario(scenario))
    request = asked(model, bound(subject), scenarios=(drawn,), runs=25)
    exploration = explore(request)
    assert exploration.verdict is Verdict.PASS
    (item,) = exploration.scenarios
    assert item.no_results
    assert not item.spoilt


def test_a_run_that_kills_its_worker_is_named_and_the_others_are_there(
    model: ErrorModel,
) -> None:
    """It proves nothing, and costs no other run anything."""
    scenario = small(
        tasks=[{"id": "ask", "prompt": "live"}],
        vary={"values": {"tasks.ask.prompt": {"any_of": ["die", "live long", "and prosper"]}}},
    )
    kept = Kept()
    kept.done = lambda *_: ()  # type: ignore[method-assign]
    request = asked(model, deadly, scenarios=(scenario,), workers=2, chunk=3, runs=12)
    exploration = explore(request, ledger=kept)
    tried = {item.number: item for batch in kept.batches for item, _ in batch}
    assert sorted(tried) == list(range(1, 13))
    died = [item for item in tried.values() if item.ending == "harness_error"]
    assert 0 < len(died) < 12
    assert all(item.verdict is Verdict.INCONCLUSIVE for item in died)
    assert exploration.runs == 12
    assert not exploration.groups
    groups = exploration.scenarios[0].no_results
    (group,) = (group for group in groups if group.why.check == "evidence.whole")
    assert group.runs == len(died)
    in_order = next(run for run in died if run.number == group.first).schedule == "fifo"
    assert bool(group.token) is in_order, "of a drawn order nothing is left"
    assert exploration.verdict is Verdict.INCONCLUSIVE, "runs that passed do not speak for these"


def test_no_scenario_is_passed_for_another_one(
    model: ErrorModel, bound: Callable[[str], Binding]
) -> None:
    """One whose fault nobody meets, or for which there was no time, keeps it from being green."""
    plain = small(id="tests/plain")
    provider = limited(retry_after="2")
    provider["faults"][0]["when"] = {"attempts": 9}
    unmet = small(id="tests/unmet", provider=provider)
    good = bound("reference")
    both = explore(asked(model, good, scenarios=(plain, unmet), runs=2))
    assert [item.is_proved for item in both.scenarios] == [True, False]
    assert both.verdict is Verdict.INCONCLUSIVE
    times = count()
    in_time = asked(
        model, good, scenarios=(plain, unmet), runs=None, time_s=2, clock=lambda: next(times)
    )
    early = explore(in_time)
    assert [sum(item.totals.values()) for item in early.scenarios] == [1, 0]
    assert [item.as_written for item in early.scenarios] == [Verdict.PASS, None]
    assert early.verdict is Verdict.INCONCLUSIVE
    assert explore(asked(model, good, scenarios=(plain,), runs=2)).verdict is Verdict.PASS


def test_what_is_not_the_same_twice_is_no_failure_of_the_subject(model: ErrorModel) -> None:
    """It is told apart, with what differs, and the exploration is not green."""
    scenario = small(provider=limited(retry_after="2"))
    counting = binding_of("counting", of_process_state(ends_at=99), inline=True)
    request = asked(model, counting, scenarios=(scenario,), runs=4)
    exploration = explore(request)
    # Right the first time, and then each time a second later; the second process counts anew.
    assert exploration.scenarios[0].totals["UNSTEADY"] == len(exploration.unsteady) == 3
    assert not exploration.groups
    assert exploration.verdict is Verdict.INCONCLUSIVE
    assert exploration.unsteady[0].differs_at is not None


def test_a_pass_that_is_not_the_same_twice_is_none(
    model: ErrorModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of those that pass the first three are made once more, and a share: here none, then all."""
    scenario = small(provider=limited(retry_after="2"))
    # Less than a check can tell, and another byte all the same.
    state = of_process_state(ends_at=99)
    drifting = binding_of("drifting", lambda: state() / 1e7, inline=True)
    request = asked(model, drifting, scenarios=(scenario,), runs=4)
    # The very first knows of no other, and is the same again.
    for share, unsteady in ((0.0, (2, 3)), (1.0, (2, 3, 4))):
        monkeypatch.setattr(confirm, "_SHARE", share)
        exploration = explore(request)
        seeds = [planned(scenario, number, 0).seed for number in unsteady]
        assert [run.coordinates.seed for run in exploration.unsteady] == seeds
        assert exploration.verdict is Verdict.INCONCLUSIVE


def test_run_1_is_the_scenario_as_it_is_written(serial: Exploration) -> None:
    """The exploration says what came of it, and which schedules were drawn for the others."""
    (first, _) = serial.scenarios
    assert first.as_written is Verdict.FAIL
    assert sum(first.schedules.values()) == RUNS
    assert first.schedules["fifo"] >= 1
    assert "backoff.retry-after" in serial.coverage.checks
    assert "tests/varying#limited" in serial.coverage.faults


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scenarios": ()}, "no scenario"),
        ({"runs": None}, "nothing ends"),
        ({"scenarios": (small(), small())}, "selected twice"),
        ({"scenarios": (small(role="runtime"),)}, "is for another role|for role runtime"),
        ({"schedules": ()}, "no schedule"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused(
    model: ErrorModel, hasty: Binding, options: dict[str, Any], message: str
) -> None:
    """Before anything runs."""
    with pytest.raises(InputError, match=message):
        explore(asked(model, hasty, **options))
