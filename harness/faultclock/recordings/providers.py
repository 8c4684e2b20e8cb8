"""Which provider an exchange is with, by host and path, and which dialect its API is.

A table, so that a provider is added with a line. Hosts decide first, because many of them speak
OpenAI's shapes; a path decides where the host is no provider's: a gateway, or a model on one's own
machine.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from faultclock.recordings.bodies import as_json
from faultclock.recordings.exchange import Exchange, header

#: End of a host, pattern of a path, dialect. The first line that fits counts. An empty end of a
#: host fits any.
_PLACES: tuple[tuple[str, str, str], ...] = (
    (".openai.azure.com", r"/chat/completions$", "azure-openai"),
    (".cognitiveservices.azure.com", r"/chat/completions$", "azure-openai"),
    (".services.ai.azure.com", r"/chat/completions$", "azure-openai"),
    ("api.openai.com", r"/chat/completions$", "openai-chat"),
    ("api.openai.com", r"/responses$", "openai-responses"),
    ("api.anthropic.com", r"/messages$", "anthropic-messages"),
    (".googleapis.com", r"/models/[^/]+:(streamG|g)enerateContent$", "gemini-generate-content"),
    (".amazonaws.com", r"/model/[^/]+/converse(-stream)?$", "bedrock-converse"),
    ("openrouter.ai", r"/chat/completions$", "openrouter"),
    ("api.mistral.ai", r"/chat/completions$", "mistral"),
    ("api.deepseek.com", r"/chat/completions$", "deepseek"),
    ("api.cohere.com", r"/v2/chat$", "cohere"),
    ("api.cohere.ai", r"/v2/chat$", "cohere"),
    ("ollama.com", r"/api/chat$", "ollama"),
    ("", r"/chat/completions$", "openai-compatible"),
    ("", r"/v1/messages$", "anthropic-messages"),
    ("", r"/responses$", "openai-responses"),
    ("", r"/api/chat$", "ollama"),
    ("", r"/models/[^/]+:(streamG|g)enerateContent$", "gemini-generate-content"),
    ("", r"/model/[^/]+/converse(-stream)?$", "bedrock-converse"),
)
#: Hosts of model providers, for every path: an unknown path there is reported as one.
_PROVIDERS = re.compile(
    r"(?:^|\.)(?:openai\.com|openai\.azure\.com|cognitiveservices\.azure\.com"
    r"|services\.ai\.azure\.com|anthropic\.com|generativelanguage\.googleapis\.com"
    r"|aiplatform\.googleapis\.com|openrouter\.ai|mistral\.ai|deepseek\.com|cohere\.com|cohere\.ai"
    r"|ollama\.com|groq\.com|x\.ai|perplexity\.ai|together\.xyz|fireworks\.ai|huggingface\.co"
    r"|cerebras\.ai|moonshot\.ai|z\.ai)$|bedrock-runtime[.-]|-aiplatform\.googleapis\.com$"
)
_LOCAL = re.compile(r"^(?:localhost|127\.|0\.0\.0\.0$|\[?::1\]?$|[\d.]+$|\[)|\.local(?:host)?$")


class Destination(Struct, frozen=True, kw_only=True):
    """Where an exchange was had.

    Attributes:
        host: in lower case; not scrubbed.
        provider: whether the host is a model provider's.
        dialect: the name of its API, None where it is none that is known.
        base_url: where an API of OpenAI's shape begins; None for others, and for a host on one's
            own machine.
    """

    host: str
    provider: bool
    dialect: str | None
    base_url: str | None = None


def is_nobodys(host: str) -> bool:
    """Return whether a host says nothing of who has asked: a provider's, or one's own machine."""
    return bool(_PROVIDERS.search(host) or _LOCAL.search(host))


def destination_of(exchange: Exchange, known: Callable[[str], bool]) -> Destination:
    """Return where `exchange` was had.

    Args:
        known: whether a dialect of that name can be spoken.
    """
    try:
        parts = urlsplit(exchange.url)
        host = (parts.hostname or "").lower()
    except ValueError:
        return Destination(host="", provider=False, dialect=None)
    path = parts.path.rstrip("/")
    provider = bool(_PROVIDERS.search(host))
    if exchange.method != "POST":
        return Destination(host=host, provider=provider, dialect=None)
    for end, pattern, dialect in _PLACES:
        if host.endswith(end) and re.search(pattern, path):
            name = dialect if known(dialect) else None
            base = None
            if dialect == "openai-compatible" and provider:
                base = f"https://{host}{path.removesuffix('/chat/completions')}"
            elif dialect == "openai-compatible" and not is_nobodys(host):
                # Whose gateway it is, its name would tell, and the path may as well.
                base = f"https://{host}/v1"
            return Destination(host=host, provider=True, dialect=name, base_url=base)
    return Destination(host=host, provider=provider, dialect=None)


def is_local(host: str) -> bool:
    """Return whether a host (in lower case) is on one's own machine or network, by its name."""
    return _LOCAL.search(host) is not None


def model_of(exchange: Exchange) -> str | None:
    """Return the model that a request names, in its body or in its path."""
    body = as_json(exchange.request_body)
    if isinstance(body, dict) and isinstance(body.get("model"), str) and body["model"]:
        return str(body["model"])
    match = re.search(r"/models?/([^/:?]+)(?::|/|$)", exchange.url)
    return unquote(match[1]) if match is not None else None


def asks_for_stream(exchange: Exchange) -> bool:
    """Return whether a request asks for a stream, or was answered by one."""
    body = as_json(exchange.request_body)
    if isinstance(body, dict) and isinstance(body.get("stream"), bool):
        return bool(body["stream"])
    path = exchange.url.partition("?")[0]
    if path.endswith((":streamGenerateContent", "/converse-stream")):
        return True
    said = header(exchange.response_headers, "content-type") or ""
    return any(word in said for word in ("event-stream", "eventstream", "ndjson"))


def prompt_of(exchange: Exchange) -> str:
    """Return the text that a request puts to the model last, empty where there is none to see."""
    body = as_json(exchange.request_body)
    if not isinstance(body, dict):
        return ""
    for name in ("messages", "contents", "input"):
        told = body.get(name)
        if isinstance(told, str):
            return told
        if isinstance(told, list) and told:
            texts = list(_texts([item for item in told if _role(item) != "assistant"][-1:]))
            if texts:
                return "\n".join(texts)
    return ""


def assistants_in(exchange: Exchange) -> int:
    """Return how many messages of the assistant a request holds: its place in a conversation."""
    body = as_json(exchange.request_body)
    told = body.get("messages") or body.get("contents") if isinstance(body, dict) else None
    items = told if isinstance(told, list) else []
    return sum(_role(item) in ("assistant", "model") for item in items)


def answers_tools(exchange: Exchange) -> bool:
    """Return whether the last message of a request has the answer of a tool."""
    body = as_json(exchange.request_body)
    for name in ("messages", "contents", "input"):
        told = body.get(name) if isinstance(body, dict) else None
        last = told[-1] if isinstance(told, list) and told else None
        if isinstance(last, dict):
            parts = [last.get("content"), last.get("parts")]
            inner = [part for list_ in parts if isinstance(list_, list) for part in list_]
            return any(map(_is_of_tool, (last, *inner)))
    return False


def _is_of_tool(part: Any) -> bool:
    return isinstance(part, dict) and (
        part.get("role") in ("tool", "function")
        or part.get("type") in ("tool_result", "function_call_output")
        or not {"functionResponse", "function_response", "toolResult"}.isdisjoint(part)
    )


def _role(item: Any) -> Any:
    return item.get("role") if isinstance(item, dict) else None


def _texts(value: Any) -> Iterable[str]:
    todo = [value]
    while todo:
        item = todo.pop(0)
        if isinstance(item, str):
            yield item
        elif isinstance(item, list):
            todo = [*item, *todo]
        elif isinstance(item, dict):
            todo = [item[key] for key in ("content", "parts", "text") if key in item] + todo
