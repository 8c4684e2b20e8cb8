"""What a model says in a good answer, before a dialect gives it a shape.

Everything here follows from the script, the seed and the exchange: nothing is drawn.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence, Set
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from faultclock.fakes.wire.dialect import Exchange
from faultclock.fakes.wire.event_stream import json_object
from faultclock.fakes.wire.in_words import InWords, text_of
from faultclock.fakes.wire.offered import Demand
from faultclock.model.scenario.fault import AnswerEnd, AnswerEnds
from faultclock.model.scenario.provider_script import ProviderReply, ProviderScript, ToolCallReply

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


class SaidToolCall(Struct, frozen=True, kw_only=True):
    """A tool that the model asks for.

    Attributes:
        id: without the beginning that a provider gives it, such as `call_` or `toolu_`.
        arguments: as JSON text.
    """

    id: str
    name: str
    arguments: str


class Said(Struct, frozen=True, kw_only=True):
    """What the model says: a text, or the tools that it asks for.

    Attributes:
        refusal: what it says in place of an answer.
        ends: how it is not a whole answer; None: it is one.
        in_place_of_text: its call is the answer, since the request demands one.
    """

    text: str | None
    tool_calls: tuple[SaidToolCall, ...]
    refusal: str | None = None
    ends: AnswerEnd | None = None
    in_place_of_text: bool = False

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
    demand: Demand = Demand(),  # noqa: B008 - frozen
    *,
    toolless: bool = False,
) -> Said:
    """Return what the model says to `messages`.

    Within a conversation the ids of tool calls follow from the messages, so that a request that
    is sent again is answered with the same ids, and no two answers share one.

    Args:
        messages: of the request, as JSON values.
        place: how often the model spoke before: the 0-based place in the script's replies.
        demand: what the request has in place of a text.
        toolless: whether it can call no tool, so that it says which it would call.
    """
    if not script.replies:
        # A program that runs the tools itself, and asks again, is answered in words.
        text = script.reply
        asked = () if place else tuple(_offered(call, demand) for call in script.tool_calls)
        calls = _meeting(demand, asked, text)
        ids = [token(exchange, f"tool/{index}", 24) for index in range(len(calls))]
    else:
        reply = script.replies[min(place, len(script.replies) - 1)]
        text, asked = reply.text or script.reply, reply.tool_calls
        if toolless and asked:
            text, asked = _put_off(reply), ()
        calls = _meeting(demand, asked, text)
        seed = f"{exchange.seed}/{place}/{_SORTED.encode(messages)}"
        ids = [
            hashlib.sha256(f"{seed}/tool/{index}".encode("utf-8", "surrogatepass")).hexdigest()[:24]
            for index in range(len(calls))
        ]
    whole = _worded(demand.text or text, calls, ids)
    if calls and not asked and not demand.is_own:
        text = text if demand.argument else calls[0].arguments
        whole = replace(whole, in_place_of_text=True, text=text)
    return _ended(whole, exchange.ends)


def is_next(script: ProviderScript, says: Said) -> bool:
    """Return whether what is said is a reply of the script, and does not only lead to one."""
    names = {call.name for reply in script.replies for call in reply.tool_calls}
    return not says.tool_calls or any(call.name in names for call in says.tool_calls)


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


def led(
    script: ProviderScript,
    demand: Demand,
    chat: Sequence[Mapping[str, Any]],
    in_words: Sequence[InWords] = (),
) -> int:
    """Return how many messages of the model's only led to a tool that it is offered now.

    It was called first, or the model could not call it yet.

    Args:
        chat: the conversation, as OpenAI's chat has it.
        in_words: what else it says of the model's calls.
    """
    put_off = {_put_off(reply) for reply in script.replies if reply.tool_calls}
    said = (text_of(message) for message in chat if message.get("role") == "assistant")
    waited = sum(any(text in whole for text in put_off) for whole in said) if demand.offers else 0
    asked = [call for reply in script.replies for call in reply.tool_calls if call.through]
    called = [
        {call["function"]["name"] for call in message.get("tool_calls") or ()}
        for message in chat
        if message.get("role") == "assistant"
    ]
    called += [set(it.names) for it in in_words if it.left_out]
    if not any(_goes_on(call, demand, set().union(*called)) for call in asked):
        return waited
    ways = {name for call in asked for name, _ in call.ways}
    return waited + sum(bool(names) and names <= ways for names in called)


def _goes_on(call: ToolCallReply, demand: Demand, called: Set[str]) -> bool:
    """Return whether a tool is offered, or what leads on to it from where the model was led."""
    names = [name for name, _ in call.ways]
    led_to = min((at for at, name in enumerate(names) if name in called), default=len(names))
    on = any(name in demand.offers for name in (call.name, *names[led_to + 1 :]))
    # It is in one conversation with what led to it, and not in that of an agent as a tool.
    return on or call.name in called


def _put_off(reply: ProviderReply) -> str:
    return f"Next I would call {', '.join(call.name for call in reply.tool_calls)}."


def _meeting(
    demand: Demand, calls: tuple[ToolCallReply, ...], text: str
) -> tuple[ToolCallReply, ...]:
    """Return the calls of an answer: as far as they are offered, and one where it is demanded."""
    made: list[ToolCallReply] = []
    for call in calls:
        it = _way_to(call, demand)
        # One way leads to two tools: what is behind it then asks for both.
        if it is not None and (it is call or it not in made):
            made.append(it)
    if made or demand.tool is None:
        return tuple(made)
    name, arguments = demand.tool
    if demand.argument:
        arguments = json.dumps({demand.argument: text}, ensure_ascii=False)
    return (ToolCallReply(name=name, arguments=arguments),)


def _offered(call: ToolCallReply, demand: Demand) -> ToolCallReply:
    """Return a call as far as it fits the tools that are offered: of one of them, as it takes it.

    Arguments that are no object are about that, and stay.
    """
    if not demand.offers or demand.has(call.name, call.arguments):
        return call
    name = call.name if call.name in demand.offers else next(iter(demand.offers))
    is_no_object = json_object(call.arguments) is None
    return ToolCallReply(
        name=name, arguments=call.arguments if is_no_object else demand.offers[name]
    )


def _way_to(call: ToolCallReply, demand: Demand) -> ToolCallReply | None:
    """Return a call, or what leads to it where it is not offered; None: nothing does."""
    if not call.through or call.name in demand.offers:
        return call
    ways = [way for way in call.ways if way[0] in demand.offers and demand.takes(*way)]
    # Where any would be taken, what is said of the tool names those that lead somewhere.
    ways = [way for way in ways if demand.names(*way)] or ways
    if not ways:
        return None
    name, arguments = ways[-1]
    return ToolCallReply(name=name, arguments=arguments or demand.offers[name])


def _worded(text: str, calls: tuple[ToolCallReply, ...], ids: Sequence[str]) -> Said:
    return Said(
        text=None if calls else text,
        tool_calls=tuple(
            SaidToolCall(id=id_, name=call.name, arguments=call.arguments)
            for call, id_ in zip(calls, ids, strict=True)
        ),
    )


def _ended(whole: Said, ends: AnswerEnds | None) -> Said:
    """Return what is said of an answer that does not come to its end."""
    if ends is None or whole.text is None:
        return whole
    if whole.in_place_of_text and ends.how in ("refused", "empty"):
        whole = replace(whole, text="", tool_calls=(), in_place_of_text=False)
    match ends.how:
        case "refused":
            return replace(whole, text=None, refusal=_REFUSAL, ends=ends.how)
        case "empty":
            return replace(whole, text=None if ends.null else "", ends=ends.how)
        case _:
            pieces = split_text(whole.text or "")
            half = -(-len(pieces) // 2)
            told = pieces[: half if ends.after_tokens is None else ends.after_tokens]
            # A provider hands on what there is of a call: its arguments are no JSON.
            calls = tuple(
                replace(call, arguments=call.arguments[: -(-len(call.arguments) // 2)])
                for call in whole.tool_calls
            )
            return replace(whole, text="".join(told), tool_calls=calls, ends=ends.how)
