"""Looks for the smallest tuple of whole numbers that keeps a property; knows nothing of runs.

Four steps, and the last three again until nothing changes:

1. The deviations of the order are thinned out in whole stretches, half of them at once, then a
   quarter, and so on (delta debugging: Zeller and Hildebrandt, Simplifying and Isolating
   Failure-Inducing Input, TSE 2002). A random schedule has hundreds of which two or three matter,
   and a tuple has a fixed length, so Hypothesis could not delete them in blocks.
2. Hypothesis shrinks from there: the tuple is its choice sequence.
3. Things are taken away together with what counts them: the second answer is the first one once
   the first is gone, and task 13 is task 12 once a task before it is.
4. Every single step down is tried. One that keeps the property starts it again; none, and it is a
   local minimum by our own count, independent of what Hypothesis has tried.

Everything is deterministic: the same property gives the same tuple.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from types import MappingProxyType
from unittest import SkipTest

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis import strategies as st
from hypothesis.database import ExampleDatabase, choices_to_bytes
from hypothesis.errors import HypothesisException

#: One number for each thing that can be made smaller.
States = tuple[int, ...]
Keeps = Callable[[States], bool]

#: What the key of examples ends with that failed and were not shrunk yet.
_NOT_SHRUNK = b".secondary"
#: Hypothesis draws nothing here by chance; in what order it tries, it draws with this.
_SEED = 0
_EXAMPLES_MAX = 1_000_000
_NO_NAMES: Mapping[int, Sequence[int]] = MappingProxyType({})
#: How many names are lowered at once at most, and by how much: a call may make several tasks.
_NAMES_MAX, _NAMES_BY = 6, 3


def least(
    start: States,
    keeps: Keeps,
    *,
    groups: Sequence[object],
    loose: Sequence[int] = (),
    things: Sequence[int] = (),
    counts: Sequence[int] = (),
    names: Mapping[int, Sequence[int]] = _NO_NAMES,
) -> States:
    """Return a tuple that keeps the property and has no single step down that does.

    Args:
        start: keeps it.
        keeps: whether a tuple does; it is asked for the same one more than once.
        groups: for each number what it belongs to; those side by side of one group are tried
            together.
        loose: places of numbers of which nearly all can be expected to become 0.
        things: places of what may be gone.
        counts: places of numbers that count such things.
        names: places of numbers that are part of a name, with the places of what bears it. They
            are lowered only with what they count: a smaller one is another name, and no simpler.
    """
    states = _thinned(start, keeps, loose)
    while True:
        states = _shrunk(states, keeps, groups, names)
        together = partial(_steps_together, things=things, counts=counts, names=names)
        while (lower := _first(together(states), keeps)) is not None:
            states = lower
        lower = _first(steps_down(states, names), keeps)
        if lower is None:
            return states
        states = lower


def steps_down(states: States, names: Container[int] = ()) -> Iterator[States]:
    """Yield all tuples that have one smaller number, the simplest of each place first.

    Args:
        names: places that are left alone.
    """
    for place, state in enumerate(states):
        for lower in range(state if place not in names else 0):
            yield (*states[:place], lower, *states[place + 1 :])


def _first(tuples: Iterable[States], keeps: Keeps) -> States | None:
    return next((states for states in tuples if keeps(states)), None)


def _steps_together(
    states: States,
    *,
    things: Sequence[int],
    counts: Sequence[int],
    names: Mapping[int, Sequence[int]],
) -> Iterator[States]:
    """Yield the tuples in which a thing is gone and what counts it is less."""
    counted = [count for count in counts if states[count]]
    # Those with the largest numbers: what comes before the thing that goes keeps its name.
    named = sorted(
        (name for name, bearers in names.items() if any(states[bearer] for bearer in bearers)),
        key=lambda name: -states[name],
    )[:_NAMES_MAX]
    for thing in things:
        if not states[thing]:
            continue
        gone = _zeroed(states, [thing])
        yield from (_lowered(gone, [count], 1) for count in counted if count != thing)
        for many in range(len(named), 0, -1):
            for by in range(1, min(_NAMES_BY, min(states[name] for name in named[:many])) + 1):
                yield _lowered(gone, named[:many], by)


def _lowered(states: States, places: Sequence[int], by: int) -> States:
    lower = list(states)
    for place in places:
        lower[place] -= by
    return tuple(lower)


def _thinned(states: States, keeps: Keeps, loose: Sequence[int]) -> States:
    """Set stretches of the loose numbers to 0, from all of them down to single ones."""
    left = [place for place in loose if states[place]]
    size = len(left)
    while size:
        kept: list[int] = []
        for begin in range(0, len(left), size):
            stretch = left[begin : begin + size]
            tried = _zeroed(states, stretch)
            if keeps(tried):
                states = tried
            else:
                kept += stretch
        # What is left may need less of what went before it.
        again = len(kept) < len(left) and size == 1
        left = kept
        size = 1 if again and left else min(size, len(left)) // 2
    return states


def _zeroed(states: States, places: Sequence[int]) -> States:
    gone = set(places)
    return tuple(0 if place in gone else state for place, state in enumerate(states))


def _shrunk(
    states: States, keeps: Keeps, groups: Sequence[object], names: Container[int]
) -> States:
    """Return what Hypothesis makes of `states`, never with a larger number anywhere."""
    places = [place for place, state in enumerate(states) if state and place not in names]
    if not places:
        return states
    whole = [
        st.tuples(*(st.integers(0, states[place]) for place in group))
        for _, group in groupby(places, key=lambda place: groups[place])
    ]

    def full(drawn: tuple[tuple[int, ...], ...]) -> States:
        made = list(states)
        flat = (number for group in drawn for number in group)
        for place, number in zip(places, flat, strict=True):
            made[place] = number
        return tuple(made)

    found: list[States] = []
    broken: list[Exception] = []

    @settings(
        database=_Start([states[place] for place in places]),
        phases=(Phase.reuse, Phase.shrink),
        max_examples=_EXAMPLES_MAX,
        deadline=None,
        # With any profile: where it is on, no example could be given.
        derandomize=False,
        verbosity=Verbosity.quiet,
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )
    @seed(_SEED)
    @given(st.tuples(*whole))
    def is_smaller(drawn: tuple[tuple[int, ...], ...]) -> None:
        tried = full(drawn)
        try:
            kept = not broken and keeps(tried)
        except Exception as error:  # noqa: BLE001 - Hypothesis would look for the smallest of these
            broken.append(error)
            kept = False
        if kept:
            found.append(tried)
            raise _FoundError

    try:
        is_smaller()
    except _FoundError:
        # The last one is the smallest: Hypothesis plays it again at the end.
        if not broken:
            return found[-1]
    except (SkipTest, HypothesisException):
        # A version that reads what it starts from otherwise, or one that was broken off: the
        # single steps are ours.
        pass
    if broken:
        raise broken[0]
    return states


class _FoundError(Exception):
    """A tuple keeps the property: what a failing test is to Hypothesis."""


class _Start(ExampleDatabase):
    """Holds the one example that Hypothesis starts from, as one that was not shrunk yet.

    What is among the failures of a test proper it takes for shrunk; what lies beside them not.
    """

    def __init__(self, choices: Sequence[int]) -> None:
        super().__init__()
        self._content = choices_to_bytes(choices)

    def fetch(self, key: bytes) -> Iterable[bytes]:
        """Return the example."""
        return [self._content] if key.endswith(_NOT_SHRUNK) else []

    def save(self, key: bytes, value: bytes) -> None:
        """Forget it: nothing is played a second time."""

    def delete(self, key: bytes, value: bytes) -> None:
        """Keep it."""
