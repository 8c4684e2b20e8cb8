"""A whole scenario run of the unmodified OpenAI SDK against the same call without Faultclock.

The simulated run has all of the SDK's network code in it, the provider's side, and a sealed trace;
`_sdk_calls.py` says what the peers have.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from functools import partial

from benchmarks._table import Row, Size, installed, rows_of
from benchmarks._turns import Aside, best_ms
from faultclock.cli.selection import fitting, playable
from faultclock.load.error_model import load_error_model
from faultclock.load.scenario import find_scenarios
from faultclock.model.report.finding import Report
from faultclock.run.bind_scenario import bind_scenario
from faultclock.run.execute import execute, simulate
from faultclock.run.prepare import prepare
from faultclock.run.process.isolate import run_isolated
from faultclock.run.suite import SuiteRequest, run_suite

SCENARIO = "rate-limits/retry-after-integer"
MOCKED = "openai-async on MockTransport"
PEERS = {"the OpenAI SDK": installed("openai")}


def fork_and_wait() -> None:
    """What any isolated run costs before it begins, on this machine and with this heap."""
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def suite(
    subject: str, selectors: tuple[str, ...] = (), seeds: int | None = None
) -> Callable[[], Report]:
    """Return what runs the scenarios that fit, with two jobs, and judges them by stud-cli.

    Args:
        selectors: of the scenarios; none takes all.
        seeds: of each scenario; None: as many as it has.
    """
    binding, model = prepare(subject), load_error_model("stud-cli")
    fits = fitting(find_scenarios(selectors), selectors, binding, model.id)
    request = SuiteRequest(
        scenarios=tuple(
            scenario for item in playable(fits, selectors, binding)[0] for scenario in item.runnable
        ),
        binding=binding,
        subject_spec=subject,
        model=model,
        seeds=seeds,
        jobs=2,
    )
    return partial(run_suite, request)


def measure(size: Size) -> Iterator[Row]:
    """Yield one run by each subject and peer, and a run of all scenarios of the reference."""
    logging.disable(logging.CRITICAL)
    aside, subjects = None, ["reference"]
    if PEERS["the OpenAI SDK"]:
        from benchmarks._sdk_calls import CALLS

        aside = Aside(CALLS)
        subjects += ["openai-async", "openai-sync"]
    (found,) = find_scenarios((SCENARIO,))
    pieces: dict[str, Callable[[], object]] = {"fork and wait, nothing else": fork_and_wait}
    for subject in subjects:
        binding = prepare(subject)
        scenario = bind_scenario(found.scenario, binding)
        alone = partial(simulate, scenario, binding, 0)
        pieces[f"{subject}, inline"] = partial(execute, scenario, binding, 0)
        pieces[f"{subject}, isolated"] = partial(run_isolated, alone, wall_limit_s=30)
    yield from rows_of(SCENARIO, "ms", best_ms(pieces, size, aside), MOCKED)
    run_all = suite("reference", size.of((), (SCENARIO,)))
    runs = len(run_all().runs)
    taken_ms = best_ms({"reference, judged, two jobs": run_all}, size)
    figures = {name: ms / runs for name, ms in taken_ms.items()}
    yield from rows_of(f"all {runs} runs for a provider adapter", "ms a run", figures)
