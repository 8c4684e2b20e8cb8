"""What run n of a scenario is: pure, so that any worker can make any run, and make it again.

Run 1 is the scenario as it is written: first in first out, with its own seed. Every other run draws
a seed, how ties are broken, and what is varied within the ranges that the scenario declares. Which
of these it varies at all is drawn first (Groce et al., Swarm Testing, ISSTA 2012): a failure that
needs one thing alone is hidden by a run that changes everything.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from faultclock.errors import InputError
from faultclock.model.duration import MILLISECOND_NS
from faultclock.model.scenario.scenario import Scenario
from faultclock.model.scenario.varied import ChoiceAt, choices_at, varied
from faultclock.model.tape import BLANK, FIFO, Chance, Schedule, ScheduleKind, Tape

#: How ties may be broken, with how often each is drawn. No kind is best everywhere: a coin for each
#: tie finds soonest what needs one or two right tosses, a priority that is lost now and then what
#: needs one lane to wait long among many, and first in first out leaves the scenario's own changes
#: to speak. `benchmarks/README.md` has the figures.
SCHEDULES: Mapping[ScheduleKind, int] = {"random": 5, "pct": 3, "fifo": 1}
#: Of 1,000 ties, those that chance breaks. All or half of them is what finds most; few leave the
#: others in their order, for what needs one thing to be out of it.
_PER_MILLE = (1_000, 1_000, 1_000, 500, 500, 500, 200, 50)
_DEPTHS = (2, 3, 3, 4, 5)
#: Short runs have some ten ties, long ones thousands.
_HORIZONS = (20, 50, 100, 200, 500, 2_000)
#: How likely each dimension is to be varied at all; None varies exactly one.
_SHARES = (None, None, 0.25, 0.5, 0.5, 0.75, 1.0)
#: A combination that is no scenario is drawn again so often.
_DRAWS_MAX = 50
#: How often a whole number is the first or the last of its range.
_AT_AN_END = 0.4
#: Steps of round numbers, in which people think.
_ROUND = (1, 2, 5)
_SEEDS = 2**32


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """What one run is.

    Attributes:
        number: of the run among those of its scenario, from 1.
        seed: of the run.
        tape: what is varied in the scenario.
        schedule: how ties are broken.
        scenario: what the tape makes of it.
    """

    number: int
    seed: int
    tape: Tape = BLANK
    schedule: Schedule = FIFO
    scenario: Scenario = field(compare=False, repr=False)

    @property
    def chance(self) -> Chance:
        """What the run is given beside its seed."""
        return Chance(tape=self.tape, schedule=self.schedule)


def planned(
    scenario: Scenario,
    number: int,
    seed: int,
    schedules: Sequence[ScheduleKind] = tuple(SCHEDULES),
) -> Planned:
    """Return what run `number` (from 1) of an exploration is; see `Drawing` for many of them."""
    return Drawing(scenario, seed, schedules).planned(number)


class Drawing:
    """Draws the runs of one scenario.

    Args:
        scenario: as it is written, with what may be varied.
        seed: of the exploration.
        schedules: how ties may be broken.
        fits: whether a varied scenario can be played at all.

    Raises:
        InputError: `schedules` names none.
    """

    def __init__(
        self,
        scenario: Scenario,
        seed: int,
        schedules: Sequence[ScheduleKind] = tuple(SCHEDULES),
        fits: Callable[[Scenario], bool] = lambda _: True,
    ) -> None:
        if not set(schedules) & SCHEDULES.keys():
            raise InputError("no schedule to explore", hint="name one of random, pct, tape")
        self._scenario = scenario
        self._name = f"explore-{seed}-{scenario.id}-{scenario.variant or ''}"
        self._schedules = [kind for kind in SCHEDULES if kind in schedules]
        self._fits = fits
        self._choices = choices_at(scenario)
        self._as_written = varied(scenario, BLANK)

    def planned(self, number: int) -> Planned:
        """Return what run `number` (from 1) is."""
        if number == 1:
            return Planned(number=1, seed=self._scenario.seed, scenario=self._as_written)
        drawn = random.Random(f"{self._name}-{number}")
        seed = drawn.randrange(_SEEDS)
        schedule = self._schedule(drawn)
        tape, scenario = self._shaped(drawn)
        return Planned(number=number, seed=seed, tape=tape, schedule=schedule, scenario=scenario)

    def _schedule(self, drawn: random.Random) -> Schedule:
        weights = [SCHEDULES[kind] for kind in self._schedules]
        (kind,) = drawn.choices(self._schedules, weights)
        seed = drawn.randrange(_SEEDS)
        if kind == "random":
            return Schedule(kind=kind, seed=seed, per_mille=drawn.choice(_PER_MILLE))
        if kind == "pct":
            depth, horizon = drawn.choice(_DEPTHS), drawn.choice(_HORIZONS)
            return Schedule(kind=kind, seed=seed, depth=depth, horizon=horizon)
        return FIFO

    def _shaped(self, drawn: random.Random) -> tuple[Tape, Scenario]:
        """Return a tape and what it makes of the scenario; as written where many tries fail."""
        for _ in range(_DRAWS_MAX if self._choices else 0):
            tape = self._combination(drawn)
            try:
                scenario = varied(self._scenario, tape)
            except ValueError:
                # Each value is allowed, and they do not go together.
                continue
            if self._fits(scenario):
                return tape, scenario
        return BLANK, self._as_written

    def _combination(self, drawn: random.Random) -> Tape:
        share = drawn.choice(_SHARES)
        if share is None:
            active = [drawn.choice(self._choices)]
        else:
            active = [choice for choice in self._choices if drawn.random() < share]
        provider = self._scenario.provider
        near = [provider.latency, provider.think_time]
        return Tape.of({choice.stream: {0: _value(choice, drawn, near)} for choice in active})


def _value(choice: ChoiceAt, drawn: random.Random, near: list[int]) -> int:
    """Draw one value as a tape says it, 1 or more; if it is a duration, that joins `near`."""
    if choice.bounds is None:
        return 1 + drawn.randrange(choice.count)
    first, last = choice.bounds
    if choice.is_duration:
        value = _duration(first, last, drawn, near)
        near.append(value)
    elif drawn.random() < _AT_AN_END:
        value = drawn.choice((first, last))
    else:
        value = drawn.randint(first, last)
    return 1 + value - first


def _duration(first: int, last: int, drawn: random.Random, near: Sequence[int]) -> int:
    """Draw a duration: often one where things meet, which a fair draw of nanoseconds never is."""
    match drawn.randrange(8):
        case 0:
            return drawn.choice((first, last))
        case 1 | 2 | 3:
            return drawn.choice(_round_values(first, last) or (first, last))
        case 4 | 5:
            # At the same moment as something else, or just beside it.
            beside = drawn.choice((0, 0, 1, -1, MILLISECOND_NS, -MILLISECOND_NS))
            return min(last, max(first, drawn.choice(near) + beside))
        case 6:
            # Any order of magnitude is as likely.
            low = max(first, 1)
            growth: float = (max(last, 1) / low) ** drawn.random()
            return min(last, round(low * growth))
        case _:
            value = drawn.randint(first, last)
            # Whole milliseconds where there are any: a real wait is never 1.234567891 s.
            whole = value - value % MILLISECOND_NS
            return whole if whole >= first else value


def _round_values(first: int, last: int) -> tuple[int, ...]:
    """Return the round durations between two: 1, 2 and 5 of each power of ten, and minutes."""
    tens = [step * 10**power for power in range(19) for step in _ROUND]
    minutes = [minute * 60_000 * MILLISECOND_NS for minute in (1, 2, 5, 10, 15, 30, 60)]
    return tuple(sorted(value for value in {*tens, *minutes} if first <= value <= last))
