"""Tapes: sparse, in one order, and refused where they are none."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from faultclock.model.tape import BLANK, Schedule, Tape

tapes = st.dictionaries(
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=20),
    st.dictionaries(st.integers(0, 99), st.integers(0, 2**64 - 1), max_size=5),
    max_size=6,
)


@given(choices=tapes)
@settings(max_examples=40, deadline=None)
def test_equal_choices_are_equal_tapes_in_whatever_order_they_are_written(
    choices: dict[str, dict[int, int]],
) -> None:
    """Streams by name, choices by number; streams without any are not there."""
    backwards = {
        stream: dict(reversed(list(chosen.items())))
        for stream, chosen in reversed(list(choices.items()))
    }
    tape = Tape.of(choices)
    assert Tape.of(backwards).model_dump_json() == tape.model_dump_json()
    assert tape.length == sum(len(chosen) for chosen in choices.values())
    assert tape.is_blank == (tape.length == 0)
    assert Tape.model_validate_json(tape.model_dump_json()) == tape


@given(one=tapes, other=tapes)
@settings(max_examples=40, deadline=None)
def test_of_two_tapes_the_second_has_the_last_word(
    one: dict[str, dict[int, int]], other: dict[str, dict[int, int]]
) -> None:
    """Choice by choice."""
    joined = Tape.of(one).joined(Tape.of(other))
    for stream in {*one, *other}:
        expected = {**one.get(stream, {}), **other.get(stream, {})}
        assert joined.by_number(stream) == expected


def test_a_part_of_a_tape_is_told_by_the_beginning_of_its_streams() -> None:
    """And no more than that."""
    tape = Tape.of({"schedule/1/loop/1": {2: 1}, "schedule/10/loop/1": {0: 1}, "vary/x": {0: 3}})
    assert tape.about(("schedule/1/",)) == Tape.of({"schedule/1/loop/1": {2: 1}})
    assert tape.about(("nothing",)) == BLANK
    assert tape.get("vary/x") == 3
    assert tape.get("vary/x", 1) is None
    assert tape.get("vary/y") is None


@pytest.mark.parametrize("chosen", [(), ((1, 0), (0, 0)), ((0, 0), (0, 1)), ((-1, 0),), ((0, -1),)])
def test_what_is_not_numbered_upwards_is_no_tape(chosen: tuple[tuple[int, int], ...]) -> None:
    """Nor is a choice below 0, or a stream of none."""
    with pytest.raises(ValidationError):
        Tape(choices={"stream": chosen})


def test_a_schedule_says_nothing_that_it_cannot_mean() -> None:
    """Of 1,000 ties no more than 1,000 are broken, and no horizon is empty."""
    for wrong in ({"per_mille": 1_001}, {"depth": 0}, {"horizon": 0}, {"seed": -1}):
        with pytest.raises(ValidationError):
            Schedule.model_validate(wrong)
