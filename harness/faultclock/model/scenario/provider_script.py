"""ProviderScript: the fake provider. What it speaks and answers, and what goes wrong with it."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field, field_validator, model_validator

from faultclock.model._base import SparseValue, Value
from faultclock.model.duration import MILLISECOND_NS, DurationNs
from faultclock.model.scenario.fault import WITHOUT_A_BODY, FaultPlan, HeaderValue, named_by
from faultclock.model.scenario.mcp_server import McpServer
from faultclock.model.scenario.payload import ErrorPayload
from faultclock.model.scenario.provider_limits import Overload, Pace, ProviderLimits, RefusalRule
from faultclock.model.scenario.rule import EVERY, RangeField, When

PayloadName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")]

#: What a subject speaks that says nothing else.
DEFAULT_DIALECT = "openai-chat"


class ToolCallReply(SparseValue):
    """A tool call that the provider's good answer asks for."""

    SPARSE: ClassVar[frozenset[str]] = frozenset({"through"})

    name: str
    arguments: str
    """The arguments as the JSON text that the provider sends."""
    through: tuple[str, ...] = ()
    """Tools that are called in its place as long as a request does not offer it, the outermost
    first. Each is a name, and where its arguments matter a space and their JSON."""

    @property
    def ways(self) -> tuple[tuple[str, str], ...]:
        """The names of those tools, and their arguments: JSON, or empty for any that fit."""
        parted = (item.partition(" ") for item in self.through)
        return tuple((name, arguments) for name, _, arguments in parted)


class ProviderReply(Value):
    """One good answer of a conversation: a text, or the tools it asks for."""

    text: str = ""
    tool_calls: tuple[ToolCallReply, ...] = ()

    @model_validator(mode="after")
    def _something(self) -> ProviderReply:
        if bool(self.text) == bool(self.tool_calls):
            raise ValueError("give exactly one of text and tool_calls")
        return self


class HttpAnswer(SparseValue, When):
    """What a service that is no model's provider answers to some requests."""

    SPARSE: ClassVar[frozenset[str]] = frozenset({"nth", "status", "headers", "body"})

    request: str = Field(min_length=1)
    """Which: `GET /v1/now`, or the path alone; `*` stands for anything. The query counts where it
    is written."""
    nth: RangeField = EVERY
    """Of the requests that fit, which ones (1-based): `2`, `1-3`, `3+` or `every`."""
    status: int = Field(default=200, ge=200, le=599)
    """The status of the answer; a refusal is a fault."""
    headers: dict[str, HeaderValue] = {}
    """Headers beside those that every answer has."""
    body: Any = None
    """A text is sent as it is, anything else as JSON; without it the body is empty."""

    @model_validator(mode="after")
    def _body_where_one_can_be(self) -> HttpAnswer:
        if self.status in WITHOUT_A_BODY and self.body is not None:
            raise ValueError(f"an answer of status {self.status} has no body: leave out body")
        return self

    def holds(self, *, named: tuple[str, ...]) -> bool:
        """Return whether it is for a request with these names."""
        return named_by(self.request, named)


def unique_faults(faults: FaultPlan) -> FaultPlan:
    """Return `faults`.

    Raises:
        ValueError: two have the same id.
    """
    seen: set[str] = set()
    for rule in faults:
        if rule.id in seen:
            raise ValueError(f"two faults have the id {rule.id!r}")
        seen.add(rule.id)
    return faults


class Endpoint(Value):
    """Where a subject finds the provider, and what it asks there."""

    base_url: str = Field(pattern=r"^https?://[^\s/]+(/[^\s]*[^\s/])?$")
    """Where the API begins, without a slash at its end."""
    model: str = Field(min_length=1)


class ProviderScript(SparseValue):
    """The fake provider: its dialect, its good answer, and what goes wrong."""

    SPARSE: ClassVar[frozenset[str]] = frozenset(
        {
            "replies",
            "answers",
            "mcp",
            "endpoint",
            "payloads",
            "limits",
            "overload",
            "pace",
            "jitter",
        }
    )

    dialect: str | None = Field(default=None, pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$")
    """The API that is spoken; None: the one that the subject speaks, which can be any in which the
    provider has the errors that the faults name. `http-json` is the service behind a tool or an
    extension."""
    endpoint: Endpoint | None = None
    """None: where the clients of the dialect look for it by default."""
    payloads: dict[PayloadName, ErrorPayload] = {}
    """Error answers of this scenario's own, such as recorded ones, by the name that its faults
    use. They stand before those of the dialect."""
    reply: str = "Hello from the simulated provider."
    tool_calls: tuple[ToolCallReply, ...] = ()
    """When given, the good answer asks for these tools. A model calls no tool that it does not
    know: where a request offers tools, and not one of these, the answer asks for the first of them,
    and where its schema has other arguments than these, with arguments that fit. `replies` are said
    as they are written."""
    replies: tuple[ProviderReply, ...] = ()
    """A conversation, in place of `reply` and `tool_calls`. A request that holds n messages of the
    assistant gets the answer n (0-based; the last one repeats), so a retry gets the same one."""
    answers: tuple[HttpAnswer, ...] = ()
    """With the dialect `http-json`, in place of `reply`: the first that fits a request is its
    answer."""
    mcp: McpServer | None = None
    """With the dialect `mcp`: the server."""
    latency: DurationNs = 10 * MILLISECOND_NS
    """One-way network delay."""
    jitter: DurationNs = 0
    """Each delivery takes up to this much longer; what was sent first still arrives first."""
    think_time: DurationNs = 100 * MILLISECOND_NS
    """Delay between the last request byte and the first answer byte."""
    chunk_interval: DurationNs = 20 * MILLISECOND_NS
    """Delay between the data chunks of a stream."""
    pace: Pace | None = None
    """How fast the model answers, where that is not always the same."""
    limits: ProviderLimits | None = None
    """What it grants its callers; None: as much as they ask for."""
    overload: Overload | None = None
    """When it has too much to do; None: never."""
    faults: FaultPlan = ()

    _unique = field_validator("faults")(unique_faults)

    @model_validator(mode="after")
    def _answers_of_a_service(self) -> ProviderScript:
        if self.answers and self.dialect not in ("http-json", "mcp"):
            raise ValueError("answers goes with dialect: http-json")
        if self.mcp is not None and self.dialect != "mcp":
            raise ValueError("mcp goes with dialect: mcp")
        return self

    @property
    def refusals_by_place(self) -> tuple[tuple[tuple[str, ...], RefusalRule], ...]:
        """What it refuses by of its own accord, each with its place in the script."""
        places: list[tuple[tuple[str, ...], RefusalRule | None]] = [(("overload",), self.overload)]
        for name in ("requests", "tokens", "quota"):
            places.append((("limits", name), getattr(self.limits, name, None)))
        return tuple((place, rule) for place, rule in places if rule is not None)

    @property
    def refusals(self) -> tuple[RefusalRule, ...]:
        """What it refuses by of its own accord, beside its faults: limits, quota, overload."""
        return tuple(rule for _, rule in self.refusals_by_place)


class FallbackProvider(ProviderScript):
    """A provider that a runtime may ask when the one before it in the chain cannot answer."""

    # The latency is the whole network's: that of `provider`.
    SPARSE: ClassVar[frozenset[str]] = frozenset({"latency"})

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    host: str = Field(default="", pattern=r"^$|^[a-z0-9-]*[a-z][a-z0-9-]*(\.[a-z0-9-]+)*$")
    """Name of its host; empty: `<id>.example.com`."""
    model: str = "fallback-mini"
    attempts_max: int = Field(default=1, ge=1)
    """Attempts that the chain grants it, the first included."""

    @property
    def host_name(self) -> str:
        """Its host, in lower case."""
        return self.host or f"{self.id}.example.com"

    @property
    def base_url(self) -> str:
        """Where its API begins, without a slash at its end."""
        return f"https://{self.host_name}/v1"
