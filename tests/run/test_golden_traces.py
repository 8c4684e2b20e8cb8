"""Golden traces: what a run of the reference looks like, for readers and against drift.

`python -m tests.run.test_golden_traces` writes them anew; look at the difference before you
commit it.
"""

from __future__ import annotations

import pytest

from faultclock.load.files import write_text_atomically
from faultclock.load.resources import fixtures_root
from faultclock.load.scenario import find_scenarios
from faultclock.load.trace_file import read_trace
from faultclock.model.trace.trace import Trace, trace_lines
from faultclock.run.prepare import prepare
from faultclock.run.suite import run_one

#: Scenario to the subject that runs it.
GOLDEN = {
    "approvals/unanswered-is-denied-after-two-minutes": "reference-runtime",
    "provider-limits/burst-shares-one-bucket": "reference",
    "provider-transient/stream-server-error": "reference",
    "rate-limits/retry-after-integer": "reference",
    "rate-limits/six-failures-then-terminal": "reference",
    "resume-drift/effect-is-not-repeated": "reference-runtime",
}


def path_of(scenario: str) -> str:
    """Return where the golden trace of a scenario lies."""
    name = f"{scenario.replace('/', '__')}.{GOLDEN[scenario]}.jsonl"
    return str(fixtures_root() / "golden-traces" / name)


def run(scenario: str) -> Trace:
    """Run the scenario's subject through it."""
    (found,) = find_scenarios((scenario,))
    binding = prepare(GOLDEN[scenario])
    return run_one(found.scenario, binding, 0, isolate=True)


@pytest.mark.parametrize("scenario", GOLDEN)
def test_the_reference_still_does_what_the_golden_trace_shows(scenario: str) -> None:
    """Every event, byte for byte; versions in the header may differ."""
    recorded = list(trace_lines(read_trace(path_of(scenario))))
    observed = list(trace_lines(run(scenario)))
    assert observed[1:-1] == recorded[1:-1]


if __name__ == "__main__":
    for id_ in GOLDEN:
        write_text_atomically(path_of(id_), "".join(trace_lines(run(id_))))
