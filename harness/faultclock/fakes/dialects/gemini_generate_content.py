"""What is no template in the Gemini API: its messages, and the wait in the body of a refusal."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from faultclock.fakes.wire.dialect import Exchange, RateStanding
from faultclock.fakes.wire.event_stream import objects_in, text_in
from faultclock.model.duration import SECOND_NS

#: Where a message says itself when to come back.
_RETRY_IN = re.compile(r" Please retry in [^ ]*s\.$")
#: The statuses that pass by waiting.
_PASSING = ("RESOURCE_EXHAUSTED", "UNAVAILABLE")
_RETRY_INFO = "type.googleapis.com/google.rpc.RetryInfo"
_QUOTA_FAILURE = "type.googleapis.com/google.rpc.QuotaFailure"
#: Members of a tool's answer that are the answer itself, in the order in which they are looked
#: for: google-genai 3.4, types.py, `FunctionResponse.response`; "result" is what the SDK's own
#: function calling writes (_extra_utils.py).
_OUTPUTS = ("output", "error", "result")


def chat(body: Mapping[str, Any], messages: object) -> Iterator[dict[str, Any]]:
    """Yield the contents of a request as chat messages, for what all dialects share.

    The guide on function calling answers by the name alone: then the place says for which call.
    """
    asked: list[dict[str, Any]] = []
    system = body.get("systemInstruction", body.get("system_instruction"))
    if isinstance(system, dict):
        yield {"role": "system", "content": _text_of(system), "at": 0, "sent_as": "user"}
    for at, content in enumerate(objects_in(messages)):
        parts = _parts_of(content)
        # A content without a role is the user's.
        place = {"at": at, "sent_as": content.get("role") or "user"}
        answers = [item for part in parts if isinstance(item := part.get("functionResponse"), dict)]
        for number, answer in enumerate(answers):
            yield {
                **place,
                "pair": str(number),
                "role": "tool",
                "tool_call_id": answer.get("id") or _called(asked, number, answer.get("name")),
                "content": _output_of(answer.get("response")),
            }
        calls = [item for part in parts if isinstance(item := part.get("functionCall"), dict)]
        asked = calls or asked
        text = _text_of(content)
        if calls or text or not answers:
            role = {"model": "assistant", None: "user"}.get(content.get("role"))
            message: dict[str, Any] = {**place, "role": role or content.get("role")}
            message["content"] = text
            if calls:
                message["tool_calls"] = [
                    {
                        "id": call.get("id") or call.get("name"),
                        "function": {"name": call.get("name")},
                        "pair": str(number),
                    }
                    for number, call in enumerate(calls)
                ]
            yield message


def _called(asked: Sequence[Mapping[str, Any]], number: int, name: object) -> Any:
    """Return the id of the call that answer `number` of a content is for; its name without one."""
    call = asked[number] if number < len(asked) else {}
    return call.get("id") if call.get("name") == name and call.get("id") else name


def error_body(
    body: Mapping[str, Any], values: Mapping[str, str], exchange: Exchange
) -> dict[str, Any]:
    """Return an error body with `values` in its error object, and with what the provider knows.

    Where that is when to come back, the body says it, and the limit if it is one.
    """
    error, standing = body.get("error"), exchange.standing
    if not isinstance(error, dict):
        return dict(body)
    error = {**error, **values}
    if standing is None or standing.retry_after_ns is None or error.get("status") not in _PASSING:
        return {**body, "error": error}
    details = [
        _with_limit(item, standing)
        for item in objects_in(error.get("details"))
        if item.get("@type") != _RETRY_INFO
    ]
    delay = protobuf_duration(standing.retry_after_ns)
    details.append({"@type": _RETRY_INFO, "retryDelay": delay})
    told = _RETRY_IN.sub("", text_in(error.get("message")) or "")
    message = f"{told} Please retry in {delay}."
    return {**body, "error": {**error, "message": message, "details": details}}


def protobuf_duration(duration_ns: int) -> str:
    """Return a duration as JSON has a `google.protobuf.Duration`: `48s`, `1.500s`, `0.000000001s`.

    Fractions have three, six or nine digits.
    """
    seconds, rest_ns = divmod(duration_ns, SECOND_NS)
    if not rest_ns:
        return f"{seconds}s"
    digits = f"{rest_ns:09}"
    while digits.endswith("000"):
        digits = digits[:-3]
    return f"{seconds}.{digits}s"


def _with_limit(detail: dict[str, Any], standing: RateStanding) -> dict[str, Any]:
    if detail.get("@type") != _QUOTA_FAILURE:
        return detail
    violations = []
    for violation in objects_in(detail.get("violations")):
        is_tokens = "Tokens" in str(violation.get("quotaId"))
        meter = standing.tokens if is_tokens else standing.requests
        told = {} if meter is None else {"quotaValue": str(meter.limit)}
        violations.append({**violation, **told})
    return {**detail, "violations": violations}


def _parts_of(content: object) -> list[dict[str, Any]]:
    return objects_in(content.get("parts")) if isinstance(content, dict) else []


def _text_of(content: Mapping[str, Any]) -> str:
    return "".join(text_in(part.get("text")) or "" for part in _parts_of(content))


def _output_of(response: object) -> str:
    if isinstance(response, dict):
        for name in _OUTPUTS:
            if isinstance(response.get(name), str):
                return str(response[name])
    return json.dumps(response, sort_keys=True, ensure_ascii=False)
