"""Which answers of the model a request goes on from, where it does not repeat them as they were.

An agent may tell the model in a text what it called and what came of it, or leave a call out that
failed. The model reads that, so it has been heard.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from faultclock.fakes.wire.answer import Answer
from faultclock.fakes.wire.chat_messages import text_of
from faultclock.fakes.wire.dialect import Asked
from faultclock.fakes.wire.offered import answer_tool, offered_tools


class Thread:
    """The last request of one life that got a whole answer.

    Args:
        tools: names of the subject's own.
    """

    def __init__(self, tools: Collection[str]) -> None:
        self._tools = tools
        self._offered = False
        self._text = ""
        self._answer: Answer | None = None

    def followed(self, asked: Asked, messages: Sequence[Mapping[str, Any]]) -> Asked:
        """Return a request with what it goes on from, and how it can be answered."""
        offers = bool(offered_tools(asked.body))
        asked = replace(
            asked,
            toolless=self._offered and not offers,
            tool=answer_tool(asked.body, self._tools),
        )
        self._offered |= offers
        text, answer = _text(messages), self._answer
        if answer is None or text == self._text:
            return asked
        more = text.removeprefix(self._text) if text.startswith(self._text) else ""
        results = {item.get("tool_call_id") for item in messages}
        told = tuple(
            call["id"]
            for call in answer.tool_calls
            if call["id"] not in results and (call["id"] in text or call["name"] in more)
        )
        return replace(asked, heard=answer.place + 1, told=told) if more or told else asked

    def answered(self, messages: Sequence[Mapping[str, Any]], answer: Answer) -> None:
        """Note that a request gets an answer."""
        self._text, self._answer = _text(messages), answer


def _text(messages: Sequence[Mapping[str, Any]]) -> str:
    return "\n".join(text_of(message.get("content")) for message in messages)
