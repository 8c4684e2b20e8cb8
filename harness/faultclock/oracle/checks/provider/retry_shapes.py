"""The shape of many waits: whether they grow, a crowd spreads, and layers multiply.

One wait shows none of this. Growth and layers are judged over seeds: random jitter can make one run
look like anything, and not every one of several.

Growth. Only waits for which no answer gave a hint, at least three of them in a request. The mean
of the last one over all seeds lies above that of the first by a fifth. A schedule that grows at
all exceeds that; constant waits with any jitter do not, in the mean of four seeds or more.

Layers. A client that numbers its attempts in a header shows a layer above it when the numbers
begin anew within one call. Else the waits do: they grow, fall back to where they began, and grow
again, in the same steps in every seed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise

from faultclock.model.duration import MILLISECOND_NS, format_duration
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.oracle.check import Verdicts, also, broken, check, held, otherwise
from faultclock.oracle.checks.provider.retries import requests_of, retried_as_it_was
from faultclock.oracle.facts.history import History
from faultclock.oracle.wire.attempts import Attempt
from faultclock.oracle.wire.requests import wait_before

#: Seeds from which on a shape is judged.
SEEDS_MIN = 4
#: Waits of a request from which on they are expected to grow.
_WAITS_MIN = 3
_GROWTH_PERCENT = 120
#: Calls that fail at one instant from which on they are a crowd.
_CROWD_MIN = 8
#: Attempts that begin within this of each other arrive together.
_TOGETHER_NS = 10 * MILLISECOND_NS
#: Headers in which clients number their attempts.
_COUNTERS = ("x-stainless-retry-count",)
_SWITCH_OFF = "Switch the retries of the lower layer off (often `max_retries=0`)."


def _long_waits(history: History) -> tuple[int, ...]:
    """Return the first long enough series of waits whose failures all came without a hint."""
    for request in requests_of(history):
        pairs = list(pairwise(request.attempts))
        if any(attempt.hints or not attempt.failed for attempt, _ in pairs):
            continue
        if not all(retried_as_it_was(attempt, following) for attempt, following in pairs):
            continue
        waits = [wait_before(attempt, following) for attempt, following in pairs]
        known = tuple(wait for wait in waits if wait is not None)
        if len(known) >= _WAITS_MIN and len(known) == len(pairs):
            return known
    return ()


#: What many series of waits are shown to be: expected, observed, hint; None where all is well.
_Shape = tuple[str, str, str] | None


class OverSeeds:
    """One long series of waits of each run, of runs that differ in nothing but the seed.

    Args:
        name: of the check.
        shape_of: judges all series.
    """

    def __init__(self, name: str, shape_of: Callable[[list[tuple[int, ...]]], _Shape]) -> None:
        self._name = name
        self._shape_of = shape_of
        self._series: list[tuple[int, ...]] = []

    def add(self, history: History, _model: ErrorModel) -> None:
        """Take one more run."""
        if waits := _long_waits(history):
            self._series.append(waits)

    def verdicts(self, model: ErrorModel) -> Verdicts:
        """Return what they come to; nothing is judged where seeds are too few."""
        yield otherwise(f"no request waited {_WAITS_MIN} times, in {SEEDS_MIN} seeds or more")
        if len(self._series) < SEEDS_MIN:
            return
        requirements = also(model, self._name)
        yield held(*requirements)
        if (shape := self._shape_of(self._series)) is not None:
            expected, observed, hint = shape
            yield broken(
                requirements, expected=expected, observed=observed, hint=hint, cause=self._name
            )


def _growth(series: list[tuple[int, ...]]) -> _Shape:
    """Return that the longest later wait is hardly longer than the first, in the mean of all runs.

    Only waits that all runs have are compared.
    """
    first_ns, *later_ns = (sum(waits) // len(series) for waits in zip(*series, strict=False))
    last_ns = max(later_ns)
    if last_ns * 100 >= first_ns * _GROWTH_PERCENT:
        return None
    return (
        "waits that grow from one attempt to the next",
        f"the first of {1 + len(later_ns)} waits was {format_duration(first_ns)} in the mean of"
        f" {len(series)} seeds, the longest later one {format_duration(last_ns)}",
        "Multiply the wait with each attempt, up to a ceiling.",
    )


def _layers(series: list[tuple[int, ...]]) -> _Shape:
    """Return that all runs come in rounds of the same size, which begin anew."""
    count = len(series[0]) + 1
    for size in range(2, count // 2 + 1):
        if count % size == 0 and all(
            len(waits) == count - 1 and _restarts(waits, size) for waits in series
        ):
            return (
                "one layer retries, so that its number of attempts is the number of requests",
                f"{count} attempts: {count // size} rounds of {size}, whose waits begin anew each"
                " time",
                _SWITCH_OFF,
            )
    return None


def _restarts(values: tuple[int, ...], size: int) -> bool:
    """Return whether the waits come in rounds of `size` attempts: small ones, then a larger one."""
    between = values[size - 1 :: size]
    rounds = [values[start : start + size - 1] for start in range(0, len(values), size)]
    if size == 2 and len(rounds) < 3:
        return False
    steps = range(size - 1)
    if not all(_alike(rounds[0][step], inner[step]) for inner in rounds for step in steps):
        return False
    return all(wait * 2 >= 3 * max(inner) for wait, inner in zip(between, rounds, strict=False))


def _alike(one_ns: int, other_ns: int) -> bool:
    """Return whether two waits may be draws of one that has the usual jitter."""
    low_ns, high_ns = sorted((one_ns, other_ns))
    return low_ns > 0 and high_ns <= 2 * low_ns


@check(
    "retries.spread",
    title="Clients spread their retries",
    says="Clients that fail at the same time do not retry at the same time.",
    unjudged=f"fewer than {_CROWD_MIN} calls failed together and retried when no answer asked to",
)
def spread(history: History, model: ErrorModel) -> Verdicts:
    """Judge calls that failed at one instant, and retried when no answer asked them to."""
    requirements = also(model, "retries.spread")
    crowds: dict[int, list[tuple[Attempt, Attempt]]] = {}
    for request in requests_of(history):
        if len(request.attempts) < 2:
            continue
        first, second = request.attempts[:2]
        if not retried_as_it_was(first, second):
            continue
        if first.failed and first.known_ns is not None and not _keeps_to_a_hint(first, second):
            crowds.setdefault(first.known_ns, []).append((first, second))
    for pairs in crowds.values():
        if len(pairs) < _CROWD_MIN:
            continue
        yield held(*requirements)
        together = _largest_group([second.start.at_ns for _, second in pairs])
        if together * 2 > len(pairs):
            yield broken(
                requirements,
                expected=f"{len(pairs)} clients that fail together retry at different times",
                observed=f"{together} of {len(pairs)} clients that failed together retried"
                f" within {format_duration(_TOGETHER_NS)}",
                events=tuple(sorted(second.start.seq for _, second in pairs))[:10],
                hint="Add random jitter to each wait, from a generator that is not seeded alike.",
            )


def _keeps_to_a_hint(first: Attempt, second: Attempt) -> bool:
    """Return whether an answer named the time: then clients come together as they were asked."""
    waited_ns = wait_before(first, second)
    asked_ns = [hint.wait_ns for hint in first.hints]
    return waited_ns is not None and bool(asked_ns) and waited_ns >= min(asked_ns)


def _largest_group(instants_ns: list[int]) -> int:
    """Return how many of the instants lie within one window, at most."""
    ordered = sorted(instants_ns)
    return max(
        sum(1 for later in ordered[index:] if later - begin <= _TOGETHER_NS)
        for index, begin in enumerate(ordered)
    )


@check(
    "retries.layers",
    title="Layers of retries do not multiply",
    says="Only one layer retries: the attempts do not come in rounds that start again.",
    unjudged="no client numbered its attempts, and one run shows no other sign",
)
def counted_anew(history: History, model: ErrorModel) -> Verdicts:
    """Judge the numbers that a client gives its attempts."""
    requirements = also(model, "retries.layers")
    for request in requests_of(history):
        counts = [_count_of(attempt) for attempt in request.attempts]
        if len(counts) < 2 or None in counts:
            continue
        yield held(*requirements)
        # What is asked again after a good answer is no retry.
        anew = [
            attempt
            for (before, attempt), (earlier, count) in zip(
                pairwise(request.attempts), pairwise(counts), strict=True
            )
            if before.failed and earlier and count == 0 and retried_as_it_was(before, attempt)
        ]
        if anew:
            yield broken(
                requirements,
                call=request.id,
                expected="one layer retries, so that its number of attempts is the number of"
                " requests",
                observed=f"{len(counts)} attempts, in {len(anew) + 1} rounds of the client's own"
                " retries: another layer retries as well",
                cause="retries.layers",
                events=(request.attempts[0].start.seq, *(item.start.seq for item in anew)),
                hint=_SWITCH_OFF,
            )


def _count_of(attempt: Attempt) -> int | None:
    headers = {} if attempt.asked is None else attempt.asked.headers
    text = next((headers[name] for name in _COUNTERS if name in headers), "")
    return int(text) if str(text).isascii() and str(text).isdigit() else None


@check(
    "retries.grow",
    title="Waits grow",
    says="Over several seeds, later waits are longer than the first.",
    unjudged="it is judged over several seeds",
)
def grow(_history: History, _model: ErrorModel) -> Verdicts:
    """Judge nothing of one run: chance can make its waits look like anything."""
    yield from ()


#: What is judged over runs that differ in nothing but the seed, by the id of its check.
OVER_SEEDS: dict[str, Callable[[], OverSeeds]] = {
    own.id: partial(OverSeeds, own.id, shape_of)
    for own, shape_of in ((grow, _growth), (counted_anew, _layers))
}
