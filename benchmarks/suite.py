"""All that comes with Faultclock: each reference by its own model, and a client by `common`.

Each row is a whole suite with two jobs: its runs, the second runs, the crash sweeps and verdicts.
What is counted is the processor time of all processes, so on two cores half of it passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from benchmarks._table import Goal, Row, Size, installed, rows_of
from benchmarks._turns import best_ms
from faultclock.cli.selection import fitting, playable
from faultclock.load.error_model import load_error_model
from faultclock.load.scenario import find_scenarios
from faultclock.model.report.finding import Report, Verdict
from faultclock.run.prepare import prepare
from faultclock.run.suite import SuiteRequest, run_suite
from faultclock.subjects.registry import catalog

SHIPPED, CLIENT = "each reference by its own model", "a client by common"
ALL = "all of them"
SDK = "openai-async"
#: Processor time on two cores: the goals are 5 s and 10 s of real time.
GOALS = (
    Goal(case=SHIPPED, name=ALL, most=2 * 5_000),
    Goal(case=CLIENT, name=SDK, most=2 * 10_000),
)
PEERS = {"the OpenAI SDK": installed("openai")}


def suite(
    subject: str, model_id: str, selectors: tuple[str, ...], seeds: int | None = None
) -> Callable[[], Report]:
    """Return what runs the scenarios that fit, and judges them.

    Args:
        selectors: of the scenarios; none takes all.
        seeds: of each scenario; None: as many as it has.
    """
    binding, model = prepare(subject), load_error_model(model_id)
    fits = fitting(find_scenarios(selectors), selectors, binding, model.id)
    chosen = playable(fits, selectors, binding)[0]
    request = SuiteRequest(
        scenarios=tuple(scenario for item in chosen for scenario in item.runnable),
        binding=binding,
        subject_spec=subject,
        model=model,
        seeds=seeds,
        jobs=2,
    )
    return partial(run_suite, request)


def right(run_all: Callable[[], Report]) -> None:
    """Run a suite in which nothing may fail."""
    report = run_all()
    assert report.verdict is not Verdict.FAIL, report.subject.id


def measure(size: Size) -> Iterator[Row]:
    """Yield the processor time of each suite; those of the references have a sum."""
    # A suite takes seconds: more turns of it would take minutes.
    size = replace(size, rounds=size.of(2, 1))
    selectors = size.of((), ("shared", "common/four-failures"))
    entries = [entry for entry in catalog() if entry.kind == "reference"]
    named = {entry.id: entry.model for entry in size.of(entries, entries[:1])}
    suites = {id_: partial(right, suite(id_, model, selectors)) for id_, model in named.items()}
    taken_ms = best_ms(suites, size)
    yield from rows_of(SHIPPED, "ms", {**taken_ms, ALL: sum(taken_ms.values())})
    if PEERS["the OpenAI SDK"]:
        yield from rows_of(CLIENT, "ms", best_ms({SDK: suite(SDK, "common", selectors)}, size))
