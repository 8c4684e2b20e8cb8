"""What the model gets of its tool calls, as the provider observed it in the next request.

tools.paired   every tool call has one result, in the order in which the model asked
tools.told     each result says what became of the call: its value, the items that failed, or a
               typed error, and nothing of the runtime's insides

A result is JSON: `{"value": …}`, `{"value": …, "errors": [{"item", "class", "code"}…]}` or
`{"error": {"class", "code", …}}`. Class and code may also stand at its top.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from faultclock.model.error_model import AudienceRule, ErrorModel
from faultclock.model.secrets import SECRET
from faultclock.model.trace import TraceEvent
from faultclock.oracle.audience import leaks
from faultclock.oracle.check import (
    Check,
    Verdicts,
    also,
    broken,
    held,
    otherwise,
)
from faultclock.oracle.history import History
from faultclock.oracle.opening import first_request
from faultclock.oracle.tool_fates import Fate, digest, fate_of
from faultclock.oracle.turn_facts import Answer, ToolCall

__all__ = ["CHECKS", "error_of", "loaded", "messages_of", "next_request", "told_of"]

Message = Mapping[str, Any]

#: Traces keep no more characters of a result; one that was cut cannot be read.
_CONTENT_MAX = 2_000
_SHORT = 160


def told_of(request: TraceEvent, tool_call: str) -> str | None:
    """Return the result of a tool call in a request to the provider, None when it has none."""
    found = [
        message
        for message in messages_of(request)
        if message.get("role") == "tool" and message.get("tool_call_id") == tool_call
    ]
    return str(found[-1].get("content") or "") if found else None


def messages_of(request: TraceEvent) -> Sequence[Message]:
    """Return the messages of a request, oldest first."""
    return [item for item in request.messages or () if isinstance(item, Mapping)]


def loaded(content: str) -> Any:
    """Return the JSON value of a result, None where it is none or was cut."""
    try:
        return json.loads(content)
    except ValueError:
        return None


def error_of(result: object) -> Mapping[str, Any] | None:
    """Return the typed error in a result, None where it has none."""
    if not isinstance(result, Mapping):
        return None
    error = result.get("error", result)
    typed = isinstance(error, Mapping) and error.get("class") and error.get("code")
    return error if typed and isinstance(error, Mapping) else None


# ---------------------------------------------------------------------- tools.paired


def _paired(history: History, model: ErrorModel) -> Verdicts:
    everywhere = also(model, "tools.paired")
    # A model that speaks of `each` alone leaves the order of the results to the runtime.
    in_order = "tools.paired.each" not in model.rules
    each = everywhere if in_order else also(model, "tools.paired.each")
    yield otherwise("no request held a tool call")
    blamed: set[str] = set()
    for call in history.calls:
        resumed = () if in_order or call.life == 1 else also(model, "tools.paired.resumed")
        requirements = (*resumed, *each)
        for attempt in call.attempts:
            if attempt.asked is None:
                continue
            for wanted, given in _rounds(messages_of(attempt.asked)):
                yield held(*requirements)
                fault = _unpaired(wanted, given, in_order=in_order)
                # The same gap is in every request after it; it is reported once.
                if fault is None or fault in blamed:
                    continue
                blamed.add(fault)
                yield broken(
                    requirements,
                    call=call.id,
                    expected=f"one result for each of {', '.join(wanted)}"
                    + (", in this order" if in_order else ""),
                    observed=fault,
                    events=(attempt.asked.seq,),
                    hint="Seal a call that was cut off, and sort results by the model's order.",
                )
    yield from _judge_dropped(history, each)


def _judge_dropped(history: History, requirements: tuple[str, ...]) -> Verdicts:
    """Judge that the request after an answer holds its tool calls at all."""
    for answer in history.answers:
        request = None if answer.next is None else answer.next.asked
        if request is None:
            continue
        held = {item for wanted, given in _rounds(messages_of(request)) for item in wanted + given}
        dropped = [call.id for call in answer.tool_calls if call.id not in held]
        if dropped:
            yield broken(
                requirements,
                call=answer.in_call.id,
                expected="the next request holds the model's tool calls, and their results",
                observed=f"nothing of {', '.join(dropped)} is in it",
                events=(answer.attempt.events[-1], request.seq),
                hint="A result is a message of the role `tool`, with the id of its call.",
            )


def _rounds(messages: Sequence[Message]) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the ids that each message of the assistant asks for, and those answered after it."""
    wanted: list[str] = []
    given: list[str] = []
    for message in messages:
        if message.get("role") == "tool":
            given.append(str(message.get("tool_call_id")))
            continue
        if wanted or given:
            yield wanted, given
        wanted = [str(item.get("id")) for item in message.get("tool_calls") or ()]
        given = []
    if wanted or given:
        yield wanted, given


def _unpaired(wanted: list[str], given: list[str], *, in_order: bool) -> str | None:
    if wanted == given or (not in_order and sorted(wanted) == sorted(given)):
        return None
    missing = [item for item in wanted if item not in given]
    if missing:
        return f"no result for {', '.join(missing)}"
    extra = [item for item in given if item not in wanted or given.count(item) > 1]
    if extra:
        return f"{', '.join(dict.fromkeys(extra))} has a result that nothing asked for, or several"
    return f"the results came as {', '.join(given)}"


# ---------------------------------------------------------------------- tools.told


def _told(history: History, model: ErrorModel) -> Verdicts:
    yield otherwise("no request held the result of a finished tool call")
    if model.tool_calls is None and not also(model, "tools.told.value"):
        yield otherwise("the error model says nothing of tool calls")
        return
    for answer in history.answers:
        request = next_request(history, answer)
        if request is None:
            continue
        for call in answer.tool_calls:
            content = told_of(request, call.id)
            if content is not None:
                yield from _judge(history, model, call, request, content, cut=answer.next is None)


def next_request(history: History, answer: Answer) -> TraceEvent | None:
    """Return the request with the results of the calls of `answer`; maybe in a later life."""
    if answer.next is not None:
        return answer.next.asked
    if answer.in_call.crashed is None:
        return None
    later = (life.number for life in history.lives if life.number > answer.in_call.life)
    found = (first_request(history, life=life) for life in later)
    return next((request for request in found if request is not None), None)


def _judge(
    history: History,
    model: ErrorModel,
    call: ToolCall,
    request: TraceEvent,
    content: str,
    *,
    cut: bool,
) -> Verdicts:
    fate = fate_of(history, model, call)
    facet = _facet(fate)
    if model.tool_calls is None and (cut or facet not in ("value", "partial")):
        # The model's own rules of telling say how a failure looks to it.
        return
    if not cut and _is_made_up(call, request, content):
        exercised = also(model, "tools.told.value")
        yield held(*exercised)
        ran = "the tool had not replied" if call.executions else "the tool was never executed"
        made_up = ("a value when the tool has returned one", f"{ran}: {_excerpt(content)}")
        yield from _blame(call, request, fate, exercised, made_up)
        return
    if facet is None and not cut:
        return
    exercised = _exercised(history, model, call, fate, facet or "failure")
    yield held(*exercised)
    fault = _fault(model, fate, content, cut=cut)
    if fault is not None:
        expected, observed = fault
        yield from _blame(call, request, fate, exercised, (expected, observed))
        return
    hidden = also(model, "tools.told.internals")
    if facet == "value":
        return
    yield held(*hidden)
    found = leaks(_model_rule(model), _said(fate, content))
    if found:
        expected = "a typed error for the model, without internals of the runtime"
        observed = f"it holds {' and '.join(found)}: {_excerpt(content)}"
        yield from _blame(call, request, fate, hidden, (expected, observed))


def _is_made_up(call: ToolCall, request: TraceEvent, content: str) -> bool:
    """Return whether the model gets a success that no execution had come to."""
    if len(content) >= _CONTENT_MAX or error_of(loaded(content)) is not None:
        return False
    own = [item for item in call.executions if item.life == call.life]
    ended = [item for item in own if item.end is not None and item.end.seq < request.seq]
    if not own:
        return not isinstance(loaded(content), Mapping) or "value" in loaded(content)
    return not ended


def _exercised(
    history: History, model: ErrorModel, call: ToolCall, fate: Fate, facet: str
) -> tuple[str, ...]:
    """Return the requirements that a right result shows to hold; the closest one is first."""
    found = also(model, f"tools.told.{facet}")
    if facet == "failure" and fate.pair is not None:
        class_name = fate.pair.partition("/")[0]
        found = (*also(model, f"tools.told.class.{class_name}"), *found)
    if any(visit.call == call.call for visit in history.stage_visits):
        found = (*found, *also(model, "tools.told.staged"))
    return tuple(dict.fromkeys(found))


def _blame(
    call: ToolCall,
    request: TraceEvent,
    fate: Fate,
    requirements: tuple[str, ...],
    fault: tuple[str, str],
) -> Verdicts:
    shown = () if fate.execution is None else fate.execution.events
    yield broken(
        requirements,
        call=call.call,
        expected=f"the result of {call} for the model: {fault[0]}",
        observed=fault[1],
        events=(*shown, request.seq),
        hint='Send `{"value": …}` or `{"error": {"class", "code", "message"}}`.',
    )


def _facet(fate: Fate) -> str | None:
    """Return which rule is about this fate; None where it is another check's business."""
    match fate.kind:
        case "good":
            return "value"
        case "partial":
            return "partial"
        case "denied":
            return "denied"
        case "unanswered":
            return "unanswered"
        case "failed" | "raised" | "timed_out" | "cancelled" | "unknown" | "unfit":
            return "failure"
    return None


def _fault(model: ErrorModel, fate: Fate, content: str, *, cut: bool) -> tuple[str, str] | None:
    """Return what was expected and what was observed, None where all is well."""
    if len(content) >= _CONTENT_MAX:
        return None
    result = loaded(content)
    error = error_of(result)
    if cut and (error is not None or fate.kind not in ("good", "partial")):
        # Sealed: it must not look like a success.
        return None if error is not None else ("a typed error", _excerpt(content))
    if fate.kind == "good":
        return _wrong_value(fate, content, result, error)
    if fate.kind == "partial":
        return _wrong_items(fate, content, result)
    wanted = fate.pair or "a class and a code"
    if error is None:
        return wanted, f"the result has no class and code: {_excerpt(content)}"
    if fate.pair is not None and f"{error['class']}/{error['code']}" != fate.pair:
        return wanted, f"the result says {error['class']}/{error['code']}"
    interactions = model.interactions
    if fate.kind == "unanswered" and interactions is not None:
        reason = error.get("reason")
        if reason != interactions.timeout_reason:
            return f"{wanted}, with the reason {interactions.timeout_reason!r}", (
                f"the result gives the reason {reason!r}"
            )
    return None


def _wrong_value(fate: Fate, content: str, result: object, error: object) -> tuple[str, str] | None:
    expected = "the value that the tool returned"
    if error is not None:
        return expected, f"the result is an error: {_excerpt(content)}"
    end = None if fate.execution is None else fate.execution.end
    wanted = None if end is None else end.value_sha256
    if wanted is None or SECRET in content:
        return None
    candidates = [content, result]
    if isinstance(result, Mapping) and "value" in result:
        candidates.append(result["value"])
    if not any(digest(item) == wanted for item in candidates):
        return expected, f"the result holds another value: {_excerpt(content)}"
    return None


def _wrong_items(fate: Fate, content: str, result: object) -> tuple[str, str] | None:
    end = None if fate.execution is None else fate.execution.end
    failed = [] if end is None else list(end.errors or ())
    expected = f"the value beside errors[] with all {len(failed)} items that failed"
    if not isinstance(result, Mapping) or "value" not in result:
        return expected, f"there is no value: {_excerpt(content)}"
    said = result.get("errors")
    if not isinstance(said, list) or not said:
        return expected, f"it looks like a whole success: {_excerpt(content)}"
    given = [
        (str(item.get("item")), item.get("class"), item.get("code"))
        for item in said
        if isinstance(item, Mapping)
    ]
    wanted = [(str(item.get("item")), item.get("class"), item.get("code")) for item in failed]
    if sorted(map(str, given)) != sorted(map(str, wanted)):
        return expected, f"errors[] has {len(given)}: {_excerpt(json.dumps(said))}"
    return None


def _model_rule(model: ErrorModel) -> AudienceRule:
    own = next((rule for rule in model.audiences if rule.id == "model"), None)
    return own or AudienceRule(id="model", requirement="")


def _said(fate: Fate, content: str) -> str:
    """Return the part of a result that the runtime words; a value is the tool's own."""
    result = loaded(content)
    if fate.kind == "partial" and isinstance(result, Mapping):
        return json.dumps(result.get("errors"), ensure_ascii=False)
    # A text is searched as it reads, not as JSON escapes it.
    error = error_of(result)
    return content if error is None else "\n".join(_texts(error))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def _excerpt(text: str) -> str:
    return repr(text if len(text) <= _SHORT else f"{text[: _SHORT - 1]}…")


CHECKS = (
    Check(
        id="tools.paired",
        title="Every tool call has its result",
        says="A request has one result for each tool call of the model, in the order of the calls.",
        run=_paired,
    ),
    Check(
        id="tools.told",
        title="What the model gets from a tool",
        says="The model gets the value, the items that failed, or a typed error, and no internals.",
        run=_told,
    ),
)
