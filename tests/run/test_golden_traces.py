"""Golden traces: what a run of the reference looks like, for readers and against drift.

`python -m tests.run.test_golden_traces` writes them anew; look at the difference before you
commit it.
"""

from __future__ import annotations

import pytest

from harness.load.files import write_text_atomically
from harness.load.payloads import load_payloads
from harness.load.resources import fixtures_root
from harness.load.scenario import find_scenarios
from harness.load.trace_file import read_trace
from harness.model.trace import Trace, trace_lines
from harness.run.prepare import prepare
from harness.run.suite import run_one

GOLDEN = (
    "provider-transient/stream-server-error",
    "rate-limits/retry-after-integer",
    "rate-limits/six-failures-then-terminal",
)


def path_of(scenario: str) -> str:
    """Return where the golden trace of a scenario lies."""
    name = scenario.replace("/", "__")
    return str(fixtures_root() / "golden-traces" / f"{name}.reference.jsonl")


def run(scenario: str) -> Trace:
    """Run the reference through a shipped scenario."""
    (found,) = find_scenarios((scenario,))
    payloads = load_payloads(found.scenario.provider.dialect)
    return run_one(found.scenario, prepare("reference", payloads), 0, payloads, isolate=True)


@pytest.mark.parametrize("scenario", GOLDEN)
def test_the_reference_still_does_what_the_golden_trace_shows(scenario: str) -> None:
    """Every event, byte for byte; versions in the header may differ."""
    recorded = list(trace_lines(read_trace(path_of(scenario))))
    observed = list(trace_lines(run(scenario)))
    assert observed[1:-1] == recorded[1:-1]


if __name__ == "__main__":
    for id_ in GOLDEN:
        write_text_atomically(path_of(id_), "".join(trace_lines(run(id_))))
