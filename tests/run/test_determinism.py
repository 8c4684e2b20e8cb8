"""Byte-equal traces across processes and hash seeds."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SCENARIOS = (
    "rate-limits/fifty-clients-desynchronise",
    "rate-limits/five-failures-then-ok",
    "provider-transient/stream-reset",
    "provider-transient/dns-failure-then-ok",
    "provider-transient/stall-before-headers",
)

PROGRAM = """
import sys
from harness.load.payloads import load_payloads
from harness.load.scenario import find_scenarios
from harness.run.prepare import prepare
from harness.run.suite import run_one
payloads = load_payloads("openai-chat")
for subject in ("reference", "reference-sync", "openai-async", "openai-sync", "openai-stud"):
    binding = prepare(subject, payloads)
    for found in find_scenarios(tuple(sys.argv[1:])):
        trace = run_one(found.scenario, binding, 3, payloads, isolate=True)
        print(subject, found.scenario.id, trace.footer.digest)
"""


@pytest.fixture(scope="module")
def outputs() -> list[str]:
    """What three processes with different hash seeds print."""
    return [
        subprocess.run(
            [sys.executable, "-c", PROGRAM, *SCENARIOS],
            env=dict(os.environ, PYTHONHASHSEED=hash_seed),
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2", "31337")
    ]


def test_every_process_sees_the_same_bytes(outputs: list[str]) -> None:
    """Five subjects, async and sync, fifty clients and every kind of network fault."""
    assert outputs[0].count("\n") == 5 * len(SCENARIOS)
    assert outputs[1] == outputs[0]
    assert outputs[2] == outputs[0]
