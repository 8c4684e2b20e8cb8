"""The two exchanges of a run with h11 on both sides in memory: no clock, no trace, no judgement.

They have the headers and nearly the sizes of those in a run of the reference. Bodies are written
and read as JSON, as any client and any server has to.
"""

from __future__ import annotations

import json
from typing import Any

import h11

Headers = list[tuple[str, str]]

_REQUEST = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "Say hello."}]}
_LIMITED = {"error": {"message": "Rate limit reached. " * 9, "type": "requests", "code": "x"}}
_GOOD = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-4o-mini",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": "Hello. " * 60},
        }
    ],
    "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12},
}
_JSON = ("content-type", "application/json")
_ASKED: Headers = [
    ("host", "api.openai.com"),
    ("authorization", "Bearer sk-simulated"),
    _JSON,
    ("accept", "application/json"),
]
_ANSWERED: Headers = [
    ("date", "Thu, 01 Jan 2026 00:00:00 GMT"),
    _JSON,
    ("openai-processing-ms", "100"),
    ("openai-version", "2020-10-01"),
    ("x-ratelimit-limit-requests", "10000"),
    ("x-ratelimit-limit-tokens", "2000000"),
    ("x-ratelimit-remaining-requests", "9998"),
    ("x-ratelimit-remaining-tokens", "1999987"),
    ("x-ratelimit-reset-requests", "6ms"),
    ("x-ratelimit-reset-tokens", "0s"),
    ("x-request-id", "req_ffd5c029e0014864d98be417688c99f1"),
]


def two_exchanges() -> None:
    """One 429 with Retry-After, then a good answer; a connection for each."""
    _exchange(429, [*_ANSWERED, ("retry-after", "7")], _LIMITED)
    _exchange(200, _ANSWERED, _GOOD)


def _exchange(status: int, headers: Headers, answer: dict[str, Any]) -> None:
    client, server = h11.Connection(h11.CLIENT), h11.Connection(h11.SERVER)
    target = "/v1/chat/completions"
    asked = json.dumps(_REQUEST).encode()
    request = h11.Request(method="POST", target=target, headers=_sized(_ASKED, asked))
    _read(server, _written(client, request, asked))
    told = json.dumps(answer).encode()
    response = h11.Response(status_code=status, headers=_sized(headers, told))
    _read(client, _written(server, response, told))


def _sized(headers: Headers, body: bytes) -> Headers:
    return [*headers, ("content-length", str(len(body)))]


def _written(side: h11.Connection, head: h11.Request | h11.Response, body: bytes) -> bytes:
    events = (head, h11.Data(data=body), h11.EndOfMessage())
    return b"".join(side.send(event) or b"" for event in events)


def _read(side: h11.Connection, data: bytes) -> None:
    side.receive_data(data)
    body = b""
    while not isinstance(event := side.next_event(), h11.EndOfMessage):
        body += event.data if isinstance(event, h11.Data) else b""
    json.loads(body)
