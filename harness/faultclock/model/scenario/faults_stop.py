"""Settled: the scenario whose faults stop, so that everything in it has to come to rest.

After the outage comes the question whether anybody ever finds out that it is over. `settle` of a
scenario says from when on its providers are well; here their faults are made to end by then. What
that has to come to is judged in `faultclock.oracle.checks.run.liveness`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from faultclock.model.duration import format_duration
from faultclock.model.scenario.provider_script import ProviderScript
from faultclock.model.scenario.scenario import Scenario


def settled(scenario: Scenario) -> Scenario:
    """Return `scenario` with no fault of a provider from `settle.faults_end` on.

    Faults and overload end then; what could only begin after that is left out. What a provider
    grants its callers (limits and quota) stays: it is no fault, and a bucket fills by itself. So
    does what others do: tools, people, the store.
    """
    settle = scenario.settle
    if settle is None:
        return scenario
    return scenario.with_providers(partial(_ended, settle.faults_end))


def _ended(end_ns: int, script: ProviderScript) -> ProviderScript:
    changes: dict[str, object] = {}
    faults = tuple(
        rule
        if _is_over(rule.when.until_time, end_ns)
        else rule.model_copy(update={"when": rule.when.model_copy(update={"until_time": end_ns})})
        for rule in script.faults
        if (rule.when.from_time or 0) < end_ns
    )
    if faults != script.faults:
        changes["faults"] = faults
    overload = script.overload
    if overload is not None and not _is_over(overload.until_time, end_ns):
        begins = overload.from_time < end_ns
        changes["overload"] = overload.model_copy(update={"until_time": end_ns}) if begins else None
    return script.model_copy(update=changes) if changes else script


def _is_over(until_ns: int | None, end_ns: int) -> bool:
    return until_ns is not None and until_ns <= end_ns


def never_settles(scenario: Scenario) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield what could not begin before `settle.faults_end`, or not end: its place and a sentence.

    Nothing where the scenario has no `settle`.
    """
    settle = scenario.settle
    if settle is None:
        return
    end = format_duration(settle.faults_end)
    for place, script in scenario.providers:
        for number, rule in enumerate(script.faults):
            from_ns = rule.when.from_time or 0
            if from_ns >= settle.faults_end:
                begins = format_duration(from_ns)
                yield (
                    (*place, "faults", number, "when", "from_time"),
                    f"the fault {rule.id!r} begins at {begins}, and faults end at {end}",
                )
        overload = script.overload
        if overload is not None and overload.from_time >= settle.faults_end:
            begins = format_duration(overload.from_time)
            yield (
                (*place, "overload", "from_time"),
                f"the overload {overload.id!r} begins at {begins}, and faults end at {end}",
            )
        quota = None if script.limits is None else script.limits.quota
        if quota is not None and quota.resets_after is None:
            yield (
                (*place, "limits", "quota"),
                f"the quota {quota.id!r} never resets, so nothing would settle after {end}",
            )
