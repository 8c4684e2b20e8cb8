"""Reads an answer back, by the paths of a dialect's file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct, field

from faultclock.fakes.sheets.paths import first_at, values_at
from faultclock.fakes.sheets.sheet import Calls, Heard, Reading
from faultclock.fakes.wire.answer import ErrorFacts
from faultclock.fakes.wire.aws_event_stream import read_messages
from faultclock.fakes.wire.dialect import Heard as HeardAnswer
from faultclock.fakes.wire.event_stream import (
    json_object,
    object_in,
    objects_in,
    read_events,
    text_in,
)
from faultclock.model.scenario.provider_script import ToolCallReply

_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
#: All that a stream says of an error that is a finish reason and not a word more.
_UNTOLD: ErrorFacts = {"code": None, "type": None, "message": None}


class _Gathered(Struct):
    """What the parts of an answer have said so far; a call is its name and its arguments."""

    texts: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    calls: dict[object, tuple[str, str]] = field(default_factory=dict)
    reason: str | None = None
    error: ErrorFacts | None = None


class Hearer:
    """Reads the answers of one dialect.

    Args:
        finish: the finish reasons in the provider's words.
        frame: of its streams, as in a dialect's file.
        error_facts: what an error body says.
    """

    def __init__(
        self,
        told: Heard,
        finish: Mapping[str, str],
        frame: str,
        error_facts: Callable[[Mapping[str, Any]], ErrorFacts | None],
    ) -> None:
        self._told = told
        self._frame = frame
        self._error_facts = error_facts
        # What is named first is what a word means that stands for several.
        self._words = {word: own for own, word in reversed(list(finish.items()))} | dict(told.words)

    def heard(self, body: bytes, content_type: str) -> HeardAnswer:
        """Return what an answer says, whole or as a stream."""
        told, whole = self._told, json_object(body)
        pieces, closing = _Gathered(), _Gathered()
        if whole is not None:
            parts = [whole]
            self._gather(pieces, whole, told.whole)
        else:
            parts = list(parts_of(body, content_type, self._frame))
        for part in parts if whole is None else ():
            self._gather(pieces, part, told.stream or told.whole)
            for end in values_at(part, told.closing) if told.closing else ():
                self._gather(closing, object_in(end), told.whole)
        calls = closing.calls or pieces.calls
        reason, error = closing.reason or pieces.reason, pieces.error or closing.error
        if reason == "error" and told.error_fails:
            reason, error = None, error or _UNTOLD
        elif reason == "stop" and calls and told.calls_finish:
            reason = "tool_calls"
        blocked = any(first_at(part, told.blocked) for part in parts) if told.blocked else None
        reason = "content_filter" if blocked else reason
        return HeardAnswer(
            text="".join(closing.texts) or "".join(pieces.texts) or None,
            tool_calls=tuple(
                ToolCallReply(name=name, arguments=arguments or told.no_arguments)
                for name, arguments in calls.values()
            ),
            finish_reason=reason,
            error=error,
            refusal="".join(closing.refusals) or "".join(pieces.refusals) or None,
            blocked=blocked if reason == "content_filter" else None,
        )

    def _gather(self, all_: _Gathered, part: Mapping[str, Any], reading: Reading) -> None:
        """Add what one part of an answer says."""
        all_.error = all_.error or self._error_facts(part)
        all_.texts += _texts_at(part, reading.text)
        all_.refusals += _texts_at(part, reading.refusal)
        for word in _texts_at(part, reading.finish):
            usual = None if self._told.known_words_only else word
            all_.reason = self._words.get(word, usual) or all_.reason
        for place, item in enumerate(values_at(part, reading.calls.at)):
            if isinstance(item, dict):
                _gather_call(all_.calls, item, place, reading.calls)


def parts_of(body: bytes, content_type: str, frame: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects in an answer that is not one object.

    Of a message of AWS the headers are members as well, whose names begin with a colon.

    Args:
        frame: as in a dialect's file.
    """
    start = body.lstrip()
    if frame == "aws":
        for message in read_messages(body):
            yield {**(json_object(message.payload) or {}), ":": "", **message.headers}
    elif frame == "lines":
        yield from _objects(body.split(b"\n"))
    elif start.startswith(b"["):
        yield from objects_in((json_object(b'{"all":' + body + b"}") or {}).get("all"))
    elif "event-stream" in content_type or start.startswith((b"data:", b"event:", b":")):
        yield from _objects(event.data for event in read_events(body))
        # An error may stand bare between the events.
        lines = body.decode("utf-8", "replace").replace("\r", "").split("\n")
        bare = "\n".join(line for line in lines if not line.startswith(("data:", "event:", ":")))
        yield from _objects([bare])


def _objects(texts: Iterable[str | bytes]) -> Iterator[dict[str, Any]]:
    return (found for found in map(json_object, texts) if found is not None)


def _texts_at(part: Mapping[str, Any], paths: Iterable[str]) -> list[str]:
    found = (value for path in paths for value in values_at(part, path))
    return [value for value in found if isinstance(value, str)]


def _gather_call(
    calls: dict[object, tuple[str, str]], item: Mapping[str, Any], place: int, told: Calls
) -> None:
    """Add what one part says of a tool that is asked for."""
    name, given = text_in(first_at(item, told.name)) or "", first_at(item, told.arguments)
    if told.form == "text":
        arguments = text_in(given) or ""
    elif told.form == "compact":
        arguments = _COMPACT.encode(given)
    else:
        arguments = json.dumps(given or {}, ensure_ascii=False)
    number = None if told.key is None else first_at(item, told.key)
    key: object = len(calls) if told.key is None else place
    if told.starts is not None:
        # A piece without a number belongs to what has begun without one.
        key = str(number)
        if isinstance(first_at(item, told.starts), dict):
            calls[key] = (name, "")
        elif key not in calls:
            return
        name = ""
    elif isinstance(number, int):
        key = number
    before = calls.get(key, ("", ""))
    calls[key] = (before[0] + name, before[1] + arguments)
