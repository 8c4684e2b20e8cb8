"""An edited trace is one that could have been: it loads, is judged, and differs from its origin."""

from __future__ import annotations

import hashlib
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultclock.kills.event_edits import Doubled, Dropped, Moved, Said, Set, Summed, Where, is_said
from faultclock.kills.event_mutants import event_mutants
from faultclock.kills.mutant import Mutant
from faultclock.kills.told_edits import Told, results_told
from faultclock.kills.trial import play, try_mutant
from faultclock.load.error_model import load_error_model
from faultclock.load.scenario import find_scenarios
from faultclock.load.trace_file import parse_trace
from faultclock.model.trace.trace import Trace, TraceEvent, trace_lines
from faultclock.oracle.judge import Judge
from faultclock.run.suite import run_one
from tests.run.conftest import ready

SCENARIOS = ("afk/bad-key", "afk/rate-limited-then-answers", "shared")


@cache
def judge() -> Judge:
    """Return the judge by the model of the traces."""
    return Judge(load_error_model("afk"))


@cache
def traces() -> tuple[Trace, ...]:
    """Return what a runtime that says much does in a few scenarios."""
    binding = ready("reference-afk")
    scenarios = [item.scenario for item in find_scenarios(SCENARIOS)]
    return tuple(run_one(item, binding, item.seed, isolate=False) for item in scenarios)


@cache
def mutants() -> tuple[Mutant, ...]:
    """Return all mutants of what it says."""
    return event_mutants(traces())


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_an_edited_trace_loads_and_is_judged_and_is_another_one(data: st.DataObject) -> None:
    """Its events are numbered, its times never go back, and its digest is its own."""
    trace = data.draw(st.sampled_from(traces()))
    first = data.draw(st.sampled_from(mutants()))
    second = data.draw(st.sampled_from(mutants()))
    for mutant in (first, second):
        assert mutant.edit is not None
        edited = mutant.edit(trace)
        if edited is None:
            return
        text = "".join(trace_lines(edited))
        assert parse_trace(text.encode(), "edited") == edited
        times = [event.at_ns for event in edited.events]
        assert times == sorted(times)
        assert [event.seq for event in edited.events] == list(range(1, len(times) + 1))
        assert judge().judge(edited).findings
        assert edited.events != trace.events
        assert edited.footer.digest != trace.footer.digest
        trace = edited


def test_the_ids_of_mutants_are_unique_and_stable() -> None:
    """A kill names its mutant by the id."""
    ids = [mutant.id for mutant in mutants()]
    assert len(ids) == len(set(ids))
    assert ids == [mutant.id for mutant in event_mutants(traces())]


def said(trace: Trace) -> Said:
    """Return which events the first thing is that the subject says."""
    event = next(item for item in trace.events if item.kind == "declared.event")
    return Said(event.kind, str(event.payload["name"]))


def order(trace: Trace, of: Said) -> tuple[list[str], list[int]]:
    """Return the kinds of a trace, and the places of the events that are meant."""
    kinds = [event.kind for event in trace.events]
    return kinds, [place for place, event in enumerate(trace.events) if of.has(event)]


def test_dropping_and_doubling_change_nothing_else() -> None:
    """Every other event stays, in its order."""
    trace = traces()[0]
    of = said(trace)
    others = [event.payload for event in trace.events if not of.has(event)]
    for edit, times in ((Dropped(of=of), 0), (Doubled(of=of), 2)):
        edited = edit(trace)
        assert edited is not None
        assert [event.payload for event in edited.events if not of.has(event)] == others
        assert len(order(edited, of)[1]) == times * len(order(trace, of)[1])


@pytest.mark.parametrize(
    ("where", "is_later"),
    [
        ("behind_said", True),
        ("behind_done", True),
        ("last", True),
        ("before_said", False),
        ("before_done", False),
        ("first", False),
    ],
)
def test_a_moved_event_goes_to_the_side_that_its_name_says(where: Where, is_later: bool) -> None:
    """Or it stays where there is nothing to move past."""
    moved = 0
    for trace in traces():
        for name in {str(item.payload["name"]) for item in trace.of_kind("declared.event")}:
            of = Said("declared.event", name)
            edited = Moved(of=of, where=where)(trace)
            if edited is None:
                continue
            moved += 1
            before, after = order(trace, of)[1], order(edited, of)[1]
            assert len(before) == len(after)
            assert sum(after) > sum(before) if is_later else sum(after) < sum(before)
    assert moved


def test_an_event_goes_to_the_end_of_its_own_call() -> None:
    """Right behind the event that ends it, at the same time."""
    trace = traces()[0]
    of = said(trace)
    edited = Moved(of=of, where="last")(trace)
    assert edited is not None
    (place,) = order(edited, of)[1]
    before = edited.events[place - 1]
    assert before.kind in ("call.returned", "call.raised")
    assert before.at_ns == edited.events[place].at_ns
    assert before.payload["call"] == edited.events[place].payload["call"]


def test_a_value_that_the_port_does_not_take_is_no_edit() -> None:
    """The text of an answer is a text, or there is none; its digest is that of the new one."""
    trace = next(item for item in traces() if any(item.of_kind("call.returned")))
    of = Said("call.returned", None)
    assert Set(of=of, path=("text",), new=7)(trace) is None
    edited = Set(of=of, path=("text",), new="other")(trace)
    assert edited is not None
    for event in edited.of_kind("call.returned"):
        digest = event.payload.get("text_sha256")
        assert digest in (None, hashlib.sha256(b"other").hexdigest())


def test_a_number_that_is_no_number_is_left_alone() -> None:
    """True is no 1."""
    trace = traces()[0]
    of = said(trace)
    assert Summed(of=of, path=("name",), by="+1")(trace) is None


def test_the_model_gets_another_result_in_every_request() -> None:
    """With the digest of the new text, and in a request whose bytes are others."""
    trace = next(item for item in traces() if any(results_told(item)))
    edited = Told(new="other")(trace)
    assert edited is not None
    assert set(results_told(edited)) == {"other"}
    changed = [
        (old, new)
        for old, new in zip(trace.events, edited.events, strict=True)
        if old.payload != new.payload
    ]
    assert changed
    assert all(_bytes(old) != _bytes(new) for old, new in changed)
    assert all(not is_said(old) for old, _ in changed)


def _bytes(event: TraceEvent) -> object:
    return event.payload["body_sha256"]


def test_a_run_that_its_time_ended_has_a_record_of_that() -> None:
    """The limit is no excuse: the subject itself ends the run, and has the time to write."""
    (found,) = find_scenarios(("afk/wall-time-used-up",))
    binding = ready("reference-afk")
    right = play(judge(), binding, found.scenario)
    silent = Mutant(
        id="silent",
        family="event",
        group="declared.audit",
        does="does not audit",
        edit=Dropped(of=Said("declared.audit", None)),
    )
    trial = try_mutant(judge(), binding, silent, right, all_seeds=False)
    rule = ("failures.classified", "AFK-LIMIT-04")
    assert rule in right.kept & trial.kills
    # The finding is about the general sentence as well, and cites the one about this limit.
    assert ("failures.classified", "AFK-LIMIT-00") in trial.unproven
