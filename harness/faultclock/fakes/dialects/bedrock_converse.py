"""Amazon Bedrock's Converse API, as it speaks on the wire: JSON, and binary event streams.

Bodies, events, exceptions and their statuses follow the service's model in botocore 1.44.5
(data/bedrock-runtime/2023-09-30/service-2.json), against which tests validate them; the framing of
streams is in `aws_event_stream`. An error says only a message: its class stands in a header, and in
a stream in the headers of its message, as recordings and quoted messages have it (see the payload
file). Signatures are looked at for their form and never verified. Rest on documents alone: which
events share a write, and `x-amz-retry-after`, which botocore reads (retries/standard.py) and no
recording has. All read 2026-11-21.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote
from uuid import UUID

from faultclock.errors import InternalError
from faultclock.fakes.wire.answer import Answer, ErrorFacts, Headers
from faultclock.fakes.wire.aws_event_stream import Message, read_messages, write_message
from faultclock.fakes.wire.dialect import Asked, Exchange, Heard, Refusal
from faultclock.fakes.wire.event_stream import json_object, objects_in, text_in
from faultclock.fakes.wire.http_server import HttpRequest
from faultclock.fakes.wire.said import Said, said, split_text, token, tokens_of
from faultclock.fakes.wire.shaping import good
from faultclock.model.duration import MILLISECOND_NS
from faultclock.model.scenario.fault import AnswerEnd, HttpDate
from faultclock.model.scenario.payload import ErrorPayload
from faultclock.model.scenario.provider_script import ProviderScript, ToolCallReply

_PATH = re.compile(r"/model/(?P<model>[^/]+)/(?P<operation>converse|converse-stream)")
_SIGNATURE = re.compile(
    r"AWS4-HMAC-SHA256 Credential=[^/,\s]+/\d{8}/[a-z0-9-]+/bedrock/aws4_request,\s*"
    r"SignedHeaders=[a-z0-9;-]+,\s*Signature=[0-9a-f]{64}"
)
_BEARER = re.compile(r"Bearer \S+")
_ARGUMENT_PIECE_CHARS = 12
_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_NOW = HttpDate(http_date="0s")  # type: ignore[arg-type]  # durations are texts in a file
_ERROR_CLASS = "x-amzn-errortype"
_JSON, _STREAM = "application/json", "application/vnd.amazon.eventstream"
_STOP_REASONS = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "length": "max_tokens",
    "content_filter": "content_filtered",
    "error": "malformed_model_output",
}
_CANONICAL = {
    **{word: reason for reason, word in _STOP_REASONS.items()},
    "stop_sequence": "stop",
    "model_context_window_exceeded": "length",
    "guardrail_intervened": "content_filter",
}
#: What a stream can fail with, and the status that the same exception has as an answer.
_IN_STREAM = {
    "internalServerException": 500,
    "modelStreamErrorException": 424,
    "serviceUnavailableException": 503,
    "throttlingException": 429,
    "validationException": 400,
}


class BedrockConverse:
    """The dialect `bedrock-converse`. It has no state."""

    name = "bedrock-converse"
    own_payloads: tuple[str, ...] = (
        "incomplete_signature",
        "invalid_json",
        "invalid_request",
        "missing_authorization",
        "not_found",
    )
    #: botocore 1.44.5, bedrock-runtime/service-2.json, `StopReason`: it has no refusal.
    ends: frozenset[AnswerEnd] = frozenset({"length", "filtered", "empty", "failed"})
    #: Likewise, `ConversationRole`.
    roles: frozenset[str] = frozenset({"assistant", "system", "user"})
    answers_anywhere = False

    # ------------------------------------------------------------------ requests

    def read(self, request: HttpRequest) -> Asked:
        """Return what `request` asks for; what Bedrock itself would refuse is a refusal."""
        found = _PATH.fullmatch(request.target.partition("?")[0])
        body = json_object(request.body)
        return Asked(
            model=None if found is None else unquote(found["model"]),
            stream=found is not None and found["operation"] == "converse-stream",
            refusal=_refusal(request, found is not None, body),
            body=body or {},
        )

    def chat(self, asked: Asked) -> list[dict[str, Any]]:
        """Return the messages of a request; answers of tools stand in those of the user here."""
        return _chat_messages(asked.body)

    # ------------------------------------------------------------------ answers

    def good_answer(self, script: ProviderScript, asked: Asked, exchange: Exchange) -> Answer:
        """Return a message, whole or as events."""
        messages = asked.body["messages"]
        place = sum(isinstance(item, dict) and item.get("role") == "assistant" for item in messages)
        model_says = said(script, exchange, messages, place)
        prompt = sum(4 + tokens_of(_words(item)) for item in objects_in(messages))
        usage = {
            "inputTokens": prompt,
            "outputTokens": model_says.tokens,
            "totalTokens": prompt + model_says.tokens,
        }
        told = {"usage": usage, "metrics": {"latencyMs": exchange.think_ms}}
        if asked.stream:
            chunks = (*_events(model_says), _event("metadata", told))
        else:
            reason = _STOP_REASONS[model_says.finish_reason]
            message = {"role": "assistant", "content": _blocks(model_says)}
            whole = {"output": {"message": message}, "stopReason": reason, **told}
            chunks = (_COMPACT.encode(whole).encode(),)
        return good(
            model_says,
            prompt,
            headers=_headers(_STREAM if asked.stream else _JSON, exchange),
            chunks=chunks,
            chunks_before_finish=len(chunks) - 2,
            tool_ids=(_tool_id(call.id) for call in model_says.tool_calls),
            tool_input=_tool_input,
            stream=asked.stream,
        )

    def error_answer(
        self, payload: ErrorPayload, status: int, exchange: Exchange, values: Mapping[str, str]
    ) -> Answer:
        """Return `payload` as the body of an answer of `status`.

        Args:
            values: members of the body that replace the payload's own.
        """
        headers = dict(_headers(payload.content_type, exchange))
        headers.update((name.lower(), value) for name, value in payload.headers.items())
        error: ErrorFacts | None = None
        if payload.text is not None:
            chunk = payload.text.encode()
        else:
            shown = {**(payload.body or {}), **values}
            chunk = _COMPACT.encode(shown).encode()
            error = {**(self.error_facts(shown) or {}), "type": _class_of(payload)}
        return Answer(status=status, headers=tuple(headers.items()), chunks=(chunk,), error=error)

    def error_event(
        self, payload: ErrorPayload, asked: Asked, exchange: Exchange, chunks_before: int
    ) -> tuple[bytes, ErrorFacts]:
        """Return the exception as a message of a stream, and its facts; it must be JSON.

        An exception that the API's streams do not have comes as an error without a model.
        """
        del asked, exchange, chunks_before
        kind = _class_of(payload)
        if payload.body is None or kind is None or self.error_facts(payload.body) is None:
            raise InternalError("an exception in a stream needs a message, and a class")
        name = kind[:1].lower() + kind[1:]
        message = str(payload.body["message"])
        facts = {"code": payload.status, "type": kind, "message": message}
        if name not in _IN_STREAM:
            told = {":message-type": "error", ":error-code": kind, ":error-message": message}
            return write_message(told, b""), facts
        headers = {":exception-type": name, ":content-type": _JSON, ":message-type": "exception"}
        return write_message(headers, _COMPACT.encode(payload.body).encode()), facts

    # ------------------------------------------------------------------ reading answers back

    def error_facts(self, body: Mapping[str, Any]) -> ErrorFacts | None:
        """Return the message of an error body, None where it is none; its class is elsewhere.

        What AWS's other services write into the body as `__type` is taken where it stands.
        """
        message = body.get("message", body.get("Message"))
        if not isinstance(message, str) or "output" in body:
            return None
        kind = text_in(body.get("__type"))
        return {"code": None, "type": kind and kind.rpartition("#")[2], "message": message}

    def heard(self, body: bytes, content_type: str) -> Heard:
        """Return what an answer says, whole or as a stream."""
        del content_type  # Neither form can be taken for the other.
        whole = json_object(body)
        if whole is None:
            return self._heard_events(list(read_messages(body)))
        message = _object(_object(whole.get("output")).get("message"))
        blocks = objects_in(message.get("content"))
        used = [_object(block["toolUse"]) for block in blocks if "toolUse" in block]
        return Heard(
            text="".join(text_in(block.get("text")) or "" for block in blocks) or None,
            tool_calls=tuple(
                ToolCallReply(
                    name=text_in(call.get("name")) or "",
                    arguments=_COMPACT.encode(call.get("input")),
                )
                for call in used
            ),
            finish_reason=_canonical(whole.get("stopReason")),
            error=self.error_facts(whole),
        )

    def _heard_events(self, messages: Sequence[Message]) -> Heard:
        texts, reason, error = list[str](), None, None
        calls: dict[str, list[str]] = {}
        for message in messages:
            event = json_object(message.payload) or {}
            error = error or _failure(message, event)
            index = str(event.get("contentBlockIndex"))
            started = _object(_object(event.get("start")).get("toolUse"))
            if started:
                calls[index] = [text_in(started.get("name")) or "", ""]
            delta = _object(event.get("delta"))
            texts.append(text_in(delta.get("text")) or "")
            if index in calls:
                calls[index][1] += text_in(_object(delta.get("toolUse")).get("input")) or ""
            reason = _canonical(event.get("stopReason")) or reason
        return Heard(
            text="".join(texts) or None,
            tool_calls=tuple(
                ToolCallReply(name=name, arguments=arguments or "{}")
                for name, arguments in calls.values()
            ),
            finish_reason=reason,
            error=error,
        )


def _refusal(
    request: HttpRequest, path_is_known: bool, body: dict[str, Any] | None
) -> Refusal | None:
    if request.method != "POST" or not path_is_known:
        return Refusal(payload="not_found", values={})
    authorization = request.headers.get("authorization", "")
    if not authorization:
        return Refusal(payload="missing_authorization", values={})
    signed = _SIGNATURE.fullmatch(authorization) and request.headers.get("x-amz-date")
    if not signed and not _BEARER.fullmatch(authorization):
        return Refusal(payload="incomplete_signature", values={})
    if body is None:
        return Refusal(payload="invalid_json", values={})
    if not isinstance(body.get("messages"), list) or not body["messages"]:
        message = (
            "1 validation error detected: Value at 'messages' failed to satisfy constraint: "
            "Member must not be empty"
        )
        return Refusal(payload="invalid_request", values={"message": message})
    return None


def _headers(content_type: str, exchange: Exchange) -> Headers:
    standing = exchange.standing
    hint = None if standing is None else standing.retry_after_ns
    told = {} if hint is None else {"x-amz-retry-after": str(-(-hint // MILLISECOND_NS))}
    return (
        ("date", _NOW),
        ("content-type", content_type),
        *told.items(),
        ("x-amzn-requestid", str(UUID(token(exchange, "request", 32)))),
    )


def _class_of(payload: ErrorPayload) -> str | None:
    """Return the exception that the payload's header names: `Name:http://…`."""
    named = {name.lower(): value for name, value in payload.headers.items()}.get(_ERROR_CLASS)
    return named.partition(":")[0] if named else None


def _speaks(said_: Said) -> bool:
    """Whether there is a block of text: an answer that says nothing has none."""
    return said_.text is not None and said_.ends != "empty"


def _blocks(said_: Said) -> list[dict[str, Any]]:
    if _speaks(said_):
        return [{"text": said_.text}]
    return [
        {
            "toolUse": {
                "toolUseId": _tool_id(call.id),
                "name": call.name,
                "input": _tool_input(call.arguments),
            }
        }
        for call in said_.tool_calls
    ]


def _events(said_: Said) -> tuple[bytes, ...]:
    """Return the events up to the finish reason, in the pieces in which they are sent.

    Events that follow each other at once share a piece, so that a cut after so many pieces leaves
    as much of the text as in other dialects.
    """
    pieces = [_event("messageStart", {"role": "assistant"})]
    stopped = b""
    if _speaks(said_):
        pieces += [_delta(0, {"text": text}) for text in split_text(said_.text or "")]
        stopped = _event("contentBlockStop", {"contentBlockIndex": 0})
    for index, call in enumerate(said_.tool_calls):
        use = {"toolUse": {"toolUseId": _tool_id(call.id), "name": call.name}}
        start = {"start": use, "contentBlockIndex": index}
        pieces.append(stopped + _event("contentBlockStart", start))
        for at in range(0, len(call.arguments), _ARGUMENT_PIECE_CHARS):
            part = call.arguments[at : at + _ARGUMENT_PIECE_CHARS]
            pieces.append(_delta(index, {"toolUse": {"input": part}}))
        stopped = _event("contentBlockStop", {"contentBlockIndex": index})
    finish = _event("messageStop", {"stopReason": _STOP_REASONS[said_.finish_reason]})
    return (*pieces, stopped + finish)


def _event(name: str, value: Mapping[str, Any]) -> bytes:
    headers = {":event-type": name, ":content-type": _JSON, ":message-type": "event"}
    return write_message(headers, _COMPACT.encode(value).encode())


def _delta(index: int, delta: dict[str, Any]) -> bytes:
    return _event("contentBlockDelta", {"delta": delta, "contentBlockIndex": index})


def _tool_id(id_: str) -> str:
    return f"tooluse_{id_[:22]}"


def _tool_input(arguments: str) -> Any:
    """Return arguments as the document that a whole message holds; text where they are no JSON."""
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments


def _failure(message: Message, event: Mapping[str, Any]) -> ErrorFacts | None:
    if message.headers.get(":message-type") == "error":
        headers = message.headers
        told = {"type": headers.get(":error-code"), "message": headers.get(":error-message")}
        return {"code": None, **told}
    name = message.headers.get(":exception-type")
    if not isinstance(name, str):
        return None
    kind = name[:1].upper() + name[1:]
    return {"code": _IN_STREAM.get(name), "type": kind, "message": event.get("message")}


def _chat_messages(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the messages of a request as OpenAI's chat has them: answers of tools apart."""
    told: list[dict[str, Any]] = []
    if body.get("system"):
        told.append({"role": "system", "content": body["system"], "at": 0})
    for at, message in enumerate(objects_in(body.get("messages"))):
        blocks = objects_in(message.get("content"))
        place = {"at": at, "sent_as": message.get("role")}
        results = [_object(block["toolResult"]) for block in blocks if "toolResult" in block]
        told += [
            {
                "role": "tool",
                "tool_call_id": result.get("toolUseId"),
                "content": result.get("content"),
                **place,
            }
            for result in results
        ]
        used = [_object(block["toolUse"]) for block in blocks if "toolUse" in block]
        others = [it for it in blocks if "toolResult" not in it and "toolUse" not in it]
        if results and not others:
            continue
        calls = [{"id": it.get("toolUseId"), "function": {"name": it.get("name")}} for it in used]
        message = {"role": message.get("role"), "content": others, "tool_calls": calls, **place}
        told.append(message)
    return told


def _words(message: Mapping[str, Any]) -> str:
    blocks = objects_in(message.get("content"))
    return "".join(text_in(block.get("text")) or "" for block in blocks)


def _canonical(reason: object) -> str | None:
    return _CANONICAL.get(reason, reason) if isinstance(reason, str) else None


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


DIALECT = BedrockConverse()
