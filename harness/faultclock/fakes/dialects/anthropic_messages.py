"""What Anthropic's API says otherwise than OpenAI's: answers of tools are blocks of the user."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from faultclock.fakes.wire.event_stream import objects_in


def chat(body: Mapping[str, Any], messages: object) -> list[dict[str, Any]]:
    """Return the messages of a request as OpenAI's chat has them: answers of tools apart."""
    told: list[dict[str, Any]] = []
    if body.get("system"):
        told.append({"role": "system", "content": body["system"], "at": 0})
    for at, message in enumerate(objects_in(messages)):
        content = message.get("content")
        blocks = objects_in(content)
        place = {"at": at, "sent_as": message.get("role")}
        results = [block for block in blocks if block.get("type") == "tool_result"]
        told += [
            {
                "role": "tool",
                "tool_call_id": block.get("tool_use_id"),
                "content": block.get("content"),
                "part": part,
                **place,
            }
            for part, block in enumerate(blocks)
            if block in results
        ]
        used = [block for block in blocks if block.get("type") == "tool_use"]
        if blocks:
            content = [block for block in blocks if block not in results and block not in used]
        if not content and results:
            continue
        calls = [{"id": it.get("id"), "function": {"name": it.get("name")}} for it in used]
        message = {"role": message.get("role"), "content": content, "tool_calls": calls, **place}
        told.append(message)
    return told
