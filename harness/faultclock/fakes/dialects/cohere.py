"""What Cohere's messages say otherwise than OpenAI's: a tool's answer may be documents."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from faultclock.fakes.wire.event_stream import object_in, objects_in


def chat(body: Mapping[str, Any], messages: object) -> list[dict[str, Any]]:
    """Return the messages of a request as OpenAI's chat has them: documents as their text."""
    del body
    return [{**_as_chat(message), "at": at} for at, message in enumerate(objects_in(messages))]


def _as_chat(message: Mapping[str, Any]) -> dict[str, Any]:
    content = message.get("content")
    parts = objects_in(content)
    if not isinstance(content, list) or not any("document" in part for part in parts):
        return dict(message)
    return {**message, "content": "".join(map(_text_of_part, parts))}


def _text_of_part(part: Mapping[str, Any]) -> str:
    data = object_in(part.get("document")).get("data", part.get("text"))
    return data if isinstance(data, str) else json.dumps(data, sort_keys=True, ensure_ascii=False)
