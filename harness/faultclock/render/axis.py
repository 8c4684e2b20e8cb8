"""Axes: virtual time to a place on the page.

Retries wait for minutes beside exchanges of milliseconds, so no linear axis can show both. Two
kinds of axis exist, and each drawing's caption names the one it uses:

    CompressedAxis  keeps the order of instants exact and gives each stretch between two of them
                    a width that grows with the logarithm of its length; long stretches are marked
    DecadeAxis      one smooth axis, linear near zero and logarithmic beyond, with labelled ticks

Times are integer nanoseconds; places are in the units of the drawing (SVG user units).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable

from msgspec import Struct

from faultclock.model.duration import MILLISECOND_NS, SECOND_NS
from faultclock.render.wording import short_time

#: Width of a stretch before scaling: even the shortest one stays visible.
_LEAST_WIDTH = 7.0
_WIDTH_PER_DECADE = 24.0
#: What a stretch gains that has to be seen, such as an interval that was expected.
_WIDENED = 60.0
_KNEE_NS = 5 * MILLISECOND_NS
#: A stretch is marked as compressed when an equal width elsewhere holds this many times less.
_MARKED_RATIO = 8.0
#: Width of one character of a tick label and of the gap between two labels, in drawing units.
_CHARACTER, _LABEL_GAP = 6.2, 10.0


class Tick(Struct, frozen=True):
    """A place on an axis and the time that it stands for."""

    x: float
    at_ns: int

    @property
    def label(self) -> str:
        """The time in words."""
        return short_time(self.at_ns)

    def clears(self, other: Tick) -> bool:
        """Return whether the labels of both, centred on their places, do not touch."""
        half = (len(self.label) + len(other.label)) * _CHARACTER / 2
        return abs(self.x - other.x) >= half + _LABEL_GAP


class CompressedAxis:
    """Piecewise linear: each stretch between neighbouring instants has a scale of its own.

    Args:
        instants: the times that matter; at least one.
        left: place of the first of them.
        right: place of the last of them.
        wide: stretches between two of the instants that get more room than their length earns.
    """

    def __init__(
        self,
        instants: Iterable[int],
        left: float,
        right: float,
        *,
        wide: Iterable[tuple[int, int]] = (),
    ) -> None:
        self.instants = sorted(set(instants))
        widened = {low for low, high in wide if low < high}
        gaps = list(zip(self.instants, self.instants[1:], strict=False))
        widths = [
            _LEAST_WIDTH
            + _WIDTH_PER_DECADE * math.log10(1 + (end - start) / _KNEE_NS)
            + (_WIDENED if start in widened else 0.0)
            for start, end in gaps
        ]
        scale = (right - left) / sum(widths) if widths else 0.0
        self.places = [left]
        for width in widths:
            self.places.append(self.places[-1] + width * scale)

    def x(self, at_ns: int) -> float:
        """Return the place of `at_ns`; a time beyond the ends is drawn at the end."""
        if at_ns <= self.instants[0]:
            return self.places[0]
        if at_ns >= self.instants[-1]:
            return self.places[-1]
        index = bisect_right(self.instants, at_ns) - 1
        start, end = self.instants[index], self.instants[index + 1]
        share = (at_ns - start) / (end - start)
        return self.places[index] + share * (self.places[index + 1] - self.places[index])

    def breaks(self) -> list[float]:
        """Return the middles of the stretches that are compressed, to be marked as such."""
        stretches = list(
            zip(self.instants, self.instants[1:], self.places, self.places[1:], strict=False)
        )
        densities = [(end - start) / (right - left) for start, end, left, right in stretches]
        if not densities:
            return []
        base = max(min(densities), MILLISECOND_NS / _LEAST_WIDTH)
        return [
            (left + right) / 2
            for density, (start, end, left, right) in zip(densities, stretches, strict=True)
            if density > _MARKED_RATIO * base and end - start >= SECOND_NS // 4
        ]

    def ticks(self, *wanted: Iterable[int]) -> list[Tick]:
        """Return ticks at the `wanted` times, but for those whose labels would overlap.

        Earlier groups of times come first where room is short; of a group, its ends do.
        """
        ticks: list[Tick] = []
        for group in wanted:
            times = sorted(set(group))
            for at_ns in [*times[:1], *times[-1:], *times[1:-1]]:
                tick = Tick(self.x(at_ns), at_ns)
                if all(tick.clears(other) for other in ticks):
                    ticks.append(tick)
        return sorted(ticks, key=lambda tick: tick.at_ns)


class DecadeAxis:
    """Linear up to about `knee_ns`, logarithmic beyond it.

    Args:
        end_ns: the latest time on the axis, at least 1.
        left: place of time 0.
        right: place of `end_ns`.
    """

    def __init__(self, end_ns: int, left: float, right: float) -> None:
        self.end_ns = max(end_ns, 1)
        self.left, self.right = left, right
        self.knee_ns = max(self.end_ns // 40, MILLISECOND_NS)

    def x(self, at_ns: int) -> float:
        """Return the place of `at_ns`, kept within the axis."""
        inside_ns = min(max(at_ns, 0), self.end_ns)
        share = math.log1p(inside_ns / self.knee_ns) / math.log1p(self.end_ns / self.knee_ns)
        return self.left + share * (self.right - self.left)

    def ticks(self) -> list[Tick]:
        """Return ticks at 0 and at 1, 2, 5 times powers of ten, as far as labels have room."""
        ticks = [Tick(self.left, 0)]
        decade_ns = MILLISECOND_NS
        while decade_ns <= self.end_ns:
            for factor in (1, 2, 5):
                tick = Tick(self.x(decade_ns * factor), decade_ns * factor)
                inside = tick.at_ns <= self.end_ns
                if inside and tick.clears(ticks[-1]):
                    ticks.append(tick)
            decade_ns *= 10
        return ticks
