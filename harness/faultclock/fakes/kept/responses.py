"""OpenAI's responses from one request to the next: what goes on from them, polling, and cancels.

A response is kept unless its request says `store: false`. The next request goes on from it by
`previous_response_id`, or from all of a conversation. One in the background is queued, works, and
is completed by the clock alone; until then it can be polled, cancelled and streamed again.

Paths and shapes are those of the openai SDK 3.52 (resources/responses/*.py, types/responses/*.py,
read 2026-11-24); the guide on background mode says that cancelling twice returns the response.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs

from msgspec.structs import replace

from faultclock.fakes.kept.conversations import (
    conversation_asked,
    conversation_of,
    items_key,
    no_such_path,
    said,
)
from faultclock.fakes.kept.items import as_kept, by_id, items_of, page, with_references
from faultclock.fakes.sheets.steps import json_text
from faultclock.fakes.wire.answer import Answer, ErrorFacts
from faultclock.fakes.wire.dialect import Asked, Exchange, Refusal, Shelf, Shown
from faultclock.fakes.wire.event_stream import (
    json_object,
    object_in,
    printable,
    read_events,
    text_in,
)
from faultclock.fakes.wire.http_server import HttpRequest

#: How long a response in the background waits, and until when it works, in whole seconds. Callers
#: poll every two seconds, as the guide on background mode does, and see each status once.
_QUEUED_S, _WORKING_S = 1, 4
_PATH = re.compile(r".*/responses(?:/(?P<id>[^/]+)(?:/(?P<what>[^/]+))?)?")
#: What a trace has of the answer.
_SAID = ("finish_reason", "text", "tool_calls", "usage")
#: What a response has not before its end.
_UNFINISHED: Mapping[str, Any] = {
    "output": [],
    "usage": None,
    "error": None,
    "incomplete_details": None,
}


def recalled(
    asked: Asked,
    request: HttpRequest,
    shelf: Shelf,
    exchange: Exchange,
    count: Callable[[Asked], int],
) -> Asked:
    """Return a request with what is kept: its conversation so far, or what it asks to be shown.

    Args:
        count: how many tokens the messages of a request make.
    """
    if not asked.beside:
        return _gone_on(asked, shelf)
    path, _, query = request.target.partition("?")
    found = _PATH.fullmatch(path)
    if found is None:
        return conversation_asked(asked, request, shelf, exchange)
    id_, what, method = found["id"], found["what"], request.method
    if (id_, what, method) == ("input_tokens", None, "POST"):
        return counted(_gone_on(asked, shelf), count)
    asked = replace(asked, body={})
    known = {None: ("GET", "DELETE"), "cancel": ("POST",), "input_items": ("GET",)}
    if method not in known.get(what, ()):
        return replace(asked, refusal=no_such_path(request, known=what in known))
    record = shelf.get(id_)
    if record is None:
        words = f"Response with id '{printable(id_)}' not found."
        return replace(asked, refusal=Refusal(payload="response_not_found", values=said(words)))
    if what == "input_items":
        return replace(asked, shown=Shown(body=page(record["input"], query)))
    if method == "DELETE":
        gone = {"id": id_, "object": "response", "deleted": True}
        return replace(asked, shown=Shown(body=gone, keeps={id_: None}))
    if what == "cancel":
        return _cancelled(asked, id_, record, exchange)
    return _polled(asked, record, query, exchange)


def counted(asked: Asked, count: Callable[[Asked], int]) -> Asked:
    """Return a request that only asks how many tokens it would have."""
    tokens = {"object": "response.input_tokens", "input_tokens": count(asked)}
    return replace(asked, body={}, shown=Shown(body=tokens, counts=True))


def _gone_on(asked: Asked, shelf: Shelf) -> Asked:
    """Return a request to the model with all that it goes on from in front of its input."""
    body = asked.body
    previous, conversation = body.get("previous_response_id"), conversation_of(body)
    if previous is not None and conversation is not None:
        words = (
            "Mutually exclusive parameters: 'previous_response_id' and 'conversation'. Ensure you "
            "are only providing one of them."
        )
        return replace(asked, refusal=Refusal(payload="invalid_request", values=said(words)))
    earlier: list[dict[str, Any]] = []
    if previous is not None:
        record = shelf.get(previous) if isinstance(previous, str) else None
        if record is None:
            words = f"Previous response with id '{printable(previous)}' not found."
            refusal = Refusal(payload="previous_response_not_found", values=said(words))
            return replace(asked, refusal=refusal)
        earlier = [*record["earlier"], *record["input"], *record["response"]["output"]]
    if conversation is not None:
        record = shelf.get(items_key(conversation))
        if record is None:
            words = f"Conversation with id '{printable(conversation)}' not found."
            refusal = Refusal(payload="conversation_not_found", values=said(words))
            return replace(asked, refusal=refusal)
        earlier = record["items"]
    items, missing = with_references(items_of(body.get("input")), by_id(list(shelf.values())))
    if missing is not None:
        words = f"Item with id '{printable(missing)}' not found."
        return replace(asked, refusal=Refusal(payload="item_not_found", values=said(words)))
    if not earlier and text_in(body.get("input")) is not None:
        return asked
    return replace(asked, body={**body, "input": [*earlier, *items]}, kept=len(earlier))


def kept(asked: Asked, answer: Answer, exchange: Exchange) -> Answer:
    """Return an answer of the model with what is kept of it.

    In the background, one that is no stream says at first that it is queued.
    """
    response = _response_in(answer)
    if response is None:
        return answer
    body, background = asked.body, asked.body.get("background") is True
    items = items_of(body.get("input"))
    earlier, own = items[: asked.kept], as_kept(items[asked.kept :], exchange)
    keeps: dict[str, Any] = {}
    if body.get("store") is not False:
        keeps[response["id"]] = {
            "response": response,
            "earlier": earlier,
            "input": own,
            "begun_s": exchange.unix_s if background else None,
            "cancelled": False,
            "said": {
                **{name: getattr(answer, name) for name in _SAID},
                "ends": None if exchange.ends is None else exchange.ends.how,
                "error": _failure(response),
            },
            "chunks": answer.chunks if background and answer.stream else (),
        }
    conversation = conversation_of(body)
    if conversation is not None and response["status"] in ("completed", "incomplete"):
        # They are added after the response completes (types/responses/response_create_params.py).
        keeps[items_key(conversation)] = {"items": [*earlier, *own, *response["output"]]}
    answer = replace(answer, keeps=keeps, runs_on=background)
    if not background or answer.stream:
        return answer
    queued = {**response, **_UNFINISHED, "status": "queued"}
    text = json_text(queued, "indent 2").encode()
    said_nothing = replace(answer, finish_reason=None, text=None, tool_calls=(), usage=None)
    return replace(said_nothing, chunks=(text,), can_end=bool(answer.text))


# ---------------------------------------------------------------------- what is kept


def _status(record: Mapping[str, Any], exchange: Exchange) -> str:
    """Return the status of a response at the instant of an exchange."""
    if record["cancelled"]:
        return "cancelled"
    since_s = None if record["begun_s"] is None else exchange.unix_s - record["begun_s"]
    if since_s is None or since_s >= _WORKING_S:
        return str(record["response"]["status"])
    return "queued" if since_s < _QUEUED_S else "in_progress"


def _polled(asked: Asked, record: Mapping[str, Any], query: str, exchange: Exchange) -> Asked:
    """Return what is shown of a response, or the rest of its stream."""
    given = {name: values[-1] for name, values in parse_qs(query).items()}
    if given.get("stream") == "true" and record["chunks"]:
        after = given.get("starting_after", "")
        pieces = _events_after(record["chunks"], int(after) if after.isdecimal() else -1)
        answer = _told_by(record)
        return replace(asked, stream=True, shown=Shown(chunks=pieces, answer=answer))
    return replace(asked, shown=_shown(record, _status(record, exchange)))


def _shown(record: Mapping[str, Any], status: str) -> Shown:
    response = record["response"]
    if status == response["status"]:
        return Shown(body=response, answer=_told_by(record))
    return Shown(body={**response, **_UNFINISHED, "status": status})


def _told_by(record: Mapping[str, Any]) -> Answer:
    """Return what a trace has of the answer that a kept response is."""
    return Answer(status=200, headers=(), chunks=(), can_end=False, **record["said"])


def _failure(response: Mapping[str, Any]) -> ErrorFacts | None:
    error = response.get("error")
    if not isinstance(error, dict):
        return None
    return {"code": error.get("code"), "type": None, "message": error.get("message")}


def _cancelled(asked: Asked, id_: str, record: Mapping[str, Any], exchange: Exchange) -> Asked:
    if record["begun_s"] is None:
        # Quoted in the tests of Azure's agent server and of vLLM; read 2026-11-24.
        words = said("Cannot cancel a synchronous response.")
        return replace(asked, refusal=Refusal(payload="invalid_request", values=words))
    if _status(record, exchange) not in ("queued", "in_progress"):
        return replace(asked, shown=_shown(record, _status(record, exchange)))
    shown = _shown({**record, "cancelled": True}, "cancelled")
    keeps = {id_: {**record, "cancelled": True}}
    return replace(asked, shown=replace(shown, keeps=keeps))


def _response_in(answer: Answer) -> dict[str, Any] | None:
    """Return the whole response that an answer is, or with which its stream ends."""
    body = b"".join(answer.chunks)
    if not answer.stream:
        return json_object(body)
    last = list(read_events(body))[-1:]
    return object_in((json_object(last[0].data) or {}).get("response")) if last else None


def _events_after(chunks: Sequence[bytes], number: int) -> tuple[bytes, ...]:
    """Return the events of a stream with a higher number, each a piece; there is always one."""
    events = [event + b"\n\n" for event in b"".join(chunks).split(b"\n\n") if event]
    later = tuple(event for event in events if _number(event) > number)
    return later or (b"",)


def _number(event: bytes) -> int:
    (found,) = read_events(event)
    return int((json_object(found.data) or {})["sequence_number"])
