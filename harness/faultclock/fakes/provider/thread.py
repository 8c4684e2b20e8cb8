"""Which answers of the model a request goes on from, when it does not repeat them.

An agent may send a result as a text, and leave the call out that it belongs to. The model reads
what came after the request that it answered, so it has been heard.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from faultclock.fakes.wire.answer import Answer
from faultclock.fakes.wire.chat_messages import text_of
from faultclock.fakes.wire.dialect import Asked


class Thread:
    """The last request of one life that got a whole answer."""

    def __init__(self) -> None:
        self._text = ""
        self._answer: Answer | None = None

    def followed(self, asked: Asked, messages: Sequence[Mapping[str, Any]]) -> Asked:
        """Return a request with what it goes on from."""
        text = _text(messages)
        if self._answer is None or not text.startswith(self._text) or text == self._text:
            return asked
        calls = {call["id"] for call in self._answer.tool_calls}
        results = {item.get("tool_call_id") for item in messages if item.get("role") == "tool"}
        told = text[len(self._text) :] if calls and not calls & results else ""
        return replace(asked, heard=self._answer.place + 1, told=told)

    def answered(self, messages: Sequence[Mapping[str, Any]], answer: Answer) -> None:
        """Note that a request gets an answer."""
        self._text, self._answer = _text(messages), answer


def _text(messages: Sequence[Mapping[str, Any]]) -> str:
    return "\n".join(text_of(message.get("content")) for message in messages)
