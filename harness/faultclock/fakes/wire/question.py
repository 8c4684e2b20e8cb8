"""What a request asks, apart from the labels on it, and from what surrounds the conversation.

A client may label each request anew: with an id for its logs, or a key of a cache. It asks the same
thing then, although no two bodies are equal. And it may put the time of day into its instructions,
or draw a temperature: then it asks the same model to answer the same messages in another way.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from faultclock.fakes.wire.dialect import Asked
from faultclock.fakes.wire.event_stream import json_object
from faultclock.fakes.wire.offered import names_of_tools

#: Messages as JSON objects.
Messages = Sequence[Mapping[str, Any]]

#: Roles of messages that are instructions.
_INSTRUCTIONS = ("system", "developer")
#: A part of a time or of an id, in instructions.
_TIME_OR_ID = re.compile(r"[0-9a-f-]*[0-9][0-9a-f-]*", re.IGNORECASE)
#: How clients write JSON: httpx and JavaScript do, requests does, boto does.
_WRITERS = (
    json.JSONEncoder(ensure_ascii=False, separators=(",", ":")),
    json.JSONEncoder(),
    json.JSONEncoder(ensure_ascii=False),
    json.JSONEncoder(separators=(",", ":")),
)


def question_in(body: bytes, labels: Collection[str]) -> dict[str, str]:
    """Return `asked_sha256`, the digest of a body without its labels; nothing where it has none.

    What is left is written as the body was, so that it is equal to a body that never had a label.
    """
    sent = json_object(body)
    if sent is None or not any(name in sent for name in labels):
        return {}
    asked = {name: value for name, value in sent.items() if name not in labels}
    written = (it for it in _WRITERS if _bytes(it.encode(sent)) == body)
    text = next(written, _WRITERS[0]).encode(asked)
    return {"asked_sha256": _sha256(_bytes(text))}


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


class Questions:
    """What each call asked of each model, and in which exchange first.

    Args:
        labels: members of a body that say whose or which request it is.
    """

    def __init__(self, labels: Collection[str]) -> None:
        self._labels = labels
        self._first: dict[tuple[str | None, str | None, str], tuple[str, str]] = {}
        self._varied: set[str] = set()

    def facts(
        self, body: bytes, asked: Asked, chat: Messages, call: str | None, exchange: str
    ) -> dict[str, str]:
        """Return what a trace has of a body: its digests, and what it varies.

        `varies` is the first exchange in which its call asked the same model to answer the same
        messages with the same tools, once something around them was not the same as there, such as
        a time in the instructions or a temperature.

        Args:
            chat: the messages of the request, as OpenAI's chat has them.
        """
        digests = {"body_sha256": _sha256(body), **question_in(body, self._labels)}
        if not any(message.get("role") == "user" for message in chat):
            return digests
        said = [names_of_tools(asked.body), *map(_without_times, chat)]
        text = _sha256(_bytes(json.dumps(said, sort_keys=True, default=str)))
        whole = digests.get("asked_sha256", digests["body_sha256"])
        before, first = self._first.setdefault((call, asked.model, text), (whole, exchange))
        if before != whole:
            self._varied.add(first)
        return {**digests, "varies": first} if first in self._varied else digests


def _without_times(message: Mapping[str, Any]) -> object:
    """Return a message without its place; of instructions also without times and ids."""
    kept = {name: it for name, it in message.items() if name != "at"}
    if message.get("role") not in _INSTRUCTIONS:
        return kept
    return _TIME_OR_ID.sub("#", json.dumps(kept, sort_keys=True, default=str))


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
