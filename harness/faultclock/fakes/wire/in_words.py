"""Tool calls that a request answers in words, as a model reads them.

Some callers send the result of a tool as the text of a message of the user, and leave the model's
own call out, or tell of it in words. No API objects, and a model reads on: it has been answered. So
the provider keeps what it answered to which conversation. What follows that conversation, and is no
word of the model's, answers its calls where it comes in the same turn or names the call.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from msgspec import Struct

from faultclock.fakes.wire.event_stream import objects_in, text_in

#: Who speaks as the model, and who is no part of the conversation.
MODEL, ASIDE = frozenset({"assistant", "model"}), frozenset({"system", "developer"})
#: No scenario makes more messages; a caller that repeats itself for ever does, and is not read.
_MESSAGES_MAX = 1_000

#: What a provider answered, by what stood before: plain data, it is pickled.
Spoken = dict[str, dict[tuple[int, str], "Answered"]]


class Answered(Struct, frozen=True, kw_only=True):
    """A good answer: of which call it was, and the tools that it asks for, as id and name."""

    call: str | None
    tools: tuple[tuple[str, str], ...]


class InWords(Struct, frozen=True, kw_only=True):
    """What a request says in words about the tools that one answer asked for.

    Attributes:
        ids: of the calls.
        names: of their tools.
        left_out: whether the request has nothing of that answer.
    """

    ids: tuple[str, ...]
    names: tuple[str, ...]
    text: str
    left_out: bool


class _Block(Struct, frozen=True, kw_only=True):
    """All that others say between two messages of the model.

    Attributes:
        head: a digest of what stands before.
        then: what the model says after it; None at the end of a request.
    """

    head: str
    text: str
    then: Mapping[str, Any] | None


class _Known(Struct, frozen=True, kw_only=True):
    """An answer to the first `end` characters of a block."""

    end: int
    answered: Answered


def keep(
    spoken: Spoken, chat: Sequence[Mapping[str, Any]], call: str | None, tools: Sequence[Any]
) -> None:
    """Keep that the provider answered `chat` well, and asked for `tools`."""
    if len(chat) > _MESSAGES_MAX:
        return
    *_, last = _blocks(chat)
    named = tuple((str(tool["id"]), str(tool["name"])) for tool in tools)
    place = (len(last.text), digest(last.text))
    spoken.setdefault(last.head, {})[place] = Answered(call=call, tools=named)


def in_words(
    spoken: Spoken, chat: Sequence[Mapping[str, Any]], call: str | None
) -> tuple[InWords, ...]:
    """Return what a request says in words about tools that the model asked for."""
    told = {id_ for message in chat for id_ in calls_in(message)}
    answers = (answer for place in spoken.values() for answer in place.values())
    if len(chat) > _MESSAGES_MAX or all(id_ in told for it in answers for id_, _ in it.tools):
        return ()
    return tuple(_found(spoken, chat, call))


def _found(
    spoken: Spoken, chat: Sequence[Mapping[str, Any]], call: str | None
) -> Iterator[InWords]:
    owed: Answered | None = None
    for block in _blocks(chat):
        known = list(_known(spoken, block))
        if owed is not None:
            known.insert(0, _Known(end=0, answered=owed))
        end = _Known(end=len(block.text), answered=Answered(call=call, tools=()))
        whole = known and known[-1].end == end.end
        for before, after in pairwise(known if whole else [*known, end]):
            text = block.text[before.end : after.end].strip()
            answered = before.answered
            in_turn = answered.call is not None and answered.call == after.answered.call
            if text and answered.tools and (in_turn or _names(text, answered)):
                ids, names = zip(*answered.tools, strict=True)
                left_out = answered is not owed
                yield InWords(ids=ids, names=names, text=text, left_out=left_out)
        owed = known[-1].answered if whole and block.then is not None else None
        if owed is not None and set(calls_in(block.then)) & {id_ for id_, _ in owed.tools}:
            owed = None


def _known(spoken: Spoken, block: _Block) -> Iterator[_Known]:
    """Yield the answers to the beginning of a block, or to all of it, the shortest first."""
    text = block.text
    for (end, of), answered in sorted(spoken.get(block.head, {}).items()):
        if text[end : end + 1] in ("", "\n") and digest(text[:end]) == of:
            yield _Known(end=end, answered=answered)


def _names(text: str, answered: Answered) -> bool:
    words = (re.escape(word) for tool in answered.tools for word in tool)
    return re.search(rf"(?<!\w)(?:{'|'.join(words)})(?!\w)", text) is not None


def _blocks(chat: Sequence[Mapping[str, Any]]) -> Iterator[_Block]:
    head, texts = hashlib.sha256(), list[str]()
    for message in chat:
        if message.get("role") in MODEL:
            yield _Block(head=head.hexdigest(), text="\n".join(texts), then=message)
            said = repr((texts, text_of(message), sorted(calls_in(message))))
            head.update(said.encode("utf-8", "surrogatepass"))
            texts = []
        elif message.get("role") not in ASIDE:
            texts.append(text_of(message))
    yield _Block(head=head.hexdigest(), text="\n".join(texts), then=None)


def calls_in(message: Mapping[str, Any] | None) -> set[str]:
    """Return the ids of the tool calls of a message."""
    calls = objects_in((message or {}).get("tool_calls"))
    return {text_in(call.get("id")) or "" for call in calls}


def text_of(message: Mapping[str, Any]) -> str:
    """Return the text of a message of a conversation."""
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(text_in(part.get("text")) or "" for part in objects_in(content))
    return text_in(content) or ""


def digest(text: str) -> str:
    """Return the digest of a text, as a trace has it."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
