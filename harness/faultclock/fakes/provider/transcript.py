"""What a runtime and the model have said to each other, as far as an answer depends on it."""

from __future__ import annotations

from collections.abc import Collection
from http import HTTPStatus

from msgspec.structs import replace

from faultclock.fakes.wire.answer import Answer
from faultclock.fakes.wire.chat_messages import message_facts, word_facts
from faultclock.fakes.wire.condensed import Remembered
from faultclock.fakes.wire.dialect import Asked, Dialect
from faultclock.fakes.wire.in_words import Spoken, in_words, keep
from faultclock.fakes.wire.offered import names_of_tools, offered_tools
from faultclock.model.scenario.fault import Fault, SlowDrip


class Transcript:
    """The conversation of one life.

    Args:
        spoken: what the provider has answered so far, in every life; it is added to.
        remembered: what was said, likewise.
        tools: names of the subject's own.
        offers: whether the subject offers each tool that the model may call.
    """

    def __init__(
        self,
        dialect: Dialect,
        spoken: Spoken,
        remembered: Remembered,
        tools: Collection[str],
        *,
        offers: bool = False,
    ) -> None:
        self._dialect = dialect
        self._spoken = spoken
        self._remembered = remembered
        self._tools = frozenset(tools)
        self._offers = offers

    def heard(self, asked: Asked, call: str | None) -> Asked:
        """Return a request with what it says in words of the model's calls, and may be answered."""
        offers = bool(offered_tools(asked.body))
        toolless = self._offers and not offers
        self._offers |= offers
        chat = self._dialect.chat(asked)
        return replace(
            asked,
            in_words=in_words(self._spoken, chat, call),
            condensed=self._remembered.heard(chat, names_of_tools(asked.body)),
            own=self._tools,
            toolless=toolless,
        )

    def answered(self, asked: Asked, call: str | None, answer: Answer, fault: Fault | None) -> None:
        """Note what a request is answered, if that reaches the caller."""
        reaches = fault is None or isinstance(fault, SlowDrip)
        if reaches and (answer.tool_calls or asked.in_words):
            keep(self._spoken, self._dialect.chat(asked), call, answer.tool_calls)
        if reaches and answer.status == HTTPStatus.OK:
            calls = [call["id"] for call in answer.tool_calls]
            offered = names_of_tools(asked.body)
            self._remembered.answered(offered, answer.text, calls, answer.reached)

    def facts(self, asked: Asked) -> dict[str, object]:
        """Return what a request says to the model, as the trace has it."""
        words = [word_facts(it.ids, it.text, left_out=it.left_out) for it in asked.in_words]
        messages = message_facts({"messages": self._dialect.chat(asked)})
        said = {"in_words": words, "quotes": list(asked.condensed.quotes)}
        reached = asked.condensed.reached
        maybe: dict[str, object] = {**said, "reached": reached}
        return {"messages": messages, **{name: it for name, it in maybe.items() if it}}
