"""What Ollama's messages say otherwise than OpenAI's: which call a tool's answer is for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from faultclock.fakes.wire.event_stream import objects_in


def chat(body: Mapping[str, Any], messages: object) -> list[dict[str, Any]]:
    """Return the messages of a request; a tool's answer is known by its id, or its name."""
    del body
    return [{**_as_chat(message), "at": at} for at, message in enumerate(objects_in(messages))]


def _as_chat(message: Mapping[str, Any]) -> dict[str, Any]:
    if message.get("role") != "tool":
        return dict(message)
    names = (message.get(name) for name in ("tool_call_id", "tool_name", "name"))
    return {**message, "tool_call_id": next((name for name in names if name), None)}
