"""Shapes: what goes into a tool and what comes out of it fits the schemas of its contract.

Judged by the library `jsonschema`. Arguments that are not fit never reach the tool; a value that
is not fit reaches the model as a typed error, not as a result.
"""

from __future__ import annotations

from collections.abc import Mapping

from faultclock.model.error_model import ErrorModel
from faultclock.oracle.check import Verdicts, also, broken, check, held
from faultclock.oracle.history import History
from faultclock.oracle.tool_fates import arguments_of, digest, fits
from faultclock.oracle.tool_messages import results_of


@check(
    "tools.validated",
    title="Input and output fit their schemas",
    says="Arguments that do not fit never reach a tool. A value that does not fit is an error.",
    unjudged="every tool call and every value of a tool fitted its schema",
    role="runtime",
)
def validated(history: History, model: ErrorModel) -> Verdicts:
    """Judge the arguments of all executions, and the results for values that are not fit."""
    yield from _judge_input(history, model)
    yield from _judge_output(history, model)


def _judge_input(history: History, model: ErrorModel) -> Verdicts:
    requirements = also(model, "tools.validated.input")
    for call in history.tool_calls:
        script = history.tool_scripts.get(call.name)
        if script is None or call.executions:
            continue
        given = arguments_of(call)
        if given is None or not fits(script.input_schema, given):
            yield held(*requirements)
    for execution in history.executions:
        script = history.tool_scripts.get(execution.tool)
        if script is None:
            continue
        given = dict(execution.arguments)
        fit = fits(script.input_schema, given)
        if not fit or len(script.input_schema) > 1:
            yield held(*requirements)
        if not fit:
            yield broken(
                requirements,
                call=execution.call,
                expected=f"{execution.tool} is not executed: the arguments do not fit its schema",
                observed=f"it was called with {given!r}"[:200],
                events=(execution.called.seq,),
                hint="Validate what the model sent before it reaches the tool.",
            )


def _judge_output(history: History, model: ErrorModel) -> Verdicts:
    requirements = also(model, "tools.validated.output")
    wanted = None if model.tool_calls is None else model.tool_calls.output_malformed
    for result in results_of(history, model) if wanted is not None else ():
        if result.fate.kind != "malformed" or result.sealed:
            continue
        yield held(*requirements)
        handed_on = isinstance(result.value, Mapping) and "value" in result.value
        handed_on |= result.value is not None and digest(result.value) == result.fate.value_sha256
        if result.pair == wanted or (result.pair is None and not handed_on):
            continue
        yield broken(
            requirements,
            call=result.call.call,
            expected=(
                f"the value of {result.call} does not fit its output schema, so the model gets"
                f" {wanted}"
            ),
            observed=f"the model gets {result.pair or 'it as a good result'}",
            events=result.events,
            hint="Validate what the tool returned before it reaches the model.",
        )


@check(
    "tools.asked-for",
    title="Only the tool calls of the model run",
    says="A tool is executed for a call of the model, with the arguments of that call.",
    unjudged="no tool was executed",
    role="runtime",
)
def asked_for(history: History, model: ErrorModel) -> Verdicts:
    """Judge each execution by the tool call that it is for."""
    requirements = also(model, "tools.asked-for")
    for execution in history.executions:
        call = history.asker_of(execution)
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
