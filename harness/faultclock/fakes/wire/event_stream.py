"""Server-sent events on their way out and back in, and careful looks at the JSON in them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


class ServerSentEvent(Struct, frozen=True):
    """One event.

    Attributes:
        name: what stands behind `event:`; empty where nothing does.
        data: the lines behind `data:`, joined.
    """

    name: str
    data: str


def write_event(value: Mapping[str, Any] | str, name: str | None = None) -> bytes:
    """Return the bytes of one event, its blank line included.

    Args:
        value: a JSON object, or the text that stands there as it is.
        name: of the event, for APIs that name theirs.
    """
    data = value if isinstance(value, str) else _COMPACT.encode(value)
    head = "" if name is None else f"event: {name}\n"
    return f"{head}data: {data}\n\n".encode()


def read_events(body: bytes) -> Iterator[ServerSentEvent]:
    """Yield the events in `body`; comments and unknown fields are passed over.

    An event whose blank line was cut off is one all the same.
    """
    name, data = "", list[str]()
    lines = body.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for line in (*lines, ""):
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if not line:
            if data:
                yield ServerSentEvent(name, "\n".join(data))
            name, data = "", []
        elif field == "event":
            name = value
        elif field == "data":
            data.append(value)


def closed_object(text: str) -> dict[str, Any] | None:
    """Return the object that a text is or, cut in a text of it, would be; None: it is none.

    Where arguments are an object, those of an answer that was cut are closed.
    """
    value = json_object(text)
    return json_object(text + '"}') if value is None else value


def json_object(text: bytes | str) -> dict[str, Any] | None:
    """Return the JSON object that `text` is, None where it is none."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def objects_in(value: object) -> list[dict[str, Any]]:
    """Return the JSON objects in a JSON array; nothing where `value` is none."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def object_in(value: object) -> dict[str, Any]:
    """Return `value` where it is a JSON object; an empty one where it is none."""
    return value if isinstance(value, dict) else {}


def text_in(value: object) -> str | None:
    """Return `value` where it is a text."""
    return value if isinstance(value, str) else None


def printable(value: object) -> str:
    """Return a text that can be sent back; a lone surrogate is legal in JSON and cannot be."""
    text = text_in(value) or ""
    return text if text.isprintable() else ""
