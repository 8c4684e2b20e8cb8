"""Whoever reads the traces of a certificate finds the same, and finds what does not belong."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from faultclock.certify.levels.judging import judged, stored
from faultclock.model.report.conformance import LevelName
from faultclock.model.report.evidence import Judged
from faultclock.model.tape import Tape
from faultclock.model.trace.trace import Trace, TraceHeader
from faultclock.run.execute import seal
from tests.certify.levels.conftest import SCENARIOS, Level

#: The run whose trace is changed.
NAME = f"{SCENARIOS[2]}.seed-0"


def judged_with(level: Level, **changed: Trace) -> Judged:
    """Return what the traces come to when some are others."""
    traces = level.traces | changed
    evidence = level.gathered.evidence
    return judged(evidence, traces.__getitem__, model=level.model, set_=level.set_)


def told(level: Level, trace: Trace, *, is_noted: bool = True) -> list[str]:
    """Return what is said of a trace in the place of `NAME`.

    Args:
        is_noted: whether the evidence has its digest, as a forger would see to.
    """
    made = level.gathered
    if is_noted:
        entries = tuple(
            stored(NAME, trace) if entry.name == NAME else entry for entry in made.evidence.traces
        )
        evidence = made.evidence.model_copy(update={"traces": entries})
        made = replace(made, evidence=evidence)
    found = judged_with(dataclasses.replace(level, gathered=made), **{NAME: trace})
    return [item.because for item in found.misfits if item.what == NAME]


def changed(trace: Trace, **header: Any) -> Trace:
    """Return a trace with another header, and a footer that fits it."""
    footer = trace.footer
    made: TraceHeader = trace.header.model_copy(update=header)
    return seal(made, trace.events, footer.ending, footer.detail, footer.ended_at_ns)


def test_traces_come_to_the_same_again(hardened: Level) -> None:
    """What was worked out while the runs were made follows from their traces."""
    assert judged_with(hardened) == hardened.gathered.judged


def test_a_changed_event_is_seen(hardened: Level) -> None:
    """The digest in the footer is not that of the events any more, whoever noted it."""
    trace = hardened.traces[NAME]
    last = replace(trace.events[-1], payload={})
    broken = dataclasses.replace(trace, events=(*trace.events[:-1], last))
    assert "the digest in its footer is not that of the trace" in told(hardened, broken)


def test_another_trace_of_the_same_run_is_seen(hardened: Level) -> None:
    """A trace that is whole, and not the one that was noted."""
    trace = hardened.traces[NAME]
    other = seal(trace.header, trace.events[:-1], "completed", (), trace.footer.ended_at_ns)
    said = told(hardened, other, is_noted=False)
    assert said == ["the trace of this name is of another run"]


@pytest.mark.parametrize(
    ("header", "says"),
    [
        (lambda header: {"seed": 5}, "the set has no run with the seed 5"),
        (lambda header: {"time_base": "wall"}, "it was not made in virtual time"),
        (
            lambda header: {"subject": header.subject.model_copy(update={"id": "other"})},
            "it is of another subject, or of another version of it",
        ),
        (
            lambda header: {"versions": {**header.versions, "python": "2.7"}},
            "it was made with other versions of Faultclock, Python or a library",
        ),
        (
            lambda header: {
                "scenario": header.scenario.model_copy(update={"title": "An easier one"})
            },
            "its scenario is not what the set has frozen",
        ),
        (
            lambda header: {
                "scenario": header.scenario.model_copy(update={"id": "rate-limits/another"})
            },
            "the set has no such scenario for this subject",
        ),
        (
            lambda header: {"tape": Tape.of({"jitter": {0: 1}})},
            "choices were played that the scenario does not make",
        ),
    ],
)
def test_a_header_that_says_something_else_is_seen(
    hardened: Level, header: Callable[[TraceHeader], dict[str, Any]], says: str
) -> None:
    """Seed, time, subject, versions and scenario are held against the set and the evidence."""
    trace = hardened.traces[NAME]
    said = told(hardened, changed(trace, **header(trace.header)))
    assert says in said


def test_a_run_that_came_to_no_end_is_seen(hardened: Level) -> None:
    """A watchdog's trace may be whole as a file; as a run it is none."""
    trace = hardened.traces[NAME]
    cut = seal(trace.header, trace.events, "watchdog", ("no end",), trace.footer.ended_at_ns)
    assert "it came to no end of its own: watchdog" in told(hardened, cut)


def test_a_run_that_is_there_twice_is_seen(hardened: Level) -> None:
    """Two traces of one run: which of them counts?"""
    made = hardened.gathered
    entry = next(item for item in made.evidence.traces if item.name == NAME)
    again = entry.model_copy(update={"name": "again"})
    evidence = made.evidence.model_copy(update={"traces": (*made.evidence.traces, again)})
    level = dataclasses.replace(hardened, gathered=replace(made, evidence=evidence))
    found = judged_with(level, again=hardened.traces[NAME])
    assert "another trace is of the same run" in [item.because for item in found.misfits]


def test_a_crash_that_was_not_swept_is_seen(level_of: Callable[[str, LevelName], Level]) -> None:
    """A sweep has a run for each event of the run without a crash: one that is left out is told."""
    level = level_of("reference-store", "hardened")
    assert level.appraised().is_reached
    made = level.gathered
    swept = [item for item in made.evidence.traces if "crash after" in (item.variant or "")]
    assert len(swept) == 15
    fewer = tuple(item for item in made.evidence.traces if item is not swept[0])
    evidence = made.evidence.model_copy(update={"traces": fewer})
    found = judged_with(dataclasses.replace(level, gathered=replace(made, evidence=evidence)))
    assert any("crash points were not swept" in item.because for item in found.misfits)


def test_a_crash_that_nobody_asked_for_is_seen(
    level_of: Callable[[str, LevelName], Level],
) -> None:
    """At a level without a sweep, a run that was killed belongs to nothing."""
    level = level_of("reference-store", "hardened")
    made = level.gathered
    evidence = made.evidence.model_copy(update={"level": "full"})
    found = judged_with(dataclasses.replace(level, gathered=replace(made, evidence=evidence)))
    assert "the set has no crash there" in [item.because for item in found.misfits]
