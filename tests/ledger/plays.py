"""What is played for the ledger, and by which error models each run is judged.

The work comes in units: all runs of one subject, or all logs that one map reads. A unit does not
depend on any other, so units can be played in any order and in any number of processes.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from faultclock.load.error_model import model_ids
from faultclock.load.foreign.log import read_foreign_log
from faultclock.load.foreign.map import foreign_map_ids, load_foreign_map
from faultclock.load.resources import fixtures_root
from faultclock.load.scenario import find_scenarios
from faultclock.model.scenario.scenario import Role, Scenario
from faultclock.model.trace.trace import Trace
from faultclock.run.doctor.fitting import unplayable
from faultclock.run.suite import SuiteRequest, run_one, run_suite
from faultclock.subjects.binding import Binding
from faultclock.subjects.registry import SubjectEntry, catalog
from tests.hostile.idle_subjects import IDLE
from tests.ledger.units import Played, Source, Unit, model_of
from tests.run.conftest import ready
from tests.soak.plan import Stock

#: The model that every subject is judged by beside its own.
_NEUTRAL = "common"
#: Runs of one subject that are drawn as an exploration draws them.
_DRAWS = {"reference": 24, "client": 6, "miniature": 12}
#: A run that takes longer has hung.
_WALL_LIMIT_S = 120.0


@cache
def _entries() -> dict[str, SubjectEntry]:
    return {entry.id: entry for entry in catalog() if entry.available}


@cache
def _scenarios(role: Role) -> tuple[Scenario, ...]:
    found = (item for item in find_scenarios(()) if item.scenario.role == role)
    return tuple(scenario for item in found for scenario in item.runnable)


def units() -> tuple[Unit, ...]:
    """Return all work, in a fixed order."""
    found = [Unit("log", map_) for map_ in foreign_map_ids()]
    found += [Unit("idle", binding.id) for binding in IDLE]
    sources: dict[str, Source] = {"miniature": "wrong", "client": "client"}
    for entry in _entries().values():
        if entry.found_by == "run":
            found.append(Unit(sources.get(entry.kind, "reference"), entry.id))
        if entry.kind != "miniature" or entry.found_by == "explore":
            found.append(Unit("explored", entry.id))
    return tuple(sorted(found))


def played(unit: Unit) -> Iterator[Played]:
    """Play one unit, run by run."""
    if unit.source == "log":
        yield from _logs(unit.name)
    elif unit.source == "idle":
        (binding,) = (item for item in IDLE if item.id == unit.name)
        for scenario in _for(binding, None):
            trace = run_one(scenario, binding, scenario.seed, isolate=False)
            yield _played(trace, scenario.models or model_ids())
    elif unit.source == "explored":
        yield from _explored(_entries()[unit.name])
    else:
        yield from _suite(_entries()[unit.name])


def _logs(map_: str) -> Iterator[Played]:
    foreign = load_foreign_map(map_)
    for path in sorted((fixtures_root() / "foreign-logs" / map_).glob("*.jsonl")):
        for complete in (False, True):
            trace = read_foreign_log(path, foreign, complete=complete)
            label = f"{path.name}{', complete' if complete else ''}"
            yield Played(label=label, group=None, models=(Path(foreign.model).stem,), trace=trace)


def _suite(entry: SubjectEntry) -> Iterator[Played]:
    binding = ready(entry.id)
    if entry.kind == "miniature":
        assert entry.shown_by is not None
        (found,) = find_scenarios((entry.shown_by,))
        scenarios = found.runnable
    else:
        scenarios = tuple(_for(binding, None if entry.kind == "client" else entry.model))
    traces: list[Trace] = []

    def keep(trace: Trace) -> None:
        traces.append(trace)

    for scenario in scenarios:
        request = SuiteRequest(
            scenarios=(scenario,),
            binding=binding,
            subject_spec=entry.id,
            model=model_of(_NEUTRAL),
            wall_limit_s=_WALL_LIMIT_S,
            confirm=False,
        )
        run_suite(request, on_trace=keep)
        models = _models(entry, scenario)
        for trace in traces:
            yield _played(trace, models, swept=trace.header.scenario.variant != scenario.variant)
        traces.clear()


def _explored(entry: SubjectEntry) -> Iterator[Played]:
    stock = Stock([entry.id], lambda _: ready(entry.id))
    for number in range(_DRAWS[entry.kind]):
        drawn = stock.draw(number, 0)
        trace = run_one(
            drawn.played,
            stock.bindings[entry.id],
            drawn.seed,
            isolate=not stock.bindings[entry.id].inline,
            wall_limit_s=_WALL_LIMIT_S,
            chance=drawn.chance,
        )
        models = _models(entry, drawn.scenario)
        yield Played(label=f"{number}: {drawn.text}", group=None, models=models, trace=trace)


def _played(trace: Trace, models: tuple[str, ...], *, swept: bool = False) -> Played:
    scenario = trace.header.scenario
    group = scenario.id if scenario.variant is None else f"{scenario.id} [{scenario.variant}]"
    return Played(
        label=f"{group} seed {trace.header.seed}",
        group=None if swept else group,
        models=models,
        trace=trace,
    )


def _models(entry: SubjectEntry, scenario: Scenario) -> tuple[str, ...]:
    wanted = {entry.model, _NEUTRAL}
    return tuple(id_ for id_ in scenario.models or model_ids() if id_ in wanted)


def _for(binding: Binding, model: str | None) -> Iterator[Scenario]:
    for scenario in _scenarios(binding.role):
        if unplayable(scenario, binding) is None and (
            model is None or not scenario.models or model in scenario.models
        ):
            yield scenario
