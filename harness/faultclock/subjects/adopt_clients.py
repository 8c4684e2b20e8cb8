"""Objects that ask a model: clients of the known SDKs, chat models and agents.

They are recognised by the names of their classes, so that no library is imported that the user's
own code has not imported. The object itself is used as it is: its address, its key, its deadline
and its retries are the user's.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

from msgspec import Struct

from faultclock.model.scenario.provider_script import DEFAULT_DIALECT
from faultclock.subjects.asking import asked, asked_async
from faultclock.subjects.foreign import Export
from faultclock.subjects.ports import ProviderRequest

Ask = Callable[[ProviderRequest, Any], Any]

_ASKING = "faultclock.subjects.asking"
_CLIENTS = "faultclock.subjects.clients"
#: Package and class to style, what asks it, and the API where the class says which.
_KNOWN: Mapping[tuple[str, str], tuple[Literal["async", "sync"], str, str | None]] = {
    ("openai", "AsyncAzureOpenAI"): ("async", f"{_ASKING}:asked_async", "azure-openai"),
    ("openai", "AzureOpenAI"): ("sync", f"{_ASKING}:asked", "azure-openai"),
    ("openai", "AsyncOpenAI"): ("async", f"{_ASKING}:asked_async", None),
    ("openai", "OpenAI"): ("sync", f"{_ASKING}:asked", None),
    ("anthropic", "AsyncAnthropic"): (
        "async",
        f"{_CLIENTS}.anthropic_sdk:anthropic_async",
        "anthropic-messages",
    ),
    ("anthropic", "Anthropic"): (
        "sync",
        f"{_CLIENTS}.anthropic_sdk:anthropic_sync",
        "anthropic-messages",
    ),
    ("google.genai", "Client"): (
        "sync",
        f"{_CLIENTS}.google_genai_sdk:google_genai_sync",
        "gemini-generate-content",
    ),
    ("mistralai", "Mistral"): ("sync", f"{_CLIENTS}.mistralai_sdk:asked", "mistral"),
    ("cohere", "AsyncClientV2"): ("async", f"{_CLIENTS}.cohere_sdk:asked_async", "cohere"),
    ("cohere", "ClientV2"): ("sync", f"{_CLIENTS}.cohere_sdk:asked", "cohere"),
    ("ollama", "AsyncClient"): ("async", f"{_CLIENTS}.ollama_sdk:ollama_async", "ollama"),
    ("ollama", "Client"): ("sync", f"{_CLIENTS}.ollama_sdk:ollama_sync", "ollama"),
    ("langchain_core", "BaseChatModel"): ("async", f"{_ASKING}:chat_model", None),
    ("pydantic_ai", "AbstractAgent"): ("async", f"{_ASKING}:agent", None),
    ("pydantic_ai", "Agent"): ("async", f"{_ASKING}:agent", None),
}


#: Names of classes whose objects are asked as they are.
KNOWN_CLASSES = frozenset(name for _, name in _KNOWN)


class Client(Struct, frozen=True, kw_only=True):
    """How an object is asked.

    Attributes:
        name: of its class, such as `openai.AsyncOpenAI`.
        style: whether `ask` is a coroutine function.
        ask: takes the request and the object.
        dialect: the API that it speaks, or the first guess.
        dialect_known: whether its class alone says that.
        known: whether its class is in the table here.
    """

    name: str
    style: Literal["async", "sync"]
    ask: Ask
    dialect: str = DEFAULT_DIALECT
    dialect_known: bool = False
    known: bool = True

    @property
    def noun(self) -> str:
        """What people call such an object."""
        if "Agent" in self.name:
            return "agent"
        return "chat model" if "Chat" in self.name else "client object"


def client_of(target: Any) -> Client | None:
    """Return how `target` is asked; None where it is no such object."""
    if issubclass(type(target), Export):
        exported: Client | None = target.client
        return exported
    for package, name in _classes(target):
        known = _KNOWN.get((package, name))
        if known is not None:
            style, place, dialect = known
            return Client(
                name=_name(target, package),
                style=style,
                ask=_function(place),
                dialect=dialect or DEFAULT_DIALECT,
                dialect_known=dialect is not None,
            )
    create = _create_of(target)
    if create is None:
        return None
    # SDKs put a decorator around it.
    is_async = inspect.iscoroutinefunction(inspect.unwrap(create))
    return Client(
        name=type(target).__name__,
        style="async" if is_async else "sync",
        ask=asked_async if is_async else asked,
        known=False,
    )


def _classes(target: Any) -> Iterator[tuple[str, str]]:
    for kind in type(target).__mro__:
        module = str(kind.__module__)
        package = "google.genai" if module.startswith("google.genai") else module.split(".")[0]
        yield package, kind.__name__


def _name(target: Any, package: str) -> str:
    """Return the class of `target` as people import it; it may be one of another package."""
    kind = type(target)
    own = str(kind.__module__).split(".")[0]
    return f"{package if package.startswith(own) else own}.{kind.__name__}"


def _create_of(target: Any) -> Any:
    """Return what asks for a chat completion, of an object that is like OpenAI's client."""
    try:
        create = target.chat.completions.create
    except Exception:  # noqa: BLE001 - an object of any kind may raise anything here
        return None
    return create if callable(create) and not inspect.isclass(target) else None


def _function(place: str) -> Ask:
    module, _, name = place.rpartition(":")
    found = getattr(importlib.import_module(module), name)
    ask: Ask = getattr(found, "function", found)
    return ask
