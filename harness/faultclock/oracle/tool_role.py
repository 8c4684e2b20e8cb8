"""Tools: whether a tool under test keeps its own contract when its service fails.

What the service did to each thing that the tool asked is observed; what that means for a tool is
in the model's `tool_signals`; what the tool promised is in the contract that it declares. A call
that was cancelled is judged by that alone.
"""

from __future__ import annotations

from dataclasses import replace

from faultclock.model.error_model import ErrorModel
from faultclock.model.role_rules import ToolRules
from faultclock.model.turn_rules import split
from faultclock.oracle import tool_retries
from faultclock.oracle.audience import leaks
from faultclock.oracle.check import Check, Verdicts, checks_in, held, otherwise
from faultclock.oracle.executions import (
    ACTS,
    Execution,
    executions,
    requirement_of,
    said,
    violation,
)
from faultclock.oracle.history import History
from faultclock.oracle.tool_repeats import CHECKS as REPEAT_CHECKS
from faultclock.oracle.tool_service import CHECKS as SERVICE_CHECKS
from faultclock.oracle.tool_stops import CHECKS as STOP_CHECKS

__all__ = ["CHECKS"]


def _typed_reply(history: History, model: ErrorModel) -> Verdicts:
    yield otherwise("no execution has ended")
    rules = model.tools
    requirement = requirement_of(model, "tool.typed-reply")
    for execution in executions(history) if rules is not None else ():
        if rules is None or not execution.ended:
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
        return str(execution.reply.untyped)
    if execution.failed and execution.pair is None:
        return said(execution)
    if execution.failed and execution.pair is not None and execution.pair[0] not in known:
        return f"{said(execution)}, which is not a class of a tool"
    for error in execution.errors:
        if error.get("class") not in rules.classes or not error.get("code"):
            return f"an entry of errors has the class {error.get('class')!r}"
    return None


def _input(history: History, model: ErrorModel) -> Verdicts:
    yield otherwise("no call had arguments that do not fit the input schema")
    rules = model.tools
    requirement = requirement_of(model, "tool.input")
    for execution in executions(history) if rules is not None else ():
        if rules is None or execution.misfit is None or not execution.ended:
            continue
        yield held(requirement)
        acts = [event.seq for event in history.of(*ACTS) if event.call == execution.call.id]
        # An error without class and code is spoken of where replies have to be typed.
        wrong = execution.ok or _is_other(execution, rules.invalid_input)
        if not wrong and not acts:
            continue
        observed = said(execution) if wrong else "it asked its service all the same"
        if wrong and acts:
            observed += ", after it had asked its service"
        yield violation(
            requirement,
            execution,
            f"{rules.invalid_input or 'an error'}, and nothing is sent: {execution.misfit}",
            observed,
            events=tuple(acts[:3]),
        )


def _is_other(execution: Execution, wanted: str | None) -> bool:
    """Return whether it failed with another class and code; without any, other checks say so."""
    return wanted is not None and execution.pair not in (None, split(wanted))


def _output(history: History, model: ErrorModel) -> Verdicts:
    yield otherwise("no execution replied a value")
    rules = model.tools
    for execution in executions(history) if rules is not None else ():
        if rules is None or execution.reply is None or not execution.ok:
            continue
        partial = bool(execution.errors)
        requirement = requirement_of(model, "tool.partial-shape" if partial else "tool.output")
        yield held(requirement)
        problem = execution.reply.output_problem
        if problem is not None:
            yield violation(
                requirement,
                execution,
                "a value that fits the declared output schema, or "
                + (rules.malformed_output or "an error"),
                f"the value does not fit: {problem}",
            )


def _answers(history: History, model: ErrorModel) -> Verdicts:
    yield otherwise("no execution ran without a failure")
    rules = model.tools
    requirement = requirement_of(model, "tool.answers")
    for execution in executions(history) if rules is not None else ():
        attempts = execution.call.attempts
        well = execution.asks is not None and all(
            ask.last.outcome == "ok" for ask in execution.asks
        )
        if not well or execution.misfit or execution.cancel or not execution.ended:
            continue
        if execution.call.end is not None and execution.call.end.at_ns >= execution.deadline_ns:
            continue
        yield held(requirement)
        if execution.failed or execution.errors:
            yield violation(
                requirement,
                execution,
                "a whole value: the arguments fit, and every request was answered well"
                + (" in the end" if any(item.failed for item in attempts) else ""),
                said(execution),
            )


def _leaks(history: History, model: ErrorModel) -> Verdicts:
    yield otherwise("no execution ended with an error")
    model_rule = next((rule for rule in model.audiences if rule.id == "model"), None)
    requirement = requirement_of(model, "tool.leaks")
    for execution in executions(history) if model_rule is not None else ():
        said = [str(error.get("message") or "") for error in execution.errors]
        if execution.reply is not None:
            said.append(str(execution.reply.message or ""))
        said += [str(link.get("message") or "") for link in execution.chain[:1]]
        said = [text for text in said if text]
        if model_rule is None or not said:
            continue
        yield held(requirement)
        found = leaks(model_rule, "\n".join(said))
        if found:
            yield violation(
                requirement,
                execution,
                "errors in the tool's own words: the model reads them",
                f"a message holds {' and '.join(found)}: {said[0][:120]!r}",
            )


CHECKS: tuple[Check, ...] = tuple(
    replace(check, role="tool", section="tools")
    for check in (
        Check(
            id="tool.answers",
            title="A good answer of the service becomes a value",
            says="An execution returns a value when its arguments and all its answers are good.",
            run=_answers,
        ),
        Check(
            id="tool.input",
            title="Arguments that do not fit",
            says="Arguments that do not fit the input schema are refused, and nothing is sent.",
            run=_input,
        ),
        Check(
            id="tool.output",
            title="The declared output shape",
            says="A value, whole or partial, fits the output schema that the tool declares.",
            run=_output,
        ),
        *SERVICE_CHECKS,
        *checks_in(tool_retries),
        *REPEAT_CHECKS,
        *STOP_CHECKS,
        Check(
            id="tool.typed-reply",
            title="Replies are typed",
            says="Every execution ends with a value or an error that has a tool's class and a code"
            ".",
            run=_typed_reply,
        ),
        Check(
            id="tool.leaks",
            title="No internals in errors",
            says="No error of a tool holds a stack, a secret or a path.",
            run=_leaks,
        ),
    )
)
