"""What is no template in the responses API: its items are messages, and more than messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from faultclock.fakes.kept import responses

#: What the API keeps from one request to the next.
recalled = responses.recalled
kept = responses.kept


def chat(body: Mapping[str, Any], messages: Sequence[Any]) -> list[dict[str, Any]]:
    """Return the messages of a request, as if it were one of chat completions.

    What the model says at once are several items there, and one message here.
    """
    told: list[dict[str, Any]] = []
    if isinstance(body.get("instructions"), str):
        told.append({"role": "system", "content": body["instructions"], "at": 0})
    for at, item in enumerate(messages):
        match item:
            case {"type": "function_call_output"}:
                call_id, output = item.get("call_id"), item.get("output")
                answer = {"tool_call_id": call_id, "content": output, "sent_as": "assistant"}
                told.append({"role": "tool", **answer, "at": at})
            case {"type": "function_call"}:
                call = {"id": item.get("call_id"), "function": {"name": item.get("name")}}
                if not (told and told[-1]["role"] == "assistant"):
                    told.append({"role": "assistant", "content": None, "at": at})
                told[-1] = {**told[-1], "tool_calls": [*told[-1].get("tool_calls", ()), call]}
            case {"role": role}:
                told.append({"role": role, "content": item.get("content"), "at": at})
    return told
