"""Chat completions without an SDK, as most programs write them: what plain HTTP clients share.

Here is what such a program has to write itself: the request, and reading the answer. It is read
as it is in a thousand scripts, with subscripts and without checks, so that what comes of an odd
answer is what comes of it there. A stream is read line by line: `data: ` and then JSON, until
`[DONE]` or until there are no more lines.
"""

from __future__ import annotations

import json
from typing import Any

from faultclock.subjects.asking import arguments
from faultclock.subjects.ports import ProviderRequest, Reply, ToolCall

_DATA = "data: "
_DONE = "[DONE]"


def url_of(request: ProviderRequest) -> str:
    """Return where chat completions are asked for."""
    return f"{request.base_url}/chat/completions"


def headers_of(request: ProviderRequest) -> dict[str, str]:
    """Return the headers that such a program sets itself."""
    return {"Authorization": f"Bearer {request.api_key}"}


def body_of(request: ProviderRequest) -> dict[str, Any]:
    """Return the body, for the client to make JSON of."""
    body = arguments(request)
    if request.stream:
        body["stream"] = True
    return body


def reply_of(answer: Any) -> Reply:
    """Return the answer in a completion.

    Raises:
        KeyError, IndexError, TypeError: it is something else, such as an error object.
    """
    message = answer["choices"][0]["message"]
    calls = tuple(
        ToolCall(call["function"]["name"], call["function"]["arguments"])
        for call in message.get("tool_calls") or ()
    )
    return Reply(message["content"] or "", calls)


class StreamedText:
    """The lines of one streamed answer, put together as most programs do it.

    Attributes:
        done: whether the provider said that this was all.
    """

    def __init__(self) -> None:
        self.done = False
        self._text: list[str] = []
        self._tool_calls: dict[int, list[str]] = {}

    def add(self, line: str) -> None:
        """Take the next line, without its end.

        Raises:
            ValueError: its data is no JSON.
            KeyError, IndexError, TypeError: the data is no chunk of a completion, such as an
                error object.
        """
        if not line.startswith(_DATA):
            return
        data = line.removeprefix(_DATA)
        if data == _DONE:
            self.done = True
            return
        for choice in json.loads(data)["choices"]:
            delta = choice["delta"]
            self._text.append(delta.get("content") or "")
            for call in delta.get("tool_calls") or ():
                parts = self._tool_calls.setdefault(call["index"], ["", ""])
                parts[0] += call["function"].get("name") or ""
                parts[1] += call["function"].get("arguments") or ""

    def reply(self) -> Reply:
        """Return what has arrived; nobody asks whether that is all."""
        calls = tuple(ToolCall(*self._tool_calls[index]) for index in sorted(self._tool_calls))
        return Reply("".join(self._text), calls)
