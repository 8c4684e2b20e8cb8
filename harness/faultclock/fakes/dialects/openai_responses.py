"""What is no template in the responses API: its items are messages, and more than messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from faultclock.fakes.kept import responses

#: What the API keeps from one request to the next.
recalled = responses.recalled
kept = responses.kept


def chat(body: Mapping[str, Any], messages: Sequence[Any]) -> Iterator[dict[str, Any]]:
    """Yield the messages of a request, as if it were one of chat completions."""
    if isinstance(body.get("instructions"), str):
        yield {"role": "system", "content": body["instructions"], "at": 0}
    for at, item in enumerate(messages):
        match item:
            case {"type": "function_call_output"}:
                call_id, output = item.get("call_id"), item.get("output")
                told = {"tool_call_id": call_id, "content": output, "sent_as": "assistant"}
                yield {"role": "tool", **told, "at": at}
            case {"type": "function_call"}:
                call = {"id": item.get("call_id"), "function": {"name": item.get("name")}}
                yield {"role": "assistant", "content": None, "tool_calls": [call], "at": at}
            case {"role": role}:
                yield {"role": role, "content": item.get("content"), "at": at}
