"""Compares two censuses cell by cell: a client in a scenario, in one version and in another.

A change is judged only where nobody could dispute it: by the checks of the error model that the
client newly fails or fails no more, then by what its caller gets. Longer waits, more attempts and
another exception are different, and neither better nor worse.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from faultclock.errors import InputError
from faultclock.model.duration import MICROSECOND_NS
from faultclock.model.report.census import CallConduct, Census, ClientCensus, ScenarioConduct
from faultclock.model.report.census_drift import CellChange, CensusDrift, ClientDrift, DriftKind
from faultclock.model.report.finding import Verdict
from faultclock.profile.census_merge import JUDGED_ALIKE, check_same

#: What the caller gets, the best first: the answer, an error, or something that passes for one.
_ANSWERED, _RAISED, _WRONG = range(3)


def drift(before: Census, after: Census) -> CensusDrift:
    """Return the cells that changed; clients are paired by their ids.

    Raises:
        InputError: the censuses are judged by different models, or by different versions of ours.
    """
    check_same(before, after, JUDGED_ALIKE)
    old, new = _by_id(before), _by_id(after)
    order = [entry.id for entry in after.scenarios]
    order += [entry.id for entry in before.scenarios if entry.id not in set(order)]
    both = [name for name in new if name in old]
    clients = tuple(_client(name, old[name], new[name], order) for name in both)
    gone = tuple(name for name in old if name not in new)
    kinds = {change.kind for client in clients for change in client.changes}
    lost = "lost" in kinds or bool(gone) or not any(client.compared for client in clients)
    return CensusDrift(
        model=after.model,
        verdict="worse" if "worse" in kinds else "unclear" if lost else "not worse",
        clients=clients,
        gone=gone,
        new=tuple(name for name in new if name not in old),
    )


def of_environment(census: Census, name: str | None) -> Census:
    """Return the clients of one environment under their own ids.

    Args:
        name: of the environment; None: that of all clients, where they are in one.

    Raises:
        InputError: there is no such environment.
    """
    known = tuple(dict.fromkeys(client.environment for client in census.clients))
    if name is None:
        if len(known) != 1:
            return census
        name = known[0]
    elif name not in known:
        said = ", ".join(filter(None, known)) or "none"
        raise InputError(
            f"this census has no environment {name!r}", hint=f"its environments: {said}"
        )
    clients = tuple(
        client.model_copy(update={"id": client.client, "environment": ""})
        for client in census.clients
        if client.environment == name
    )
    return census.model_copy(update={"clients": clients})


def _by_id(census: Census) -> Mapping[str, ClientCensus]:
    return {client.id: client for client in census.clients}


def _client(name: str, before: ClientCensus, after: ClientCensus, order: list[str]) -> ClientDrift:
    old = {run.scenario: run for run in before.runs}
    new = {run.scenario: run for run in after.runs}
    return ClientDrift(
        client=name,
        before=before.versions,
        after=after.versions,
        compared=sum(
            _has_result(old.get(scenario)) and _has_result(new.get(scenario)) for scenario in order
        ),
        changes=tuple(
            change
            for scenario in order
            for change in _changes(scenario, old.get(scenario), new.get(scenario))
        ),
    )


def _changes(
    scenario: str, old: ScenarioConduct | None, new: ScenarioConduct | None
) -> Iterator[CellChange]:
    was, now = _has_result(old), _has_result(new)
    kind: DriftKind
    if old is not None and new is not None and was and now:
        if _facts(old) == _facts(new):
            return
        kind = _kind(old, new)
    elif was or now:
        kind = "lost" if was else "gained"
    else:
        return
    judged = new is not None and now and not _is_unjudged(new)
    failed = [() if run is None else run.failed for run in (old, new)]
    yield CellChange(
        kind=kind,
        scenario=scenario,
        before=old,
        after=new,
        newly_failed=tuple(item for item in failed[1] if item not in failed[0]),
        fixed=tuple(item for item in failed[0] if item not in failed[1]) if judged else (),
    )


def _has_result(run: ScenarioConduct | None) -> bool:
    """Return whether a run says something about the client."""
    return run is not None and not run.trouble and bool(run.calls)


def _is_unjudged(run: ScenarioConduct) -> bool:
    """Return whether not all of it was judged: where a client gives up early, a fault is unmet."""
    return run.verdict == Verdict.INCONCLUSIVE.value


def _facts(run: ScenarioConduct) -> object:
    """Return what has to be the same: messages and the classes behind an exception are not."""
    return (run.verdict, run.failed, tuple(map(_facts_of_call, run.calls)))


def _facts_of_call(call: CallConduct) -> object:
    waits = (None if wait.ns is None else round(wait.ns / MICROSECOND_NS) for wait in call.waits)
    ended = tuple(attempt.ended for attempt in call.attempts)
    return (call.outcome, call.answer, call.error, ended, tuple(waits))


def _kind(old: ScenarioConduct, new: ScenarioConduct) -> DriftKind:
    if set(new.failed) - set(old.failed):
        return "worse"
    if set(old.failed) - set(new.failed) and not _is_unjudged(new):
        return "better"
    was, now = ({call.call: _rank(call) for call in run.calls} for run in (old, new))
    if any(now.get(call, _WRONG) > rank for call, rank in was.items()):
        return "worse"
    if _is_unjudged(new) != _is_unjudged(old):
        return "lost" if _is_unjudged(new) else "gained"
    return "better" if now != was else "different"


def _rank(call: CallConduct) -> int:
    if call.answer is not None:
        return _ANSWERED if call.answer == "whole" else _WRONG
    return _RAISED if call.outcome == "raised" else _WRONG
