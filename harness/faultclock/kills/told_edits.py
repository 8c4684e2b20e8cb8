"""What is done to the results of tools that a subject tells the model, in a finished trace.

They stand in the requests of a subject, so they are what it says. A simulated provider reads
whether they are there, and not what they say.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from faultclock.kills.event_edits import sealed_again
from faultclock.kills.values import OTHER_TEXT, Path, digest, leaves, value_at, with_value, without
from faultclock.model.secrets import without_secrets
from faultclock.model.trace.trace import Trace

_KIND = "http.request"
_TOOL = "tool"
#: What stands for a request as a whole.
_DIGESTS = ("body_sha256", "asked_sha256")


def results_told(trace: Trace) -> Iterator[str]:
    """Yield the result of a tool each time that the model is told of it."""
    for event in trace.of_kind(_KIND):
        for message in event.payload.get("messages", ()):
            if message["role"] == _TOOL and isinstance(message.get("content"), str):
                yield message["content"]


def as_object(text: str) -> Mapping[str, Any] | None:
    """Return the JSON object that a result is; None where it is none."""
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, Mapping) else None


def members(text: str) -> Iterator[tuple[Path, Any]]:
    """Yield each member of a result that is a JSON object, with its path."""
    found = as_object(text)
    if found:
        yield from leaves(found)


class Told(Struct, frozen=True, kw_only=True):
    """The model is told something else as the result of a tool.

    Attributes:
        path: of a member of a result that is a JSON object; empty: the whole result.
        new: a JSON value, of a whole result a text.
        is_left_out: the member is not there.
    """

    path: Path = ()
    new: Any = OTHER_TEXT
    is_left_out: bool = False

    def __call__(self, trace: Trace) -> Trace | None:
        """Return the trace in which the model is told that instead, each time."""
        events = []
        for event in trace.events:
            messages = event.payload.get("messages") if event.kind == _KIND else None
            if messages:
                told = [self._changed(message) for message in messages]
                if told != messages:
                    event = replace(event, payload=_asked(event.payload, told))
            events.append(event)
        return sealed_again(trace, events)

    def _changed(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        text = message.get("content")
        if message["role"] != _TOOL or not isinstance(text, str):
            return message
        new = self._text(text)
        new = without_secrets(new)
        return {**message, "content": new, "content_sha256": digest(new)}

    def _text(self, text: str) -> str:
        if not self.path:
            return str(self.new)
        value = as_object(text)
        if value is None:
            return text
        if self.is_left_out:
            other = without(value, self.path)
        elif value_at(value, self.path) is None:
            return text
        else:
            other = with_value(value, self.path, self.new)
        return text if other == value else json.dumps(other)


def _asked(payload: Mapping[str, Any], told: list[Mapping[str, Any]]) -> dict[str, Any]:
    # The bytes of such a request are not known; those of two that differ differ, too.
    marks = "".join(message["content_sha256"] for message in told)
    digests = {name: digest(payload[name] + marks) for name in _DIGESTS if name in payload}
    return {**payload, "messages": told, **digests}
