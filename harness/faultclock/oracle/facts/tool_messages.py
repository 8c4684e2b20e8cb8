"""Results of tool calls, as the provider reads them in the messages of a request. Judges nothing.

A result is JSON: `{"value": …}`, `{"value": …, "errors": [{"item", "class", "code"}…]}` or
`{"error": {"class", "code", …}}`. Class and code may also stand at its top. Where a document asks
for no shape, a result is any text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.facts.history import History, once
from faultclock.oracle.facts.stored_state import first_request
from faultclock.oracle.facts.tool_fates import Fate, fate_of
from faultclock.oracle.facts.turn_facts import Answer, ToolCall

Message = Mapping[str, Any]

#: Traces keep no more characters of a result; one that was cut cannot be read.
CONTENT_MAX = 2_000


@dataclass(frozen=True, kw_only=True)
class Result:
    """The result of a tool call in the first request that could have it.

    Attributes:
        fate: what the executions come to that had begun before the request.
    """

    answer: Answer
    call: ToolCall
    fate: Fate
    request: TraceEvent
    content: str

    @property
    def sealed(self) -> bool:
        """Whether a crash came between the call and the request."""
        return self.answer.next is None

    @property
    def is_whole(self) -> bool:
        """Whether the trace has all of it."""
        return len(self.content) < CONTENT_MAX

    @cached_property
    def value(self) -> Any:
        """The JSON value that it is; None where it is none or was cut."""
        return loaded(self.content)

    @property
    def error(self) -> Mapping[str, Any] | None:
        """The typed error in it; None where it has none."""
        error = self.value.get("error", self.value) if isinstance(self.value, Mapping) else None
        typed = isinstance(error, Mapping) and error.get("class") and error.get("code")
        return error if typed and isinstance(error, Mapping) else None

    @property
    def pair(self) -> str | None:
        """`Class/Code` of its error; None where it has none."""
        return None if self.error is None else f"{self.error['class']}/{self.error['code']}"

    @property
    def events(self) -> tuple[int, ...]:
        """`seq` of the events that show it, and what became of its call."""
        return (*self.fate.events, self.request.seq)


@once
def results_of(history: History, model: ErrorModel) -> tuple[Result, ...]:
    """Return the results that the model got, in the order of the calls."""
    return tuple(_results(history, model))


def _results(history: History, model: ErrorModel) -> Iterator[Result]:
    for answer in history.answers:
        request = _next_request(history, answer)
        if request is None:
            continue
        for call in answer.tool_calls:
            content = told_of(request, call.id)
            if content is None:
                continue
            # What was executed after that, or was given up, it could not know.
            known = tuple(item for item in call.executions if item.called.seq < request.seq)
            fate = fate_of(history, model, replace(call, executions=known))
            if fate.kind == "timed_out" and (fate.at_ns or 0) > request.at_ns:
                fate = replace(fate, kind="open", pair=None)
            yield Result(
                answer=answer,
                call=call,
                fate=fate,
                request=request,
                content=content,
            )


def _next_request(history: History, answer: Answer) -> TraceEvent | None:
    """Return the request with the results of the calls of `answer`; maybe in a later life."""
    if answer.next is not None:
        return answer.next.asked
    if answer.in_call.crashed is None:
        return None
    later = (life.number for life in history.lives if life.number > answer.in_call.life)
    found = (first_request(history, life=life) for life in later)
    return next((request for request in found if request is not None), None)


def told_of(request: TraceEvent, tool_call: str) -> str | None:
    """Return the result of a tool call in a request to the provider, None when it has none."""
    found = [
        message
        for message in request.messages
        if message["role"] == "tool" and message.get("tool_call_id") == tool_call
    ]
    if found:
        return str(found[-1].get("content", ""))
    for told in request.in_words:
        if tool_call in told["tool_call_ids"]:
            return _unframed(told)
    return None


def _unframed(told: Mapping[str, Any]) -> str:
    """Return a result in words; only its last line where that is the object of a single call."""
    content = str(told["content"])
    last = content.rpartition("\n")[2]
    is_object = len(told["tool_call_ids"]) == 1 and isinstance(loaded(last), Mapping)
    return last if is_object else content


def loaded(content: str) -> Any:
    """Return the JSON value of a result, None where it is none or was cut."""
    try:
        return json.loads(content)
    except ValueError:
        return None
