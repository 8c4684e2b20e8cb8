"""Whatever a trace looks like, the failures in it can be asked for; the same one gives the same."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from faultclock.model.trace.trace import Trace, TraceEvent
from faultclock.oracle.check import checks_in
from faultclock.oracle.checks.failures import classified as failure_classified
from faultclock.oracle.checks.failures import outcome as failure_outcome
from faultclock.oracle.checks.failures import redone as failure_redone
from faultclock.oracle.checks.failures import reported as failure_told
from faultclock.oracle.facts.history import History
from faultclock.oracle.failures.engine import failures_of
from tests.oracle.failure_builder import FailureBuilder, model_of

CHECKS = checks_in(failure_redone, failure_outcome, failure_told, failure_classified)
ALL: dict[str, Any] = {"applies_to": ["*/*"]}
MODEL = model_of(
    consequences=[
        {"id": "iterate", "applies_to": ["Never/Test"], "then": "iterate_to_coder"},
        {"id": "skip", "applies_to": ["Never/Broken"], "run": "ends", "then": "skip_dependents"},
        {"id": "keep", "applies_to": ["Mild/*"], "run": "goes_on", "then": "keep_recoverable"},
        {"id": "rest", **ALL, "run": "ends", "states": ["failed"]},
    ],
    telling=[ALL | {"id": name, "audience": name} for name in ("model", "operator", "user")],
    kept=[ALL | {"file": "*", "fields": {"retry_count": {"holds": "retries"}}}],
)
NODES = [
    {"id": "code", "do": "program", "role": "coder", "argv": ["claude"]},
    {"id": "sum", "do": "expression", "needs": ["code"]},
    {"id": "ask", "do": "agent", "prompt": "JSON, please.", "output_schema": {"type": "object"}},
    {"id": "test", "do": "command", "argv": ["pytest"]},
]


def _long() -> Trace:
    """Return a trace with every sort of fact that a source reads."""
    builder = FailureBuilder(
        tasks=({"id": "ask"}, {"id": "more"}),
        workflow={"nodes": NODES},
        session={"denials_max": 2, "budgets": {"steps_max": 2, "wall_time": "40s"}},
    )
    builder.turn().hook("no").exports("no").stores("append", "Session/Gone")
    builder.program("claude", status=1, means="cut").program("claude", killed=True, takes="60s")
    builder.misses("claude").node("sum", {"kind": "sandbox", "cause": "wall_clock"})
    builder.node("sum", {"kind": "exception"})
    builder.fails(429)
    builder.asks("JSON, please.", "no")
    builder.wants("c1 ls", "c2 rm", "c3 none", "c4 ls [").runs("c1", "ToolTransient/ResourceBusy")
    builder.runs("c1").decides("c4").shows("r1", "c2").answers("r1", "denied", "c2")
    builder.notes("Again/Busy").operator("no").user("no").saves("a.json", {"retry_count": 1})
    builder.tells_json("c1", ok=False).raises_in("c1").cancels("turn").pushes("no").ends_as(
        "failed"
    )
    builder.begins("more/1").program("pytest", status=1, stderr="no").crashes().opens(resume=True)
    return builder.build()


LONG = _long()


def _case(events: list[TraceEvent]) -> History:
    return History(Trace(header=LONG.header, events=tuple(events), footer=LONG.footer))


def test_the_long_trace_has_many_failures() -> None:
    """Otherwise what follows would show little."""
    kinds = {failure.kind for failure in failures_of(History(LONG), MODEL)}
    assert len(kinds) >= 12


@settings(max_examples=60, deadline=None)
@given(st.integers(min_value=1, max_value=len(LONG.events)))
def test_a_trace_that_is_cut_anywhere_can_be_asked(length: int) -> None:
    """Each check says something, and blames nothing without events."""
    cut = _case(list(LONG.events[:length]))
    for check in CHECKS:
        outcome = check.outcome(cut, MODEL)
        assert outcome.reason or outcome.judged or outcome.violations
        assert all(violation.events for violation in outcome.violations)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(range(len(LONG.events))), min_size=1, max_size=60))
def test_a_trace_with_facts_in_any_order_can_be_asked(places: list[int]) -> None:
    """Some are missing, some come twice; numbers are given anew, times are as they were."""
    events = [
        TraceEvent(number, old.at_ns, old.actor, old.kind, old.payload)
        for number, old in enumerate((LONG.events[place] for place in places), 1)
    ]
    shuffled = _case(events)
    assert [failure.seq for failure in failures_of(shuffled, MODEL)] == sorted(
        failure.seq for failure in failures_of(shuffled, MODEL)
    )
    for check in CHECKS:
        check.outcome(shuffled, MODEL)


@settings(max_examples=40, deadline=None)
@given(st.sets(st.sampled_from(range(len(LONG.events))), max_size=8), st.randoms())
def test_facts_without_their_fields_can_be_asked(places: set[int], chance: Any) -> None:
    """A foreign log may leave out anything."""
    events = []
    for number, old in enumerate(LONG.events):
        kept = {key: value for key, value in old.payload.items() if chance.random() < 0.5}
        payload = kept if number in places else old.payload
        events.append(TraceEvent(old.seq, old.at_ns, old.actor, old.kind, payload))
    bare = _case(events)
    for check in CHECKS:
        check.outcome(bare, MODEL)


def test_the_same_trace_gives_the_same_failures() -> None:
    """Nothing is left to chance."""
    assert failures_of(History(LONG), MODEL) == failures_of(History(LONG), MODEL)
