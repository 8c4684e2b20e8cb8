"""Jitter: waits that may vary must vary. Judged over the calls of one run and over seeds.

In one run. Of N >= 2 calls that wait before the same retry under the same policy, more than half
of the waits are distinct to the nanosecond. N clients that share a generator, or have none, wait
alike and fail; a client that draws whole milliseconds out of a window of 2 s passes (the chance
that 50 such waits have no more than 25 distinct values is below 10 ** -30).

Over seeds. Three tests, each with the bound at which it is applied:

1. From 2 seeds on: the waits before the same retry are not all equal.
2. From 16 seeds on: under each policy some wait lies above the middle of its interval and some
   below (the nominal value, or half of what may be added to it). A subject with symmetric jitter
   fails it with a chance of at most 2 ** -15 (3.1e-5).
3. From 16 seeds on: measured in half widths from the middle, the waits of a policy span at
   least half of the allowed width. For 16 uniform draws the chance to fail is
   16 * 2 ** -15 - 15 * 2 ** -16 (2.6e-4).

All that is done again after a wait is judged alike: requests to a provider, and everything else
that a policy covers, such as what a queue has refused.

Seeds are fixed, so the verdict is the same every time: the chances say how often a conforming
subject would be unlucky in all its runs, not from run to run.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct, field

from faultclock.model.duration import format_duration
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.retry_policy import Jitter
from faultclock.oracle.check import (
    OF_OWN_POLICIES,
    Verdicts,
    also,
    broken,
    check,
    held,
    otherwise,
)
from faultclock.oracle.checks.failures.redone import waits_of
from faultclock.oracle.facts.history import History
from faultclock.oracle.retries.plans import plans_of
from faultclock.oracle.retries.predict import Ruling

#: From this many seeds on the shape of the jitter is judged, not only that there is any.
SEEDS_FOR_SHAPE = 16


class _Sample(Struct, frozen=True, kw_only=True):
    policy: str
    retry_number: int
    waited_ns: int
    nominal_ns: int
    jitter: Jitter
    requirement: str | None
    exercised: tuple[str | None, ...]
    call: str
    events: tuple[int, ...]

    @property
    def deviation(self) -> float:
        """Distance from the middle in half widths: -1.0 to 1.0 when it is legal."""
        added_ns = self.waited_ns - self.nominal_ns
        if self.jitter.up_to is not None:
            return (2 * added_ns - self.jitter.up_to) / self.jitter.up_to
        return added_ns * 100 / (self.nominal_ns * self.jitter.percent)

    @property
    def width(self) -> str:
        """By how much the wait may differ, in words."""
        if self.jitter.up_to is not None:
            return f"{format_duration(self.jitter.up_to)} more"
        return f"±{self.jitter.percent} %"

    @property
    def middle(self) -> str:
        """What half of the waits are to be below, in words."""
        return "the nominal ones" if self.jitter.up_to is None else "the middle of what is added"

    def difference(self, deviation: float) -> str:
        """Return a deviation, in words."""
        if self.jitter.up_to is not None:
            return f"+{format_duration(round((deviation + 1) / 2 * self.jitter.up_to))}"
        return f"{deviation * self.jitter.percent:+.1f} %"


class _Alike(Struct):
    """The waits before the same retry under one policy."""

    first: _Sample
    waits: int = 0
    varies: bool = False


class _Spread(Struct):
    """The waits of one policy, as far as it has to be known of them."""

    first: _Sample
    waits: int = 0
    below: int = 0
    above: int = 0
    low: float = 0.0
    high: float = 0.0
    retries: dict[int, _Alike] = field(default_factory=dict)

    def add(self, sample: _Sample) -> None:
        deviation = sample.deviation
        self.low = min(self.low, deviation) if self.waits else deviation
        self.high = max(self.high, deviation) if self.waits else deviation
        self.waits += 1
        self.below += deviation < 0
        self.above += deviation > 0
        alike = self.retries.setdefault(sample.retry_number, _Alike(sample))
        alike.waits += 1
        alike.varies = alike.varies or sample.waited_ns != alike.first.waited_ns


class JitterOverSeeds:
    """The jitter of runs that differ in nothing but the seed, folded run by run."""

    def __init__(self) -> None:
        self._runs = 0
        self._seeds: set[int] = set()
        self._policies: dict[str, _Spread] = {}

    def add(self, history: History, model: ErrorModel) -> None:
        """Take one more run."""
        self._runs += 1
        if len(self._seeds) < SEEDS_FOR_SHAPE:
            self._seeds.add(history.trace.header.seed)
        for sample in _samples(history, model):
            self._policies.setdefault(sample.policy, _Spread(sample)).add(sample)

    def verdicts(self, model: ErrorModel) -> Verdicts:
        """Return what the jitter comes to."""
        del model
        yield otherwise("no retry was due after a wait with jitter in two or more seeds")
        if len(self._seeds) < 2:
            return
        for own in self._policies.values():
            yield held(*own.first.exercised)
            found = _constant(own, self._runs) or (
                _one_sided(own) or _narrow(own) if len(self._seeds) >= SEEDS_FOR_SHAPE else None
            )
            if found is not None:
                expected, observed = found
                yield broken(
                    (own.first.requirement, *own.first.exercised),
                    expected=expected,
                    observed=observed,
                    hint="Is the jitter declared but not drawn, or drawn to one side only?",
                )


@check(
    "backoff.jitter",
    title="Jitter is really drawn",
    says="Waits with jitter vary: between the calls of one run, and over seeds.",
    unjudged="fewer than two calls waited before the same retry, with jitter",
    about=OF_OWN_POLICIES,
)
def within_run(history: History, model: ErrorModel) -> Verdicts:
    """Judge the waits before the same retry of several calls."""
    groups: dict[tuple[str, int], list[_Sample]] = {}
    for sample in _samples(history, model):
        groups.setdefault((sample.policy, sample.retry_number), []).append(sample)
    for samples in groups.values():
        calls = {sample.call for sample in samples}
        if len(calls) < 2:
            continue
        yield held(*samples[0].exercised)
        distinct = len({sample.waited_ns for sample in samples})
        if distinct * 2 > len(samples):
            continue
        retry = samples[0].retry_number
        waits = ", ".join(sorted({format_duration(item.waited_ns) for item in samples})[:3])
        yield broken(
            (samples[0].requirement, *samples[0].exercised),
            expected=f"{len(samples)} calls wait different times before retry {retry}",
            observed=f"{distinct} different waits in {len(samples)} calls: {waits}",
            events=tuple(sorted(seq for item in samples[:2] for seq in item.events)),
            hint="Does each client seed its generator alike, or is there no jitter at all?",
        )


def _samples(history: History, model: ErrorModel) -> Iterator[_Sample]:
    for request, steps in plans_of(history, model):
        for step in steps:
            wait, ruling, waited_ns, following = step.wait, step.ruling, step.waited_ns, step.next
            if wait is None or ruling is None or waited_ns is None or following is None:
                continue
            if wait.exact:
                continue
            events = (step.attempt.start.seq, following.start.seq)
            yield from _sample(model, ruling, wait.retry_number, waited_ns, request.id, events)
    for again in waits_of(history, model):
        failure, shown = again.failure, (*again.failure.events, again.again.seq)
        yield from _sample(model, again.ruling, failure.tries, again.idle_ns, failure.call, shown)


def _sample(
    model: ErrorModel,
    ruling: Ruling,
    retry_number: int,
    waited_ns: int,
    call: str,
    events: tuple[int, ...],
) -> Iterator[_Sample]:
    jitter = ruling.policy.jitter
    nominal_ns = ruling.policy.backoff.nominal_ns(retry_number)
    if not jitter.up_to and not (jitter.percent and nominal_ns):
        return
    own = None if ruling.requirements is None else ruling.requirements.jitter
    declared = also(model, "backoff.declared") if ruling.declared else ()
    yield _Sample(
        policy=ruling.policy.id,
        retry_number=retry_number,
        waited_ns=waited_ns,
        nominal_ns=nominal_ns,
        jitter=jitter,
        requirement=own if own is not None else next(iter(declared), None),
        # A declared policy takes the default's place, so it shows nothing of the default.
        exercised=declared if ruling.declared else (own,),
        call=call,
        events=events,
    )


def _constant(waits: _Spread, runs: int) -> tuple[str, str] | None:
    for retry, group in waits.retries.items():
        if group.waits > 1 and not group.varies:
            wait = format_duration(group.first.waited_ns)
            return (
                f"the wait before retry {retry} varies by up to {group.first.width}",
                f"it was {wait} in all of {group.waits} waits over {runs} seeds",
            )
    return None


def _one_sided(waits: _Spread) -> tuple[str, str] | None:
    if waits.below and waits.above:
        return None
    return (
        f"waits on both sides of {waits.first.middle} ({waits.first.width})",
        f"{waits.below} of {waits.waits} waits were below it, {waits.above} above",
    )


def _narrow(waits: _Spread) -> tuple[str, str] | None:
    if waits.high - waits.low >= 1:
        return None
    between = " and ".join(waits.first.difference(item) for item in (waits.low, waits.high))
    return (
        f"waits that use at least half of the width of {waits.first.width}",
        f"{waits.waits} waits lie between {between}",
    )
