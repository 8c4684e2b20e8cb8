"""The seam between the provider and one API's way of speaking.

A dialect turns requests into facts, intents into bytes, and bytes back into facts. It holds no
connection, no clock and no fault: those are the provider's. To add an API, write one file in
`fakes/dialects`; its error answers are data as well, in the file of the same name below
`fixtures/payloads/`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from msgspec import Struct, field

from faultclock.fakes.wire.answer import Answer, ErrorFacts
from faultclock.fakes.wire.condensed import Condensed
from faultclock.fakes.wire.http_server import HttpRequest
from faultclock.fakes.wire.in_words import InWords
from faultclock.model.scenario.fault import AnswerEnd, AnswerEnds
from faultclock.model.scenario.payload import ErrorPayload
from faultclock.model.scenario.provider_script import HttpAnswer, ProviderScript, ToolCallReply


class Refusal(Struct, frozen=True, kw_only=True):
    """Why the provider answers a request with an error of its own accord.

    Attributes:
        payload: name of the error payload.
        values: members of its error object that take the place of the payload's own.
        places: what fills the `{name}` places of its words.
    """

    payload: str
    values: Mapping[str, str]
    places: Mapping[str, str] = field(default_factory=dict)


#: What a provider keeps from one request to the next, by id. Plain data: it is pickled.
Shelf = Mapping[str, Any]


class Shown(Struct, frozen=True, kw_only=True):
    """What is answered to a request about something kept, which asks no model.

    Attributes:
        body: a JSON value; None where `chunks` go on with a stream.
        chunks: pieces of a stream.
        answer: the answer of the model that it shows, if it shows one.
        keeps: what the shelf has from then on; None: no longer.
        counts: it only counts tokens, and is no attempt to get an answer.
    """

    body: Any = None
    chunks: tuple[bytes, ...] = ()
    answer: Answer | None = None
    keeps: Shelf = field(default_factory=dict)
    counts: bool = False


class Asked(Struct, frozen=True, kw_only=True):
    """What a dialect understood of a request.

    Attributes:
        model: the model that it names, if it does.
        stream: whether it asks for an event stream.
        refusal: set where the request is not one that the provider would answer.
        body: the parsed body; empty when it is not an object.
        beside: whether its path is one of what the provider keeps, and not one of the model.
        kept: how many messages at the front of the body come from what the provider kept.
        shown: the answer to a request that is `beside`, once the provider has looked it up.
        scripted: the answer that the script has for it; None: the dialect has one.
        named: what it is called in a script, beside its method and its path.
        values: what an error repeats of it.
        in_words: what it says in words about tools that the model asked for.
        condensed: what it has in place of earlier messages.
        own: names of the tools of the subject; what else it offers may stand for an answer.
        toolless: it offers no tools, and its subject offers what it has: none can be asked for.
    """

    model: str | None
    stream: bool
    refusal: Refusal | None
    body: Mapping[str, Any]
    beside: bool = False
    kept: int = 0
    shown: Shown | None = None
    scripted: HttpAnswer | None = None
    named: tuple[str, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    in_words: tuple[InWords, ...] = ()
    condensed: Condensed = field(default_factory=Condensed)
    own: frozenset[str] = frozenset()
    toolless: bool = False


class Meter(Struct, frozen=True, kw_only=True):
    """One of a provider's limits, as it stands after a request.

    Attributes:
        limit: how much it allows in a minute.
        remaining: how much of it is left now.
        reset_ns: until all of it is there again, if nothing else is asked for.
    """

    limit: int
    remaining: int
    reset_ns: int


class RateStanding(Struct, frozen=True, kw_only=True):
    """How full a provider's buckets are after a request: what its rate-limit headers tell.

    Attributes:
        requests, tokens: None where there is no such limit.
        retry_after_ns: set where the request was refused: until it would not be.
    """

    requests: Meter | None = None
    tokens: Meter | None = None
    retry_after_ns: int | None = None


class Heard(Struct, frozen=True, kw_only=True):
    """What an answer of the provider says, read back from its bytes.

    Attributes:
        text: of a good answer; what arrived of it where it was cut.
        finish_reason: None where the answer does not say that it is whole.
        error: the error object that is the body, or is inside the stream.
        refusal: what the model says in place of an answer, where an API keeps that apart.
        blocked: whether the prompt was blocked; None: the API does not say which was filtered.
    """

    text: str | None = None
    tool_calls: tuple[ToolCallReply, ...] = ()
    finish_reason: str | None = None
    error: ErrorFacts | None = None
    refusal: str | None = None
    blocked: bool | None = None


class Exchange(Struct, frozen=True, kw_only=True):
    """What identifies one exchange; everything generated for it follows from this.

    Attributes:
        number: 1-based, over the whole run.
        seed: of the run.
        unix_s: wall-clock second of the virtual instant at which the request arrived.
        think_ms: how long the provider claims to have worked, in whole milliseconds.
        standing: of a provider that has limits; a dialect without it reports limits that are
            never reached.
        ends: how the good answer ends, where it is not to be a whole one.
    """

    number: int
    seed: int
    unix_s: int
    think_ms: int
    standing: RateStanding | None = None
    ends: AnswerEnds | None = None


class Dialect(Protocol):
    """One API's way of speaking."""

    @property
    def name(self) -> str:
        """The name that scenarios use, such as `openai-chat`."""
        ...

    @property
    def own_payloads(self) -> tuple[str, ...]:
        """Names of the error payloads that it answers with of its own accord."""
        ...

    @property
    def ends(self) -> frozenset[AnswerEnd]:
        """The ways in which it can say that an answer is not a whole one."""
        ...

    @property
    def arguments_are_objects(self) -> bool:
        """Whether the arguments of a tool call can be nothing but an object."""
        ...

    @property
    def roles(self) -> frozenset[str]:
        """The roles of messages that it knows; none: it takes any."""
        ...

    @property
    def labels(self) -> frozenset[str]:
        """Members of a request that say whose or which it is, and nothing of what is asked."""
        ...

    @property
    def answers_anywhere(self) -> bool:
        """Whether a tool's answer may stand anywhere behind its call, and not just at once."""
        ...

    def read(self, request: HttpRequest) -> Asked:
        """Return what `request` asks for."""
        ...

    def recalled(
        self, asked: Asked, request: HttpRequest, shelf: Shelf, exchange: Exchange
    ) -> Asked:
        """Return what `request` asks for with what the provider has kept.

        An API that keeps nothing changes nothing.
        """
        ...

    def chat(self, asked: Asked) -> list[dict[str, Any]]:
        """Return the messages of a request to the model as OpenAI's chat has them.

        Answers of tools stand apart. Each message says where it stands in the request: `at` is
        its 0-based place, `part` the place of an answer within its message. `sent_as` is the role
        that the request gives it, where that is another. `pair` stands in a call and in its answer
        where the API does not match them by their ids.
        """
        ...

    def good_answer(self, script: ProviderScript, asked: Asked, exchange: Exchange) -> Answer:
        """Return the answer of a provider to which nothing goes wrong.

        It ends as `exchange` has it, which is one of the ways in `ends`.
        """
        ...

    def error_answer(
        self, payload: ErrorPayload, status: int, exchange: Exchange, values: Mapping[str, str]
    ) -> Answer:
        """Return an answer of `status` whose body is `payload`."""
        ...

    def error_facts(self, body: Mapping[str, Any]) -> ErrorFacts | None:
        """Return what an error body says, None where it is not one of this API."""
        ...

    def error_event(
        self, payload: ErrorPayload, asked: Asked, exchange: Exchange, chunks_before: int
    ) -> tuple[bytes, ErrorFacts]:
        """Return the bytes of an error inside a stream, and its facts.

        Args:
            asked, exchange: those of the stream, which the event may name.
            chunks_before: how many chunks of the good answer were sent before it.
        """
        ...

    def heard(self, body: bytes, content_type: str) -> Heard:
        """Return what an answer says, which a recording or this dialect itself gave.

        What cannot be read is left out; no body raises anything.
        """
        ...
