"""What all good answers have in common, in every dialect.

It knows no API: the bytes and the ids are the dialect's, and what is noted of them is the same in
each.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from faultclock.fakes.wire.answer import Answer, Headers
from faultclock.fakes.wire.said import Said

_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def good(
    says: Said,
    prompt_tokens: int,
    *,
    headers: Headers,
    chunks: tuple[bytes, ...],
    chunks_before_finish: int,
    tool_ids: Iterable[str],
    tool_input: Callable[[str], Any] | None = None,
    stream: bool,
    end_marker: bytes = b"",
    finish_reason: str | None = None,
) -> Answer:
    """Return the answer in which a model says `says`.

    Args:
        chunks_before_finish: for a stream; an answer that is whole has none.
        tool_ids: as they stand on the wire, one for each tool that is asked for.
        tool_input: the value that stands in a whole answer in place of arguments that are text;
            None where they are text in both.
        finish_reason: where the API has another one for what is said than most have.
    """

    def told(arguments: str) -> str:
        if stream or tool_input is None:
            return arguments
        return _COMPACT.encode(tool_input(arguments))

    return Answer(
        status=200,
        headers=headers,
        chunks=chunks,
        end_marker=end_marker if stream else b"",
        stream=stream,
        chunks_before_finish=chunks_before_finish if stream else 0,
        finish_reason=finish_reason or says.finish_reason,
        text=says.text,
        tool_calls=tuple(
            {"id": id_, "name": call.name, "arguments": told(call.arguments)}
            for call, id_ in zip(says.tool_calls, tool_ids, strict=True)
        ),
        usage={
            "prompt_tokens": prompt_tokens,
            "completion_tokens": says.tokens,
            "total_tokens": prompt_tokens + says.tokens,
        },
    )
