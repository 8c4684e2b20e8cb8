"""What a model says in a good answer, before a dialect gives it a shape.

Everything here follows from the script, the seed and the exchange: nothing is drawn.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from faultclock.fakes.wire.dialect import Exchange
from faultclock.fakes.wire.offered import AnswerTool
from faultclock.model.scenario.fault import AnswerEnd
from faultclock.model.scenario.provider_script import (
    ProviderReply,
    ProviderScript,
    ToolCallReply,
)

#: What a model says that refuses to answer.
_REFUSAL = "I'm sorry, but I can't help with that."
#: Why it stopped, where it did not come to its end; a refusal and silence end like any answer.
_REASONS: dict[AnswerEnd, str] = {
    "length": "length",
    "filtered": "content_filter",
    "paused": "pause_turn",
    "failed": "error",
}
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
    """What the model says: a text, or the tools that it asks for.

    Attributes:
        refusal: what it says in place of an answer.
        in_place_of_text: its call is the answer, since the request demands one.
        ends: how it is not a whole answer; None: it is one.
    """

    text: str | None
    tool_calls: tuple[SaidToolCall, ...]
    refusal: str | None = None
    in_place_of_text: bool = False
    ends: AnswerEnd | None = None

    @property
    def finish_reason(self) -> str:
        """Why it stopped, in the words that `Answer` has for every dialect."""
        if self.ends is not None:
            return _REASONS.get(self.ends, "stop")
        return "tool_calls" if self.tool_calls else "stop"

    @property
    def tokens(self) -> int:
        """How many tokens that makes, roughly."""
        texts = [call.arguments for call in self.tool_calls] or [self.text or self.refusal or ""]
        return sum(map(tokens_of, texts))


def said(
    script: ProviderScript,
    exchange: Exchange,
    messages: Sequence[Any],
    place: int,
    tool: AnswerTool | None = None,
    *,
    toolless: bool = False,
) -> Said:
    """Return what the model says to `messages`.

    Within a conversation the ids of tool calls follow from the messages, so that a request that
    is sent again is answered with the same ids, and no two answers share one.

    Args:
        messages: of the request, as JSON values.
        place: how many of them are the model's own: the 0-based place in the script's replies.
        tool: by which it has to answer; None: it says its answer.
        toolless: whether it can call none.
    """
    if not script.replies:
        ids = [token(exchange, f"tool/{index}", 24) for index in range(len(script.tool_calls) or 1)]
        return _by_tool(_ended(_worded(script.reply, script.tool_calls, ids), exchange), tool, ids)
    reply = script.replies[min(place, len(script.replies) - 1)]
    if toolless and reply.tool_calls:
        reply = ProviderReply(text=script.reply)
    text = f"{exchange.seed}/{place}/{_SORTED.encode(messages)}"
    ids = [
        hashlib.sha256(f"{text}/tool/{index}".encode("utf-8", "surrogatepass")).hexdigest()[:24]
        for index in range(len(reply.tool_calls) or 1)
    ]
    return _by_tool(_ended(_worded(reply.text, reply.tool_calls, ids), exchange), tool, ids)


def split_text(text: str) -> tuple[str, ...]:
    """Return `text` in the pieces that a stream sends; joined they give it back."""
    return tuple(_TOKEN.findall(text))


def tokens_of(text: str) -> int:
    """Return how many tokens `text` makes, roughly."""
    return len(split_text(text))


def token(exchange: Exchange, purpose: str, length: int) -> str:
    """Return `length` (at most 64) hexadecimal digits that are this exchange's own.

    Args:
        purpose: differs for the tokens of one exchange.
    """
    text = f"{exchange.seed}/{exchange.number}/{purpose}"
    return hashlib.sha256(text.encode()).hexdigest()[:length]


def _worded(text: str, calls: tuple[ToolCallReply, ...], ids: Sequence[str]) -> Said:
    return Said(
        text=None if calls else text,
        tool_calls=tuple(
            SaidToolCall(id=id_, name=call.name, arguments=call.arguments)
            for call, id_ in zip(calls, ids, strict=False)
        ),
    )


def _by_tool(says: Said, tool: AnswerTool | None, ids: Sequence[str]) -> Said:
    """Return an answer as the call of a tool; what is cut has the beginning of its arguments."""
    if tool is None or not says.text:
        return says
    arguments = json.dumps({tool.argument: says.text}, ensure_ascii=False)
    if says.ends is not None:
        arguments = arguments.removesuffix('"}')
    call = SaidToolCall(id=ids[0], name=tool.name, arguments=arguments)
    return replace(says, tool_calls=(call,), in_place_of_text=True)


def _ended(whole: Said, exchange: Exchange) -> Said:
    """Return what is said of a text that does not come to its end."""
    ends = exchange.ends
    if ends is None or whole.text is None:
        return whole
    match ends.how:
        case "refused":
            return replace(whole, text=None, refusal=_REFUSAL, ends=ends.how)
        case "empty":
            return replace(whole, text=None if ends.null else "", ends=ends.how)
        case _:
            pieces = split_text(whole.text)
            half = -(-len(pieces) // 2)
            told = pieces[: half if ends.after_tokens is None else ends.after_tokens]
            return replace(whole, text="".join(told), ends=ends.how)
