"""Which runs a soak makes: run n follows from the seed of the soak and from n alone.

Each interpreter works it out for itself, and tells it with its digest: so what draws the runs is
tested for equality as much as the runs are.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from faultclock.explore.drawing import planned
from faultclock.load.scenario import find_scenarios
from faultclock.model.report.coordinates import Coordinates
from faultclock.model.scenario.scenario import Scenario, scenario_digest
from faultclock.model.tape import PLAIN, Chance
from faultclock.model.trace.trace import Trace
from faultclock.run.bind_scenario import cannot_be_said
from faultclock.run.expand import crash_after
from faultclock.subjects.binding import Binding
from faultclock.subjects.registry import SubjectEntry, catalog

#: Double runs of one pair of interpreters, and after how many pairs the subjects come again.
ROUND, ROUNDS = 1_000, 10
#: How often a subject of each kind is drawn, of 100; one that is no shipped subject is `own`.
_KINDS = {"reference": 45, "miniature": 25, "client": 30, "own": 50}
_MODEL = "stud-cli"
#: How many of 100 runs are first in first out; the others are drawn as an exploration draws them.
_PLAIN = 35
#: How many of 100 runs of what can be killed are killed, and at which event at the latest.
_KILLED, _EVENT_MAX = 30, 80
_KILLABLE = ("runtime", "session_store")
_SEEDS = 2**32


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """One run that is to be made twice.

    Attributes:
        scenario: as it is written, but for a crash.
        played: what is played of it.
    """

    number: int
    subject: str
    kind: str
    scenario: Scenario
    played: Scenario
    seed: int
    chance: Chance

    @property
    def text(self) -> str:
        """What it is, for people and for comparing."""
        scenario, schedule = self.scenario, self.chance.schedule
        variant = "" if scenario.variant is None else f" [{scenario.variant}]"
        order = schedule.kind if schedule.kind == "fifo" else f"{schedule.kind} {schedule.seed}"
        varied = f", {self.chance.tape.length} varied" if self.chance.tape.length else ""
        return f"{self.subject} {scenario.id}{variant} seed {self.seed}, order {order}{varied}"

    def coordinates(self, trace: Trace) -> Coordinates:
        """Return what leads to it again."""
        return Coordinates(
            scenario=self.scenario.id,
            scenario_digest=scenario_digest(self.scenario),
            variant=self.scenario.variant,
            subject=self.subject,
            seed=self.seed,
            tape=trace.header.tape,
        )


def subjects_of(number: int, entries: Iterable[SubjectEntry] | None = None) -> tuple[str, ...]:
    """Return the ids of the subjects of one round (from 0).

    All references are in each round; miniatures are dealt out one by one, and clients by the
    library that they need, so that no interpreter has to hold them all.
    """
    known = [entry for entry in entries or catalog() if entry.available]
    libraries = dict.fromkeys(entry.extra for entry in known if entry.kind == "client")
    place = {library: position % ROUNDS for position, library in enumerate(libraries)}
    chosen: list[str] = []
    dealt = 0
    for entry in known:
        if entry.kind == "miniature":
            dealt += 1
        if (
            entry.kind == "reference"
            or (entry.kind == "miniature" and dealt % ROUNDS == number % ROUNDS)
            or (entry.kind == "client" and place[entry.extra] == number % ROUNDS)
        ):
            chosen.append(entry.id)
    return tuple(chosen)


class Stock:
    """The subjects of one round, with what each of them can be put to.

    Args:
        ids: in the order that draws go by; or places of somebody's own subjects.
        prepare: makes the subject ready.
        order: that in which they are made ready.
    """

    def __init__(
        self,
        ids: Sequence[str],
        prepare: Callable[[str], Binding],
        order: Callable[[Iterable[str]], Iterable[str]] = list,
    ) -> None:
        entries = {entry.id: entry for entry in catalog()}
        made = {id_: prepare(id_) for id_ in order(ids)}
        self.bindings: Mapping[str, Binding] = {id_: made[id_] for id_ in ids}
        every = [scenario for item in find_scenarios(()) for scenario in item.runnable]
        self._families: dict[str, dict[str, list[Scenario]]] = {}
        self._by_kind: dict[str, list[str]] = {}
        for id_, binding in self.bindings.items():
            families: dict[str, list[Scenario]] = {}
            entry = entries.get(id_)
            for scenario in every:
                if _is_for(scenario, binding, _MODEL if entry is None else entry.model):
                    families.setdefault(scenario.id.partition("/")[0], []).append(scenario)
            if families:
                self._families[id_] = families
                kind = "own" if entry is None else entry.kind
                self._by_kind.setdefault(kind, []).append(id_)

    def draw(self, number: int, seed: int) -> Drawn:
        """Return what run `number` is."""
        drawn = random.Random(f"soak-{seed}-{number}")
        kinds = sorted(self._by_kind)
        (kind,) = drawn.choices(kinds, [_KINDS[kind] for kind in kinds])
        subject = drawn.choice(self._by_kind[kind])
        families = self._families[subject]
        scenario = drawn.choice(families[drawn.choice(sorted(families))])
        is_plain = drawn.randrange(100) < _PLAIN
        if scenario.role in _KILLABLE and drawn.randrange(100) < _KILLED:
            scenario = crash_after(
                scenario.model_copy(update={"vary": None}), drawn.randint(1, _EVENT_MAX)
            )
        if is_plain:
            played, run_seed, chance = scenario, drawn.randrange(_SEEDS), PLAIN
        else:
            plan = planned(scenario, number + 1, seed)
            played, run_seed, chance = plan.scenario, plan.seed, plan.chance
        return Drawn(
            number=number,
            subject=subject,
            kind=kind,
            scenario=scenario,
            played=played,
            seed=run_seed,
            chance=chance,
        )


def _is_for(scenario: Scenario, binding: Binding, model: str) -> bool:
    return (
        scenario.role == binding.role
        and (not scenario.models or model in scenario.models)
        and cannot_be_said(scenario, binding) is None
    )
