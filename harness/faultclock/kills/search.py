"""Tries mutants until every rule is killed and every mutant is noticed, or nothing is left to try.

Mutants go in rounds of a fixed size. What a round is told of the rules that are left does not
depend on how many workers there are, so the result does not either.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import closing
from functools import partial

from msgspec import Struct

from faultclock.kills.call_mutants import call_mutants
from faultclock.kills.event_mutants import event_mutants
from faultclock.kills.mutant import Mutant
from faultclock.kills.shipped import shipped_mutants
from faultclock.kills.step_mutants import step_mutants, steps_taken
from faultclock.kills.trial import Played, Trial, play, try_mutant
from faultclock.kills.values import digest
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.kill_matrix import Rule
from faultclock.model.scenario.scenario import Scenario
from faultclock.mutants.references import SUBJECTS
from faultclock.oracle.judge import Judge
from faultclock.run.process.hosting import LostError, where_loaded
from faultclock.run.process.workers import Shared, Workers, in_order
from faultclock.subjects.binding import Binding

#: Mutants of one round. Each is given to a worker by itself.
_ROUND = 24
#: Scenarios in which a mutant changes something and may go unnoticed, or spare a rule, before it is
#: given up: in the first pass, and in the second.
_CHANCES = (2, 12)
#: Scenarios in which a mutant is tried at most, for each of these chances.
_PER_CHANCE = 4
#: Real seconds that a wrong run may take: a right one takes a hundredth of that. One that takes
#: longer gets a second chance, since a busy machine is no property of a mutant.
_WALL_LIMITS_S = (3.0, 30.0)


class SearchRequest(Struct, frozen=True, kw_only=True):
    """What to search.

    Attributes:
        scenarios: in which the subject is run, each with its own seeds.
        subject_spec: how the subject was named: a shipped reference has more mutants.
        jobs: processes that work at once.
        wall_limit_s: real seconds that a run may take; None: as much as its scenario says, and a
            mutant a few seconds.
    """

    scenarios: tuple[Scenario, ...]
    binding: Binding
    subject_spec: str
    model: ErrorModel
    jobs: int = 1
    wall_limit_s: float | None = None


class Tried(Struct, frozen=True, kw_only=True):
    """A mutant, and what became of it in the scenarios in which it was tried."""

    mutant: Mutant
    trials: tuple[Trial, ...]


def play_all(
    request: SearchRequest, on_scenario: Callable[[str], None] = lambda _: None
) -> tuple[Played, ...]:
    """Run the subject itself through every scenario."""
    bench = _Bench(request, ())
    played = []
    with closing(Shared(bench)) as shared, Workers(request.jobs) as workers:
        done = in_order(
            workers, partial(_played, shared), request.scenarios, size=4, lost=bench.lost
        )
        for item in done:
            played.append(item)
            on_scenario(item.scenario.id)
    return tuple(played)


def mutants_of(request: SearchRequest, played: Sequence[Played]) -> tuple[Mutant, ...]:
    """Return all mutants of a subject, in the order in which they are tried."""
    taken = _steps_taken(request, played)
    return (
        # Most of them kill a rule in the first scenario, so they come before what is made by rote.
        *shipped_mutants(request.subject_spec, request.model.id),
        *call_mutants(request.binding.role, request.binding.style),
        *event_mutants([trace for item in played for trace in item.traces[:1]]),
        *step_mutants(request.subject_spec, taken),
    )


def drawn(mutants: Sequence[Mutant], limit: int | None) -> tuple[Mutant, ...]:
    """Return at most `limit` of the mutants, in their order.

    From each group one is drawn before any group has two; which one, its id decides.
    """
    if limit is None or limit >= len(mutants):
        return tuple(mutants)
    groups: dict[tuple[str, str], list[Mutant]] = {}
    for mutant in sorted(mutants, key=lambda item: digest(item.id)):
        groups.setdefault((mutant.family, mutant.group), []).append(mutant)
    turns = sorted(
        (place, digest(mutant.id), mutant.id)
        for group in groups.values()
        for place, mutant in enumerate(group)
    )
    chosen = {id_ for _, _, id_ in turns[:limit]}
    return tuple(mutant for mutant in mutants if mutant.id in chosen)


def search(
    request: SearchRequest,
    played: Sequence[Played],
    mutants: Sequence[Mutant],
    on_mutant: Callable[[str], None] = lambda _: None,
) -> tuple[Tried, ...]:
    """Try all mutants, in two passes: few rules are left for the second.

    A mutant is tried in a scenario as long as nothing has noticed it, or a rule is left there that
    nothing has killed.

    Args:
        on_mutant: called after each mutant of the first pass.
    """
    bench = _Bench(request, mutants, played)
    alive = frozenset[Rule]().union(*(item.kept for item in bench.played))
    trials: list[tuple[Trial, ...]] = [() for _ in mutants]
    with closing(Shared(bench)) as shared, Workers(request.jobs) as workers:
        for chances in _CHANCES:
            for first in range(0, len(mutants), _ROUND):
                places = range(first, min(first + _ROUND, len(mutants)))
                items = [
                    _Item(place=place, alive=alive, chances=chances, before=trials[place])
                    for place in places
                ]
                done = in_order(workers, partial(_tried, shared), items, size=1, lost=lambda _: ())
                for place, more in zip(places, done, strict=True):
                    trials[place] += more
                    alive -= frozenset().union(*(trial.kills for trial in more))
                    if chances == _CHANCES[0]:
                        on_mutant(mutants[place].group)
            # Their checks fail: what is left is a rule that nothing breaks at all.
            alive -= _unproven(trials)
    return tuple(
        Tried(mutant=mutant, trials=tried) for mutant, tried in zip(mutants, trials, strict=True)
    )


def _unproven(trials: Iterable[tuple[Trial, ...]]) -> frozenset[Rule]:
    return frozenset(rule for tried in trials for trial in tried for rule in trial.unproven)


class _Item(Struct, frozen=True, kw_only=True):
    """A mutant that is to be tried.

    Attributes:
        place: of the mutant among all.
        alive: the rules that nothing has killed yet.
        chances: scenarios in which it may change something and go unnoticed, or spare a rule.
        before: what became of it already.
    """

    place: int
    alive: frozenset[Rule]
    chances: int
    before: tuple[Trial, ...]


class _Bench:
    """What every worker has."""

    def __init__(
        self, request: SearchRequest, mutants: Sequence[Mutant], played: Sequence[Played] = ()
    ) -> None:
        self.request = request
        self.mutants = mutants
        self.played = [item for item in played if not item.why_not]
        self.judge = Judge(request.model)

    def play(self, scenario: Scenario) -> Played:
        """Run the subject itself."""
        request = self.request
        return play(self.judge, request.binding, scenario, wall_limit_s=request.wall_limit_s)

    def lost(self, scenario: Scenario) -> Played:
        """Return what stands for a scenario that kills the process that plays it."""
        none = frozenset[Rule]()
        return Played(
            scenario=scenario,
            traces=(),
            broken=none,
            by_run=none,
            by_seeds=none,
            why_not="the process that made this run died",
            idle={},
        )

    def trials(self, item: _Item) -> Iterator[Trial]:
        """Yield what becomes of a mutant, scenario by scenario."""
        mutant = self.mutants[item.place]
        alive = item.alive
        if mutant.only_for is not None:
            alive = frozenset(rule for rule in alive if rule[0] == mutant.only_for)
        # One that a person has made needs no other proof that it is wrong.
        is_noticed = mutant.only_for is not None and mutant.shown_by is None
        is_noticed = is_noticed or any(past.is_noticed for past in item.before)
        if any(past.is_lost for past in item.before):
            return
        changed = {(past.scenario, past.variant): past.is_changed for past in item.before}
        spared: Counter[Rule] = Counter()
        changes = 0
        for played in self._in_turn(mutant, alive):
            if changes >= item.chances * _PER_CHANCE:
                return
            wanted = {rule for rule in alive & played.kept if spared[rule] < item.chances}
            if not wanted and (is_noticed or changes >= item.chances):
                continue
            is_changed = changed.get((played.scenario.id, played.scenario.variant))
            if is_changed is None:
                trial = self._trial(mutant, played, wanted)
                alive -= trial.kills
                is_noticed = is_noticed or trial.is_noticed
                is_changed = trial.is_changed
                yield trial
                if trial.is_lost:
                    # It would hang in the next scenario, too, and each costs the wall limit.
                    return
            if is_changed:
                spared.update(wanted & alive)
                changes += 1

    def _trial(self, mutant: Mutant, played: Played, wanted: Set[Rule]) -> Trial:
        own = self.request.wall_limit_s
        for limit_s in _WALL_LIMITS_S if own is None else (own,):
            trial = try_mutant(
                self.judge,
                self.request.binding,
                mutant,
                played,
                all_seeds=bool(wanted & played.by_seeds),
                wall_limit_s=limit_s,
            )
            if not trial.is_lost:
                break
        return trial

    def _in_turn(self, mutant: Mutant, alive: Set[Rule]) -> list[Played]:
        """Return the scenarios in which a mutant can differ, those with most rules left first.

        Before all of them comes the one that shows it. Equal ones are in another order for each
        mutant.
        """
        mine = (
            item
            for item in self.played
            if mutant.scenarios is None or item.scenario.id in mutant.scenarios
        )
        return sorted(
            mine,
            key=lambda item: (
                item.scenario.id != mutant.shown_by,
                -len(alive & item.kept),
                digest(f"{mutant.id} {item.scenario.id}"),
            ),
        )


def _played(shared: Shared[_Bench], scenarios: tuple[Scenario, ...]) -> list[Played]:
    return [shared.get().play(scenario) for scenario in scenarios]


def _tried(shared: Shared[_Bench], items: Iterable[_Item]) -> list[tuple[Trial, ...]]:
    return [tuple(shared.get().trials(item)) for item in items]


def _steps_taken(request: SearchRequest, played: Sequence[Played]) -> dict[str, frozenset[str]]:
    """Return each step of a shipped reference, with the scenarios in which it takes it."""
    if request.subject_spec not in SUBJECTS:
        return {}
    taken: dict[str, set[str]] = {}
    for item in played:
        if item.why_not:
            continue
        scenario = item.traces[0].header.scenario
        seed = item.traces[0].header.seed
        try:
            names = where_loaded(
                request.binding, list[str], steps_taken, request.subject_spec, scenario, seed
            )
        except LostError:
            continue
        for name in names:
            taken.setdefault(name, set()).add(scenario.id)
    return {name: frozenset(ids) for name, ids in taken.items()}
