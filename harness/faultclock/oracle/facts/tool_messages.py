"""Results of tool calls, as the provider reads them in the messages of a request. Judges nothing.

A result is JSON: `{"value": …}`, `{"value": …, "errors": [{"item", "class", "code"}…]}` or
`{"error": {"class", "code", …}}`. Class and code may also stand at its top. Where a document asks
for no shape, a result is any text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.facts.history import History, once
from faultclock.oracle.facts.stored_state import first_request
from faultclock.oracle.facts.tool_fates import Fate, fate_of
from faultclock.oracle.facts.turn_facts import Answer, ToolCall

Message = Mapping[str, Any]

#: Traces keep no more characters of a result; one that was cut cannot be read.
CONTENT_MAX = 2_000
#: Where an object may begin in a text: on a line of its own, or behind labels such as `[result]`.
_OBJECT = re.compile(r"^(?:\[[^\]\n]*\] *)*(?=\{)", re.MULTILINE)
_decode = json.JSONDecoder().raw_decode


class Result(Struct, frozen=True, kw_only=True):
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

    @property
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
            content = told_of(history, request, call.id)
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


def told_of(history: History, request: TraceEvent, tool_call: str) -> str | None:
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
            objects = _objects_of(history, told)
            return objects.get(tool_call, str(told["content"]))
    return None


def _objects_of(history: History, told: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the JSON object of each call that a text answers; empty: the text is not so made.

    Each object ends its result. Where there are several calls, the words before it name the tool
    or the call; two results of one tool come in the order of their calls.
    """
    ids = [str(id_) for id_ in told["tool_call_ids"]]
    parts = _parts(str(told["content"]))
    if len(ids) == 1 and parts:
        return {ids[0]: parts[-1][1]}
    if len(ids) != len(parts):
        return {}
    names = {call.id: call.name for call in history.tool_calls}
    found: dict[str, str] = {}
    for words, text in parts:
        left = [id_ for id_ in ids if id_ not in found]
        named = [id_ for id_ in left if any(_is_word(it, words) for it in (id_, names.get(id_)))]
        if len({names.get(id_) for id_ in named}) != 1:
            return {}
        found[named[0]] = text
    return found


def _parts(content: str) -> list[tuple[str, str]]:
    """Return each object of a text with the words before it; none where other words are last."""
    found: list[tuple[str, str]] = []
    end = 0
    for match in _OBJECT.finditer(content):
        if match.start() < end:
            continue
        try:
            value, after = _decode(content, match.end())
        except ValueError:
            continue
        if isinstance(value, Mapping) and content[after : after + 1] in ("", "\n"):
            found.append((content[end : match.end()], content[match.end() : after]))
            end = after
    return [] if content[end:].strip() else found


def _is_word(word: str | None, text: str) -> bool:
    return word is not None and re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None


def loaded(content: str) -> Any:
    """Return the JSON value of a result, None where it is none or was cut."""
    try:
        return json.loads(content)
    except ValueError:
        return None
