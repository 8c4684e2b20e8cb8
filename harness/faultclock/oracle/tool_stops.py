"""When an execution of a tool has to be over: at its deadline, and soon after a cancel."""

from __future__ import annotations

from faultclock.model.duration import MICROSECOND_NS, format_duration
from faultclock.model.error_model import ErrorModel
from faultclock.model.turn_rules import split
from faultclock.oracle.check import Check, Verdicts, held, otherwise
from faultclock.oracle.executions import (
    ACTS,
    executions,
    requirement_of,
    said,
    violation,
)
from faultclock.oracle.history import History

__all__ = ["CHECKS"]


def _cancel(history: History, model: ErrorModel) -> Verdicts:
    yield otherwise("no execution was cancelled")
    rules = model.tools
    requirement = requirement_of(model, "tool.cancel")
    for execution in executions(history) if rules is not None else ():
        if rules is None or execution.cancel is None:
            continue
        yield held(requirement)
        cancel, end = execution.cancel, execution.call.end
        # Where only the time counts, what blocks may take that time to look at the signal.
        since_ns = cancel.at_ns + (rules.stops_within if rules.cancelled is None else 0)
        acts = [
            event.seq
            for event in history.of(*ACTS)
            if event.seq > cancel.seq
            and event.at_ns >= since_ns
            and event.call == execution.call.id
        ]
        observed = ""
        if acts:
            observed = "it asked its service again after the cancel"
        elif end is None:
            observed = "it never ended"
        elif end.at_ns > cancel.at_ns + rules.stops_within:
            observed = f"it went on for {format_duration(end.at_ns - cancel.at_ns)}"
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
                events=(cancel.seq, *acts[:3]),
                hint="End every wait and every request when the signal comes.",
            )


def _deadline(history: History, model: ErrorModel) -> Verdicts:
    yield otherwise("every execution was cancelled")
    rules = model.tools
    requirement = requirement_of(model, "tool.deadline")
    for execution in executions(history) if rules is not None else ():
        if rules is None or execution.cancel is not None:
            continue
        yield held(requirement)
        end = execution.call.end
        if end is not None and end.at_ns <= execution.deadline_ns + MICROSECOND_NS:
            continue
        timeout_ns = execution.deadline_ns - execution.call.start.at_ns
        took = "" if end is None else format_duration(end.at_ns - execution.call.start.at_ns)
        yield violation(
            requirement,
            execution,
            f"an end within {format_duration(timeout_ns)}, by {rules.deadline or 'an error'}"
            " if need be",
            f"it took {took}" if took else "it never ended",
            hint="Deadlines of single attempts add up; the execution has one of its own.",
        )


CHECKS: tuple[Check, ...] = (
    Check(
        id="tool.deadline",
        title="The tool's own deadline",
        says="An execution ends within the time that it may take.",
        run=_deadline,
    ),
    Check(
        id="tool.cancel",
        title="A cancel stops a tool",
        says="A cancelled execution ends promptly, as cancelled, and sends nothing more.",
        run=_cancel,
    ),
)
