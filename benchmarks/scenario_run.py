"""A whole run against the same exchanges without Faultclock: of the reference, of the OpenAI SDK.

A simulated run has all of the client's network code in it, the provider's side, and a sealed trace;
`_floor.py` and `_sdk_calls.py` say what the peers have. An explored run is drawn, made and judged.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from functools import partial

from benchmarks._floor import two_exchanges
from benchmarks._table import Goal, Row, Size, installed, rows_of
from benchmarks._turns import Aside, best_ms
from faultclock.explore.engine import ExploreRequest, explore
from faultclock.load.error_model import load_error_model
from faultclock.load.scenario import find_scenarios
from faultclock.model.scenario.scenario import Scenario
from faultclock.oracle.judge import Judge
from faultclock.run.bind_scenario import bind_scenario
from faultclock.run.execute import execute, simulate
from faultclock.run.prepare import prepare
from faultclock.run.process.isolate import run_isolated
from faultclock.subjects.binding import Binding

SCENARIO = "rate-limits/retry-after-integer"
FLOOR = "h11 on both sides in memory"
MOCKED = "openai-async on MockTransport"
GOALS = (
    Goal(case=f"{SCENARIO} by reference", name="reference, inline", against=FLOOR, most=4),
    Goal(case=f"{SCENARIO} by openai", name="openai-async, inline", against=MOCKED, most=1.5),
    Goal(
        case=f"{SCENARIO} by openai",
        name="openai-async, isolated",
        against="openai-async, inline",
        most=1.3,
    ),
    Goal(case="explored", name="reference", most=1_000 / 300),
    Goal(case="explored", name="openai-async", most=1_000 / 60),
)
PEERS = {"the OpenAI SDK": installed("openai")}


def fork_and_wait() -> None:
    """What any isolated run costs before it begins, on this machine and with this heap."""
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def explored(scenario: Scenario, binding: Binding, runs: int) -> None:
    """Explore a scenario, with one worker, by the model `common`."""
    model = load_error_model("common")
    request = ExploreRequest(
        scenarios=(scenario,), binding=binding, subject_spec=binding.id, model=model, runs=runs
    )
    assert len(explore(request).groups) == 0


def pieces_of(subject: str, scenario: Scenario) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield what is measured of a subject, by its name."""
    binding = prepare(subject)
    bound = bind_scenario(scenario, binding)
    judge = Judge(load_error_model("common"))
    yield f"{subject}, inline", partial(execute, bound, binding, 0)
    yield f"{subject}, judged", lambda: judge.judge(execute(bound, binding, 0))
    alone = partial(simulate, bound, binding, 0)
    yield f"{subject}, isolated", partial(run_isolated, alone, wall_limit_s=30)


def measure(size: Size) -> Iterator[Row]:
    """Yield one run by each subject and peer, and a run of many that are explored."""
    logging.disable(logging.CRITICAL)
    peers, subjects = {FLOOR: {FLOOR: two_exchanges}}, {FLOOR: ("reference",)}
    if PEERS["the OpenAI SDK"]:
        from benchmarks._sdk_calls import CALLS

        peers[MOCKED], subjects[MOCKED] = CALLS, ("openai-async", "openai-sync")
    asides = {peer: Aside(calls) for peer, calls in peers.items()}
    (found,) = find_scenarios((SCENARIO,))
    explorations: dict[str, Callable[[], object]] = {}
    runs = size.of(1_000, 2)
    for peer, names in subjects.items():
        pieces = dict(piece for name in names for piece in pieces_of(name, found.scenario))
        pieces["fork and wait, nothing else"] = fork_and_wait
        case = f"{SCENARIO} by {names[0]}"
        yield from rows_of(case, "ms", best_ms(pieces, size, asides[peer]), peer)
        explorations[names[0]] = partial(explored, found.scenario, prepare(names[0]), runs)
    taken_ms = best_ms(explorations, size)
    yield from rows_of(
        f"explored, {runs:,} runs", "ms a run", {name: ms / runs for name, ms in taken_ms.items()}
    )
