"""What a provider's official SDK has to offer so that a dialect can be proved by it.

For each dialect there is a file `sdk_<anything>.py` beside this one with

    SDKS: tuple[Sdk, ...]

one entry for each SDK (a distribution and what it is told to speak). It is found by its name; no
list has to be edited. `truth` serves every error answer and every good answer of the dialect to
each SDK in a simulated world, in which its own HTTP client, its own parsing and its own types are
at work, and compares. What an SDK is expected to do is written down from its documentation or
source, with the place, never read back from the SDK while it runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from faultclock.fakes.wire.answer import Answer
from faultclock.model.scenario.payload import ErrorPayload

Way = Literal["async", "sync"]
#: Where an error meets the SDK: as an answer with its status, inside a stream that began well
#: (after its first chunk), or as the whole body of an answer of status 200.
Place = Literal["answer", "stream", "ok_body"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One request that the SDK is to make: "Say hello." by the user, to `model`.

    Attributes:
        stream: whether to stream the answer, reading it to its end.
        tools: whether to offer the tool `weather`, whose arguments are `city` and `unit`, texts.
    """

    model: str
    stream: bool = False
    tools: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What the SDK handed to its caller.

    Attributes:
        text: empty where there is none.
        tool_calls: name and arguments (as JSON value) of each.
        finish_reason: in the provider's own word, as the SDK tells it.
        refusal: what the model says in place of an answer; empty where it does not refuse.
    """

    text: str = ""
    tool_calls: tuple[tuple[str, Any], ...] = ()
    finish_reason: str | None = None
    refusal: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What the documents say that the SDK does with an error.

    Attributes:
        error: the exception, as package and class (`openai.RateLimitError`); the package is the
            first part of the class's module. None: it raises nothing.
        because: where that is written: distribution, version, file, and what there. A class that
            is not the one a reader would look for is explained here.
        differs: where the SDK does something else than its provider's documents say, or nothing
            at all: what, in one sentence. It is printed in the table.
        mute: why the exception does not have the provider's message in its text; empty: it has.
    """

    error: str | None
    because: str
    differs: str = ""
    mute: str = ""


class Sdk(Protocol):
    """One SDK that speaks one dialect, as it is but for its retries, which are off.

    Attributes:
        dialect: such as `openai-chat`.
        distribution: whose version the table tells, such as `openai`.
        client_name: the client for people, such as `AzureOpenAI`.
        ways: those that it has.
        places: where errors are put; `stream` and `answer` for nearly all.
        finish_words: the provider's word for each finish reason that is asked for here
            (`stop`, `tool_calls`, and those of the ways in which its answers can end: `length`,
            `content_filter`).

    Where good answers of the provider are not what the SDK's own types say, it has `remarks`, too:
    texts that tell it with the source, and are printed in the table.
    """

    dialect: str
    distribution: str
    client_name: str
    ways: tuple[Way, ...]
    places: tuple[Place, ...]
    finish_words: Mapping[str, str]

    def client(self, base_url: str) -> AbstractContextManager[Any]:
        """Return a blocking client with retries off; only where `ways` has `sync`."""
        ...

    def async_client(self, base_url: str) -> AbstractAsyncContextManager[Any]:
        """Return an async client with retries off; only where `ways` has `async`."""
        ...

    def ask(self, client: Any, ask: Ask) -> Reply:
        """Ask through the blocking client; whatever the SDK raises goes through."""
        ...

    async def ask_async(self, client: Any, ask: Ask) -> Reply:
        """Ask through the async client; whatever the SDK raises goes through."""
        ...

    def expected(self, name: str, payload: ErrorPayload, place: Place) -> Expected:
        """Return what the SDK is to do with the error payload `name` at `place`.

        Read from a table written down in the file (status or name to class), not from the SDK.
        """
        ...

    def status_told(self, error: BaseException) -> int | None:
        """Return the HTTP status that the exception tells its catcher, None where it tells none.

        For an error at `answer` it must be the payload's.
        """
        ...

    def problems(self, answer: Answer, ask: Ask) -> list[str]:
        """Return what in the bytes of a good answer the SDK's own types object to.

        The chunks of `answer` are the body as it went out. They are to be validated strictly, and
        members that the types do not know are problems, too.
        """
        ...


def unknown_members(value: Any) -> list[str]:
    """Return the members that pydantic models of an SDK do not know, at any depth."""
    if isinstance(value, list):
        return [name for item in value for name in unknown_members(item)]
    if isinstance(value, dict):
        return [name for item in value.values() for name in unknown_members(item)]
    if not hasattr(value, "model_fields_set"):
        return []
    names = list(value.model_extra or ())
    return names + [
        name
        for field in type(value).model_fields
        for name in unknown_members(getattr(value, field))
    ]


def lost_members(sent: Any, understood: Any, path: str = "") -> list[str]:
    """Return the members of a JSON value that are missing from what an SDK's types made of it.

    For types that drop what they do not know, where `unknown_members` has nothing to find.

    Args:
        sent: the parsed JSON.
        understood: the model's dump, by alias and without defaults left out.
        path: of `sent` within the whole.
    """
    if isinstance(sent, dict) and isinstance(understood, dict):
        missing = [f"{path}.{name}" for name in sent if name not in understood]
        return missing + [
            lost
            for name in sent
            if name in understood
            for lost in lost_members(sent[name], understood[name], f"{path}.{name}")
        ]
    if isinstance(sent, list) and isinstance(understood, list):
        return [
            lost
            for number, pair in enumerate(zip(sent, understood, strict=False))
            for lost in lost_members(*pair, f"{path}[{number}]")
        ]
    return []
