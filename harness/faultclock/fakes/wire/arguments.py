"""Tool arguments for the APIs that send them as a JSON object, not as a text.

Most providers send a tool's arguments as JSON text, which may be anything. Gemini and Ollama send
an object, so what is no object cannot be said there.
"""

from __future__ import annotations

from typing import Any

from faultclock.errors import InputError
from faultclock.fakes.wire.event_stream import json_object
from faultclock.fakes.wire.said import SaidToolCall


def arguments_object(call: SaidToolCall, dialect: str) -> dict[str, Any]:
    """Return the arguments of `call` as the object that `dialect` sends.

    Raises:
        InputError: they are no JSON object.
    """
    value = json_object(call.arguments)
    if value is None:
        raise InputError(
            f"the arguments of the tool {call.name!r} are no JSON object: {call.arguments!r}",
            hint=f"the dialect {dialect} sends arguments as an object; only a dialect that sends "
            "them as a text, such as openai-chat, can send these",
        )
    return value
