"""Tool calls: the model's call, its execution and its result are one, and fit the tool's contract.

tools.validated  what goes into a tool and what comes out of it fits the schemas of its contract:
                 arguments that are not fit never reach the tool, and a value that is not fit
                 reaches the model as a typed error, not as a result
tools.asked-for  what is executed is what the model asked for
tools.paired     every tool call has one result, in the order in which the model asked
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from faultclock.model.canonical import digest_of
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.oracle.check import Verdicts, also, broken, check, held
from faultclock.oracle.facts.history import History
from faultclock.oracle.facts.tool_fates import arguments_of, fits, is_fit
from faultclock.oracle.facts.tool_messages import Message, results_of
from faultclock.oracle.facts.turn_facts import Execution, ToolCall

# ---------------------------------------------------------------------- tools.validated


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
        if call.name in history.tool_scripts and not (call.executions or is_fit(history, call)):
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
        value = result.value
        handed_on = isinstance(value, Mapping) and "value" in value
        handed_on |= value is not None and digest_of(value) == result.fate.value_sha256
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


# ---------------------------------------------------------------------- tools.asked-for


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
        if call is None and history.world.workflow is not None:
            # A node of the workflow asks for it, and no model.
            continue
        yield held(*requirements)
        given = None if call is None else arguments_of(call)
        if call is None:
            observed = f"no answer of the model has a call {execution.tool_call}"
        elif call.name != execution.tool:
            observed = f"the model asked for {call.name}"
        elif given is not None and not given.items() <= execution.arguments.items():
            observed = f"the model asked for {dict(given)!r}, not {dict(execution.arguments)!r}"
        elif (first := _another(history, call, execution)) is not None:
            before, now = dict(first.arguments), dict(execution.arguments)
            observed = f"it ran with {before!r} first, and again with {now!r}"
        else:
            continue
        yield broken(
            requirements,
            call=execution.call,
            expected=f"{execution} runs as the model asked for it",
            observed=observed[:300],
            events=(execution.called.seq,),
            hint="Hand on the model's id of the call, and the arguments that were approved.",
        )


def _another(history: History, call: ToolCall, execution: Execution) -> Execution | None:
    """Return the first execution of a call where a later one adds other arguments than that did.

    A framework fills in what the tool's schema has as defaults, and may do so in one path only.
    """
    first = call.executions[0]
    script = history.tool_scripts.get(call.name)
    known = {} if script is None else script.input_schema.get("properties")
    defaults = {
        name: part["default"]
        for name, part in (known.items() if isinstance(known, Mapping) else ())
        if isinstance(part, Mapping) and "default" in part
    }
    before: dict[str, Any] = {**defaults, **first.arguments}
    return None if before == {**defaults, **execution.arguments} else first


# ---------------------------------------------------------------------- tools.paired


@check(
    "tools.paired",
    title="Every tool call has its result",
    says="A request has one result for each tool call of the model, in the order of the calls.",
    unjudged="no request held a tool call",
    role="runtime",
)
def paired(history: History, model: ErrorModel) -> Verdicts:
    """Judge each request to the provider, and what it holds of the answer before it."""
    everywhere = also(model, "tools.paired")
    # A model that speaks of `each` alone leaves the order of the results to the runtime.
    in_order = "tools.paired.each" not in model.rules
    each = everywhere if in_order else also(model, "tools.paired.each")
    blamed: set[tuple[str, ...]] = set()
    for call in history.calls:
        resumed = () if in_order or call.life == 1 else also(model, "tools.paired.resumed")
        requirements = (*resumed, *each)
        for attempt in call.attempts:
            if attempt.asked is None:
                continue
            for wanted, given in _rounds(attempt.asked.messages):
                yield held(*requirements)
                fault = _unpaired(attempt.asked.messages, wanted, given, in_order=in_order)
                # The same gap is in every request after it; it is reported once.
                if fault is None or (fault, *wanted) in blamed:
                    continue
                blamed.add((fault, *wanted))
                yield broken(
                    requirements,
                    call=call.id,
                    expected=f"one result for each of {', '.join(wanted)}"
                    + (", in this order" if in_order else ""),
                    observed=fault,
                    events=(attempt.asked.seq,),
                    hint="Seal a call that was cut off, and sort results by the model's order.",
                    cause="a call has no result" if fault.startswith(_MISSING) else "",
                )
    yield from _judge_dropped(history, each, also(model, "tools.result-kept"))


def _judge_dropped(
    history: History, requirements: tuple[str, ...], lost: tuple[str, ...]
) -> Verdicts:
    """Judge that the request after an answer holds its tool calls at all.

    Args:
        lost: what is broken where one of them went well.
    """
    for answer in history.answers:
        request = None if answer.next is None else answer.next.asked
        before = answer.attempt.asked
        if request is None or before is None:
            continue
        if not {str(it["content_sha256"]) for it in before.messages}.isdisjoint(request.quotes):
            # The history is condensed, and what its words say of a result is not known.
            continue
        known = {item for wanted, given in _rounds(request.messages) for item in wanted + given}
        known |= {id_ for told in request.in_words for id_ in told["tool_call_ids"]}
        dropped = {call.id: call.name for call in answer.tool_calls if call.id not in known}
        if dropped:
            good = {it.id for it in answer.tool_calls if any(run.is_good for run in it.executions)}
            is_lost = not good.isdisjoint(dropped)
            names = ", ".join(dict.fromkeys(f"the call of {name}" for name in dropped.values()))
            yield broken(
                lost if lost and is_lost else requirements,
                call=answer.in_call.id,
                expected="the next request holds the model's tool calls, and their results",
                observed=f"nothing of {names} is in it",
                events=(answer.attempt.events[-1], request.seq),
                hint="A result is a message of the role `tool`, with the id of its call.",
            )


def _rounds(messages: Sequence[Message]) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the ids that each message of the assistant asks for, and those answered after it."""
    wanted: list[str] = []
    given: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            given.append(str(message.get("tool_call_id")))
            continue
        if wanted or given:
            yield wanted, given
        wanted = [str(item["id"]) for item in message.get("tool_calls", ())]
        given = []
    if wanted or given:
        yield wanted, given


#: How it is said that a call has no result.
_MISSING = "no result for"


def _unpaired(
    messages: Sequence[Message], wanted: list[str], given: list[str], *, in_order: bool
) -> str | None:
    if wanted == given or (not in_order and sorted(wanted) == sorted(given)):
        return None
    missing = [item for item in wanted if item not in given]
    if missing:
        calls = [item for message in messages for item in message.get("tool_calls", ())]
        names = {item["id"]: item["name"] for item in calls}
        # An id is another one in each run; the name is the same.
        tools = dict.fromkeys(f"a call of {names[item]}" for item in missing)
        return f"{_MISSING} {', '.join(tools)}"
    extra = [item for item in given if item not in wanted or given.count(item) > 1]
    if extra:
        return f"{', '.join(dict.fromkeys(extra))} has a result that nothing asked for, or several"
    return f"the results came as {', '.join(given)}"
