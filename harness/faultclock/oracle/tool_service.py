"""Tools: what a tool under test makes of its arguments and of what its service answers.

The trace shows what the service did to each thing that the tool asked; the model's `tool_signals`
say what that means for a tool; the contract that the tool declares says what it promised. A call
that was cancelled is judged by that alone.
"""

from __future__ import annotations

from collections import Counter

from faultclock.model.duration import MICROSECOND_NS
from faultclock.model.error_model import ErrorModel
from faultclock.model.turn_rules import split
from faultclock.oracle.check import Verdicts, exercising, held, requirement_of
from faultclock.oracle.executions import (
    Ask,
    Execution,
    classify_for_tool,
    executions,
    rules_of,
    said,
    tool_check,
    violation,
)
from faultclock.oracle.history import History
from faultclock.oracle.stops import NETWORK_ACTS

#: Where the document has no class for a failure, any typed error may stand for it.
_UNMAPPED = "any class"


@tool_check(
    "tool.answers",
    title="A good answer of the service becomes a value",
    says="An execution returns a value when its arguments and all its answers are good.",
    unjudged="no execution ran without a failure",
)
def answers(history: History, model: ErrorModel) -> Verdicts:
    """Judge what becomes of good answers."""
    requirement = requirement_of(model, "tool.answers")
    for execution in executions(history):
        end = execution.call.end
        well = execution.asks is not None and all(
            ask.last.outcome == "ok" for ask in execution.asks
        )
        if not well or execution.misfit or execution.cancel or end is None:
            continue
        if end.at_ns >= execution.deadline_ns:
            continue
        yield held(requirement)
        if execution.failed or execution.errors:
            again = any(item.failed for item in execution.call.attempts)
            yield violation(
                requirement,
                execution,
                "a whole value: the arguments fit, and every request was answered well"
                + (" in the end" if again else ""),
                said(execution),
            )


@tool_check(
    "tool.input",
    title="Arguments that do not fit",
    says="Arguments that do not fit the input schema are refused, and nothing is sent.",
    unjudged="no call had arguments that do not fit the input schema",
)
def arguments(history: History, model: ErrorModel) -> Verdicts:
    """Judge what becomes of arguments that do not fit."""
    wanted = rules_of(model).invalid_input
    requirement = requirement_of(model, "tool.input")
    for execution in executions(history):
        if execution.misfit is None or not execution.ended:
            continue
        yield held(requirement)
        acts = [e.seq for e in history.of(*NETWORK_ACTS) if e.call == execution.call.id]
        # An error without class and code is spoken of where replies have to be typed.
        other = wanted is not None and execution.pair not in (None, split(wanted))
        wrong = execution.ok or other
        if not wrong and not acts:
            continue
        observed = said(execution) if wrong else "it asked its service all the same"
        if wrong and acts:
            observed += ", after it had asked its service"
        yield violation(
            requirement,
            execution,
            f"{wanted or 'an error'}, and nothing is sent: {execution.misfit}",
            observed,
            events=tuple(acts[:3]),
        )


@tool_check(
    "tool.output",
    title="The declared output shape",
    says="A value, whole or partial, fits the output schema that the tool declares.",
    unjudged="no execution replied a value",
)
def output(history: History, model: ErrorModel) -> Verdicts:
    """Judge the shape of values."""
    wanted = rules_of(model).malformed_output or "an error"
    for execution in executions(history):
        if execution.reply is None or not execution.ok:
            continue
        name = "tool.partial-shape" if execution.errors else "tool.output"
        requirement = requirement_of(model, name)
        yield held(requirement)
        problem = execution.reply.output_problem
        if problem is not None:
            yield violation(
                requirement,
                execution,
                f"a value that fits the declared output schema, or {wanted}",
                f"the value does not fit: {problem}",
            )


@tool_check(
    "tool.upstream",
    title="A failure of the service is an error",
    says="A failure of the service becomes an error with the class and code of its signal.",
    unjudged="no execution failed because of its service",
)
def upstream(history: History, model: ErrorModel) -> Verdicts:
    """Judge what becomes of a service that fails."""
    for execution in executions(history):
        if execution.cancel is not None or not execution.ended:
            continue
        failed = execution.failed_asks
        whole = bool(failed) and len(failed) == len(execution.asks or ())
        if whole and execution.ok and not execution.errors:
            requirement = requirement_of(model, "tool.success-shaped")
            yield held(requirement)
            yield violation(
                requirement,
                execution,
                "an error: every request of the tool to its service failed",
                f"{said(execution)}, after {_signals(failed)}",
                hint="An error inside a value looks like a success to its reader.",
            )
        elif failed and execution.failed and execution.pair is not None:
            yield from _judge_pair(model, execution, failed)


def _judge_pair(model: ErrorModel, execution: Execution, failed: list[Ask]) -> Verdicts:
    legal: dict[str, str | None] = {}
    for ask in failed:
        seen = classify_for_tool(model, ask.last.signal)
        if seen is None or seen.pair is None:
            # The document has no class for this one, so any typed error may stand for it.
            return
        legal["/".join(seen.pair)] = seen.requirement
    end = execution.call.end
    if end is not None and end.at_ns >= execution.deadline_ns - MICROSECOND_NS:
        late = rules_of(model).deadline or ""
        legal.setdefault(late, requirement_of(model, "tool.deadline"))
    own = "/".join(execution.pair or ())
    requirement = legal.get(own, next(iter(legal.values())))
    yield held(requirement)
    if own not in legal:
        yield violation(
            requirement,
            execution,
            f"{' or '.join(legal)} for {_signals(failed)}",
            said(execution),
            events=failed[0].last.events,
            hint="Class and code follow the status; the words of an answer say nothing.",
        )


def _signals(failed: list[Ask]) -> str:
    return ", ".join(dict.fromkeys(str(ask.last.signal) for ask in failed))


@tool_check(
    "tool.partial",
    title="Partial results",
    says="Each failed item has an entry in `errors` with its class and code.",
    unjudged="no execution had both failed and good items",
)
def partial(history: History, model: ErrorModel) -> Verdicts:
    """Judge the errors of results of which some items failed."""
    requirement = requirement_of(model, "tool.partial")
    shape = requirement_of(model, "tool.success-shaped")
    for execution in executions(history):
        asks, failed = execution.asks or (), execution.failed_asks
        if not failed or len(failed) == len(asks) or not execution.ok or execution.cancel:
            continue
        yield held(requirement, shape)
        wanted = Counter(_pair_for(model, ask) for ask in failed)
        found = Counter(f"{error.get('class')}/{error.get('code')}" for error in execution.errors)
        named = {error.get("item") for error in execution.errors}
        if execution.errors and len(execution.errors) == len(failed):
            typed = all(error.get("class") and error.get("code") for error in execution.errors)
            wrong = wanted.keys() - found.keys() - {_UNMAPPED} if typed else set()
            if None not in named and len(named) == len(failed) and not wrong:
                continue
        missing = not execution.errors
        yield exercising(
            violation(
                shape if missing else requirement,
                execution,
                f"a partial result with {len(failed)} errors, each with its item, class and code: "
                f"{_counted(wanted)}",
                "the result looks whole"
                if missing
                else f"errors: {_counted(found)} for {len(named - {None})} items",
                events=tuple(ask.last.events[0] for ask in failed),
                hint=f"{len(failed)} of {len(asks)} requests to the service failed.",
            ),
            requirement,
            shape,
        )


def _counted(pairs: Counter[str]) -> str:
    return ", ".join(f"{n} × {pair}" for pair, n in sorted(pairs.items()))


def _pair_for(model: ErrorModel, ask: Ask) -> str:
    seen = classify_for_tool(model, ask.last.signal)
    return _UNMAPPED if seen is None or seen.pair is None else "/".join(seen.pair)
