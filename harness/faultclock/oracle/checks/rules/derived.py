"""Derived events: what a trace comes to, put among its events, so that rules can speak of it.

Each stands right behind the event that shows it, with its `seq`. `docs/ordering.md` has them all.
A fold is made only where a rule speaks of what it derives. An event that more than one event of the
trace shows has the `seq` of each in `shown_by`: a finding cites these in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.error_model.turn_rules import split
from faultclock.model.trace.trace import TraceEvent, seqs
from faultclock.oracle.checks.agent.cancels import calls_cancelled
from faultclock.oracle.checks.agent.stages import series_of_stages
from faultclock.oracle.checks.agent.store_redo import store_series
from faultclock.oracle.checks.agent.tool_redo import series_of_tools
from faultclock.oracle.checks.roles.extension_role import phases_ended
from faultclock.oracle.checks.roles.tool_service import runs_over
from faultclock.oracle.facts.history import History
from faultclock.oracle.failures.engine import failures_of


def with_derived(history: History, model: ErrorModel, kinds: frozenset[str]) -> list[TraceEvent]:
    """Return the events of a trace, each with those of these derived kinds that it shows."""
    shown: dict[int, list[TraceEvent]] = {}
    for derive in dict.fromkeys(derive for kind, derive in DERIVED.items() if kind in kinds):
        for event in derive(history, model):
            shown.setdefault(event.seq, []).append(event)
    return [item for event in history.trace.events for item in (event, *shown.get(event.seq, ()))]


def attempts_made(history: History, _model: ErrorModel) -> Iterator[TraceEvent]:
    """Yield `attempt.started` and `attempt.failed` for each attempt at the provider."""
    for attempt in (item for call in history.calls for item in call.attempts):
        facts = {"call": attempt.call, "attempt": attempt.number}
        more = {"retry": attempt.number > 1, "good": attempt.outcome == "ok"}
        yield _derived(attempt.start, "attempt.started", {**facts, **more})
        seq, at_ns = attempt.knowable_seq, attempt.knowable_ns
        if attempt.failed and seq is not None and at_ns is not None:
            yield TraceEvent(seq, at_ns, "oracle", "attempt.failed", facts)


def gated_calls(history: History, _model: ErrorModel) -> Iterator[TraceEvent]:
    """Yield `gated.called` for each execution of a tool that needs an approval."""
    mode: str = history.session.mode
    initial = history.world.stored.initial
    if history.session.resume and initial is not None:
        # A stored session that is resumed keeps its own.
        recorded = initial.get("mode")
        mode = recorded if isinstance(recorded, str) else mode
    for event in history.of("tool.called"):
        script = history.tool_scripts.get(event.tool)
        if script is not None and script.gated:
            staged = bool(history.session.stages)
            yield _derived(event, "gated.called", {**event.payload, "mode": mode, "staged": staged})


def dependent_phases(history: History, _model: ErrorModel) -> Iterator[TraceEvent]:
    """Yield `dependent.phase` for each phase, once for all that its extension depends on."""
    needed = {item.id: item.depends_on for item in history.session.extensions}
    for event in history.of("extension.phase"):
        for name in needed.get(str(event.extension), ()):
            payload = {
                "extension": name,
                "dependent": event.extension,
                "phase": event.phase,
                "ok": event.ok,
            }
            yield _derived(event, "dependent.phase", payload)


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
    layers = (series_of_tools, store_series, series_of_stages)
    for series in (item for series_of in layers for item in series_of(history, model)):
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
            "shown_by": seqs(prompt.shown, prompt.settled, call.end),
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


#: Each derived kind, with the fold that makes it.
DERIVED: Mapping[str, Callable[[History, ErrorModel], Iterable[TraceEvent]]] = {
    "attempt.started": attempts_made,
    "attempt.failed": attempts_made,
    "gated.called": gated_calls,
    "dependent.phase": dependent_phases,
    "call.cancelled": calls_cancelled,
    "failure.seen": failures_seen,
    "interaction.over": interactions_over,
    "phase.ended": phases_ended,
    "phase.failed": failed_phases,
    "tool.run": runs_over,
    "try.failed": failed_tries,
}
