"""The port of a provider adapter: what it is given, and what it may return, raise and declare.

    adapter(request) -> str | Reply          it answered
                     raises anything         it failed; an exception with `error_class` and
                                             `code` is a typed error
    request.host                             what the adapter says about itself on the way

Nothing here knows that the world is simulated: an adapter that is written against these types
runs against the real provider as well.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from faultclock.subjects.ports.host import Host

#: Shaped like a real key, so that whatever finds secrets by their shape finds this one too.
API_KEY = "sk-simulated-4f9d2c7ab1e85036d7c9"
BASE_URL = "https://api.openai.com/v1"
MODEL = "gpt-4o-mini"
#: What a client of OpenAI's chat completions speaks, too, when it is given another address.
OPENAI_ALIKE = ("openai-chat", "openai-compatible", "openrouter", "deepseek")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderRequest:
    """One question to the provider.

    Attributes:
        model: name of the model.
        messages: OpenAI chat messages, such as `{"role": "user", "content": "Say hello."}`.
        stream: whether the answer is asked for as server-sent events.
        tools: OpenAI tool definitions; empty for none.
        timeout_s: deadline of each attempt, in seconds.
        base_url: where the provider's API begins, without a slash at its end.
        api_key: the secret to authenticate with.
        host: where the adapter says what it does.
    """

    host: Host
    model: str = MODEL
    messages: list[Any] = field(default_factory=list)
    stream: bool = False
    tools: list[Any] = field(default_factory=list)
    timeout_s: float = 30.0
    base_url: str = BASE_URL
    api_key: str = field(default=API_KEY, repr=False)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that the model asks for; `arguments` is the JSON text that the provider sent.

    Attributes:
        id: what the provider calls it; a runtime answers it by that name. Two calls that ask for
            the same are equal.
    """

    name: str
    arguments: str
    id: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Reply:
    """A good answer. An adapter whose answers have no tool calls may return a plain `str`.

    Attributes:
        finish_reason: why the model stopped; None where nobody noted it.
        tokens: what the provider's `usage` counts in all; 0 where it counts nothing.
    """

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str | None = field(default=None, compare=False)
    tokens: int = field(default=0, compare=False)
