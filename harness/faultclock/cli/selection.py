"""Which scenarios a run is made of: those that were named, as far as they fit the subject."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from faultclock.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from faultclock.load.scenario import LoadedScenario
    from faultclock.model.error_model.error_model import ErrorModel
    from faultclock.model.report.finding import PassedOver, Shard
    from faultclock.model.scenario.scenario import Scenario
    from faultclock.subjects.binding import Binding


def excluded(
    found: Sequence[LoadedScenario], patterns: Sequence[str]
) -> tuple[tuple[LoadedScenario, ...], tuple[PassedOver, ...]]:
    """Return those of `found` that no pattern leaves out, and the others.

    Args:
        patterns: ids, families, patterns over ids, files or folders.

    Raises:
        UnknownNameError: a pattern names nothing that there is.
        InputError: nothing is left.
    """
    from faultclock.model.report.finding import PassedOver

    because: dict[str, str] = {}
    for pattern in patterns:
        for id_ in _matching(found, pattern):
            because.setdefault(id_, f"left out by --exclude {pattern}")
    if found and len(because) == len(found):
        raise InputError(
            f"--exclude leaves nothing to run: it takes out all {len(found)} scenarios selected",
            hint="exclude less, or select more",
        )
    rest = tuple(item for item in found if item.scenario.id not in because)
    return rest, tuple(PassedOver(scenario=id_, because=why) for id_, why in because.items())


def _matching(found: Sequence[LoadedScenario], pattern: str) -> list[str]:
    """Return the ids of those of `found` that `pattern` selects, in their order."""
    from faultclock.load.scenario import find_scenarios

    family = f"{pattern.rstrip('/')}/"
    ids = [item.scenario.id for item in found]
    mine = {id_ for id_ in ids if id_.startswith(family) or fnmatchcase(id_, pattern)}
    if not mine:
        # A file, a folder, or something shipped that is not selected; a wrong name stops here.
        mine = {item.scenario.id for item in find_scenarios((pattern,))}
    return [id_ for id_ in ids if id_ in mine]


def fitting(
    found: Sequence[LoadedScenario], selectors: Sequence[str], binding: Binding, model_id: str
) -> tuple[LoadedScenario, ...]:
    """Return those of `found` that are for this subject's role and for this error model.

    Args:
        selectors: what a person named. A family, a pattern or a folder may hold scenarios for
            other roles, which are passed over; a single scenario must fit. What is written for
            other error models is passed over likewise, but for what is named by itself.

    Raises:
        InputError: one that was named by itself does not fit, or none does.
    """
    from faultclock.run.bind_scenario import of_role

    fits = tuple(item for item in found if of_role(item.scenario, binding))
    subject = f"the subject {binding.id} is for role {binding.role}"
    for item in found:
        if item not in fits and _is_named(item, selectors):
            raise InputError(
                f"{item.scenario.id} is a scenario for role {item.scenario.role}, and {subject}",
                hint="choose a subject of that role, or a scenario for this one: `faultclock list`",
            )
    if not fits:
        raise InputError(
            f"no scenario fits: {subject}",
            hint=f"selected were scenarios for {' and '.join(_roles(found)) or 'no role'}",
        )
    chosen = tuple(
        item
        for item in fits
        if not item.scenario.models
        or model_id in item.scenario.models
        or _is_named(item, selectors)
    )
    if not chosen:
        others = sorted({name for item in fits for name in item.scenario.models})
        raise InputError(
            f"no scenario fits: those selected are not written for the error model {model_id}",
            hint=f"they are for {' and '.join(others)}: choose with --model, or name one by its id",
        )
    return chosen


def playable(
    fits: Sequence[LoadedScenario],
    selectors: Sequence[str],
    binding: Binding,
    found: Sequence[LoadedScenario] = (),
) -> tuple[tuple[LoadedScenario, ...], tuple[PassedOver, ...]]:
    """Return those of `fits` that can be played for this subject, and the others with the reason.

    Of scenarios in another API it makes no difference whether a folder was named or each file.

    Args:
        found: what was selected; a selector of which nothing fits is passed over whole.

    Raises:
        InputError: none can be played.
    """
    from faultclock.model.report.finding import PassedOver
    from faultclock.run.bind_scenario import bind_scenario, cannot_be_said
    from faultclock.run.doctor.fitting import unplayable

    chosen: list[LoadedScenario] = []
    others: list[PassedOver] = []
    for item in fits:
        reasons = (unplayable(scenario, binding) for scenario in item.runnable)
        reason = next((found for found in reasons if found is not None), None)
        named = reason is not None and _is_named(item, selectors)
        sayable = all(cannot_be_said(scenario, binding) is None for scenario in item.runnable)
        if reason is None or (named and (sayable or len(fits) == 1)):
            # What is named is run in spite of a declaration. One that is in another API and named
            # alone is refused here, with what to do.
            for scenario in item.runnable:
                bind_scenario(scenario, binding)
            chosen.append(item)
        else:
            others.append(PassedOver(scenario=item.scenario.id, because=reason))
    if not chosen:
        raise InputError(
            f"no scenario fits: {others[0].scenario} is the first of {len(others)}, and"
            f" {others[0].because}",
            hint="choose another subject, or scenarios that name no dialect",
        )
    return tuple(chosen), (*others, *_unfit(found, fits, selectors, binding))


def _unfit(
    found: Sequence[LoadedScenario],
    fits: Sequence[LoadedScenario],
    selectors: Sequence[str],
    binding: Binding,
) -> Iterator[PassedOver]:
    """Yield the scenarios of selectors of which none fits: who named them waits for their runs."""
    from faultclock.model.report.finding import PassedOver
    from faultclock.run.bind_scenario import of_role

    fitting_ids = {item.scenario.id for item in fits}
    ids = [set(_matching(found, selector)) for selector in selectors] if found else []
    unfit = {id_ for mine in ids if not mine & fitting_ids for id_ in mine}
    for item in found:
        if (scenario := item.scenario).id in unfit:
            of = f"role {scenario.role}"
            if of_role(scenario, binding):
                of = f"the error model {' or '.join(scenario.models)}"
            yield PassedOver(scenario=scenario.id, because=f"for {of}")


def of_variant(scenarios: Sequence[Scenario], variant: str | None) -> tuple[Scenario, ...]:
    """Return the scenarios of one variant; all of them without one.

    Raises:
        UnknownNameError: there is no such variant among them.
    """
    if variant is None:
        return tuple(scenarios)
    chosen = tuple(scenario for scenario in scenarios if scenario.variant == variant)
    if not chosen:
        known = (scenario.variant for scenario in scenarios if scenario.variant is not None)
        raise UnknownNameError("variant", variant, tuple(known))
    return chosen


def crashed_at(scenarios: Sequence[Scenario], seq: int | None) -> tuple[Scenario, ...]:
    """Return the scenarios with a crash right after event `seq` (1-based); unchanged for None.

    Raises:
        InputError: one is for subjects that cannot be killed.
    """
    from faultclock.run.expand import crash_after

    return tuple(scenarios if seq is None else (crash_after(item, seq) for item in scenarios))


def of_shard(
    scenarios: Sequence[Scenario], shard: Shard, model: ErrorModel, options: Mapping[str, Any]
) -> tuple[tuple[Scenario, ...], Shard]:
    """Return those of `scenarios` that a shard runs, and the shard with what it is a part of.

    Args:
        options: `seed`, `seeds` and `sweep`, as a `SuiteRequest` has them.
    """
    from faultclock.run.process.shards import dealt, run_count, selection_digest

    seed, seeds, sweep = options["seed"], options["seeds"], options["sweep"]
    costs: Counter[str] = Counter()
    for scenario in scenarios:
        costs[scenario.id] += run_count(scenario, seeds=seeds, sweep=sweep)
    mine = dealt(costs, shard.number, shard.count)
    digest = selection_digest(scenarios, model, seed=seed, seeds=seeds, sweep=sweep)
    chosen = tuple(scenario for scenario in scenarios if scenario.id in mine)
    return chosen, shard.model_copy(update={"selection": digest})


def without_root(path: str) -> str:
    """Return a path as it is written from the working folder: a report names no absolute one.

    Of `FILE:NAME` the file is rewritten, and what is no absolute path stays as it is.
    """
    file, colon, name = path.rpartition(":") if ":" in path else (path, "", "")
    return f"{os.path.relpath(file)}{colon}{name}" if Path(file).is_absolute() else path


def _is_named(item: LoadedScenario, selectors: Iterable[str]) -> bool:
    names = (item.scenario.id, os.path.realpath(item.path))
    return any(selector in names or os.path.realpath(selector) in names for selector in selectors)


def _roles(found: Iterable[LoadedScenario]) -> list[str]:
    return sorted({item.scenario.role for item in found})
