"""Takes out of a body what people and models wrote, and keeps its shape: keys, types, events.

A body that was quietened is still an answer of its API: a client can parse it, and a stream has
the events that it had. Secrets are not looked for here: that is the business of `scrub`.
"""

from __future__ import annotations

import json
import re
import struct
import zlib
from collections.abc import Callable
from typing import Any

from faultclock.recordings.bodies import as_json
from faultclock.recordings.scrub import Scrubber, neutral_text

#: Keys under which any text is a person's words.
_WORDS = frozenset(
    {
        "content",
        "data",
        "description",
        "input",
        "instructions",
        "message",
        "output",
        "prompt",
        "reasoning",
        "reasoning_content",
        "refusal",
        "summary",
        "system",
        "text",
        "thinking",
        "thought",
        "title",
        "token",
    }
)
#: Keys of error bodies under which a model's or a person's words are given back.
_QUOTED = frozenset(
    {
        "content",
        "failed_generation",
        "generated_text",
        "input",
        "messages",
        "prompt",
        "reasoning",
        "reasoning_content",
        "summary",
        "text",
    }
)
#: Keys under which the arguments of a tool stand as an object.
_ARGUMENTS = frozenset({"args", "arguments", "input"})
_WORD_CHARS_MAX = 80
_LETTER = re.compile(r"[^\W\d_]")
_PRELUDE = struct.Struct(">III")
_FRAME_MIN = 16
#: What stands in place of a text.
_Said = Callable[[str], str]


def quiet_body(
    body: bytes | None, scrubber: Scrubber, *, failed: bool, texts_kept: bool
) -> bytes | None:
    """Return a body without its secrets and, unless `texts_kept`, without anybody's words.

    Args:
        body: not compressed.
        failed: whether it is that of an error, whose message is kept, scrubbed.
    """
    if not body:
        return body
    value = as_json(body)
    if isinstance(value, (dict, list)):
        failed = failed or _is_failure(value)
        return _dumped(_value(value, scrubber, _whole, failed=failed, texts_kept=texts_kept))
    framed = _frames(body, scrubber, texts_kept=texts_kept)
    if framed is not None:
        return framed
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        # Nothing can be looked for in it: it is not written.
        return neutral_text(body.decode("latin-1"), "body").encode()
    lines = text.splitlines(keepends=True)
    if any(line.startswith(("data:", "event:", "{")) for line in lines):
        filled: set[Any] = set()
        told = [_line(line, scrubber, filled, texts_kept=texts_kept) for line in lines]
        return "".join(told).encode()
    if failed or texts_kept:
        return scrubber.text(text, texts_kept=texts_kept).encode()
    return neutral_text(text, "body").encode()


def without_quotes(value: Any) -> Any:
    """Return an error body without what a person or a model wrote, where it is given back."""
    if isinstance(value, dict):
        return {
            key: "(a recorded text)" if key in _QUOTED and below else without_quotes(below)
            for key, below in value.items()
        }
    return [without_quotes(item) for item in value] if isinstance(value, list) else value


def _line(line: str, scrubber: Scrubber, filled: set[Any], *, texts_kept: bool) -> str:
    bare = line.rstrip("\r\n")
    end = line[len(bare) :]
    start = re.match(r"data: ?|", bare)
    assert start is not None
    value = as_json(bare[start.end() :].encode())
    if not isinstance(value, (dict, list)):
        known = not start[0] or bare[start.end() :] == "[DONE]"
        return (scrubber.text(bare) if known or texts_kept else start[0]) + end
    failed = _is_failure(value)
    return start[0] + _event(value, scrubber, filled, failed, texts_kept).decode() + end


def _event(
    value: Any, scrubber: Scrubber, filled: set[Any], failed: bool, texts_kept: bool
) -> bytes:
    if not failed and not texts_kept:
        value = _first_arguments(value, filled)
    return _dumped(_value(value, scrubber, _piece, failed=failed, texts_kept=texts_kept))


def _is_failure(value: Any) -> bool:
    return isinstance(value, dict) and (
        value.get("error") is not None or value.get("type") == "error"
    )


def _value(value: Any, scrubber: Scrubber, said: _Said, *, failed: bool, texts_kept: bool) -> Any:
    if not texts_kept:
        value = without_quotes(value) if failed else _quiet(value, "", said)
    return scrubber.value(value, texts_kept=texts_kept)


def _quiet(value: Any, key: str, said: _Said) -> Any:
    if isinstance(value, str):
        if key in ("arguments", "partial_json") and value:
            return "{}"
        long = len(value) > _WORD_CHARS_MAX or any(map(str.isspace, value))
        return said(value) if value and (key in _WORDS or long) else value
    if isinstance(value, list):
        return [_quiet(item, key, said) for item in value]
    if isinstance(value, dict):
        if key in _ARGUMENTS:
            return {}
        return {name: _quiet(below, str(name), said) for name, below in value.items()}
    return value


def _whole(text: str) -> str:
    return neutral_text(text, "text")


def _piece(text: str) -> str:
    """Return a piece of a text with another letter for each: its length shows how much it was."""
    return _LETTER.sub("x", text)


def _first_arguments(value: Any, filled: set[Any], index: Any = None) -> Any:
    """Return an event in which the arguments of each tool are `{}`, and nothing in later pieces."""
    if isinstance(value, list):
        return [_first_arguments(item, filled, index) for item in value]
    if not isinstance(value, dict):
        return value
    index = value.get("index", index)
    made: dict[str, Any] = {}
    for key, below in value.items():
        if key in ("arguments", "partial_json") and isinstance(below, str) and below:
            made[key] = "" if index in filled else "{}"
            filled.add(index)
        else:
            made[key] = _first_arguments(below, filled, index)
    return made


def _dumped(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _frames(body: bytes, scrubber: Scrubber, *, texts_kept: bool) -> bytes | None:
    """Return a body in Amazon's event-stream framing made anew, None where it is in another."""
    made = bytearray()
    at = 0
    filled: set[Any] = set()
    while at < len(body):
        if len(body) - at < _FRAME_MIN:
            return None if at == 0 else bytes(made)
        total, size, check = _PRELUDE.unpack_from(body, at)
        if zlib.crc32(body[at : at + 8]) != check or total < _FRAME_MIN + size:
            return None if at == 0 else bytes(made)
        frame = body[at : at + total]
        if len(frame) < total:
            # Cut in the middle: what came of it says nothing.
            return bytes(made)
        headers, payload = frame[12 : 12 + size], frame[12 + size : -4]
        value = as_json(payload)
        if value is not None:
            payload = _event(value, scrubber, filled, b"exception" in headers, texts_kept)
        elif payload:
            payload = b""
        start = struct.pack(">II", _FRAME_MIN + size + len(payload), size)
        whole = start + struct.pack(">I", zlib.crc32(start)) + headers + payload
        made += whole + struct.pack(">I", zlib.crc32(whole))
        at += total
    return bytes(made) if made else None
