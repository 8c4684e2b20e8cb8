"""Tools: what an execution of a tool under test does twice, when it ends, and with which error."""

from __future__ import annotations

from itertools import pairwise

from faultclock.model.duration import MICROSECOND_NS, format_duration
from faultclock.model.error_model import ErrorModel
from faultclock.model.role_rules import ToolRules
from faultclock.model.turn_rules import split
from faultclock.oracle.attempts import Attempt
from faultclock.oracle.audience import leaks
from faultclock.oracle.check import Verdicts, also, held, requirement_of
from faultclock.oracle.executions import (
    Execution,
    executions,
    retry_rule,
    rules_of,
    said,
    tool_check,
    violation,
)
from faultclock.oracle.history import History
from faultclock.oracle.stops import NETWORK_ACTS, acts_after

#: Methods of which two are not as good as one: RFC 9110, 9.2.2, and RFC 5789 of PATCH.
_UNSAFE = ("POST", "PATCH")
#: Failures after which the service may have done what it was asked.
_UNKNOWN = (
    "deadline",
    "connection_reset",
    "connection_closed",
    "body_cut",
    "stream_cut",
    "malformed_body",
)
#: Statuses that a gateway gives when the service behind it may have done it all the same.
_UNKNOWN_STATUSES = (500, 502, 504)


@tool_check(
    "tool.repeats",
    title="Nothing is done twice",
    says="A request that may have had its effect is not sent again without an idempotency key.",
    unjudged="no request that may have had its effect went unanswered",
)
def repeats(history: History, model: ErrorModel) -> Verdicts:
    """Judge that a lost answer is not taken for an act that was not done.

    A request whose method is not idempotent is sent again only with a key by which the service
    knows it, or where the tool's own contract says that it may be.
    """
    requirements = also(model, "tool.repeats")
    declared = retry_rule(history) is not None
    for execution in executions(history):
        for ask in execution.asks or ():
            if any(_may_have_acted(attempt) for attempt in ask.attempts):
                yield held(*requirements)
            for attempt, again in pairwise(ask.attempts):
                if declared or not _may_have_acted(attempt):
                    continue
                yield violation(
                    next(iter(requirements), None),
                    execution,
                    f"an error that says that the outcome is unknown, after {attempt.signal}",
                    "the same request was sent again, without an idempotency key",
                    events=(*attempt.events, again.start.seq),
                    hint="A lost answer does not say that nothing was done.",
                )
                break


def _may_have_acted(attempt: Attempt) -> bool:
    """Return whether a failed request may have had an effect that a second one would repeat."""
    signal, asked = attempt.signal, attempt.asked
    if signal is None or asked is None or asked.method not in _UNSAFE:
        return False
    if any("idempoten" in name.lower() for name in asked.headers):
        return False
    return signal.kind in _UNKNOWN or signal.status in _UNKNOWN_STATUSES


@tool_check(
    "tool.deadline",
    title="The tool's own deadline",
    says="An execution ends within the time that it may take.",
    unjudged="every execution was cancelled",
)
def deadline(history: History, model: ErrorModel) -> Verdicts:
    """Judge that executions end in their time."""
    requirement = requirement_of(model, "tool.deadline")
    for execution in executions(history):
        if execution.cancel is not None:
            continue
        yield held(requirement)
        start, end = execution.call.start, execution.call.end
        if end is not None and end.at_ns <= execution.deadline_ns + MICROSECOND_NS:
            continue
        yield violation(
            requirement,
            execution,
            f"an end within {format_duration(execution.deadline_ns - start.at_ns)},"
            f" by {rules_of(model).deadline or 'an error'} if need be",
            "it never ended"
            if end is None
            else f"it took {format_duration(end.at_ns - start.at_ns)}",
            hint="Deadlines of single attempts add up; the execution has one of its own.",
        )


@tool_check(
    "tool.cancel",
    title="A cancel stops a tool",
    says="A cancelled execution ends promptly, as cancelled, and sends nothing more.",
    unjudged="no execution was cancelled",
)
def cancel(history: History, model: ErrorModel) -> Verdicts:
    """Judge that a cancelled execution ends."""
    rules = rules_of(model)
    requirement = requirement_of(model, "tool.cancel")
    for execution in executions(history):
        asked, end = execution.cancel, execution.call.end
        if asked is None:
            continue
        yield held(requirement)
        # Where only the time counts, what blocks may take that time to look at the signal.
        since_ns = asked.at_ns + (rules.stops_within if rules.cancelled is None else 0)
        acts = acts_after(history.of(*NETWORK_ACTS), execution.call.id, asked, since_ns)
        observed = ""
        if acts:
            observed = "it asked its service again after the cancel"
        elif end is None:
            observed = "it never ended"
        elif end.at_ns > asked.at_ns + rules.stops_within:
            observed = f"it went on for {format_duration(end.at_ns - asked.at_ns)}"
        elif rules.cancelled is not None and (
            execution.ok or execution.pair not in (None, split(rules.cancelled))
        ):
            observed = said(execution)
        if observed:
            yield violation(
                requirement,
                execution,
                f"{rules.cancelled or 'an end'} within {format_duration(rules.stops_within)} of"
                " the cancel, and nothing more is sent",
                observed,
                events=(asked.seq, *(act.seq for act in acts[:3])),
                hint="End every wait and every request when the signal comes.",
            )


@tool_check(
    "tool.typed-reply",
    title="Replies are typed",
    says="Every execution ends with a value or an error that has a tool's class and a code.",
    unjudged="no execution has ended",
)
def typed_reply(history: History, model: ErrorModel) -> Verdicts:
    """Judge that errors have a class and a code."""
    rules = rules_of(model)
    requirement = requirement_of(model, "tool.typed-reply")
    for execution in executions(history):
        if not execution.ended:
            continue
        yield held(requirement)
        fault = _untyped(execution, rules)
        if fault is not None:
            yield violation(
                requirement,
                execution,
                "a value, a ToolResult, or an error with class and code "
                f"({' or '.join(rules.classes) or 'any'})",
                fault,
                hint="Return ToolResult(problem=ToolProblem(…)); let no exception out.",
            )


def _untyped(execution: Execution, rules: ToolRules) -> str | None:
    cancelled = (rules.cancelled or "").partition("/")[0]
    known = (*rules.classes, cancelled) if execution.cancel is not None else rules.classes
    if execution.stopped and execution.cancel is not None:
        return None
    if execution.reply is not None and execution.reply.untyped:
        return execution.reply.untyped
    if execution.failed and execution.pair is None:
        return said(execution)
    if execution.failed and execution.pair is not None and execution.pair[0] not in known:
        return f"{said(execution)}, which is not a class of a tool"
    for error in execution.errors:
        if error.get("class") not in rules.classes or not error.get("code"):
            return f"an entry of errors has the class {error.get('class')!r}"
    return None


@tool_check(
    "tool.leaks",
    title="No internals in errors",
    says="No error of a tool holds a stack, a secret or a path.",
    unjudged="no execution ended with an error",
)
def internals(history: History, model: ErrorModel) -> Verdicts:
    """Judge what the messages of errors hold."""
    rule = next((rule for rule in model.audiences if rule.id == "model"), None)
    requirement = requirement_of(model, "tool.leaks")
    for execution in executions(history) if rule is not None else ():
        replied = () if execution.reply is None else (execution.reply.message,)
        raised = (link.get("message") for link in execution.chain[:1])
        texts = (*(error.get("message") for error in execution.errors), *replied, *raised)
        messages = [str(text) for text in texts if text]
        if rule is None or not messages:
            continue
        yield held(requirement)
        found = leaks(rule, "\n".join(messages))
        if found:
            yield violation(
                requirement,
                execution,
                "errors in the tool's own words: the model reads them",
                f"a message holds {' and '.join(found)}: {messages[0][:120]!r}",
            )
