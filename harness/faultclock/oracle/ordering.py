"""Ordering: the model's ordering rules, each a check, over the trace and what follows from it.

Beside the events of the trace a rule may speak of a few that the oracle derives, each right behind
the event that shows it, with its `seq`:

- `attempt.started` {call, attempt, retry} and `attempt.failed` {call, attempt};
- `gated.called`, for a `tool.called` whose tool needs an approval by its script: the same payload,
  and `mode` of the session, and `staged`, whether a state machine is attached;
- `failure.seen` {kind, cause, class, code, role, layer, target, tool, tool_call, node, call,
  number}, for each failure (see `failures`), where the subject could know of it;
- `dependent.phase` {extension, dependent, phase, ok}, for each `extension.phase` of a `dependent`
  and each `extension` that it depends on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from faultclock.model.error_model import ErrorModel, OrderingRule
from faultclock.model.ordering import kinds_of
from faultclock.model.scenario import Scenario
from faultclock.model.trace import SubjectInfo, TraceEvent
from faultclock.oracle.attempts import Attempt, Call
from faultclock.oracle.check import Check, Verdicts, broken, held, otherwise
from faultclock.oracle.failure import Failure
from faultclock.oracle.failures import failures_of
from faultclock.oracle.foreign import as_seen, by_run
from faultclock.oracle.history import History, once
from faultclock.oracle.rules.figures import settings_of
from faultclock.oracle.rules.patterns import PatternResult, RuleSet, Witness

__all__ = ["FAILURE_SEEN", "checks", "with_derived"]

#: The derived kind of every failure.
FAILURE_SEEN = "failure.seen"


def checks(model: ErrorModel) -> tuple[Check, ...]:
    """Return one check for each ordering rule of `model`; they share one pass over a trace."""
    results = _Results(model)
    return tuple(_check(rule, results) for rule in model.ordering)


def with_derived(
    events: Iterable[TraceEvent],
    calls: Iterable[Call],
    scenario: Scenario,
    failures: Iterable[Failure] = (),
) -> list[TraceEvent]:
    """Return `events` with the derived ones among them."""
    derived: dict[int, list[TraceEvent]] = {}
    for failure in failures:
        derived.setdefault(failure.seq, []).append(_of_failure(failure))
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


def _of_failure(failure: Failure) -> TraceEvent:
    error_class, code = failure.pair or (None, None)
    payload = {
        "kind": failure.kind,
        "cause": failure.cause,
        "class": error_class,
        "code": code,
        "role": failure.role,
        "layer": failure.target.layer,
        "target": failure.target.id,
        "tool": failure.tool,
        "tool_call": failure.tool_call,
        "node": None if failure.node is None else failure.node.id,
        "call": failure.call,
        "number": failure.number,
    }
    return TraceEvent(failure.seq, failure.at_ns, "oracle", FAILURE_SEEN, payload)


def _dependent(event: TraceEvent, dependencies: tuple[str, ...]) -> Iterator[TraceEvent]:
    for name in dependencies:
        payload = {
            "extension": name,
            "dependent": event.extension,
            "phase": event.phase,
            "ok": event.ok,
        }
        yield TraceEvent(event.seq, event.at_ns, "oracle", "dependent.phase", payload)


class _Results:
    """What the rules of a model come to over a history, all in one pass."""

    def __init__(self, model: ErrorModel) -> None:
        self._model = model
        #: To make rules ready takes as long as to follow them. Which ones apply follows from the
        #: subject, so there are few such sets.
        self._sets: dict[tuple[str, ...], RuleSet] = {}

    def of(self, rule: OrderingRule, history: History) -> PatternResult:
        """Return what `rule` comes to; the first rule of a history has all of them evaluated."""
        return _all_results(history, self)[rule.id]

    def all(self, history: History) -> dict[str, PatternResult]:
        """Return what each rule that applies comes to, by its id."""
        model = self._model
        applying = tuple(_applying(model, history))
        # To find all failures takes longer than to follow most rules.
        wanted = any(FAILURE_SEEN in kinds_of(rule, model.events) for rule in applying)
        events = with_derived(
            history.trace.events,
            history.calls,
            history.trace.header.scenario,
            failures_of(history, model) if wanted else (),
        )
        runs = (events,) if history.trace.header.foreign is None else by_run(events)
        rules = self._rule_set(applying)
        header = history.trace.header
        # The scenario of a log of another system is not what that system was set up with.
        settings = settings_of(header.scenario) if header.foreign is None else {}
        each_run = [rules.evaluate(run, settings) for run in runs]
        results = [_together(of_rule) for of_rule in zip(*each_run, strict=True)]
        return {each.id: result for each, result in zip(applying, results, strict=True)}

    def _rule_set(self, rules: tuple[OrderingRule, ...]) -> RuleSet:
        key = tuple(rule.id for rule in rules)
        found = self._sets.get(key)
        # A log of another system has rules of the same ids that are narrowed to what it shows.
        if found is None or any(
            ours is not theirs for ours, theirs in zip(found.rules, rules, strict=True)
        ):
            found = self._sets[key] = RuleSet(rules, self._model.events)
        return found


@once
def _all_results(history: History, results: _Results) -> dict[str, PatternResult]:
    return results.all(history)


def _together(results: tuple[PatternResult, ...]) -> PatternResult:
    """Return what a rule comes to in all runs of a log."""
    if len(results) == 1:
        return results[0]
    return PatternResult(
        judged=sum(result.judged for result in results),
        witnesses=tuple(witness for result in results for witness in result.witnesses),
        silent="" if any(not result.silent for result in results) else results[0].silent,
    )


def _check(rule: OrderingRule, results: _Results) -> Check:
    def run(history: History, _model: ErrorModel) -> Verdicts:
        return _judged(rule, history, results.of(rule, history))

    return Check(
        id=f"ordering.{rule.id}",
        title=rule.id.replace("-", " ").capitalize(),
        says=rule.says,
        run=run,
        why_not=partial(_does_not_apply, rule),
    )


def _applying(model: ErrorModel, history: History) -> Iterator[OrderingRule]:
    """Yield the rules that are for the subject; in a foreign log, what it can show of each."""
    log = history.trace.header.foreign
    for rule in model.ordering:
        if _does_not_apply(rule, history.trace.header.subject):
            continue
        seen = rule if log is None else as_seen(rule, model.events, log)
        if not isinstance(seen, str):
            yield seen


def _does_not_apply(rule: OrderingRule, subject: SubjectInfo) -> str:
    """Return why the rule is not for the subject; empty when it is."""
    if rule.roles and subject.role not in rule.roles:
        roles = " or a ".join(role.replace("_", " ") for role in rule.roles)
        return f"the rule is for a {roles}"
    for declaration in rule.declarations:
        if declaration not in subject.declares:
            return f"the subject's binding does not declare {declaration!r}"
    return ""


def _judged(rule: OrderingRule, history: History, result: PatternResult) -> Verdicts:
    yield otherwise(result.silent or "no event of the rule happened")
    for _ in range(result.judged):
        yield held(rule.requirement)
    footer = history.trace.footer
    waits = ""
    if footer.ending != "completed":
        detail = "; ".join(footer.detail)
        ending = footer.ending.replace("_", " ")
        waits = f" (the run ended by {ending}{': ' if detail else ''}{detail})"
    for witness in result.witnesses:
        yield broken(
            (rule.requirement,),
            call=_call(rule, witness),
            expected=rule.says,
            observed=f"{witness.observed}{waits}",
            events=tuple(sorted({event.seq for event in (*witness.events, *witness.near)})),
            hint=rule.hint,
            order=witness.order,
        )


def _call(rule: OrderingRule, witness: Witness) -> str | None:
    """Return the call that a violation is in: the key, else that of the event that shows it."""
    if rule.per == "call":
        return witness.key
    calls = [event.call for event in witness.events]
    return next((str(call) for call in reversed(calls) if call is not None), None)
