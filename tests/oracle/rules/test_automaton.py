"""Automata: what may come in which state, and the shortest way to what may not."""

from __future__ import annotations

import pytest

from faultclock.oracle.rules.patterns import Witness, evaluate
from tests.oracle.rules.random_rules import events_of, rule

#: init, activate, dispose, as one letter each; `d` may come in any state but the first.
LIFE = {
    "states": ["loaded", "ready", "active", "gone"],
    "start": "loaded",
    "moves": [
        {"from": "loaded", "event": {"kinds": ["i"]}, "to": "ready"},
        {"from": "ready", "event": {"kinds": ["a"]}, "to": "active"},
        {"from": ["ready", "active"], "event": {"kinds": ["d"]}, "to": "gone"},
        {"from": "gone", "event": {"kinds": ["d"]}},
    ],
}


def found(history: str, **changes: object) -> tuple[Witness, ...]:
    """Return the violations of a life by an event for each letter."""
    events = events_of(*((kind, "k", 0) for kind in history))
    tested = rule("automaton", **{"per": None} | LIFE | changes)
    return evaluate(tested, events).witnesses


@pytest.mark.parametrize("history", ["", "iad", "id", "iddd", "iaxd"])
def test_what_has_a_move_is_fine(history: str) -> None:
    """An event that no row speaks of is none of its business."""
    assert found(history) == ()


@pytest.mark.parametrize(
    ("history", "proof", "near"),
    [("a", [1], []), ("ii", [1, 2], []), ("iada", [4], [3]), ("iadi", [1, 4], [3])],
)
def test_the_proof_is_the_shortest_way_to_an_event_without_a_move(
    history: str, proof: list[int], near: list[int]
) -> None:
    """What led to the real state is cited beside it, where the shortest way goes without it."""
    (witness,) = found(history)
    assert [event.seq for event in witness.events] == proof
    assert [event.seq for event in witness.near] == near


def test_the_words_say_what_was_expected_in_which_state() -> None:
    """First what led to the state, then what may come there."""
    (witness,) = found("ii")
    assert witness.observed == "i came in the state ready"
    rows = [(step.expected, step.observed, step.agrees) for step in witness.order]
    assert rows == [
        ("what leads from loaded to ready", "i", True),
        ("a or d in the state ready", "i", False),
    ]
    (witness,) = found("idi", moves=[*LIFE["moves"][:3]])
    assert witness.order[-1].expected == "nothing more in the state gone"


def test_a_stretch_ends_in_one_of_its_ends() -> None:
    """The shortest way to the wrong state is the proof."""
    (witness,) = found("ia", ends=["loaded", "gone"])
    assert [event.seq for event in witness.events] == [1, 2]
    assert witness.observed == "it ended in the state active"
    assert witness.order[-1].expected == "loaded or gone at the end"
    assert [step.agrees for step in witness.order] == [True, False]
    assert found("iad", ends=["loaded", "gone"]) == ()


def test_an_end_that_follows_from_an_event_without_a_move_is_no_fault_of_its_own() -> None:
    """The first one explains both, also where each fault is a finding."""
    (witness,) = found("ii", ends=["gone"], report="every")
    assert witness.observed == "i came in the state ready"


def test_each_event_of_the_moves_is_judged_once_and_so_is_the_end() -> None:
    """What no row speaks of is not judged, nor an end that may be any."""
    for changes, judged in (({}, 3), ({"ends": ["gone"]}, 4)):
        tested = rule("automaton", **{"per": None} | LIFE | changes)
        events = events_of(*((kind, "k", 0) for kind in "iaxd"))
        assert evaluate(tested, events).judged == judged


def test_what_begins_a_stretch_is_no_move_when_it_comes_again() -> None:
    """A bound that no row speaks of changes nothing in a stretch that it has begun."""
    assert found("oioad", scope={"after": {"kinds": ["o"]}}) == ()


def test_of_ways_that_are_as_short_as_each_other_the_first_one_is_the_proof() -> None:
    """And a way that meets an event without a move leads nowhere."""
    moves = [
        {"from": "off", "event": {"kinds": ["a"]}, "to": "on"},
        {"from": "on", "event": {"kinds": ["a"]}},
        {"from": "off", "event": {"kinds": ["c"]}},
    ]
    (witness,) = found("aac", states=["off", "on"], start="off", moves=moves)
    assert [event.seq for event in witness.events] == [1, 3]
    anywhere = {"from": ["loaded", "ready"], "event": {"kinds": ["x"]}}
    (witness,) = found("iax", moves=[*LIFE["moves"], anywhere])
    assert [event.seq for event in witness.events] == [1, 2, 3]


def test_a_key_that_comes_back_to_its_start_is_shown_by_the_way_back() -> None:
    """Without any event there is no such key, and nothing to end."""
    moves = [
        {"from": "off", "event": {"kinds": ["a"]}, "to": "on"},
        {"from": "on", "event": {"kinds": ["b"]}, "to": "off"},
    ]
    again = {"states": ["off", "on"], "start": "off", "moves": moves, "ends": ["on"]}
    (witness,) = found("abab", per="call", **again)
    assert [event.seq for event in witness.events] == [1, 2]
    (witness,) = found("", **again)
    assert witness.events == ()


def test_an_event_without_a_move_leaves_the_state_as_it_was() -> None:
    """So each further one is judged by the state that it really meets."""
    witnesses = found("iiad", report="every")
    assert [witness.events[-1].seq for witness in witnesses] == [2]
    witnesses = found("aia", report="every")
    assert [witness.events[-1].seq for witness in witnesses] == [1]


def test_the_first_row_that_fits_counts() -> None:
    """Two rows may speak of the same event."""
    both = [
        {"from": "off", "event": {"kinds": ["a"]}, "to": "on"},
        {"from": "off", "event": {"kinds": ["a", "b"]}},
    ]
    assert found("bbab", states=["off", "on"], start="off", moves=both)
    assert not found("bba", states=["off", "on"], start="off", moves=both)
