"""Derived events: what a trace comes to, put among its events, so that rules can speak of it.

Each stands right behind the event that shows it, with its `seq`. `docs/ordering.md` has them all.
Those in DERIVED cost a fold, which is made only where a rule speaks of them. One that more than one
event shows has the `seq` of each in `shown_by`: a finding cites these in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from faultclock.model.error_model import ErrorModel
from faultclock.model.scenario import Scenario
from faultclock.model.trace import TraceEvent
from faultclock.model.turn_rules import split
from faultclock.oracle.attempts import Attempt, Call
from faultclock.oracle.extension_role import phases_ended
from faultclock.oracle.failures import failures_of
from faultclock.oracle.history import History
from faultclock.oracle.stages import series_of_stages
from faultclock.oracle.store_redo import store_series
from faultclock.oracle.tool_redo import series_of_tools


def derived_for(history: History, model: ErrorModel, kinds: frozenset[str]) -> Iterator[TraceEvent]:
    """Yield the events of DERIVED that are of one of these kinds."""
    for kind, derive in DERIVED.items():
        if kind in kinds:
            yield from derive(history, model)


def with_derived(
    events: Iterable[TraceEvent],
    calls: Iterable[Call],
    scenario: Scenario,
    more: Iterable[TraceEvent] = (),
) -> list[TraceEvent]:
    """Return `events` with the derived ones among them, `more` of them first."""
    derived: dict[int, list[TraceEvent]] = {}
    for event in more:
        derived.setdefault(event.seq, []).append(event)
    for call in calls:
        for attempt in call.attempts:
            for event in _of_attempt(attempt):
                derived.setdefault(event.seq, []).append(event)
    gated = {tool.name for tool in scenario.tools if tool.gated}
    session = scenario.session
    extensions = () if session is None else session.extensions
    needed = {extension.id: extension.depends_on for extension in extensions}
    merged: list[TraceEvent] = []
    for event in events:
        merged.append(event)
        if event.seq in derived:
            merged.extend(derived[event.seq])
        if event.kind == "tool.called" and event.tool in gated:
            mode = _mode(scenario)
            staged = session is not None and bool(session.stages)
            payload = {**event.payload, "mode": mode, "staged": staged}
            merged.append(TraceEvent(event.seq, event.at_ns, "oracle", "gated.called", payload))
        elif event.kind == "extension.phase":
            merged.extend(_dependent(event, needed.get(str(event.extension), ())))
    return merged


def _mode(scenario: Scenario) -> str:
    """Return the mode of the session: a stored one that is resumed keeps its own."""
    session, store = scenario.session, scenario.store
    if session is None:
        return "ask"
    recorded = None if store is None or store.initial is None else store.initial.get("mode")
    return recorded if session.resume and isinstance(recorded, str) else session.mode


def _of_attempt(attempt: Attempt) -> Iterator[TraceEvent]:
    facts = {"call": attempt.call, "attempt": attempt.number}
    start = attempt.start
    begun = {**facts, "retry": attempt.number > 1}
    yield TraceEvent(start.seq, start.at_ns, "oracle", "attempt.started", begun)
    if attempt.failed and attempt.knowable_seq is not None and attempt.knowable_ns is not None:
        yield TraceEvent(
            attempt.knowable_seq, attempt.knowable_ns, "oracle", "attempt.failed", facts
        )


def failures_seen(history: History, model: ErrorModel) -> Iterator[TraceEvent]:
    """Yield `failure.seen` for each failure."""
    for failure in failures_of(history, model):
        error_class, code = failure.pair or (None, None)
        payload = {
            "kind": failure.kind,
            "cause": failure.cause,
            "class": error_class,
            "code": code,
            "role": failure.role,
            "layer": failure.layer,
            "target": failure.target,
            "tool": failure.tool,
            "tool_call": failure.tool_call,
            "node": None if failure.node is None else failure.node.id,
            "call": failure.call,
            "number": failure.number,
        }
        yield TraceEvent(failure.seq, failure.at_ns, "oracle", "failure.seen", payload)


def failed_tries(history: History, model: ErrorModel) -> Iterator[TraceEvent]:
    """Yield `try.failed` for each try of a tool, store or stage that fails before its call ends.

    An attempt at the provider is none of them: it has `attempt.failed`.
    """
    of_tools, of_stores = series_of_tools(history, model, ()), store_series(history, model, ())
    for series in (*of_tools, *of_stores, *series_of_stages(history, model, ())):
        call = history.call(series.call)
        for number, own, _ in series.steps():
            if own.outcome != "failed" or own.ended is None or call is None or call.end is None:
                continue
            if own.ended.seq > call.end.seq:
                continue
            class_name, slash, code = own.failure.partition("/")
            payload = {
                "call": call.id,
                "what": series.what,
                "attempt": number,
                "class": class_name if slash else None,
                "code": code if slash else None,
                "error": own.failure if slash else "a class and a code",
                "left_ns": call.end.at_ns - own.ended.at_ns,
                "shown_by": (own.ended.seq, call.end.seq),
            }
            yield _derived(own.ended, "try.failed", payload)


def interactions_over(history: History, _model: ErrorModel) -> Iterator[TraceEvent]:
    """Yield `interaction.over` for each request to the person, if its call has ended."""
    for prompt in history.prompts:
        call = history.call(prompt.call)
        if call is None or call.end is None:
            continue
        payload = {
            "call": prompt.call,
            "request": prompt.id,
            "interaction_kind": prompt.kind,
            # A record without a life is of the first one, or of a subject that has but one.
            "lives": (prompt.life, 1),
            "said": prompt.said or "unanswered",
            "shown_by": tuple(
                event.seq for event in (prompt.shown, prompt.settled, call.end) if event is not None
            ),
        }
        yield _derived(prompt.shown, "interaction.over", payload)


def failed_phases(history: History, model: ErrorModel) -> Iterator[TraceEvent]:
    """Yield `phase.failed` for each phase of an extension that fails in a process that goes on."""
    rules = model.extension_set
    crashes = {life.number: life.crash for life in history.lives}
    for event in history.of("extension.phase") if rules is not None else ():
        if rules is None or event.ok or event.how not in (None, "failed"):
            continue
        if event.life not in crashes:
            continue
        crash = crashes[event.life]
        if crash is not None and crash.at_ns == event.at_ns:
            continue
        error_class, code = split(rules.failure)
        payload = {
            "call": event.call,
            "extension": event.extension,
            "phase": event.phase,
            "class": error_class,
            "code": code,
            "error": rules.failure,
            "within_ns": rules.within,
        }
        yield _derived(event, "phase.failed", payload)


def _derived(shown: TraceEvent, kind: str, payload: Mapping[str, object]) -> TraceEvent:
    return TraceEvent(shown.seq, shown.at_ns, "oracle", kind, {**payload})


def _dependent(event: TraceEvent, dependencies: tuple[str, ...]) -> Iterator[TraceEvent]:
    for name in dependencies:
        payload = {
            "extension": name,
            "dependent": event.extension,
            "phase": event.phase,
            "ok": event.ok,
        }
        yield TraceEvent(event.seq, event.at_ns, "oracle", "dependent.phase", payload)


#: Each kind that costs a fold, with that fold.
DERIVED: Mapping[str, Callable[[History, ErrorModel], Iterable[TraceEvent]]] = {
    "failure.seen": failures_seen,
    "interaction.over": interactions_over,
    "phase.ended": phases_ended,
    "phase.failed": failed_phases,
    "try.failed": failed_tries,
}
