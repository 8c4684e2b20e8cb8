"""Shapes: what goes into a tool and what comes out of it fits the schemas of its contract.

Judged by the library `jsonschema`. Arguments that are not fit never reach the tool; a value that
is not fit reaches the model as a typed error, not as a result.
"""

from __future__ import annotations

from collections.abc import Mapping

from faultclock.oracle.check import Case, Check, Outcome, Violation, also
from faultclock.oracle.tool_fates import arguments_of, digest, fate_of, fits
from faultclock.oracle.tool_messages import error_of, loaded, told_of
from faultclock.oracle.turn_facts import Answer, Execution

__all__ = ["CHECKS"]


def _validated(case: Case) -> Outcome:
    outcome = Outcome(reason="every tool call and every value of a tool fitted its schema")
    _judge_input(case, outcome)
    for answer in case.answers:
        _judge_output(case, answer, outcome)
    return outcome


def _judge_input(case: Case, outcome: Outcome) -> None:
    requirements = also(case.model, "tools.validated.input")
    for call in case.tool_calls:
        script = case.tool_scripts.get(call.name)
        if script is None:
            continue
        given = arguments_of(call)
        unfit = given is None or not fits(script.input_schema, given)
        if unfit and not call.executions:
            outcome.looked_at(*requirements)
    for execution in case.executions:
        script = case.tool_scripts.get(execution.tool)
        if script is None:
            continue
        if fits(script.input_schema, dict(execution.arguments)):
            if len(script.input_schema) > 1:
                outcome.looked_at(*requirements)
            continue
        outcome.looked_at(*requirements)
        outcome.violate(
            Violation(
                requirement=next(iter(requirements), None),
                call=execution.call,
                expected=f"{execution.tool} is not executed: the arguments do not fit its schema",
                observed=f"it was called with {dict(execution.arguments)!r}"[:200],
                events=(execution.called.seq,),
                hint="Validate what the model sent before it reaches the tool.",
            )
        )


def _judge_output(case: Case, answer: Answer, outcome: Outcome) -> None:
    requirements = also(case.model, "tools.validated.output")
    rules = case.model.tool_calls
    request = None if answer.next is None else answer.next.asked
    if rules is None or request is None:
        return
    for call in answer.tool_calls:
        fate = fate_of(case, call)
        content = told_of(request, call.id)
        if fate.kind != "malformed" or content is None or fate.execution is None:
            continue
        outcome.looked_at(*requirements)
        result = loaded(content)
        error = error_of(result)
        said = None if error is None else f"{error['class']}/{error['code']}"
        handed_on = isinstance(result, Mapping) and "value" in result
        handed_on |= result is not None and digest(result) == _value_sha256(fate.execution)
        if said == rules.output_malformed or (said is None and not handed_on):
            continue
        outcome.violate(
            Violation(
                requirement=next(iter(requirements), None),
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
            ),
            *requirements,
        )


def _asked_for(case: Case) -> Outcome:
    requirements = also(case.model, "tools.asked-for")
    outcome = Outcome(reason="no tool was executed")
    owners = {item.id: call for call in case.tool_calls for item in call.executions}
    for execution in case.executions:
        call = owners.get(execution.id)
        if call is None and case.trace.header.scenario.workflow is not None:
            # A node of the workflow asks for it, and no model.
            continue
        outcome.looked_at(*requirements)
        given = None if call is None else arguments_of(call)
        if call is None:
            observed = f"no answer of the model has a call {execution.tool_call}"
        elif call.name != execution.tool:
            observed = f"the model asked for {call.name}"
        elif given is not None and not _within(given, execution.arguments):
            observed = f"the model asked for {dict(given)!r}, not {dict(execution.arguments)!r}"
        else:
            continue
        outcome.violate(
            Violation(
                requirement=next(iter(requirements), None),
                call=execution.call,
                expected=f"{execution.tool} ({execution.tool_call}) runs as the model asked for it",
                observed=observed[:300],
                events=(execution.called.seq,),
                hint="Hand on the model's id of the call, and the arguments that were approved.",
            )
        )
    return outcome


def _within(given: Mapping[str, object], executed: Mapping[str, object]) -> bool:
    """Return whether what was given is what was executed, but for what a schema's default adds."""
    return all(name in executed and executed[name] == value for name, value in given.items())


def _value_sha256(execution: Execution) -> object:
    return None if execution.end is None else execution.end.payload.get("value_sha256")


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
