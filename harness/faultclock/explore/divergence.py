"""First divergence: the failing run beside the nearest run that passes, and where they part.

Two runs agree as long as their events say the same in the same order. When things happen is shown
and is no difference as long as anything else is one: a run in which everything comes a millisecond
later is not another run, and of two runs that do differ the shift is seldom why. Only where all
events agree, the first wait that took another time is the difference.

Nearest is the run whose events agree for the longest, then the one with the fewest that have no
counterpart, then the one that was given first. Behind the difference the runs are aligned again
as far as they are shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from operator import attrgetter

from msgspec import Struct
from msgspec.structs import replace

from faultclock.explore.facts import Facts, Names, facts_of, first_difference
from faultclock.model.report.exploration import Divergence, DivergenceRow
from faultclock.model.trace.events import describe
from faultclock.model.trace.trace import Trace, TraceEvent

#: Rows that are shown before the first difference, from it on at most, and behind the last that
#: differs among those.
BEFORE, FROM_IT_ON, AFTER = 4, 14, 3
#: Events of each run that are aligned behind the difference. What is shown needs few of them, and
#: where two runs have nothing in common alignment takes the square of this.
_ALIGNED = 200
#: Characters of a value that no text about an event shows.
_VALUE_MAX = 40


class _Pair(Struct, frozen=True):
    """Two events at one place; an index that is None has no counterpart there."""

    failing: int | None
    passing: int | None
    agrees: bool
    over: bool = False
    """Whether the side without an event has just ended."""


class _Compared(Struct):
    """A failing run and one that passes."""

    words: str
    failing: Trace
    passing: Trace
    here: Sequence[Facts]
    there: Sequence[Facts]
    agree: int
    """How many events agree before the first that says something else."""
    times_agree: int
    """How many of those also come after the same time."""

    @property
    def by_time(self) -> bool:
        """Whether all events agree but for their times."""
        return self.agree == len(self.here) == len(self.there)

    @property
    def is_same(self) -> bool:
        """Whether nothing at all differs."""
        return self.by_time and self.times_agree == self.agree

    def strangers(self) -> int:
        """Return how many events have no counterpart, wherever it would stand."""
        left = Counter(facts.shape for facts in self.here[self.agree :])
        right = Counter(facts.shape for facts in self.there[self.agree :])
        return (left - right).total() + (right - left).total()


def divergence(failing: Trace, candidates: Sequence[tuple[str, Trace]]) -> Divergence | None:
    """Return where `failing` parts from the nearest of the runs that pass.

    Args:
        failing: the run that fails.
        candidates: runs that pass, each with its words, such as `the same without the fault
            limited`. Of runs that are equally near the first one is taken.

    Returns:
        None where there is no candidate, or none that differs in its events.
    """
    here = [facts_of(event) for event in failing.events]
    compared = [_compared(failing, here, words, passing) for words, passing in candidates]
    compared = [item for item in compared if not item.is_same]
    if not compared:
        return None
    longest = max(item.agree for item in compared)
    near = [item for item in compared if item.agree == longest]
    # Counting is worth it only where it decides.
    nearest = near[0] if len(near) == 1 else min(near, key=_distance)
    return _told(nearest)


def _distance(item: _Compared) -> tuple[int, int]:
    return item.strangers(), -item.times_agree


def _compared(failing: Trace, here: Sequence[Facts], words: str, passing: Trace) -> _Compared:
    there = [facts_of(event) for event in passing.events]
    same_seed = failing.header.seed == passing.header.seed
    names = Names()
    agree = times_agree = 0
    in_step = True
    before: tuple[Facts, Facts] | None = None
    for one, other in zip(here, there, strict=False):
        drawn_alike = (
            one.drawn == other.drawn
            if same_seed
            else len(one.drawn) == len(other.drawn) and names.agree(one.drawn, other.drawn)
        )
        if one.shape != other.shape or one.counted != other.counted or not drawn_alike:
            break
        in_step = in_step and _same_times(one, other, before)
        agree += 1
        times_agree += in_step
        before = one, other
    return _Compared(words, failing, passing, here, there, agree, times_agree)


def _same_times(one: Facts, other: Facts, before: tuple[Facts, Facts] | None) -> bool:
    """Return whether both come so long after the event before, and name the same durations."""
    then = before or (one, other)
    return one.at_ns - then[0].at_ns == other.at_ns - then[1].at_ns and one.times == other.times


# ---------------------------------------------------------------------- rows


def _told(item: _Compared) -> Divergence:
    parts_at = item.times_agree if item.by_time else item.agree
    shown_from = max(parts_at - BEFORE, 0)
    pairs = [_Pair(index, index, True) for index in range(shown_from, parts_at)]
    tail, left_out = _by_time(item, parts_at) if item.by_time else _aligned(item, parts_at)
    last = max(place for place, pair in enumerate(tail[:FROM_IT_ON]) if not pair.agrees)
    shown = tail[: min(last + 1 + AFTER, FROM_IT_ON)]
    cut = left_out + len(tail) - len(shown)
    rows = [_row(item, pair) for pair in [*pairs, *shown]]
    shifts = not item.by_time and item.times_agree < item.agree
    return Divergence(
        nearest=item.words,
        agree=parts_at,
        rows=tuple(rows),
        first=len(pairs),
        cut=cut,
        by_time=item.by_time,
        times_part=item.times_agree + 1 if shifts else None,
    )


def _by_time(item: _Compared, parts_at: int) -> tuple[list[_Pair], int]:
    last = min(parts_at + FROM_IT_ON, len(item.here))
    pairs = [_Pair(parts_at, parts_at, False)]
    for index in range(parts_at + 1, last):
        before = item.here[index - 1], item.there[index - 1]
        alike = _same_times(item.here[index], item.there[index], before)
        pairs.append(_Pair(index, index, alike))
    return pairs, len(item.here) - last


def _aligned(item: _Compared, parts_at: int) -> tuple[list[_Pair], int]:
    """Return what stands beside each other from the first difference on, and how much is left."""
    here = item.here[parts_at : parts_at + _ALIGNED]
    there = item.there[parts_at : parts_at + _ALIGNED]
    names = Names()
    for one, other in zip(item.here[:parts_at], item.there[:parts_at], strict=True):
        names.agree((*one.counted, *one.drawn), (*other.counted, *other.drawn))
    pairs: list[_Pair] = []
    for left, right in _beside(here, there):
        alike = False
        if left is not None and right is not None and here[left].shape == there[right].shape:
            one, other = here[left], there[right]
            alike = names.agree((*one.counted, *one.drawn), (*other.counted, *other.drawn))
        pairs.append(
            _Pair(
                None if left is None else parts_at + left,
                None if right is None else parts_at + right,
                # What parts them may be a name alone; then it is this one's.
                alike and bool(pairs),
            )
        )
    rest = max(len(item.here), len(item.there)) - parts_at - _ALIGNED
    return (pairs, rest) if rest > 0 else (_with_end(pairs), 0)


def _with_end(pairs: Sequence[_Pair]) -> list[_Pair]:
    """Mark the row behind the last event of the run that is over first."""
    lasts = [
        max((place for place, pair in enumerate(pairs) if side(pair) is not None), default=-1)
        for side in (attrgetter("failing"), attrgetter("passing"))
    ]
    return [replace(pair, over=place == min(lasts) + 1) for place, pair in enumerate(pairs)]


def _beside(
    here: Sequence[Facts], there: Sequence[Facts]
) -> Iterator[tuple[int | None, int | None]]:
    """Yield places of both in the order of an alignment."""
    if here and there and here[0].shape == there[0].shape:
        # Only a name differs: nothing has to be moved to set these two beside each other.
        yield 0, 0
        moved = 1
    else:
        moved = 0
    left_keys = [facts.shape for facts in here[moved:]]
    right_keys = [facts.shape for facts in there[moved:]]
    matcher = SequenceMatcher(a=left_keys, b=right_keys, autojunk=False)
    for _, left, left_end, right, right_end in matcher.get_opcodes():
        for step in range(max(left_end - left, right_end - right)):
            yield (
                moved + left + step if left + step < left_end else None,
                moved + right + step if right + step < right_end else None,
            )


def _row(item: _Compared, pair: _Pair) -> DivergenceRow:
    failing = None if pair.failing is None else item.failing.events[pair.failing]
    passing = None if pair.passing is None else item.passing.events[pair.passing]
    here, there = _texts(failing, passing, pair.agrees)
    if pair.over and failing is None:
        here = _ended(item.failing)
    if pair.over and passing is None:
        there = _ended(item.passing)
    return DivergenceRow(
        failing=None if failing is None else failing.seq,
        passing=None if passing is None else passing.seq,
        failing_ns=None if failing is None else failing.at_ns,
        passing_ns=None if passing is None else passing.at_ns,
        failing_text=here,
        passing_text=there,
        agrees=pair.agrees,
    )


def _texts(failing: TraceEvent | None, passing: TraceEvent | None, agrees: bool) -> tuple[str, str]:
    here = "" if failing is None else describe(failing)
    there = "" if passing is None else describe(passing)
    if agrees or failing is None or passing is None or here != there:
        return here, there
    if failing.actor != passing.actor:
        return f"{here} [{failing.actor}]", f"{there} [{passing.actor}]"
    # What differs is something that the line about such an event does not show.
    found = first_difference(failing.payload, passing.payload)
    if found is None:
        return here, there
    path, one, other = found
    return f"{here} [{path}: {_value(one)}]", f"{there} [{path}: {_value(other)}]"


def _value(value: object) -> str:
    text = "nothing" if value is None else str(value)
    return text if len(text) <= _VALUE_MAX else f"{text[: _VALUE_MAX - 1]}…"


def _ended(trace: Trace) -> str:
    return f"the run has ended: {trace.footer.ending.replace('_', ' ')}"
