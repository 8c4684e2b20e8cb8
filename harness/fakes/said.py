"""What a model says in a good answer, before a dialect gives it a shape.

Everything here follows from the script, the seed and the exchange: nothing is drawn.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness.fakes.dialect import Exchange
from harness.model.scenario import ProviderScript, ToolCallReply

__all__ = ["Said", "SaidToolCall", "said", "split_text", "token", "tokens_of"]

#: Rough stand-in for a token: leading white space and at most eight other characters.
_TOKEN = re.compile(r"\s*\S{1,8}|\s+")
_SORTED = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidToolCall:
    """A tool that the model asks for.

    Attributes:
        id: without the beginning that a provider gives it, such as `call_` or `toolu_`.
        arguments: as JSON text.
    """

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What the model says: a text, or the tools that it asks for."""

    text: str | None
    tool_calls: tuple[SaidToolCall, ...]

    @property
    def finish_reason(self) -> str:
        """Why it stopped, in the words that `Answer` has for every dialect."""
        return "tool_calls" if self.tool_calls else "stop"

    @property
    def tokens(self) -> int:
        """How many tokens that makes, roughly."""
        texts = [call.arguments for call in self.tool_calls] or [self.text or ""]
        return sum(map(tokens_of, texts))


def said(script: ProviderScript, exchange: Exchange, messages: Sequence[Any], place: int) -> Said:
    """Return what the model says to `messages`.

    Within a conversation the ids of tool calls follow from the messages, so that a request that
    is sent again is answered with the same ids, and no two answers share one.

    Args:
        messages: of the request, as JSON values.
        place: how many of them are the model's own: the 0-based place in the script's replies.
    """
    if not script.replies:
        ids = [token(exchange, f"tool/{index}", 24) for index in range(len(script.tool_calls))]
        return _worded(script.reply, script.tool_calls, ids)
    reply = script.replies[min(place, len(script.replies) - 1)]
    text = f"{exchange.seed}/{place}/{_SORTED.encode(messages)}"
    ids = [
        hashlib.sha256(f"{text}/tool/{index}".encode("utf-8", "surrogatepass")).hexdigest()[:24]
        for index in range(len(reply.tool_calls))
    ]
    return _worded(reply.text, reply.tool_calls, ids)


def split_text(text: str) -> tuple[str, ...]:
    """Return `text` in the pieces that a stream sends; joined they give it back."""
    return tuple(_TOKEN.findall(text))


def tokens_of(text: str) -> int:
    """Return how many tokens `text` makes, roughly."""
    return len(split_text(text))


def token(exchange: Exchange, purpose: str, length: int) -> str:
    """Return `length` (at most 64) hexadecimal digits that are this exchange's own.

    Args:
        purpose: tells the tokens of one exchange apart.
    """
    text = f"{exchange.seed}/{exchange.number}/{purpose}"
    return hashlib.sha256(text.encode()).hexdigest()[:length]


def _worded(text: str, calls: tuple[ToolCallReply, ...], ids: Sequence[str]) -> Said:
    return Said(
        text=None if calls else text,
        tool_calls=tuple(
            SaidToolCall(id=id_, name=call.name, arguments=call.arguments)
            for call, id_ in zip(calls, ids, strict=True)
        ),
    )
