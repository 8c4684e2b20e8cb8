"""The steps of a stream, as a dialect's file has them, to the pieces in which it is sent.

Events that follow each other at once share a piece (`join`), so that a cut after so many pieces
leaves as much of the text in every dialect.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from faultclock.fakes.sheets.sheet import JsonStyle, Stream
from faultclock.fakes.sheets.template import Filler, Scope, expression, loop, template
from faultclock.fakes.wire.aws_event_stream import write_message
from faultclock.fakes.wire.event_stream import write_event

_ENCODERS: dict[JsonStyle, json.JSONEncoder] = {
    "plain": json.JSONEncoder(ensure_ascii=False),
    "compact": json.JSONEncoder(ensure_ascii=False, separators=(",", ":")),
    "commas": json.JSONEncoder(ensure_ascii=False, separators=(",", ": ")),
    "indent 2": json.JSONEncoder(ensure_ascii=False, indent=2),
    "indent 4": json.JSONEncoder(ensure_ascii=False, indent=4),
}
_VERBS = ("send", "join", "finish", "bare", "raw")

#: Gives the verb and the bytes of each event that a step sends.
Walk = Callable[[Scope], Iterator[tuple[str, bytes]]]


def json_text(value: Any, style: JsonStyle) -> str:
    """Return a JSON value as text."""
    return _ENCODERS[style].encode(value)


class Steps:
    """What a stream sends, in its order."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._around = None if stream.around is None else template(stream.around)
        self._walks = [self._walk(step) for step in stream.steps]

    def chunks(self, scope: Scope) -> tuple[tuple[bytes, ...], int]:
        """Return the pieces of a stream, and how many precede that with the finish reason."""
        chunks: list[bytes] = []
        held, before = b"", 0
        scope["sequence"] = 0
        for verb, event in (sent for walk in self._walks for sent in walk(scope)):
            held += event
            if verb == "finish":
                before = len(chunks)
            if verb not in ("join", "raw"):
                chunks.append(held)
                held = b""
        return tuple(chunks), before

    def event(self, step: dict[str, Any], scope: Scope) -> bytes:
        """Return the bytes of one step."""
        return b"".join(event for _, event in self._walk(step)(scope))

    def end(self, scope: Scope) -> bytes:
        """Return what follows the last piece."""
        if self._stream.end_event is not None:
            return self._framed(template(self._stream.end_event)(scope))
        return b"" if self._stream.end is None else write_event(self._stream.end)

    def _walk(self, step: dict[str, Any]) -> Walk:
        ((verb, value),) = step.items()
        if verb in _VERBS:
            return self._sending(verb, template(value))
        walks = [self._walk(inner) for inner in value]
        if verb.startswith("each "):
            scopes = loop(verb)
            return lambda scope: (
                sent for each in scopes(scope) for walk in walks for sent in walk(each)
            )
        holds = expression(verb.removeprefix("if "))
        return lambda scope: (sent for walk in walks if holds(scope) for sent in walk(scope))

    def _sending(self, verb: str, filler: Filler) -> Walk:
        around = None if verb in ("bare", "raw") else self._around

        def send(scope: Scope) -> Iterator[tuple[str, bytes]]:
            if verb == "raw":
                yield verb, filler(scope).encode()
                return
            if verb == "finish":
                scope.update(ending=scope["finish"], finishing=True)
            scope["sent"] = filler(scope)
            value = scope["sent"] if around is None else around(scope)
            if verb == "finish":
                scope.update(ending=None, finishing=False)
            yield verb, self._framed(value)
            scope["sequence"] = scope.get("sequence", 0) + 1

        return send

    def _framed(self, value: Any) -> bytes:
        """Return the bytes of one event; on AWS it is `{name: value}`."""
        stream = self._stream
        if stream.frame == "aws":
            ((name, inner),) = value.items()
            headers = {
                ":event-type": name,
                ":content-type": "application/json",
                ":message-type": "event",
            }
            return write_message(headers, json_text(inner, stream.json_style).encode())
        text = json_text(value, stream.json_style)
        if stream.frame == "lines":
            return f"{text}\n".encode()
        head = f"event: {value['type']}\n" if stream.frame == "named events" else ""
        return f"{head}data: {text}\n\n".replace("\n", stream.line_end).encode()
