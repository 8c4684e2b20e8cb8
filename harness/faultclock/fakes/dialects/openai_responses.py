"""OpenAI's responses API: typed items instead of choices, typed events instead of deltas.

A stream has no end marker: it is whole when `response.completed` came. What goes wrong inside it
comes as one of three events, which the openai SDK hands to its caller like any other. Bodies
follow the types of the openai Python SDK 3.54, against which a test validates them. A response
gets what it got before in its `input`; `previous_response_id` is not followed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from faultclock.errors import InternalError
from faultclock.fakes.dialects.openai_chat import OpenAIChat
from faultclock.fakes.wire.answer import Answer, ErrorFacts
from faultclock.fakes.wire.dialect import Asked, Exchange, Heard
from faultclock.fakes.wire.event_stream import (
    json_object,
    objects_in,
    read_events,
    text_in,
    write_event,
)
from faultclock.fakes.wire.said import Said, said, split_text, token, tokens_of
from faultclock.fakes.wire.shaping import good
from faultclock.model.scenario.fault import AnswerEnd
from faultclock.model.scenario.payload import ErrorPayload
from faultclock.model.scenario.provider_script import ProviderScript, ToolCallReply

_ARGUMENT_PIECE_CHARS = 12
#: With these codes a response fails; others come in an event that is an error
#: (openai 3.54, types/responses/response_error.py).
_FAILURES = frozenset({"server_error", "rate_limit_exceeded", "invalid_prompt"})
#: How many events open a stream, before anything is said or asked for.
_OPENING_EVENTS = 3
#: For these reasons a response is incomplete, and their canonical words.
_INCOMPLETE = MappingProxyType({"content_filter": "content_filter", "max_output_tokens": "length"})
_SERVER_ERROR = {
    "code": "server_error",
    "message": "An error occurred while processing your request.",
}
_INCOMPLETE_WORDS = {reason: word for word, reason in _INCOMPLETE.items()}
#: Under which key a part has what the model says, as an answer or in place of one.
_SAID = ("text", "refusal")


class OpenAIResponses(OpenAIChat):
    """The dialect `openai-responses`. It has no state."""

    name = "openai-responses"
    path_end = "/responses"
    required = MappingProxyType({"model": str, "input": (str, list)})
    good_json = json.JSONEncoder(ensure_ascii=False, indent=2)
    error_json = json.JSONEncoder(ensure_ascii=False, indent=2)
    error_tail = ""
    #: openai 3.54, types/responses/easy_input_message_param.py.
    roles: frozenset[str] = frozenset({"assistant", "developer", "system", "user"})
    #: Likewise, types/responses/response_status.py and response_error.py.
    ends: frozenset[AnswerEnd] = frozenset({*OpenAIChat.ends, "failed"})
    answers_anywhere = True

    # ------------------------------------------------------------------ requests

    def chat(self, asked: Asked) -> list[dict[str, Any]]:
        """Return the messages of a request, as if it were one of chat completions."""
        return list(_as_messages(asked.body))

    # ------------------------------------------------------------------ answers

    def good_answer(self, script: ProviderScript, asked: Asked, exchange: Exchange) -> Answer:
        """Return a response, whole or as events."""
        told = _items(asked.body)
        model_says = said(script, exchange, told, _turns_of_model(told))
        prompt = sum(4 + tokens_of(text) for text in _texts(asked.body))
        usage = _usage(prompt, model_says.tokens)
        items = _output(model_says, exchange)
        base = _response(text_in(asked.body.get("model")), asked.body, exchange)
        whole = {**base, **_ended(model_says), "output": items, "usage": usage}
        chunks: tuple[bytes, ...]
        if asked.stream:
            chunks = _pieces(_events(base, whole, items))
        else:
            chunks = (self.good_json.encode(whole).encode(),)
        content_type = "text/event-stream; charset=utf-8" if asked.stream else "application/json"
        return good(
            model_says,
            prompt,
            headers=self.headers(content_type, exchange, usage["total_tokens"]),
            chunks=chunks,
            chunks_before_finish=len(chunks) - 1,
            tool_ids=map(self.tool_id, model_says.tool_calls),
            stream=asked.stream,
        )

    def error_event(
        self, payload: ErrorPayload, asked: Asked, exchange: Exchange, chunks_before: int
    ) -> tuple[bytes, ErrorFacts]:
        """Return the event in which a stream reports `payload`, and what that event says.

        A payload that says of itself that it is an event goes out as it is.
        """
        body = payload.body or {}
        error = body.get("error")
        if not isinstance(error, dict):
            raise InternalError("an error event needs a payload with an error object")
        code = error.get("code") or error.get("type")
        begun = _response(asked.model, asked.body, exchange)
        event: dict[str, Any]
        if body.get("type") == "error":
            event = dict(body)
        elif code in _FAILURES:
            told = {"code": code, "message": error.get("message")}
            ended = {**begun, "status": "failed", "error": told}
            event = {"type": "response.failed", "response": ended}
        elif code in _INCOMPLETE:
            ended = {**begun, "status": "incomplete", "incomplete_details": {"reason": code}}
            event = {"type": "response.incomplete", "response": ended}
        else:
            event = {
                "type": "error",
                "code": error.get("code"),
                "message": error.get("message"),
                "param": error.get("param"),
            }
        # Events are numbered from 0; each is a chunk but those that open the stream.
        event["sequence_number"] = chunks_before and chunks_before + _OPENING_EVENTS - 1
        return write_event(event, event["type"]), _facts_of_event(event)

    # ------------------------------------------------------------------ reading answers back

    def heard(self, body: bytes, content_type: str) -> Heard:
        """Return what an answer says, whole or as a stream."""
        whole = json_object(body)
        if whole is not None:
            error = self.error_facts(whole)
            begun = error is None or whole.get("status") == "failed"
            return _heard_whole(whole) if begun else Heard(error=error)
        if "event-stream" not in content_type and not body.lstrip().startswith((b"data", b"event")):
            return Heard()
        events = (json_object(event.data) for event in read_events(body))
        return _heard_stream([event for event in events if event is not None])


# ---------------------------------------------------------------------- what a request says


def _items(body: Mapping[str, Any]) -> list[Any]:
    given = body.get("input")
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    return given if isinstance(given, list) else []


def _as_messages(body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    if isinstance(body.get("instructions"), str):
        yield {"role": "system", "content": body["instructions"], "at": 0}
    for at, item in enumerate(_items(body)):
        match item:
            case {"type": "function_call_output"}:
                call_id, output = item.get("call_id"), item.get("output")
                told = {"tool_call_id": call_id, "content": output, "sent_as": "assistant"}
                yield {"role": "tool", **told, "at": at}
            case {"type": "function_call"}:
                call = {"id": item.get("call_id"), "function": {"name": item.get("name")}}
                yield {"role": "assistant", "content": None, "tool_calls": [call], "at": at}
            case {"role": role}:
                yield {"role": role, "content": item.get("content"), "at": at}


def _turns_of_model(items: Sequence[Any]) -> int:
    """Return how often the model spoke: what it says at once are several items."""
    turns, before = 0, False
    for item in items:
        mine = isinstance(item, dict) and (
            item.get("role") == "assistant" or item.get("type") in {"function_call", "reasoning"}
        )
        turns += mine and not before
        before = mine
    return turns


def _texts(body: Mapping[str, Any]) -> Iterator[str]:
    for message in _as_messages(body):
        if isinstance(message["content"], str):
            yield message["content"]
        for part in objects_in(message["content"]):
            yield text_in(part.get("text")) or ""


# ---------------------------------------------------------------------- what is answered


def _response(model: str | None, body: Mapping[str, Any], exchange: Exchange) -> dict[str, Any]:
    """Return a response that has just begun."""
    tools = body.get("tools")
    return {
        "id": f"resp_{token(exchange, 'response', 48)}",
        "object": "response",
        "created_at": exchange.unix_s,
        "status": "in_progress",
        "background": False,
        "error": None,
        "incomplete_details": None,
        "instructions": text_in(body.get("instructions")),
        "max_output_tokens": None,
        "model": model,
        "output": [],
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "service_tier": "default",
        "temperature": 1.0,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [_tool(tool) for tool in objects_in(tools)],
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": None,
        "metadata": {},
    }


def _tool(tool: dict[str, Any]) -> dict[str, Any]:
    return {"strict": True, **tool} if tool.get("type") == "function" else tool


def _usage(prompt: int, completion: int) -> dict[str, Any]:
    return {
        "input_tokens": prompt,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": completion,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": prompt + completion,
    }


def _ended(model_says: Said) -> dict[str, Any]:
    """Return the members that say how a response ended."""
    word = _INCOMPLETE_WORDS.get(model_says.finish_reason)
    if model_says.ends == "failed":
        return {"status": "failed", "error": _SERVER_ERROR}
    if word is None:
        return {"status": "completed"}
    return {"status": "incomplete", "incomplete_details": {"reason": word}}


def _output(model_says: Said, exchange: Exchange) -> list[dict[str, Any]]:
    part: dict[str, Any] | None = None
    if model_says.text is not None:
        part = {"type": "output_text", "annotations": [], "logprobs": [], "text": model_says.text}
    elif model_says.refusal is not None:
        # openai 3.54, types/responses/response_output_refusal.py.
        part = {"type": "refusal", "refusal": model_says.refusal}
    if part is not None:
        message = {"id": f"msg_{token(exchange, 'message', 48)}", "type": "message"}
        status = "completed" if _ended(model_says)["status"] == "completed" else "incomplete"
        return [{**message, "status": status, "role": "assistant", "content": [part]}]
    return [
        {
            "id": f"fc_{token(exchange, f'item/{index}', 48)}",
            "type": "function_call",
            "status": "completed",
            "arguments": call.arguments,
            "call_id": f"call_{call.id}",
            "name": call.name,
        }
        for index, call in enumerate(model_says.tool_calls)
    ]


def _events(
    base: dict[str, Any], whole: dict[str, Any], items: list[dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    yield {"type": "response.created", "response": base}
    yield {"type": "response.in_progress", "response": base}
    for index, item in enumerate(items):
        at = {"output_index": index}
        empty: dict[str, Any] = {"content": []} if item["type"] == "message" else {"arguments": ""}
        begun = {**item, "status": "in_progress", **empty}
        yield {"type": "response.output_item.added", **at, "item": begun}
        speak = _events_of_message if item["type"] == "message" else _events_of_call
        yield from speak(item, {"item_id": item["id"], **at})
        yield {"type": "response.output_item.done", **at, "item": item}
    yield {"type": f"response.{whole['status']}", "response": whole}


def _events_of_message(item: dict[str, Any], at: dict[str, Any]) -> Iterator[dict[str, Any]]:
    at = {**at, "content_index": 0}
    part = item["content"][0]
    if part["type"] == "refusal":
        yield {"type": "response.content_part.added", **at, "part": {**part, "refusal": ""}}
        for piece in split_text(part["refusal"]):
            yield {"type": "response.refusal.delta", **at, "delta": piece}
        yield {"type": "response.refusal.done", **at, "refusal": part["refusal"]}
        yield {"type": "response.content_part.done", **at, "part": part}
        return
    yield {"type": "response.content_part.added", **at, "part": {**part, "text": ""}}
    for piece in split_text(part["text"]):
        yield {"type": "response.output_text.delta", **at, "delta": piece, "logprobs": []}
    yield {"type": "response.output_text.done", **at, "text": part["text"], "logprobs": []}
    yield {"type": "response.content_part.done", **at, "part": part}


def _events_of_call(item: dict[str, Any], at: dict[str, Any]) -> Iterator[dict[str, Any]]:
    arguments = item["arguments"]
    for start in range(0, len(arguments), _ARGUMENT_PIECE_CHARS):
        piece = arguments[start : start + _ARGUMENT_PIECE_CHARS]
        yield {"type": "response.function_call_arguments.delta", **at, "delta": piece}
    yield {"type": "response.function_call_arguments.done", **at, "arguments": arguments}


def _pieces(events: Iterator[dict[str, Any]]) -> tuple[bytes, ...]:
    """Return the events, numbered, in the pieces in which they are sent.

    What opens a stream shares a piece, so that a cut after so many pieces leaves some of the text,
    as in other dialects.
    """
    written = [
        write_event({**event, "sequence_number": number}, event["type"])
        for number, event in enumerate(events)
    ]
    return (b"".join(written[:_OPENING_EVENTS]), *written[_OPENING_EVENTS:])


# ---------------------------------------------------------------------- reading back


def _facts_of_event(event: Mapping[str, Any]) -> ErrorFacts:
    """Return what an event that is an error, or an end, says."""
    response = event.get("response")
    error = event.get("error")
    if isinstance(response, dict):
        error = response.get("error")
        if not isinstance(error, dict):
            details = response.get("incomplete_details")
            error = {"code": details.get("reason")} if isinstance(details, dict) else {}
    if not isinstance(error, dict):
        error = {"code": event.get("code"), "message": event.get("message")}
    return {name: error.get(name) for name in ("code", "type", "message")}


def _heard_whole(response: Mapping[str, Any]) -> Heard:
    items = objects_in(response.get("output"))
    parts = [part for item in items for part in objects_in(item.get("content"))]
    texts, refusals = ([text_in(part.get(of)) or "" for part in parts] for of in _SAID)
    calls = tuple(_call(item) for item in items if item.get("type") == "function_call")
    match response.get("status"):
        case "completed":
            reason: str | None = "tool_calls" if calls else "stop"
        case "incomplete":
            told = str(_facts_of_event({"response": response})["code"])
            reason = _INCOMPLETE.get(told, told)
        case _:
            reason = None
    failed = response.get("status") == "failed"
    return Heard(
        text="".join(texts) or None,
        tool_calls=calls,
        finish_reason=reason,
        error=_facts_of_event({"response": response}) if failed else None,
        refusal="".join(refusals) or None,
    )


def _call(item: Mapping[str, Any]) -> ToolCallReply:
    name, arguments = text_in(item.get("name")), text_in(item.get("arguments"))
    return ToolCallReply(name=name or "", arguments=arguments or "")


def _heard_stream(events: Sequence[Mapping[str, Any]]) -> Heard:
    texts, refusals, done = list[str](), list[str](), list[Mapping[str, Any]]()
    for event in events:
        match event.get("type"):
            case "response.completed" | "response.incomplete" | "response.failed":
                response = event.get("response")
                ended = _heard_whole(response if isinstance(response, dict) else {})
                text = ended.text or "".join(texts) or None
                return Heard(
                    text=text,
                    tool_calls=ended.tool_calls or _calls(done),
                    finish_reason=ended.finish_reason,
                    error=ended.error,
                    refusal=ended.refusal or "".join(refusals) or None,
                )
            case "error":
                facts = _facts_of_event(event)
                return Heard(text="".join(texts) or None, tool_calls=_calls(done), error=facts)
            case "response.output_text.delta":
                texts.append(text_in(event.get("delta")) or "")
            case "response.refusal.delta":
                refusals.append(text_in(event.get("delta")) or "")
            case "response.output_item.done":
                done += objects_in([event.get("item")])
    return Heard(text="".join(texts) or None, tool_calls=_calls(done))


def _calls(items: Sequence[Mapping[str, Any]]) -> tuple[ToolCallReply, ...]:
    return tuple(_call(item) for item in items if item.get("type") == "function_call")


DIALECT = OpenAIResponses()
