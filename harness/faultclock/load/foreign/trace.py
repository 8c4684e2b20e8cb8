"""The header of a foreign log's trace: what the log can show, and that it cannot be run again."""

from __future__ import annotations

from collections.abc import Iterable

from faultclock.model.foreign_map import ForeignLog, ForeignMap
from faultclock.model.scenario.scenario import RuntimeScenario, scenario_digest
from faultclock.model.scenario.task import Task
from faultclock.model.trace.trace import SubjectInfo, TraceHeader

#: What each kind lets a binding say that it can express.
_DECLARES = {
    "declared.audit": "audit",
    "declared.audit_event": "audit",
    "declared.user_message": "user",
    "declared.model_message": "model",
    "declared.operator_message": "operator",
}


def foreign_header(
    map_: ForeignMap,
    *,
    log_sha256: str,
    lines: int,
    names: Iterable[str],
    records: Iterable[str],
    complete: bool,
) -> TraceHeader:
    """Return the header of a log that was read with `map_`.

    Args:
        lines: how many lines of it hold an event.
        names: the events that it has, in the model's words.
        records: the records of an audit trail that it has, likewise.
        complete: whether a person vouches that it is whole.
    """
    scenario = RuntimeScenario(
        id=f"foreign/{map_.id}",
        title=map_.title,
        why="It was recorded elsewhere, and is judged here.",
        role="runtime",
        tasks=(Task(id="log"),),
    )
    kinds = _kinds(map_)
    declares = {"events", "errors"} | {_DECLARES[kind] for kind in kinds if kind in _DECLARES}
    return TraceHeader(
        scenario=scenario,
        scenario_digest=scenario_digest(scenario),
        subject=SubjectInfo(
            id=map_.id, role="runtime", style="async", declares=tuple(sorted(declares))
        ),
        seed=0,
        foreign=ForeignLog(
            map=map_.id,
            model="" if map_.model.endswith((".yaml", ".yml")) else map_.model,
            log_sha256=log_sha256,
            lines=lines,
            kinds=kinds,
            names=tuple(sorted({*names, *_mapped(map_, audited=False)})),
            records=tuple(sorted({*records, *_mapped(map_, audited=True)})),
            signs=tuple(sorted({kind for _, entry in map_.entries() for kind in entry.signs})),
            timed=map_.time is not None,
            complete=complete,
        ),
    )


def _mapped(map_: ForeignMap, *, audited: bool) -> Iterable[str]:
    return (entry.name or name for name, entry in map_.entries() if entry.audited == audited)


def _kinds(map_: ForeignMap) -> tuple[str, ...]:
    entries = [entry for _, entry in map_.entries()]
    kinds = {"call.started", "call.returned", "call.raised", "call.crashed", "declared.event"}
    kinds |= {f"declared.{audience}_message" for entry in entries for audience in entry.tells}
    for entry in entries:
        if entry.error is not None:
            kinds.add("declared.error")
        if entry.error is not None and entry.error.audited:
            kinds.add("declared.audit")
        if entry.audited:
            kinds.add("declared.audit_event")
        if entry.retry is not None:
            kinds.add("declared.retry")
    return tuple(sorted(kinds))
