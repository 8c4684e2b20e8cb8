"""What a trace can show that is not from the simulation: the log of another system, or real time.

A log has what a system said, and nothing that we saw. A check that needs more is not applicable,
and says what is missing; it never passes for lack of evidence. Of a rule that speaks of more events
than the log can have, what is left is judged where a violation in that part would be one of the
whole rule: a prohibition of three things prohibits each of them, but that something was asked for
first can only be judged where all that counts as asking can be seen.

In real time, what needs the exact instant, or the end of something that the world did not see, is
not applicable either.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.error_model.event_sets import EventPattern, EventRef, Events, resolved
from faultclock.model.error_model.lookup import CountLookup
from faultclock.model.error_model.ordering import OrderingRule
from faultclock.model.foreign_map import ForeignLog
from faultclock.model.report.finding import Finding, Verdict
from faultclock.model.trace.trace import Trace, TraceEvent
from faultclock.oracle.check import Outcome
from faultclock.oracle.checks.agent.audience import channel_kind

_ORDERING, _AUDIENCE = "ordering.", "audience."
#: Checks that read nothing but what they name here.
_READS = {
    "backoff.declared": "declared.retry",
    "classification.named": "declared.error",
    "evidence.whole": "call.started",
}
#: Those of them that read classes and codes: another model has other words.
_IN_WORDS = ("backoff.declared", "classification.named")
#: The ends of calls are made of the log's own events, each run with one at most.
_ENDS = frozenset({"call.returned", "call.raised", "call.crashed"})
#: Parts of which a rule needs all that it names, by pattern; of the others some are enough. What
#: begins a stretch is among them where something that is asked for may lie before the first
#: beginning that can be seen.
_WHOLE = {
    "absence": (),
    "existence": ("event", "after"),
    "universality": (),
    "precedence": ("other", "after"),
    "response": ("other",),
    "exactly_one": ("event", "after"),
    "last": ("event",),
    "sequence": (),
    "increasing": ("event",),
    "at_most": (),
    "automaton": ("moves", "after"),
}

#: Checks of what came over the wire or of the trace itself: real time takes nothing from them.
_OF_EVIDENCE = frozenset({"evidence.whole", "evidence.faults-met", "evidence.exercised"})
#: Why real time leaves other checks nothing to judge.
_NOT_IN_REAL_TIME = {
    "evidence.no-leaks": "the run was in the real world: there was no simulation that could leak",
    "backoff.jitter": "the run was in real time, which spreads all waits: it needs the virtual"
    " clock",
    "liveness.settles": "it bounds a time, and the run was in real time: it needs the virtual"
    " clock",
}
#: Checks that have an upper bound in virtual time and none in real time.
_LOWER_BOUNDS = frozenset({"backoff.wait", "backoff.retry-after"})


class _Unseen(Exception):  # noqa: N818 - an answer, not an error
    """What a log does not show and a rule needs."""


def cannot_judge(check_id: str, model: ErrorModel, trace: Trace) -> str:
    """Return why a check says nothing of a trace; empty when it can be judged."""
    rule = next((rule for rule in model.ordering if check_id == f"{_ORDERING}{rule.id}"), None)
    if trace.header.foreign is not None:
        return _not_in_a_log(check_id, rule, model, trace.header.foreign)
    return "" if trace.is_virtual else _not_in_real_time(check_id, rule, model, trace)


def _not_in_a_log(
    check_id: str, rule: OrderingRule | None, model: ErrorModel, log: ForeignLog
) -> str:
    if rule is not None:
        seen = as_seen(rule, model.events, log)
        return seen if isinstance(seen, str) else ""
    if check_id in _IN_WORDS and log.model not in ("", model.id):
        return f"the map says what the log names in the words of the error model {log.model}"
    kind = _READS.get(check_id)
    if check_id.startswith(_AUDIENCE):
        kind = channel_kind(check_id[len(_AUDIENCE) :])
    if kind is None:
        return "the log has what a system said of itself, and this needs what the world observed"
    return "" if kind in log.kinds else _nothing_of(kind)


def _not_in_real_time(
    check_id: str, rule: OrderingRule | None, model: ErrorModel, trace: Trace
) -> str:
    if check_id in _OF_EVIDENCE:
        return ""
    if trace.header.subject.role != "provider_adapter":
        return "in real time only provider adapters are judged: the rest of their world is missing"
    if check_id in _NOT_IN_REAL_TIME:
        return _NOT_IN_REAL_TIME[check_id]
    if rule is None:
        return ""
    if (rule.within, rule.no_sooner) != (None, None):
        return "the rule bounds a time, and the run was in real time: it needs the virtual clock"
    bounds, moves = (rule.scope.after, rule.scope.before), (move.event for move in rule.moves)
    refs = (rule.event, rule.other, *bounds, *rule.steps, *moves)
    named = {kind for ref in refs for kind in _kinds(ref, model.events)}
    unsaid = next(trace.of_kind("call.left"), None) is not None
    if unsaid and named & {"call.returned", "call.raised"}:
        return "the log says that a call ended, but not how"
    return ""


def as_lower_bound(finding: Finding, trace: Trace) -> Finding:
    """Return a finding on `trace`; a pass in real time says that it is but half of one."""
    if (
        trace.is_virtual
        or finding.verdict is not Verdict.PASS
        or finding.check not in _LOWER_BOUNDS
    ):
        return finding
    observed = "no wait was too short; in real time a wait is never too long"
    return finding.model_copy(update={"observed": observed})


def as_seen(rule: OrderingRule, events: Events, log: ForeignLog) -> OrderingRule | str:
    """Return what is left of `rule` in a log, without the events that it cannot have.

    A text says why nothing is left that could be judged.
    """
    if not log.complete and _counts_ends(rule, events):
        return (
            "each run of the log that is judged has its end: say --complete where the log is"
            " whole, and one without an end is a finding"
        )
    try:
        seen = _restricted(rule, events, log)
    except _Unseen as unseen:
        return str(unseen)
    timeless = (rule.within, rule.no_sooner) != (None, None) and not log.timed
    return "the events of the log have no times" if timeless else seen


def by_run(events: Iterable[TraceEvent]) -> tuple[tuple[TraceEvent, ...], ...]:
    """Return the events of each run of a log, and those of none.

    An id of a node or of a tool call is unique in its run and nowhere else.
    """
    runs: dict[object, list[TraceEvent]] = {}
    for event in events:
        runs.setdefault(event.log_run, []).append(event)
    return tuple(map(tuple, runs.values()))


def with_lines(outcome: Outcome, trace: Trace) -> Outcome:
    """Return an outcome whose violations say in which lines of the log their events are."""
    violations = []
    for violation in outcome.violations:
        # Events are numbered from 1, without a gap.
        found = (trace.events[seq - 1].line for seq in violation.events)
        numbers = [str(line) for line in dict.fromkeys(found)]
        where = f"line{'s' if len(numbers) > 1 else ''} {', '.join(numbers)} of the log"
        observed = f"{violation.observed} ({where})" if numbers else violation.observed
        violations.append(replace(violation, observed=observed))
    outcome.violations = violations
    return outcome


def _counts_ends(rule: OrderingRule, events: Events) -> bool:
    if rule.pattern not in ("existence", "exactly_one"):
        return False
    return _kinds(rule.event, events) <= _ENDS


def _kinds(ref: EventRef | None, events: Events) -> set[str]:
    return {kind for _, pattern in resolved(ref, events) for kind in pattern.kinds}


def _restricted(rule: OrderingRule, events: Events, log: ForeignLog) -> OrderingRule:
    # A limit that the first beginning of a stretch gives is not that of a later one.
    whole = (*_WHOLE[rule.pattern], *(("after",) if isinstance(rule.limit, CountLookup) else ()))
    changes: dict[str, Any] = {
        name: _part(ref, events, log, whole=name in whole)
        for name in ("event", "other", "among")
        if (ref := getattr(rule, name)) is not None
    }
    if rule.steps:
        changes["steps"] = _steps(rule, events, log)
    for move in rule.moves:
        # A move that is not seen leaves the state unknown.
        _part(move.event, events, log, whole=True)
    if rule.when is not None:
        changes["when"] = _part(rule.when, events, log, whole=False)
    if rule.unless is not None:
        changes["unless"] = tuple(_excuses(rule.unless, events, log))
    bounds: dict[str, Any] = {}
    if rule.scope.after is not None:
        bounds["after"] = _part(rule.scope.after, events, log, whole="after" in whole)
    if rule.scope.before is not None and rule.pattern == "absence":
        # What ends a prohibition excuses what comes after it.
        bounds["before"] = tuple(_excuses(rule.scope.before, events, log))
    elif rule.scope.before is not None:
        bounds["before"] = _part(rule.scope.before, events, log, whole=True)
    scope = rule.scope.model_copy(update=bounds)
    return rule.model_copy(update={**changes, "scope": scope})


def _part(ref: EventRef, events: Events, log: ForeignLog, *, whole: bool) -> EventRef:
    """Return the sets of events of `ref` that the log can have.

    Raises:
        _Unseen: there is none, or with `whole` one of them is missing.
    """
    seen: list[str | EventPattern] = []
    unseen: list[str] = []
    items = ref if isinstance(ref, tuple) else (ref,)
    for item, (_, pattern) in zip(items, resolved(ref, events), strict=True):
        missing = tuple(_missing(pattern, log))
        unseen.extend(missing)
        if not missing:
            seen.append(item)
        elif kinds := tuple(kind for kind in pattern.kinds if kind in log.kinds):
            part = pattern.model_copy(update={"kinds": kinds})
            if not any(_missing(part, log)):
                seen.append(part)
    if unseen and (whole or not seen):
        raise _Unseen(unseen[0])
    return seen[0] if len(seen) == 1 else tuple(seen)


def _missing(pattern: EventPattern, log: ForeignLog) -> Iterator[str]:
    """Yield in words what of a set of events the log cannot have."""
    for kind in pattern.kinds:
        if kind not in log.kinds:
            yield _nothing_of(kind)
    yield from _nameless(pattern, log)


def _nameless(pattern: EventPattern, log: ForeignLog) -> Iterator[str]:
    """Yield in words the names of events that neither the log nor its map has."""
    wanted = pattern.where.get("name")
    choices = wanted if isinstance(wanted, tuple) else (wanted,)
    for kind in pattern.kinds:
        names = {"declared.event": log.names, "declared.audit_event": log.records}.get(kind)
        if names is None or kind not in log.kinds:
            continue
        for name in choices:
            if isinstance(name, str) and name not in names:
                yield (
                    f"neither the log nor its map has an event '{name}': name it in the"
                    " `events` of the map if the log may have it"
                )


def _steps(rule: OrderingRule, events: Events, log: ForeignLog) -> tuple[EventRef, ...]:
    steps: list[EventRef] = []
    reason = ""
    for step in rule.steps:
        try:
            steps.append(_part(step, events, log, whole=False))
        except _Unseen as unseen:
            reason = str(unseen)
    if len(steps) < 2:
        raise _Unseen(reason)
    return tuple(steps)


def _excuses(ref: EventRef, events: Events, log: ForeignLog) -> Iterator[EventPattern]:
    """Yield what a rule is not for, in the events of the log or in what is a sign of it.

    A sign excuses more than what it is a sign of, which costs a finding and never makes one.

    Raises:
        _Unseen: of some of it there is not even a sign.
    """
    for _, pattern in resolved(ref, events):
        unseen = tuple(kind for kind in pattern.kinds if kind not in log.kinds)
        if nameless := next(_nameless(pattern, log), ""):
            raise _Unseen(nameless)
        if kinds := tuple(kind for kind in pattern.kinds if kind in log.kinds):
            yield pattern.model_copy(update={"kinds": kinds})
        for kind in unseen:
            if kind not in log.signs:
                raise _Unseen(
                    f"{_nothing_of(kind)}, which would excuse what the rule is against: where an"
                    " event is a sign of it, say so in `signs` of the map"
                )
            yield EventPattern(kinds=("declared.sign",), where={"of": kind})


def _nothing_of(kind: str) -> str:
    return f"the log, as it is mapped, shows nothing of the kind {kind}"
