"""Reads an answer out of what a subject returned, whatever library made it.

Every provider puts the text elsewhere, and an odd answer may lack any part of it: `choices` is
None, a list is empty, a member has another type. A user's own code may stumble there. This reader
never does. What has no readable text is handed on as it is, so that a check can say that it was
passed on as an answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from faultclock.model.finish_reasons import is_usual_end
from faultclock.subjects.ports import Reply, ToolCall
from faultclock.subjects.remarks import (
    ERROR_STATUS,
    FAILED,
    REASONS,
    Remarks,
    is_a_remark,
    is_of_a_library,
    remarks_beside,
    remarks_in,
)

#: Stands for the reason of an end that never came.
NO_REASON = "missing"
#: Members that hold an answer, the ones first that say so most clearly.
_TEXTS = ("output_text", "text", "content", "output", "parts", "final_output")
#: Members that hold something with an answer in it.
_WRAPPERS = ("message", "answer", "reply", "response", "completion", "result", "data")
#: The last events of the Responses API have the whole response, which says how it ended.
_LAST_OF_RESPONSES = ("response.completed", "response.incomplete")
#: Members of the answers of providers. A value without any of them is of a program's own making.
_OF_PROVIDERS = (
    *("choices", "candidates", "delta", "parts", "role", "response_metadata"),
    *("ResponseMetadata", "object", "usageMetadata", "usage_metadata"),
)
#: Members in which providers have more than a text.
_OF_BOTH = ("content", "message", "output")
#: The tools that an answer asks for, in OpenAI's spelling and in that of Mistral's SDK for Node.
_TOOL_CALLS = ("tool_calls", "toolCalls")
#: What answers are packed into: deeper than this, nothing is looked for.
_DEPTH_MAX = 6
#: Events of a stream that add text, where events have types.
_TEXT_EVENTS = frozenset({"content_block_delta", "content-delta", "response.output_text.delta"})
#: Types of pieces that are no events of a stream: a block, and a chunk of LangChain's.
_WHOLE_TYPES = frozenset({"text", "AIMessageChunk", "ai"})
#: The member in which a model refuses, and the reason that stands for it.
_REFUSAL = "refusal"
#: Parts of an answer that are the model's thoughts, and no answer.
_THOUGHTS = frozenset({"thinking", "reasoning", "redacted_thinking"})


def reply_of(value: Any) -> Any:
    """Return what `value` says as a Reply, or `value` itself where it says nothing readable.

    A text and a Reply stay as they are. Bytes are read as UTF-8. An object or a mapping is looked
    through for the places in which SDKs have the text, the tool calls and the finish reason. What
    a program returns in place of an answer has `FAILED` or its own word for the finish reason.
    """
    kind = type(value)
    if value is None or issubclass(kind, str | Reply):
        return value
    if issubclass(kind, bytes | bytearray):
        return bytes(value).decode("utf-8", "replace")
    if issubclass(kind, BaseException):
        return Reply("", (), FAILED)
    try:
        return _read(value)
    except Exception:  # noqa: BLE001 - a property of another library may raise anything
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class UnclearReply(Reply):
    """An answer beside which a program says what is not known.

    Attributes:
        kind: the type of the value that was returned.
        unclear: what of it may say that the answer is not whole.
    """

    kind: type
    unclear: str


def what_is_unread(value: Any) -> dict[str, str]:
    """Return what a trace says of a value in which `reply_of` has found no text.

    A provider's error object is a `finish_reason`. A value of a program's own, which may say
    anything, is a `problem`. Of an answer of a provider without a text there is nothing to say.
    """
    try:
        if isinstance(_member(value, "error"), Mapping):
            return {"finish_reason": FAILED}
        own = _is_own(value) and bool(value)
    except Exception:  # noqa: BLE001 - as above
        return {}
    return {"problem": "it has no text, and what else it says is not known"} if own else {}


def piece_of(value: Any) -> str:
    """Return the text that one piece of a streamed answer adds; empty where it adds none."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode("utf-8", "replace")
    streamed = StreamedReply()
    streamed.add(value)
    return streamed.text


class StreamedReply:
    """The pieces of one answer, put together as most programs do it.

    Attributes:
        finish_reason: why the provider ended the answer; None while it has not.
        chunks: whether the pieces are chunks of an SDK, which say when the answer ends.
    """

    def __init__(self) -> None:
        self.finish_reason: str | None = None
        self.chunks = False
        self._text: list[str] = []
        self._tool_calls: dict[int, list[str]] = {}
        self._whole_calls: list[ToolCall] = []

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self._text)

    def add(self, piece: Any) -> str:
        """Take the next piece, a text or a chunk of an SDK; return the text that it adds."""
        if isinstance(piece, str | bytes | bytearray):
            added = piece_of(piece)
        else:
            self.chunks = True
            try:
                added = self._add(piece)
            except Exception:  # noqa: BLE001 - as above: an odd chunk adds nothing
                added = ""
        self._text.append(added)
        return added

    def reply(self) -> Reply:
        """Return what has arrived.

        Who reads chunks sees that the last one never came: then the reason is `NO_REASON`. Pieces
        of text do not show it.
        """
        calls = tuple(ToolCall(*parts) for _, parts in sorted(self._tool_calls.items()))
        reason = self.finish_reason or (NO_REASON if self.chunks else None)
        return Reply(self.text, (*calls, *self._whole_calls), reason)

    def _add(self, piece: Any) -> str:
        inner = _member(piece, "data")
        piece = piece if _member(inner, "choices") is None else inner
        self._ended_by(_finish_reason(piece))
        if _member(piece, "type") in _LAST_OF_RESPONSES:
            self._ended_by(_finish_reason(_member(piece, "response")))
        choices = _items(_member(piece, "choices"))
        if not choices:
            return self._text_of_event(piece)
        added = []
        for choice in choices:
            self._ended_by(_finish_reason(choice))
            delta = _member(choice, "delta")
            added.append(_text(_member(delta, "content"), _DEPTH_MAX) or "")
            for call in _items(_first(delta, _TOOL_CALLS)):
                self._add_call(call, _member(call, "index"))
        return "".join(added)

    def _ended_by(self, reason: str | None) -> None:
        # A refusal ends as an answer does: what came before says what it is.
        if reason is not None and self.finish_reason != _REFUSAL:
            self.finish_reason = reason

    def _text_of_event(self, piece: Any) -> str:
        kind = _member(piece, "type")
        if isinstance(kind, str) and kind not in _TEXT_EVENTS and kind not in _WHOLE_TYPES:
            # An event that repeats what came before, or says something else.
            call = _member(_member(_member(piece, "delta"), "message"), "tool_calls")
            if _member(call, "function") is not None:
                self._add_call(call, _member(piece, "index"))
            return ""
        delta = _member(piece, "delta")
        holder = _holder(piece) if delta is None else delta
        # Of some APIs, a piece has whole tool calls.
        self._whole_calls += _calls(holder)
        return _text(holder, _DEPTH_MAX) or ""

    def _add_call(self, call: Any, index: Any) -> None:
        parts = self._tool_calls.setdefault(index if isinstance(index, int) else 0, ["", ""])
        function = _member(call, "function")
        for place, name in enumerate(("name", "arguments")):
            said = _member(function, name)
            parts[place] += said if isinstance(said, str) else ""


# ---------------------------------------------------------------------- whole answers


def _read(value: Any) -> Any:
    if isinstance(value, tuple):
        named = getattr(value, "_asdict", None)
        return _read_of_several(value) if named is None else _read(named())
    answer = _unpacked(value)
    if answer is None or isinstance(_member(answer, "error"), Mapping):
        return value
    own = _is_own(answer)
    said = remarks_in(answer, (*_TEXTS, *_WRAPPERS), own=own)
    holder = _holder(answer)
    calls = _calls(holder) or _calls(answer)
    text = _text(holder, _DEPTH_MAX)
    if text is None and (calls or said.fails):
        text = ""
    if text is None and own and _has_no_text(answer):
        return None
    if text is None and not _is_empty_message(holder):
        return value
    # A message without content is an empty answer; an envelope without a message is none.
    reason = _finish_reason(answer)
    if said.fails or (own and reason is not None and not is_usual_end(reason)):
        # A program's own word for the end says what `said` has read in it.
        reason = said.fails
    reply = Reply(text or "", calls, reason, _tokens(answer))
    return _with(reply, said, value)


def _with(reply: Reply, said: Remarks, value: Any) -> Reply:
    """Return a reply with what else is said of it."""
    ended = reply.finish_reason
    if not (said.fails or said.unclear) or (ended is not None and not is_usual_end(ended)):
        return reply
    if said.fails:
        return replace(reply, finish_reason=said.fails)
    return UnclearReply(
        reply.text,
        reply.tool_calls,
        tokens=reply.tokens,
        kind=type(value),
        unclear=f"what it says with {said.unclear} is not known",
    )


def _is_own(value: Any) -> bool:
    """Return whether a value is of a program's own making, and no answer of a provider."""
    if not _is_container(value) or isinstance(value, list | tuple) or is_of_a_library(value):
        return False
    held = (_member(value, name) for name in _OF_BOTH)
    return not any(map(_is_container, held)) and not any(_has(value, it) for it in _OF_PROVIDERS)


def _has_no_text(answer: Any) -> bool:
    """Return whether a value of a program's own has a place for a text, and none in it."""
    held = [_member(answer, name) for name in (*_TEXTS, *_WRAPPERS) if _has(answer, name)]
    return bool(held) and all(it is None for it in held)


def _read_of_several(values: tuple[Any, ...]) -> Any:
    """Read what a function returns with its answer: a usage, a reason, an error, whether it is one.

    Who returns None first has no answer for the caller, and says in what follows why.
    """
    spoken = [reply_of(item) for item in values]
    found = [item for item in spoken if _speaks(item)]
    free = [item for item in found if isinstance(item, Reply) or not is_a_remark(item)]
    answer = next(iter(free or found), None)
    if answer is None and not any(isinstance(it, BaseException) for it in values):
        return values
    said = remarks_beside(it for it in (*found, *values) if it is not answer)
    if said.fails is None and (values[0] is None or values[0] is False):
        words = remarks_beside(found)
        said = words if words.fails else Remarks(unclear=f"{values[0]} before it")
        answer = "" if words.fails else answer
    reply = answer if isinstance(answer, Reply) else Reply(answer or "")
    return _with(reply, said, values)


def _is_empty_message(holder: Any) -> bool:
    said_by = _first(holder, ("role", "finish_reason", "finishReason", "response_metadata"))
    return said_by is not None and _first(holder, ("message", "delta")) is None


def _unpacked(value: Any) -> Any:
    """Return the answer in what a function may return around it; None where there is none."""
    if callable(_member(value, "json")) and _member(value, "status_code") is not None:
        return value if value.status_code >= ERROR_STATUS else _unpacked(value.json())
    if isinstance(value, list) and value and not isinstance(value[-1], str):
        # A conversation: its last message is the answer.
        return value[-1] if _is_container(value[-1]) else None
    return value


def _speaks(item: Any) -> bool:
    return isinstance(item, str) or isinstance(reply_of(item), Reply)


def _holder(answer: Any) -> Any:
    """Return what of an answer holds the text: its first choice or candidate, or itself."""
    for name, parts in (("choices", ("message", "delta")), ("candidates", ("content",))):
        items = _items(_member(answer, name))
        if items:
            held = _first(items[0], parts)
            return items[0] if held is None else held
    message = _first(_member(answer, "output"), ("message",))
    if message is None:
        message = _member(answer, "message")
    return message if _is_container(message) else answer


def _text(value: Any, depth: int) -> str | None:
    """Return the text in `value`; None where there is none that can be read."""
    if isinstance(value, str):
        return value
    if value is None or depth == 0:
        return None
    if isinstance(value, list | tuple):
        parts = [_text(part, depth - 1) for part in value if not _is_thought(part)]
        said = [part for part in parts if part is not None]
        return "".join(said) if said else None
    for name in (*_TEXTS, *_WRAPPERS):
        said_there = _text(_member(value, name), depth - 1)
        if said_there is not None:
            return said_there
    return None


def _is_thought(part: Any) -> bool:
    return _member(part, "type") in _THOUGHTS or _member(part, "thought") is True


# ---------------------------------------------------------------------- what stands beside it


def _calls(holder: Any) -> tuple[ToolCall, ...]:
    asked = _items(_first(holder, _TOOL_CALLS))
    blocks = [
        block for name in ("content", "output", "parts") for block in _items(_member(holder, name))
    ]
    found = [_call(item) for item in asked] + [_call_in_block(block) for block in blocks]
    return tuple(call for call in found if call is not None)


def _call(item: Any) -> ToolCall | None:
    function = _member(item, "function")
    function = item if function is None else function
    name = _member(function, "name")
    arguments = next(
        (found for key in ("arguments", "args") if (found := _member(function, key)) is not None),
        "",
    )
    return _tool_call(name, arguments, _member(item, "id"))


def _call_in_block(block: Any) -> ToolCall | None:
    if _member(block, "type") == "tool_use":
        return _tool_call(_member(block, "name"), _member(block, "input"), _member(block, "id"))
    if _member(block, "type") == "function_call":
        identity = _member(block, "call_id")
        return _tool_call(_member(block, "name"), _member(block, "arguments"), identity)
    used = _first(block, ("toolUse", "function_call", "functionCall"))
    if used is None:
        return None
    arguments = _first(used, ("input", "args"))
    return _tool_call(_member(used, "name"), arguments, _member(used, "toolUseId"))


def _tool_call(name: Any, arguments: Any, identity: Any) -> ToolCall | None:
    if not isinstance(name, str):
        return None
    if not isinstance(arguments, str):
        shown = dict(arguments) if isinstance(arguments, Mapping) else arguments
        arguments = json.dumps(shown, default=str)
    return ToolCall(name, arguments, identity if isinstance(identity, str) else "")


def _refuses(holder: Any) -> bool:
    """Return whether a message has the field in which OpenAI's models refuse, or LangChain's."""
    names = ("message", "delta", "additional_kwargs")
    said_by = (
        holder,
        *(_member(holder, name) for name in names),
        *_items(_member(holder, "content")),
    )
    return any(isinstance(said := _member(item, _REFUSAL), str) and said for item in said_by)


def _finish_reason(answer: Any) -> str | None:
    """Return why the model stopped, as the provider says it."""
    holders = [answer]
    for name in ("choices", "candidates"):
        holders += _items(_member(answer, name))[:1]
    holders += [_member(answer, name) for name in ("response_metadata", "delta")]
    if any(_refuses(holder) for holder in holders):
        return _REFUSAL
    for holder in holders:
        for name in REASONS:
            said = _member(holder, name)
            # A reason may be a member of an enum.
            said = getattr(said, "value", said)
            if isinstance(said, str) and said:
                return str(said)
    # The Responses API has a status, and LangChain keeps it beside the message.
    kept = _member(answer, "response_metadata")
    response = kept if _member(kept, "object") == "response" else answer
    incomplete = _member(_member(response, "incomplete_details"), "reason")
    has_status = response is kept or _items(_member(answer, "output"))
    said = incomplete if isinstance(incomplete, str) else _member(response, "status")
    return said if isinstance(said, str) and (has_status or said is incomplete) else None


def _tokens(answer: Any) -> int:
    total = _member(_member(answer, "usage"), "total_tokens")
    return total if isinstance(total, int) and not isinstance(total, bool) else 0


# ---------------------------------------------------------------------- objects of any kind


def _member(value: Any, name: str) -> Any:
    """Return the member `name` of a mapping or an object; None where it has none."""
    if value is None or isinstance(value, str | bytes | int | float | list | tuple | type):
        return None
    if isinstance(value, Mapping):
        return value.get(name)
    found = getattr(value, name, None)
    return None if callable(found) and name != "json" else found


def _has(value: Any, name: str) -> bool:
    return name in value if isinstance(value, Mapping) else hasattr(value, name)


def _first(value: Any, names: Iterable[str]) -> Any:
    return next((found for name in names if (found := _member(value, name)) is not None), None)


def _items(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []


def _is_container(value: Any) -> bool:
    return not (value is None or isinstance(value, str | bytes | int | float | type))
