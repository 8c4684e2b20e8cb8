"""Byte-equal traces across processes and hash seeds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCENARIOS = (
    "rate-limits/fifty-clients-desynchronise",
    "rate-limits/five-failures-then-ok",
    "provider-transient/stream-reset",
    "provider-transient/dns-failure-then-ok",
    "provider-transient/stall-before-headers",
    # With buckets, draws of the pace and of an overload.
    "provider-limits/burst-shares-one-bucket",
    "provider-limits/early-retry-is-punished",
    "provider-limits/heavy-tail-against-a-deadline",
    "provider-limits/overload-refuses-some",
)

ADAPTERS = f"""
from faultclock.load.scenario import find_scenarios
from faultclock.run.prepare import prepare
from faultclock.run.suite import run_one
for subject in ("reference", "reference-sync", "openai-async", "openai-sync", "openai-stud"):
    binding = prepare(subject)
    for found in find_scenarios({SCENARIOS!r}):
        trace = run_one(found.scenario, binding, 3, isolate=True)
        print(subject, found.scenario.id, trace.footer.digest)
"""

RUNTIMES = """
from faultclock.sim.patches import install
install()
from faultclock.run.suite import run_one
from tests.run.runtime_runs import working
from tests.run.small_runtime import blocking_runtime, small_runtime
crashes = [
    {"id": "one", "on": {"kind": "tool.effect"}, "then": "again"},
    {"id": "two", "write": 5, "leaves": "part"},
]
cancel = {"id": "stop", "scope": "turn", "times": 2, "when": {"on": {"kind": "tool.replied"}}}
tasks = [
    {"id": "ask"},
    {"id": "beside", "waits": False, "at": "60ms"},
    {"id": "fresh", "do": "restart"},
    {"id": "more", "copies": 3},
]
scenario = working(crashes=crashes, cancels=[cancel], tasks=tasks, store={"kind": "files"})
for subject in (small_runtime, blocking_runtime):
    for isolate in (True, False):
        trace = run_one(scenario, subject, 3, isolate=isolate)
        kinds = [event.kind for event in trace.events]
        print(subject.id, isolate, kinds.count("process.started"), trace.footer.digest)
"""

AGENTS = """
from faultclock.load.scenario import find_scenarios
from faultclock.run.prepare import prepare
from faultclock.run.suite import run_one
for model in ("relavium", "afk", "kode-sdk", "error-matrix"):
    binding = prepare(f"reference-{model}")
    for found in find_scenarios(("shared", f"{model}/*")):
        if found.scenario.models in ((), (model,)):
            for scenario in found.runnable[:1]:
                trace = run_one(scenario, binding, 3, isolate=False)
                print(binding.id, scenario.id, trace.footer.digest)
"""


#: All of them in one program: to start an interpreter and a client takes as long as they do.
PROGRAMS = (ADAPTERS, RUNTIMES, AGENTS)
_BETWEEN = "----\n"

#: What two processes with different hash seeds say, by the program.
Outputs = dict[str, tuple[str, str]]


@pytest.fixture(scope="module")
def outputs() -> Outputs:
    """What two processes print, which are started once."""
    first, second = (printed(seed).split(_BETWEEN) for seed in ("1", "31337"))
    return dict(zip(PROGRAMS, zip(first, second, strict=True), strict=True))


def printed(hash_seed: str) -> str:
    """Return what a process with this hash seed prints."""
    return subprocess.run(
        [sys.executable, "-c", f"print({_BETWEEN!r}, end='')\n".join(PROGRAMS)],
        cwd=Path(__file__).parents[2],
        env=dict(os.environ, PYTHONHASHSEED=hash_seed),
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_every_process_sees_the_same_bytes(outputs: Outputs) -> None:
    """Five subjects, async and sync, fifty clients, limits and every kind of network fault."""
    first, second = outputs[ADAPTERS]
    assert first.count("\n") == 5 * len(SCENARIOS)
    assert second == first


def test_lives_of_a_runtime_are_the_same_in_every_process(outputs: Outputs) -> None:
    """With crashes, a torn write, a restart, cancels and turns beside each other."""
    first, second = outputs[RUNTIMES]
    lives = [line.split()[2] for line in first.splitlines()]
    assert lives == ["4"] * 4
    assert second == first


def test_agents_of_every_model_are_the_same_in_every_process(outputs: Outputs) -> None:
    """With programs, workflows, hooks, chains of providers and subagents, in every scenario."""
    first, second = outputs[AGENTS]
    assert first.count("\n") > 200
    assert second == first
