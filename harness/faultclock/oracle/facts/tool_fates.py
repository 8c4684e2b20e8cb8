"""What became of each tool call of the model, and the result that the model has to get.

An argument or a value is fit when it satisfies the JSON Schema in the tool's contract, judged by
the library `jsonschema`; a schema that is none accepts anything.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from faultclock.model.canonical import digest_of
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.scenario.tool_script import ToolScript
from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.facts.history import History, aims_at, once
from faultclock.oracle.facts.nodes import node_at
from faultclock.oracle.facts.turn_facts import Execution, ToolCall
from faultclock.oracle.wire.timing import SLACK_NS

Kind = Literal[
    "good",
    "partial",
    "malformed",
    "failed",
    "raised",
    "timed_out",
    "cancelled",
    "late",
    "unknown",
    "unfit",
    "denied",
    "unanswered",
    "open",
]
#: Fates of a call that failed, or was not executed, and that end no turn.
FAILED = ("failed", "raised", "timed_out", "unknown", "unfit", "denied", "unanswered")


class Fate(Struct, frozen=True, kw_only=True):
    """What became of a tool call.

    Attributes:
        kind: `good` and `partial` have a value; `malformed` has one that is not fit; `failed`
            reported a class and code; `raised` broke its contract; `cancelled` was stopped, and so
            was `timed_out`, or the runtime turned away from it while it went on; `late` replied
            after its time, and the runtime took it; `unknown` names no tool; `unfit` has arguments
            that are not fit; `denied` was not approved, and `unanswered` likewise because no answer
            came in time; `open` for anything else.
        pair: `Class/Code` that the model has to get; None where any is right.
        execution: the last one, if there was any.
        at_ns: when that was known; None where nothing shows it.
        shown: the fact that shows a failure; None where it is none of the tool call's own. Where
            that came later than at the time at which it was up, the last fact before that time.
    """

    kind: Kind
    pair: str | None = None
    execution: Execution | None = None
    at_ns: int | None = None
    shown: TraceEvent | None = None

    @property
    def end(self) -> TraceEvent | None:
        """The end of its execution; None where it has none."""
        return None if self.execution is None else self.execution.end

    @property
    def events(self) -> tuple[int, ...]:
        """`seq` of the events that show its execution."""
        return () if self.execution is None else self.execution.events

    @property
    def value_sha256(self) -> str | None:
        """Digest of the value that the tool returned; None for none."""
        return None if self.end is None else self.end.value_sha256

    @property
    def errors(self) -> Sequence[Any]:
        """The items that failed, of a result in part."""
        return () if self.end is None else self.end.errors


def fate_of(history: History, model: ErrorModel, call: ToolCall) -> Fate:
    """Return what became of `call`, in the life in which the model asked for it."""
    fate = came_of(history, call.own[-1]) if call.own else refusal_in(history, call)
    if fate.kind == "unfit" and arguments_of(call) is None:
        # Whose fault it is that they are no JSON object, the documents do not agree on.
        return fate
    return replace(
        fate, pair=call.own[-1].pair if fate.kind == "failed" else pair_of(model, fate.kind)
    )


def pair_of(model: ErrorModel, kind: Kind) -> str | None:
    """Return `Class/Code` that the model has for a fate; None where it has none."""
    rules = model.tool_calls
    if rules is None:
        return None
    pairs: dict[Kind, str | None] = {
        "timed_out": rules.timed_out,
        "cancelled": rules.cancelled,
        "malformed": rules.output_malformed,
        "unknown": rules.not_found,
        "unfit": rules.input_invalid,
        "denied": rules.denied,
        "unanswered": rules.denied,
    }
    return pairs.get(kind)


def refusal_in(history: History, call: ToolCall) -> Fate:
    """Return why a call is not to be executed; `open` where nothing stands in its way."""
    script = history.tool_scripts.get(call.name)
    if script is None or (script.lives and call.life not in script.lives):
        return Fate(kind="unknown", shown=call.answer)
    if not is_fit(history, call):
        return Fate(kind="unfit", shown=call.answer)
    until = history.asked_again(call)
    decided = [
        event
        for event in history.of("policy.decided")
        if (event.tool_call, event.call) == (call.id, call.call)
        and call.answer.seq < event.seq < until
    ]
    denied = next((event for event in decided if event.decision == "deny"), None)
    executed = any(item.call == call.call for item in call.executions)
    if script.policy == "deny" and executed and not decided:
        # A subject that does not ask the policy engine is denied all the same.
        denied = call.answer
    asked = history.prompts_about(call)
    if denied is not None or not asked:
        # Without a fact to show it the allowlist decided, or the state machine.
        ruled = denied is not None or (script.gated and not decided)
        return Fate(kind="denied" if ruled else "open", shown=denied)
    last = asked[-1]
    if last.said == "denied":
        return Fate(kind="denied", shown=last.accepted)
    if not last.is_unanswered or last.due_ns is None:
        return Fate(kind="open")
    shown = last.settled
    if shown is None and works_until(history, call.call, last.due_ns):
        shown = _last_before(history, last.due_ns)
    return Fate(kind="unanswered", shown=shown, at_ns=last.due_ns)


@once
def came_of(history: History, execution: Execution) -> Fate:
    """Return what became of an execution in its time, whatever an error model says of it."""
    kind, end, due_ns = ended_as(history, execution), execution.end, due_ns_of(history, execution)
    if end is None or kind == "open":
        # The runtime has turned away from it, if its time was up while the call was at work.
        cancelled = any(
            aimed and event.at_ns <= due_ns for event, aimed in _cancels(history, execution)
        )
        if cancelled or not works_until(history, execution.call, due_ns):
            return Fate(kind="open", execution=execution)
        shown = _last_before(history, due_ns)
        return Fate(kind="timed_out", execution=execution, at_ns=due_ns, shown=shown)
    if end.kind != "tool.stopped" and end.at_ns > due_ns + SLACK_NS:
        kind = "late"
    own = _shown(history, execution, end, kind, due_ns)
    return Fate(kind=kind, execution=execution, at_ns=end.at_ns, shown=own)


def _shown(
    history: History, execution: Execution, end: TraceEvent, kind: Kind, due_ns: int
) -> TraceEvent | None:
    """Return the fact that shows a failure of an execution with an end; see `Fate.shown`."""
    if kind == "cancelled":
        # Where its turn was stopped, and it with it, it has not failed by itself.
        return (
            end
            if any(
                event.scope == "tool" and aimed and event.seq < end.seq
                for event, aimed in _cancels(history, execution)
            )
            else None
        )
    if kind not in ("timed_out", "late"):
        return end
    if end.at_ns > due_ns + SLACK_NS:
        # It went on for longer than it may, with any result in the end.
        knew = works_until(history, execution.call, due_ns)
        return _last_before(history, due_ns) if knew else None
    # What is stopped before its time is up was stopped for a reason that is no failure.
    return end if end.at_ns >= due_ns - SLACK_NS else None


def _last_before(history: History, at_ns: int) -> TraceEvent:
    """Return the last fact before a time, after which everything that it caused comes."""
    before = (event for event in reversed(history.trace.events) if event.at_ns < at_ns)
    return next(before, history.trace.events[0])


def ended_as(history: History, execution: Execution) -> Kind:
    """Return how an execution ended, early or late; `open` where the runtime saw no end of it."""
    script, end = history.tool_scripts.get(execution.tool), execution.end
    if end is None or end.seen is False:
        return "open"
    if end.kind == "tool.stopped":
        return "cancelled" if is_cancelled(history, execution) else "timed_out"
    if end.kind == "tool.raised":
        return "raised"
    if not execution.is_good:
        return "failed"
    if script is not None and not value_is_fit(script, end.value_sha256):
        return "malformed"
    return "partial" if end.partial else "good"


def due_ns_of(history: History, execution: Execution) -> int:
    """Return when the time of an execution is up, by its contract or by that of its node."""
    script, node = history.tool_scripts.get(execution.tool), node_at(history, execution.called)
    limits = [item.timeout for item in (script, node) if item is not None]
    return execution.called.at_ns + min(limits, default=2**62)


def works_until(history: History, call_id: str | None, at_ns: int) -> bool:
    """Return whether a call was still at work at a time, so that it could know of it."""
    call = history.call(call_id)
    if call is None or history.trace.footer.ended_at_ns < at_ns:
        return False
    over = call.end or call.crashed
    if call.stop is not None and call.stop.at_ns <= at_ns:
        return False
    return over is None or over.at_ns >= at_ns


def is_cancelled(history: History, execution: Execution) -> bool:
    """Return whether a cancel, or another stop from outside, hit the execution while it ran."""
    end_seq = len(history.trace.events) if execution.end is None else execution.end.seq
    call = history.call(execution.call)
    if call is not None:
        stop, limit_ns = call.stop, history.limit_ns(call)
        if stop is not None and execution.called.seq < stop.seq <= end_seq:
            return True
        end = execution.end
        if limit_ns is not None and end is not None and end.at_ns >= limit_ns:
            return True
    for event, aimed in _cancels(history, execution):
        # What stops at the instant of a cancel stops because of it, whatever it was for.
        at_once = execution.end is not None and execution.end.at_ns == event.at_ns
        if event.seq < end_seq and (aimed or at_once):
            return True
    return False


def _cancels(history: History, execution: Execution) -> Iterator[tuple[TraceEvent, bool]]:
    """Yield each cancel after the start of an execution, and whether it was for that one too."""
    for event in history.of("cancel.requested"):
        if event.seq > execution.called.seq:
            yield event, aims_at(event, execution)


def arguments_of(call: ToolCall) -> Mapping[str, Any] | None:
    """Return the arguments that the model gave, None when they are no JSON object."""
    try:
        loaded = json.loads(call.arguments)
    except ValueError:
        return None
    return loaded if isinstance(loaded, dict) else None


def is_fit(history: History, call: ToolCall) -> bool:
    """Return whether there is a tool of that name, which can be called with the arguments."""
    script, given = history.tool_scripts.get(call.name), arguments_of(call)
    return script is not None and given is not None and fits(script.input_schema, given)


def fits(schema: Mapping[str, Any], value: Any) -> bool:
    """Return whether `value` satisfies a JSON Schema; one that is none accepts anything."""
    validator = _validator(json.dumps(schema, sort_keys=True, default=str)) if schema else None
    return validator is None or bool(validator.is_valid(value))


@lru_cache(maxsize=256)
def _validator(schema: str) -> Any:
    """Return what judges values by a JSON Schema, written as JSON; None where it is none."""
    # Loaded late: it takes a while, and most runs have no tool at all.
    from jsonschema import Draft202012Validator, SchemaError
    from jsonschema.validators import validator_for

    plain = json.loads(schema)
    kind = validator_for(plain, default=Draft202012Validator)
    try:
        kind.check_schema(plain)
    except SchemaError:
        return None
    return kind(plain)


def value_is_fit(script: ToolScript, value_sha256: object) -> bool:
    """Return whether the value with this digest satisfies the tool's output schema.

    The values that a tool can return are in its script; one that is not there is let pass.
    """
    if not script.output_schema:
        return True
    value = next((item for item in values_of(script) if digest_of(item) == value_sha256), _UNKNOWN)
    return value is _UNKNOWN or fits(script.output_schema, value)


def values_of(script: ToolScript) -> Iterator[Any]:
    """Yield the values that a tool can return."""
    yield script.value
    for rule in script.rules:
        fault = rule.then.fault
        if fault.kind in ("partial", "output_malformed"):
            yield fault.value


_UNKNOWN = object()
