"""Shapes: what goes into a tool and what comes out of it fits the schemas of its contract.

Judged by the library `jsonschema`. Arguments that are not fit never reach the tool; a value that
is not fit reaches the model as a typed error, not as a result.
"""

from __future__ import annotations

from collections.abc import Mapping

from faultclock.model.error_model import ErrorModel
from faultclock.oracle.check import (
    Check,
    Verdicts,
    also,
    broken,
    held,
    otherwise,
)
from faultclock.oracle.history import History
from faultclock.oracle.tool_fates import arguments_of, digest, fate_of, fits
from faultclock.oracle.tool_messages import error_of, loaded, told_of
from faultclock.oracle.turn_facts import Answer, Execution

__all__ = ["CHECKS"]


def _validated(history: History, model: ErrorModel) -> Verdicts:
    yield otherwise("every tool call and every value of a tool fitted its schema")
    yield from _judge_input(history, model)
    for answer in history.answers:
        yield from _judge_output(history, model, answer)


def _judge_input(history: History, model: ErrorModel) -> Verdicts:
    requirements = also(model, "tools.validated.input")
    for call in history.tool_calls:
        script = history.tool_scripts.get(call.name)
        if script is None:
            continue
        given = arguments_of(call)
        unfit = given is None or not fits(script.input_schema, given)
        if unfit and not call.executions:
            yield held(*requirements)
    for execution in history.executions:
        script = history.tool_scripts.get(execution.tool)
        if script is None:
            continue
        if fits(script.input_schema, dict(execution.arguments)):
            if len(script.input_schema) > 1:
                yield held(*requirements)
            continue
        yield held(*requirements)
        yield broken(
            requirements,
            call=execution.call,
            expected=f"{execution.tool} is not executed: the arguments do not fit its schema",
            observed=f"it was called with {dict(execution.arguments)!r}"[:200],
            events=(execution.called.seq,),
            hint="Validate what the model sent before it reaches the tool.",
        )


def _judge_output(history: History, model: ErrorModel, answer: Answer) -> Verdicts:
    requirements = also(model, "tools.validated.output")
    rules = model.tool_calls
    request = None if answer.next is None else answer.next.asked
    if rules is None or request is None:
        return
    for call in answer.tool_calls:
        fate = fate_of(history, model, call)
        content = told_of(request, call.id)
        if fate.kind != "malformed" or content is None or fate.execution is None:
            continue
        yield held(*requirements)
        result = loaded(content)
        error = error_of(result)
        said = None if error is None else f"{error['class']}/{error['code']}"
        handed_on = isinstance(result, Mapping) and "value" in result
        handed_on |= result is not None and digest(result) == _value_sha256(fate.execution)
        if said == rules.output_malformed or (said is None and not handed_on):
            continue
        yield broken(
            requirements,
            call=call.call,
            expected=(
                f"the value of {call} does not fit its output schema, so the model gets"
                f" {rules.output_malformed}"
            ),
            observed="the model gets it as a good result"
            if said is None
            else f"the model gets {said}",
            events=(*fate.execution.events, request.seq),
            hint="Validate what the tool returned before it reaches the model.",
        )


def _asked_for(history: History, model: ErrorModel) -> Verdicts:
    requirements = also(model, "tools.asked-for")
    yield otherwise("no tool was executed")
    owners = {item.id: call for call in history.tool_calls for item in call.executions}
    for execution in history.executions:
        call = owners.get(execution.id)
        if call is None and history.trace.header.scenario.workflow is not None:
            # A node of the workflow asks for it, and no model.
            continue
        yield held(*requirements)
        given = None if call is None else arguments_of(call)
        if call is None:
            observed = f"no answer of the model has a call {execution.tool_call}"
        elif call.name != execution.tool:
            observed = f"the model asked for {call.name}"
        elif given is not None and not _within(given, execution.arguments):
            observed = f"the model asked for {dict(given)!r}, not {dict(execution.arguments)!r}"
        else:
            continue
        yield broken(
            requirements,
            call=execution.call,
            expected=f"{execution.tool} ({execution.tool_call}) runs as the model asked for it",
            observed=observed[:300],
            events=(execution.called.seq,),
            hint="Hand on the model's id of the call, and the arguments that were approved.",
        )


def _within(given: Mapping[str, object], executed: Mapping[str, object]) -> bool:
    """Return whether what was given is what was executed, but for what a schema's default adds."""
    return all(name in executed and executed[name] == value for name, value in given.items())


def _value_sha256(execution: Execution) -> object:
    return None if execution.end is None else execution.end.value_sha256


CHECKS = (
    Check(
        id="tools.validated",
        title="Input and output fit their schemas",
        says="Arguments that do not fit never reach a tool. A value that does not fit is an error.",
        run=_validated,
    ),
    Check(
        id="tools.asked-for",
        title="Only the tool calls of the model run",
        says="A tool is executed for a call of the model, with the arguments of that call.",
        run=_asked_for,
    ),
)
