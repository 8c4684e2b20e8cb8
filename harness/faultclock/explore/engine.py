"""Many runs of an exploration, and what they come to together.

The runs go round: run 1 of each scenario, then run 2 of each, and so on, so that a time limit cuts
all scenarios alike. They are folded in this order, whoever finishes first: the same request gives
the same Exploration with any number of workers and any size of chunks.
"""

from __future__ import annotations

import heapq
import time
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import count
from typing import Any, Protocol

from msgspec import Struct, field

import faultclock
from faultclock.errors import InputError
from faultclock.explore.coverage import Tally
from faultclock.explore.drawing import SCHEDULES, Drawing, Planned
from faultclock.explore.goal import judge_for, verdict_of
from faultclock.explore.trial import coordinates_of_trace, outcome_of, rerun
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.coordinates import Coordinates, Unsteady
from faultclock.model.report.exploration import (
    Exploration,
    ExploredScenario,
    FailureGroup,
    NoResultGroup,
    Reached,
    Tried,
)
from faultclock.model.report.finding import PassedOver, Verdict
from faultclock.model.report.token import token_of
from faultclock.model.report.wanted_exception import Sought
from faultclock.model.scenario.scenario import Scenario, scenario_digest
from faultclock.model.tape import ScheduleKind
from faultclock.model.trace.trace import Trace
from faultclock.oracle.judge import Judge
from faultclock.run.bind_scenario import cannot_be_said, of_role
from faultclock.run.process.judged_runs import Done, Twice
from faultclock.run.process.workers import Shared, Workers, as_finished
from faultclock.run.suite import lost_run, run_one
from faultclock.subjects.binding import Binding

Outcome = tuple[Tried, Reached]
#: (0-based place of the scenario in the request, number of the run from 1).
_Item = tuple[int, int]

#: Runs in a chunk, at most: some tenths of a second of work, and little to lose.
_ISOLATED_CHUNK = 8
_INLINE_CHUNK = 32
#: The runs of each scenario that are always made twice: a share of a few runs is none at all.
_ALWAYS_TWICE = 3
#: Endings of runs whose process is gone, with what was drawn of their order.
_BY_FORCE = ("watchdog", "harness_error", "escape")
#: Reasons of inconclusive runs of a scenario that are told apart.
_REASONS_MAX = 20
#: Under which runs that were not the same twice are counted.
_UNSTEADY = "UNSTEADY"


class Ledger(Protocol):
    """Keeps what runs came to, so that an exploration can be stopped at any moment."""

    def done(self, scenario: str, variant: str | None, digest: str) -> Iterable[Outcome]:
        """Return the runs of a scenario that are kept already, in the order of their numbers.

        Args:
            digest: of the scenario as it is written.
        """
        ...

    def record(self, batch: Sequence[Outcome]) -> None:
        """Keep some more runs: all of them or none, whatever happens meanwhile."""
        ...


class ExploreRequest(Struct, frozen=True, kw_only=True):
    """What to explore.

    Attributes:
        scenarios: as they are written, with what they let vary.
        subject_spec: how the subject was named, for replay commands.
        readings: interpretation switches of the model that were chosen.
        seed: of the exploration: what run n of a scenario is follows from it.
        runs: how many for each scenario; None: until the time is over.
        time_s: real seconds after which no more runs begin; None: no limit.
        schedules: how ties may be broken.
        isolate: in forked children, but for a subject that is bound with `inline`.
        workers: processes that work at once.
        chunk: how many runs a worker is given at once; None: what fits. It changes no result.
        wall_limit_s: real seconds after which a hanging run is ended; None takes the scenario's.
        clock: real seconds, for the time limit; None: those of this process.
        passed_over: what was selected and cannot be played for this subject.
        sought: the exception that the runs are searched for; None: what breaks the model.
    """

    scenarios: tuple[Scenario, ...]
    binding: Binding
    subject_spec: str
    model: ErrorModel
    readings: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0
    runs: int | None = 100
    time_s: float | None = None
    schedules: tuple[ScheduleKind, ...] = tuple(SCHEDULES)
    isolate: bool = True
    workers: int = 1
    chunk: int | None = None
    wall_limit_s: float | None = None
    clock: Callable[[], float] | None = None
    passed_over: tuple[PassedOver, ...] = ()
    sought: Sought | None = None


class Interrupted(KeyboardInterrupt):
    """A person stopped the exploration.

    Attributes:
        exploration: of the runs that were finished.
    """

    def __init__(self, exploration: Exploration) -> None:
        super().__init__()
        self.exploration = exploration


def explore(
    request: ExploreRequest,
    *,
    ledger: Ledger | None = None,
    on_run: Callable[[Tried], None] | None = None,
) -> Exploration:
    """Make all runs that are asked for; groups come without what shrinking adds.

    Args:
        ledger: is told of every run, and says which need not be made again.
        on_run: called after each run, in no order that anybody may rely on.

    Raises:
        InputError: there is nothing to run, no end to it, or a scenario is for another role.
        Interrupted: by a person's Ctrl-C; what was finished is kept and told.
    """
    _check(request)
    fold = _Fold(request)
    if ledger is not None:
        for item, outcome in _done(request, ledger):
            fold.take({item: outcome})
    items = _items(request, fold)
    interrupted = False
    try:
        for batch in _batches(request, items):
            outcomes = list(batch.values())
            if ledger is not None:
                ledger.record(outcomes)
            fold.take(batch)
            if on_run is not None:
                for tried, _ in outcomes:
                    on_run(tried)
    except KeyboardInterrupt:
        interrupted = True
    exploration = fold.exploration()
    if interrupted:
        raise Interrupted(exploration.model_copy(update={"complete": False}))
    return exploration


def _check(request: ExploreRequest) -> None:
    if not request.scenarios:
        raise InputError("no scenario to explore", hint="name a family, an id, a file or a folder")
    if request.runs is None and request.time_s is None:
        raise InputError("nothing ends this exploration", hint="give runs, a time, or both")
    for scenario in request.scenarios:
        if not of_role(scenario, request.binding):
            raise InputError(
                f"{scenario.id} is a scenario for role {scenario.role}, and the subject"
                f" {request.binding.id} is a {request.binding.role}",
                hint="choose scenarios and subject of one role",
            )
    names = [(scenario.id, scenario.variant) for scenario in request.scenarios]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{twice[0]} is selected twice")


# ------------------------------------------------------------------ making runs


class _Case(Struct, frozen=True):
    """A run that is to be made.

    Attributes:
        place: 0-based, of the scenario in the request.
    """

    place: int
    planned: Planned


class _Work:
    """What a worker has: the subject, and how each run of the request is made."""

    def __init__(self, request: ExploreRequest) -> None:
        self._request = request
        self._twice: Twice[_Case] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Be one that has made no run yet, in whichever process this is read."""
        return _Work, (self._request,)

    @cached_property
    def judge(self) -> Judge:
        """The model and what is sought, read once."""
        return judge_for(self._request.model, self._request.sought)

    @cached_property
    def drawings(self) -> tuple[Drawing, ...]:
        """What draws the runs, for each scenario."""
        request = self._request
        return tuple(
            Drawing(
                scenario,
                request.seed,
                request.schedules,
                fits=lambda varied: cannot_be_said(varied, request.binding) is None,
            )
            for scenario in request.scenarios
        )

    def outcomes(self, items: tuple[_Item, ...]) -> list[Outcome]:
        """Make some runs."""
        request = self._request
        if self._twice is None:
            self._twice = Twice(
                judge=self.judge,
                run=self._run,
                again=self._again,
                inline=request.binding.inline or not request.isolate,
                verdict=verdict_of,
                coordinates=lambda case, trace: coordinates_of_trace(
                    request.scenarios[case.place], trace
                ),
                always=lambda case: case.planned.number <= _ALWAYS_TWICE,
            )
        return [self._outcome(self._twice(self._case(item))) for item in items]

    def lost(self, item: _Item) -> Outcome:
        """Return what stands for a run that kills whoever makes it."""
        case = self._case(item)
        planned = case.planned
        trace = lost_run(planned.scenario, self._request.binding, planned.seed, planned.chance)
        return self._outcome(Done(case, trace, self.judge.judge(trace)))

    def close(self) -> None:
        """End the process for second runs."""
        if self._twice is not None:
            self._twice.close()

    def _case(self, item: _Item) -> _Case:
        place, number = item
        return _Case(place, self.drawings[place].planned(number))

    def _outcome(self, done: Done[_Case]) -> Outcome:
        return outcome_of(self._request.scenarios[done.case.place], done.case.planned, done)

    def _run(self, case: _Case) -> Trace:
        planned, request = case.planned, self._request
        return run_one(
            planned.scenario,
            request.binding,
            planned.seed,
            isolate=request.isolate and not request.binding.inline,
            wall_limit_s=request.wall_limit_s,
            chance=planned.chance,
        )

    def _again(self, case: _Case, where: Coordinates) -> Trace:
        request = self._request
        limit_s = request.wall_limit_s
        return rerun(request.scenarios[case.place], request.binding, where, wall_limit_s=limit_s)


def _outcomes(shared: Shared[_Work], items: tuple[_Item, ...]) -> list[Outcome]:
    """Do one chunk; in a worker."""
    return shared.get().outcomes(items)


def _batches(request: ExploreRequest, items: Iterator[_Item]) -> Iterator[dict[_Item, Outcome]]:
    """Yield what chunks of runs came to, as they finish."""
    work = _Work(request)
    workers, shared = Workers(request.workers), Shared(work)
    try:
        with workers:
            for chunk in as_finished(
                workers,
                partial(_outcomes, shared),
                items,
                size=_chunk_size(request, workers),
                lost=work.lost,
            ):
                yield dict(zip(chunk.items, chunk.results, strict=True))
    finally:
        shared.close()
        work.close()


def _chunk_size(request: ExploreRequest, workers: Workers) -> int:
    if request.chunk is not None:
        return request.chunk
    if workers.ahead == 1:
        # Nothing is sent anywhere, and whoever interrupts loses no run that is finished.
        return 1
    inline = request.binding.inline or not request.isolate
    return workers.chunk(_INLINE_CHUNK if inline else _ISOLATED_CHUNK)


def _items(request: ExploreRequest, made: Container[_Item]) -> Iterator[_Item]:
    """Yield the runs to make, in their order, until the time is over."""
    clock = request.clock or time.monotonic
    ends_s = None if request.time_s is None else clock() + request.time_s
    for number in count(1) if request.runs is None else range(1, request.runs + 1):
        for place in range(len(request.scenarios)):
            if ends_s is not None and clock() >= ends_s:
                return
            if (place, number) not in made:
                yield place, number


def _done(request: ExploreRequest, ledger: Ledger) -> Iterator[tuple[_Item, Outcome]]:
    """Yield what the ledger has of the runs that are asked for, in the order of the runs."""

    def of(place: int, scenario: Scenario) -> Iterator[tuple[_Item, Outcome]]:
        digest = scenario_digest(scenario)
        for tried, reached in ledger.done(scenario.id, scenario.variant, digest):
            if request.runs is None or tried.number <= request.runs:
                yield (place, tried.number), (tried, reached)

    kept = (of(place, scenario) for place, scenario in enumerate(request.scenarios))
    return heapq.merge(*kept, key=lambda made: (made[0][1], made[0][0]))


# ------------------------------------------------------------------ folding them


class _Fold:
    """Puts runs together in their order, and keeps no more of them than it has to."""

    def __init__(self, request: ExploreRequest) -> None:
        self._request = request
        self._early: dict[_Item, Outcome] = {}
        self._next: _Item = (0, 1)
        self._tally = Tally()
        self._totals = [Counter[str]() for _ in request.scenarios]
        self._schedules = [Counter[str]() for _ in request.scenarios]
        self._no_results: list[dict[tuple[str, str], NoResultGroup]] = [
            {} for _ in request.scenarios
        ]
        self._as_written: dict[int, Verdict] = {}
        self._groups: dict[str, FailureGroup] = {}
        self._unsteady: list[Unsteady] = []
        self._digests = [scenario_digest(scenario) for scenario in request.scenarios]

    def __contains__(self, item: object) -> bool:
        """Whether a run, `(place, number)`, was taken."""
        place, number = self._next
        return item in self._early or (isinstance(item, tuple) and item[::-1] < (number, place))

    def take(self, batch: Mapping[_Item, Outcome]) -> None:
        """Take some more runs."""
        self._early.update(batch)
        while (outcome := self._early.pop(self._next, None)) is not None:
            self._fold(self._next, *outcome)
            place, number = self._next
            last = place + 1 == len(self._request.scenarios)
            self._next = (0, number + 1) if last else (place + 1, number)

    def _fold(self, item: _Item, tried: Tried, reached: Reached) -> None:
        place, number = item
        self._tally.add(reached)
        self._totals[place][_UNSTEADY if tried.unsteady is not None else tried.verdict.value] += 1
        self._schedules[place][tried.schedule] += 1
        if number == 1:
            self._as_written[place] = tried.verdict
        if tried.unsteady is not None:
            self._unsteady.append(tried.unsteady)
        if tried.no_result is not None:
            alike = self._no_results[place]
            # A reason may hold what is another one in each run.
            full = len(alike) >= _REASONS_MAX
            by = tried.no_result.check, "" if full else tried.no_result.reason
            group = alike.get(by)
            alike[by] = (
                NoResultGroup(
                    why=tried.no_result,
                    runs=1,
                    first=number,
                    token=""
                    if tried.ending in _BY_FORCE and tried.schedule != "fifo"
                    else token_of(self._coordinates(place, tried)),
                )
                if group is None
                else group.model_copy(update={"runs": group.runs + 1})
            )
        for mark in tried.failures:
            known = self._groups.get(mark.fingerprint)
            if known is None:
                where = self._coordinates(place, tried)
                self._groups[mark.fingerprint] = FailureGroup(
                    fingerprint=mark.fingerprint,
                    scenario=tried.scenario,
                    variant=tried.variant,
                    finding=mark.finding,
                    runs=1,
                    first=number,
                    coordinates=where,
                    token=token_of(where),
                )
            else:
                self._groups[mark.fingerprint] = _once_more(known, tried.scenario)

    def _coordinates(self, place: int, tried: Tried) -> Coordinates:
        return Coordinates(
            scenario=tried.scenario,
            scenario_digest=self._digests[place],
            variant=tried.variant,
            subject=self._request.binding.id,
            seed=tried.seed,
            tape=tried.tape,
        )

    def exploration(self) -> Exploration:
        """Return what all of them came to."""
        # After an interruption some are there whose forerunners are not.
        for item in sorted(self._early, key=lambda item: (item[1], item[0])):
            self._fold(item, *self._early.pop(item))
        request, model = self._request, self._request.model
        subject = request.binding.info()
        made = sum(sum(totals.values()) for totals in self._totals)
        return Exploration(
            faultclock=faultclock.__version__,
            model=model.id,
            model_title=model.title,
            model_revision=model.revision,
            readings=dict(sorted(request.readings.items())),
            subject=subject,
            seed=request.seed,
            sought="" if request.sought is None else request.sought.text,
            complete=request.runs is None or made == request.runs * len(request.scenarios),
            scenarios=tuple(self._explored(place) for place in range(len(request.scenarios))),
            groups=tuple(self._groups.values()),
            unsteady=tuple(self._unsteady),
            passed_over=request.passed_over,
            coverage=self._tally.coverage(model, subject, request.scenarios),
        )

    def _explored(self, place: int) -> ExploredScenario:
        scenario = self._request.scenarios[place]
        return ExploredScenario(
            scenario=scenario.id,
            variant=scenario.variant,
            title=scenario.title,
            digest=self._digests[place],
            totals=dict(sorted(self._totals[place].items())),
            schedules=dict(sorted(self._schedules[place].items())),
            as_written=self._as_written.get(place),
            no_results=tuple(self._no_results[place].values()),
        )


def _once_more(group: FailureGroup, scenario: str) -> FailureGroup:
    elsewhere = dict.fromkeys((*group.elsewhere, scenario))
    elsewhere.pop(group.scenario, None)
    return group.model_copy(update={"runs": group.runs + 1, "elsewhere": tuple(elsewhere)})
