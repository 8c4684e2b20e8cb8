"""What one world leaves to chance: drawn, played, and noted where it is not what a seed gives."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from faultclock.model.tape import BLANK, Schedule, Tape
from faultclock.sim.kernel.choices import Choices
from faultclock.sim.kernel.streams import Streams

draws = st.integers(0, 2**64 - 1)


@given(seed=st.integers(0, 2**32 - 1), number=st.integers(0, 100))
def test_a_blank_tape_draws_what_the_seed_says(seed: int, number: int) -> None:
    """And notes nothing."""
    choices = Choices(seed)
    drawn = choices.streams.draw("latency/c1/client", number)
    assert drawn == Streams(seed).draw("latency/c1/client", number)
    assert choices.noted() == BLANK


@given(played=st.dictionaries(st.integers(0, 5), draws, min_size=1), asked=st.integers(0, 7))
def test_what_the_tape_says_is_drawn_and_noted(played: dict[int, int], asked: int) -> None:
    """Only what was asked for, and only where the seed would not have given the same."""
    choices = Choices(3, Tape.of({"overload/first": played}))
    drawn = choices.streams.draw("overload/first", asked)
    by_seed = Streams(3).draw("overload/first", asked)
    assert drawn == played.get(asked, by_seed)
    noted = {} if drawn == by_seed else {"overload/first": {asked: drawn}}
    assert choices.noted() == Tape.of(noted)


def test_what_shapes_the_scenario_is_nothing_to_a_world() -> None:
    """It was applied before, and whoever seals the trace keeps it."""
    tape = Tape.of({"vary/provider.latency": {0: 4}, "lacks/limited": {0: 1}})
    choices = Choices(0, tape)
    assert choices.streams.draw("vary/provider.latency", 0) != 4
    assert choices.noted() == BLANK


def test_each_life_has_its_own_order_and_shares_the_draws() -> None:
    """The second process of a run goes by what is said of life 2."""
    tape = Tape.of({"schedule/2/loop/1": {0: 1}, "latency/c1/client": {0: 7}})
    assert Choices(0, tape, life=1).order is None
    assert Choices(0, tape, life=2).order is not None
    assert Choices(0, tape, life=1).streams.draw("latency/c1/client", 0) == 7
    assert Choices(0, tape, life=2).streams.draw("latency/c1/client", 0) == 7


def test_a_life_is_no_prefix_of_another() -> None:
    """Of the tenth life nothing holds for the first."""
    tape = Tape.of({"schedule/10/loop/1": {0: 1}})
    assert Choices(0, tape, life=1).order is None


def test_chance_and_a_tape_do_not_mix_in_the_order() -> None:
    """While an order is explored nothing of it is played, and everything else is."""
    tape = Tape.of({"schedule/1/loop/1": {0: 9}, "pace/first/first-token": {0: 5}})
    choices = Choices(0, tape, Schedule(kind="random", seed=1))
    assert choices.order is not None
    assert choices.streams.draw("pace/first/first-token", 0) == 5
    assert choices.noted() == Tape.of({"pace/first/first-token": {0: 5}})
