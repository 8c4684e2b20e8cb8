"""Named streams: the same draws everywhere, and none that another could shift."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from faultclock.sim.kernel.streams import DRAW_BITS, Streams, drawn

SEEDS = st.integers(0, 2**32 - 1)
NAMES = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=20)
NUMBERS = st.integers(0, 10_000)


def test_the_draws_of_a_seed_never_change() -> None:
    """A stored seed has to mean the same for ever."""
    assert [drawn(0, "pace/first/first-token", number) for number in range(2)] == [
        836678106775235211,
        12105378241017763065,
    ]


def test_other_processes_with_other_hash_seeds_draw_the_same() -> None:
    """Nothing of the process gets in."""
    program = (
        "from faultclock.sim.kernel.streams import Streams\n"
        "print([Streams(7).draw(f'pace/{n}', n) for n in range(5)])"
    )
    told = [
        subprocess.run(
            [sys.executable, "-c", program],
            cwd=Path(__file__).parents[2],
            env=dict(os.environ, PYTHONHASHSEED=seed),
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "12345")
    ]
    here = [Streams(7).draw(f"pace/{n}", n) for n in range(5)]
    assert told == [f"{here}\n", f"{here}\n"]


@given(seed=SEEDS, name=NAMES, number=NUMBERS, other=NAMES, more=st.integers(0, 20))
def test_a_draw_depends_on_nothing_that_was_drawn_before(
    seed: int, name: str, number: int, other: str, more: int
) -> None:
    """However often somebody else drew."""
    streams = Streams(seed)
    for before in range(more):
        streams.draw(other, before)
    assert streams.draw(name, number) == Streams(seed).draw(name, number)
    assert 0 <= streams.draw(name, number) < 2**DRAW_BITS


@given(one=st.tuples(SEEDS, NAMES, NUMBERS), other=st.tuples(SEEDS, NAMES, NUMBERS))
def test_two_draws_are_the_same_only_if_they_are_one(
    one: tuple[int, str, int], other: tuple[int, str, int]
) -> None:
    """Names with slashes and digits in them make no difference."""
    assert (drawn(*one) == drawn(*other)) is (one == other)


@given(seed=SEEDS, number=NUMBERS, bound=st.integers(1, 1_000))
def test_a_draw_below_a_bound_is_below_it(seed: int, number: int, bound: int) -> None:
    """And not negative."""
    assert 0 <= Streams(seed).below("overload/first", number, bound) < bound


def test_draws_below_a_hundred_reach_all_of_them_evenly() -> None:
    """Ten thousand draws of one stream, in a hundred boxes: none has half or twice its share."""
    counts = [0] * 100
    for number in range(10_000):
        counts[Streams(3).below("overload/first", number, 100)] += 1
    assert min(counts) > 50
    assert max(counts) < 200


def test_a_tape_sees_each_draw_and_has_the_last_word() -> None:
    """So a run's choices can be noted, and played otherwise."""

    class Tape:
        def __init__(self, answer: Callable[[int], int]) -> None:
            self.seen: list[tuple[str, int, int]] = []
            self.answer = answer

        def choose(self, stream: str, number: int, drawn: int) -> int:
            self.seen.append((stream, number, drawn))
            return self.answer(drawn)

    noting, playing = Tape(lambda drawn: drawn), Tape(lambda _: 2**63)
    assert Streams(5, noting).draw("a/b", 4) == drawn(5, "a/b", 4)
    assert noting.seen == [("a/b", 4, drawn(5, "a/b", 4))]
    assert Streams(5, playing).below("a/b", 0, 100) == 50
