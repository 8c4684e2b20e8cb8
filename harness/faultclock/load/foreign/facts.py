"""What one line of a foreign log is in the facts of a trace: its event, and what it declares.

It knows one line and the entry of the map that fits it; which run the line is of, and when it was,
is the reader's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from faultclock.load.foreign.values import at, cleaned, duration_ns, label, number, value
from faultclock.model.foreign_map import (
    ForeignError,
    ForeignEvent,
    ForeignMap,
    ForeignResult,
    ForeignRetry,
)
from faultclock.model.trace.events import INT_END

#: A kind and what goes with it.
Fact = tuple[str, dict[str, Any]]
Data = Mapping[str, Any]


class NoDelayError(ValueError):
    """What stands where a delay should be is none; the message is its path."""


def declared(map_: ForeignMap, data: Data, name: str, entry: ForeignEvent) -> Iterator[Fact]:
    """Yield what a line declares: its error, its event, then what it shows and announces.

    Raises:
        NoDelayError: it announces a retry after what is no time.
    """
    fields = dict(data)
    body = None if map_.body is None else at(data, map_.body)
    fields |= body if isinstance(body, dict) else {}
    fields |= {key: value(data, path) for key, path in entry.fields.items()}
    said = {"name": label(entry.name or name), "fields": cleaned(fields)}
    if entry.error is not None:
        yield from _error(data, entry.error)
    yield f"declared.{'audit_event' if entry.audited else 'event'}", said
    for audience, path in entry.tells.items():
        told = cleaned(value(data, path))
        if told is not None:
            key = "shape" if audience == "model" else "message"
            yield f"declared.{audience}_message", {key: told}
    if entry.retry is not None:
        yield "declared.retry", _retry(data, entry.retry)
    for kind in entry.signs:
        # With its fields, so that a rule about a tool call takes the sign for that call alone.
        yield "declared.sign", {"of": kind, **said}


def end_of(data: Data, entry: ForeignEvent) -> Fact:
    """Return how a run ends by a line."""
    payload: dict[str, Any] = {"task": "log", "do": "turn"}
    if entry.call == "returned":
        payload |= {"text": None, "tool_calls": []}
        if entry.result is not None:
            payload["result"] = _result(data, entry.result)
        return "call.returned", payload
    error = entry.error or ForeignError()
    message = cleaned(value(data, error.message))
    link = {"type": "error", "link": "outer", **_pair(data, error)}
    payload["chain"] = [link | {"message": message if isinstance(message, str) else ""}]
    return "call.raised", payload


def _error(data: Data, error: ForeignError) -> Iterator[Fact]:
    named = _pair(data, error) | {"message": cleaned(value(data, error.message))}
    if named["class"] is not None or named["code"] is not None:
        yield "declared.error", named
    if error.audited:
        context = cleaned(value(data, error.context))
        record = named | {"context": context if isinstance(context, dict) else {}}
        yield "declared.audit", {"record": record | {"attempt": _whole(data, error.attempt)}}


def _retry(data: Data, retry: ForeignRetry) -> dict[str, Any]:
    said = value(data, retry.delay)
    delay_ns = duration_ns(said, retry.unit)
    if (said is not None) if delay_ns is None else not 0 <= delay_ns < INT_END:
        raise NoDelayError(retry.delay)
    number_said = _whole(data, retry.retry_number)
    return {**_pair(data, retry), "retry_number": number_said, "delay_ns": delay_ns}


def _result(data: Data, result: ForeignResult) -> dict[str, Any]:
    return {"state": _text(value(data, result.state)), **_pair(data, result)}


def _pair(data: Data, said: ForeignError | ForeignRetry | ForeignResult) -> dict[str, Any]:
    return {
        "class": _text(value(data, said.error_class)),
        "code": _text(value(data, said.code)),
    }


def _whole(data: Data, path: str | None) -> int | None:
    found = number(value(data, path))
    if found is None or abs(found) >= INT_END or found != found.to_integral_value():
        return None
    return int(found)


def _text(said: Any) -> str | None:
    return label(said) if isinstance(said, str) else None
