"""What a request says to the model, as facts: one entry for each of its chat messages.

So a trace shows what the model was *observed* to get, and not what the subject says of it.
Only what a tool is said to have answered is kept as text, without secrets and cut; of everything
else there is the digest. A request may be malformed: that is data as well.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from itertools import islice
from typing import Any

from faultclock.model.secrets import without_secrets

#: Characters of a tool's answer that are kept.
_CONTENT_MAX = 2_000
#: More messages than any scenario can make; a runtime that repeats itself for ever makes more.
_MESSAGES_MAX = 1_000
#: Longer roles, names and ids are no such things.
_NAME_MAX = 200


def message_facts(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the facts of the messages in a request's parsed body.

    Each has `role` and `content_sha256`; a tool's answer has `content` and `tool_call_id`, a
    message that asks for tools has `tool_calls` with `id` and `name`.
    """
    messages = body.get("messages")
    if not isinstance(messages, list):
        return []
    return [_facts(item) for item in islice(messages, _MESSAGES_MAX) if isinstance(item, dict)]


def _facts(message: Mapping[str, Any]) -> dict[str, Any]:
    role = _name(message.get("role"))
    text = text_of(message.get("content"))
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    facts: dict[str, Any] = {"role": role, "content_sha256": digest}
    if role == "tool":
        facts["content"] = without_secrets(text)[:_CONTENT_MAX]
        facts["tool_call_id"] = _name(message.get("tool_call_id"))
    calls = message.get("tool_calls")
    if isinstance(calls, list) and calls:
        facts["tool_calls"] = [_asked_tool(call) for call in islice(calls, _MESSAGES_MAX)]
    return facts


def _asked_tool(call: object) -> dict[str, str | None]:
    given = call if isinstance(call, dict) else {}
    function = given.get("function")
    name = function.get("name") if isinstance(function, dict) else None
    return {"id": _name(given.get("id")), "name": _name(name)}


def text_of(content: object) -> str:
    """Return the text of a message: OpenAI allows parts in place of a text."""
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    if isinstance(content, list):
        parts = [part.get("text") if isinstance(part, dict) else None for part in content]
        if all(isinstance(part, str) for part in parts):
            return "".join(map(str, parts))
    return json.dumps(content, sort_keys=True)


def _name(value: object) -> str | None:
    return without_secrets(value[:_NAME_MAX]) if isinstance(value, str) else None
