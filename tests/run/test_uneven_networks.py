"""A network whose deliveries do not all take equally long blames nobody who is right."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from faultclock.load.error_model import load_error_model
from faultclock.model.duration import MILLISECOND_NS
from faultclock.model.report.finding import Verdict
from faultclock.oracle.judge import Judge
from faultclock.run.suite import run_one
from faultclock.subjects.binding import Binding
from tests.run.conftest import shipped_scenario

#: Those in which it matters what had arrived when: streams that break off, deadlines, crowds, time
#: that is used up while a request is under way.
SCENARIOS = {
    "reference": (
        "provider-transient/stream-server-error",
        "provider-transient/overloaded-in-the-stream",
        "provider-transient/stream-reset",
        "provider-transient/stream-short-but-whole",
        "provider-transient/truncated-body",
        "provider-transient/outage-is-over",
        "rate-limits/limit-in-mid-stream",
        "rate-limits/crowd-with-retry-after",
        "provider-limits/slow-model-in-time",
    ),
    "reference-afk": ("afk/wall-time-used-up-in-backoff",),
}
MODELS = {"reference": "stud-cli", "reference-afk": "afk"}


@pytest.mark.parametrize("jitter_ms", [50, 500])
@pytest.mark.parametrize("subject", SCENARIOS)
def test_the_reference_is_right_over_an_uneven_network(
    subject: str, jitter_ms: int, bound: Callable[[str], Binding]
) -> None:
    """The world is slower and less even, and nothing that it did is taken for a fault."""
    judge = Judge(load_error_model(MODELS[subject]))
    for id_ in SCENARIOS[subject]:
        scenario = shipped_scenario(id_)
        network = scenario.provider.model_copy(update={"jitter": jitter_ms * MILLISECOND_NS})
        uneven = scenario.model_copy(update={"provider": network})
        trace = run_one(uneven, bound(subject), 1, isolate=False)
        assert all("sent_ns" in event.payload for event in trace.of_kind("net.delivered"))
        failed = [item for item in judge.judge(trace).findings if item.verdict is Verdict.FAIL]
        assert failed == [], id_


@pytest.mark.parametrize(
    ("id_", "scenario", "check"),
    [
        ("mini-accepts-cut-stream", "provider-transient/stream-cut-by-close", "swallow.silent"),
        ("mini-waits-too-long", "rate-limits/retry-after-absent", "backoff.wait"),
        ("mini-cool-down-only-grows", "provider-transient/outage-is-over", "liveness.settles"),
    ],
)
def test_a_defect_is_found_over_an_uneven_network(
    id_: str, scenario: str, check: str, bound: Callable[[str], Binding]
) -> None:
    """By the same check as over an even one, in one of a few runs."""
    judge = Judge(load_error_model("stud-cli"))
    even = shipped_scenario(scenario)
    network = even.provider.model_copy(update={"jitter": 50 * MILLISECOND_NS})
    uneven = even.model_copy(update={"provider": network})
    traces = [run_one(uneven, bound(id_), seed, isolate=False) for seed in range(3)]
    failed = {
        item.check
        for trace in traces
        for item in judge.judge(trace).findings
        if item.verdict is Verdict.FAIL
    }
    assert failed == {check}
