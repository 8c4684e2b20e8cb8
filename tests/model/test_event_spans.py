"""Events are paired by their keys: what began, how it ended, and what belongs to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from faultclock.model.trace.events import EVENTS, ends_of, spans
from faultclock.model.trace.trace import TraceEvent

_OPENERS = [name for name, kind in EVENTS.items() if kind.opens]
_PAIRED = [name for name, kind in EVENTS.items() if kind.opens or kind.closes or kind.part_of]


def _trace(facts: Sequence[tuple[str, dict[str, Any]]]) -> list[TraceEvent]:
    return [
        TraceEvent(seq, seq, EVENTS[kind].actors[0], kind, payload)
        for seq, (kind, payload) in enumerate(facts, 1)
    ]


@st.composite
def _interleaved(draw: st.DrawFn) -> tuple[list[TraceEvent], dict[int, int | None]]:
    """Return a trace, and the `seq` of the end of each beginning by that of the beginning."""
    begun = draw(st.lists(st.sampled_from(_OPENERS), max_size=12))
    facts: list[tuple[float, str, dict[str, Any], int]] = []
    for number, kind in enumerate(begun):
        payload = dict.fromkeys(EVENTS[kind].opens, f"x{number}")
        at = draw(st.floats(0, 1))
        facts.append((at, kind, payload, number))
        end = draw(st.sampled_from([None, *ends_of(kind)]))
        if end is not None:
            facts.append((at + draw(st.floats(0, 1)), end, payload, number))
    # Of what is at one time, a beginning comes before its end.
    facts.sort(key=lambda fact: (fact[0], EVENTS[fact[1]].closes is not None))
    expected: dict[int, int | None] = {}
    began: dict[int, int] = {}
    for seq, (_, kind, _, number) in enumerate(facts, 1):
        if EVENTS[kind].opens:
            began[number] = seq
            expected[seq] = None
        else:
            expected[began[number]] = seq
    return _trace([(kind, payload) for _, kind, payload, _ in facts]), expected


@given(_interleaved())
def test_each_end_is_paired_with_its_own_beginning(
    made: tuple[list[TraceEvent], dict[int, int | None]],
) -> None:
    """However spans overlap, an end has one beginning, and a beginning at most one end."""
    trace, expected = made
    found = spans(trace)
    assert {span.began.seq: span.ended and span.ended.seq for span in found} == expected
    assert [span.began.seq for span in found] == sorted(expected)
    assert not any(span.parts for span in found)


@given(st.lists(st.tuples(st.sampled_from(_PAIRED), st.sampled_from("ab")), max_size=30))
def test_no_event_is_in_two_spans_and_only_what_has_no_beginning_is_in_none(
    drawn: list[tuple[str, str]],
) -> None:
    """That holds of any trace, also where the same thing begins twice and ends twice."""
    trace = _trace([(kind, dict.fromkeys(("life", "call"), key)) for kind, key in drawn])
    found = spans(trace)
    members = [
        event.seq
        for span in found
        for event in (span.began, *span.parts, *([span.ended] if span.ended else []))
    ]
    assert len(members) == len(set(members))
    for event in trace:
        if event.seq not in members:
            kind = EVENTS[event.kind]
            begins = kind.closes or kind.part_of
            earlier = [item for item in trace[: event.seq] if item.kind == begins]
            assert all(
                any(
                    item.payload.get(name) != event.payload.get(name)
                    for name in EVENTS[begins].opens
                )
                for item in earlier
                if begins is not None
            )


def test_what_belongs_to_a_span_is_part_of_it_also_after_its_end() -> None:
    """A second answer, or an effect that comes after the reply, is not lost."""
    person = {"life": 1, "interactor": "terminal", "request": "r1"}
    tool = {"execution": "t1", "tool": "write_file"}
    trace = _trace(
        [
            ("interaction.shown", person),
            ("tool.called", tool),
            ("interaction.answered", person),
            ("tool.effect", tool),
            ("tool.replied", tool),
            ("interaction.answered", person),
            ("tool.effect", tool),
        ]
    )
    asked, called = spans(trace)
    assert asked.ended is trace[2]
    assert asked.parts == [trace[5]]
    assert called.ended is trace[4]
    assert called.parts == [trace[3], trace[6]]


def test_of_two_that_have_one_name_the_later_one_ends() -> None:
    """What began before has no end."""
    trace = _trace([("store.asked", {"op": "s1"}), ("store.asked", {"op": "s1"})])
    trace += _trace([("store.answered", {"op": "s1"})])
    first, second = spans(trace)
    assert first.ended is None
    assert second.ended is trace[2]


def test_a_process_that_starts_anew_may_count_its_requests_from_the_beginning() -> None:
    """The first process was killed before the answer came, and the second one asks again."""
    request = {"interactor": "terminal", "request": "r1"}
    trace = _trace(
        [
            ("interaction.shown", {**request, "life": 1}),
            ("interaction.shown", {**request, "life": 2}),
            ("interaction.dismissed", {**request, "life": 2}),
        ]
    )
    assert [span.ended for span in spans(trace)] == [None, trace[2]]


def test_only_the_kinds_that_are_asked_for_are_paired() -> None:
    """The others cost nothing."""
    trace = _trace([("store.asked", {"op": "s1"}), ("hook.called", {"hook": "audit", "n": 1})])
    assert [span.began for span in spans(trace, "hook.called")] == [trace[1]]
