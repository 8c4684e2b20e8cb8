"""Scenario: one situation, self-contained after loading.

Pure data. What happens in it is decided by `fakes`; what it means, by `oracle`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from faultclock.model._base import SparseValue, Value
from faultclock.model.disk_script import STORE_OPERATIONS, DiskScript, StoreArguments
from faultclock.model.duration import MILLISECOND_NS, SECOND_NS, DurationNs
from faultclock.model.fault import FaultRule
from faultclock.model.interaction_script import InteractionKind, InteractorScript
from faultclock.model.matrix import Matrix
from faultclock.model.mishap import CancelRule, CrashRule
from faultclock.model.payload import ErrorPayload
from faultclock.model.program_script import ProgramScript
from faultclock.model.provider_limits import Overload, Pace, ProviderLimits, RefusalRule
from faultclock.model.rule import rules_in
from faultclock.model.services_script import HookScript, QueueScript, TelemetryScript
from faultclock.model.session_script import SessionScript
from faultclock.model.store_script import StoreScript
from faultclock.model.tape import BLANK, Tape
from faultclock.model.tool_script import ToolScript
from faultclock.model.vary import Settle, Vary
from faultclock.model.workflow_script import WorkflowScript

#: Sections about what only a runtime has around it.
RUNTIME_ONLY = frozenset(
    {
        "fallbacks",
        "attempts_per_provider",
        "programs",
        "workflow",
        "hooks",
        "telemetry",
        "queue",
    }
)

#: Sections about a scenario as such, for every kind of subject.
_OF_ANY_ROLE = frozenset({"variant", "matrix", "models", "vary", "settle", "tape"})

#: What a subject speaks that says nothing else.
DEFAULT_DIALECT = "openai-chat"

_ModelId = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")]
#: Where the first provider is asked, and the subject's own machine: no fallback can be there.
_TAKEN_HOSTS = frozenset({"api.openai.com", "localhost"})

Role = Literal["provider_adapter", "runtime", "tool", "session_store", "extension"]


class ToolCallReply(Value):
    """A tool call that the provider's good answer asks for."""

    name: str
    arguments: str
    """The arguments as the JSON text that the provider sends."""


class ProviderReply(Value):
    """One good answer of a conversation: a text, or the tools it asks for."""

    text: str = ""
    tool_calls: tuple[ToolCallReply, ...] = ()

    @model_validator(mode="after")
    def _something(self) -> ProviderReply:
        if bool(self.text) == bool(self.tool_calls):
            raise ValueError("give exactly one of text and tool_calls")
        return self


class Endpoint(Value):
    """Where a subject finds the provider, and what it asks there."""

    base_url: str = Field(pattern=r"^https?://[^\s/]+(/[^\s]*[^\s/])?$")
    """Where the API begins, without a slash at its end."""
    model: str = Field(min_length=1)


class ProviderScript(SparseValue):
    """The fake provider: its dialect, its good answer, and what goes wrong."""

    SPARSE: ClassVar[frozenset[str]] = frozenset(
        {"replies", "endpoint", "payloads", "limits", "overload", "pace", "jitter"}
    )

    dialect: str | None = Field(default=None, pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$")
    """The API that is spoken; None: the one that the subject speaks, which can be any in which the
    provider has the errors that the faults name. `http-json` is the service behind a tool or an
    extension."""
    endpoint: Endpoint | None = None
    """None: where the clients of the dialect look for it by default."""
    payloads: dict[Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")], ErrorPayload] = {}
    """Error answers of this scenario's own, such as recorded ones, by the name that its faults
    use. They stand before those of the dialect."""
    reply: str = "Hello from the simulated provider."
    tool_calls: tuple[ToolCallReply, ...] = ()
    """When given, the good answer asks for these tools."""
    replies: tuple[ProviderReply, ...] = ()
    """A conversation, in place of `reply` and `tool_calls`. A request that holds n messages of the
    assistant gets the answer n (0-based; the last one repeats), so a retry gets the same one."""
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
    faults: tuple[FaultRule, ...] = ()

    @field_validator("faults")
    @classmethod
    def _unique(cls, faults: tuple[FaultRule, ...]) -> tuple[FaultRule, ...]:
        seen: set[str] = set()
        for rule in faults:
            if rule.id in seen:
                raise ValueError(f"two faults have the id {rule.id!r}")
            seen.add(rule.id)
        return faults

    @property
    def refusals_by_place(self) -> tuple[tuple[tuple[str, ...], RefusalRule], ...]:
        """What it refuses by of its own accord, each with its place in the script."""
        limits = self.limits
        places: list[tuple[tuple[str, ...], RefusalRule | None]] = [(("overload",), self.overload)]
        if limits is not None:
            places.append((("limits", "requests"), limits.requests))
            places.append((("limits", "tokens"), limits.tokens))
            places.append((("limits", "quota"), limits.quota))
        return tuple((place, rule) for place, rule in places if rule is not None)

    @property
    def refusals(self) -> tuple[RefusalRule, ...]:
        """What it refuses by of its own accord, beside its faults: limits, quota, overload."""
        return tuple(rule for _, rule in self.refusals_by_place)


class FallbackProvider(ProviderScript):
    """A provider that a runtime may ask when the one before it in the chain cannot answer."""

    # The latency is the whole network's: that of `provider`.
    SPARSE: ClassVar[frozenset[str]] = ProviderScript.SPARSE | {"latency"}

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


class Question(Value):
    """What a runtime has to ask the person."""

    kind: InteractionKind
    prompt: str = "What now?"
    options: tuple[str, ...] = ()
    """For Select."""
    deadline: DurationNs | None = None
    """None: the runtime's default for the kind. A device code always has its own."""


class Task(SparseValue):
    """One thing the subject is asked to do; `copies` clients do it at once."""

    SPARSE: ClassVar[frozenset[str]] = frozenset(
        {"after", "do", "waits", "question", "arguments", "key"}
    )

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    prompt: str = "Say hello."
    stream: bool = False
    at: DurationNs = 0
    """Virtual time of the start."""
    after: str | None = Field(default=None, pattern=r"^[a-z0-9][a-z0-9-]*$")
    """A provider adapter's: id of an earlier task. This one begins when all calls of that one have
    ended, and not before `at`."""
    copies: int = Field(default=1, ge=1, le=1_000)
    timeout: DurationNs = 30 * SECOND_NS
    """The per-attempt deadline that the adapter is asked to use."""
    do: str = "call"
    """What is asked for. A provider adapter: `call`. A runtime: `turn` (also written `call`),
    `ask` (a question to the person), `close`, `restart` (a fresh process that resumes). A tool:
    `call`. A session store and an extension: the name of the operation."""
    waits: bool = True
    """A runtime's task begins when the one before it has ended, and not before `at`; False: at
    `at`, also while others run."""
    question: Question | None = None
    """With `do: ask`."""
    arguments: dict[str, Any] = {}
    """What a tool, a store or an extension is called with."""
    key: str | None = Field(default=None, pattern=r"^[a-z0-9][a-z0-9-]{0,31}$")
    """A provider adapter's: name of the API key that its clients show; None: the one that all
    others show. Equal names are the same key."""


class Limits(Value):
    """Where a run is ended by force."""

    virtual_time: DurationNs = 24 * 3_600 * SECOND_NS
    events: int = Field(default=1_000_000, ge=1)
    events_per_instant: int = Field(default=100_000, ge=1)
    wall_time: DurationNs = 30 * SECOND_NS
    """Real time after which the watchdog ends an isolated run."""


class Scenario(SparseValue):
    """One situation: world, tasks, faults, limits, seed."""

    SPARSE: ClassVar[frozenset[str]] = frozenset(
        {
            "variant",
            "matrix",
            "session",
            "tools",
            "interactors",
            "store",
            "disk",
            "cancels",
            "crashes",
            "crash_everywhere",
            "models",
            "vary",
            "settle",
            "tape",
        }
        | RUNTIME_ONLY
    )

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*(/[a-z0-9][a-z0-9-]*)+$")
    """`family/slug`, as the file lies below `scenarios/`."""
    title: str = Field(min_length=1)
    why: str = Field(min_length=1)
    """What a person learns when this scenario fails, and where it comes from."""
    role: Role = "provider_adapter"
    pair: str | None = None
    """Id of the scenario that plants the opposite defect."""
    origin: str | None = None
    """The public bug or document that the situation comes from."""
    models: tuple[_ModelId, ...] = ()
    """Ids of the error models that it is written for; empty: any. A run by another model passes it
    over, unless it is named itself."""
    variant: str | None = None
    """Which of the scenarios that were made from one file this is; never in a file."""
    matrix: Matrix | None = None
    """Makes one scenario for each combination of its axes; this one is then not run itself."""
    provider: ProviderScript = ProviderScript()
    session: SessionScript | None = None
    """How a runtime under test is set up; None: with all defaults."""
    tools: tuple[ToolScript, ...] = ()
    interactors: tuple[InteractorScript, ...] = ()
    store: StoreScript | None = None
    """The fake session store; None: an empty one in memory."""
    disk: DiskScript | None = None
    """The disk of a session store under test; None: a good one."""
    cancels: tuple[CancelRule, ...] = ()
    crashes: tuple[CrashRule, ...] = ()
    """In the order in which they happen, one for each life of the subject but the last."""
    fallbacks: tuple[FallbackProvider, ...] = ()
    """The chain of providers after `provider`, in the order in which they are to be asked."""
    attempts_per_provider: int | None = Field(default=None, ge=1)
    """Attempts that the chain grants `provider` itself; None: as the runtime has it."""
    programs: tuple[ProgramScript, ...] = ()
    """What is on the PATH; nothing else is."""
    workflow: WorkflowScript | None = None
    """What a turn consists of; None: a conversation with the model."""
    hooks: tuple[HookScript, ...] = ()
    telemetry: TelemetryScript | None = None
    queue: QueueScript | None = None
    crash_everywhere: bool = False
    """Whether it is run once more for each event of its own trace, with a crash right after it."""
    tasks: tuple[Task, ...] = (Task(id="ask"),)
    limits: Limits = Limits()
    vary: Vary | None = None
    """What `faultclock explore` may change; a run of what it came to has none."""
    settle: Settle | None = None
    """By when everything has to have come to an end; None: before the limit of virtual time."""
    tape: Tape = BLANK
    """Choices that every run of it plays, such as the order in which a failure was found."""
    seed: int = Field(default=0, ge=0, lt=2**32)
    seeds: int = Field(default=1, ge=1, le=1_000)
    """How many consecutive seeds are run; rules about distributions need several."""

    @model_validator(mode="after")
    def _consistent(self) -> Scenario:
        ids = [task.id for task in self.tasks]
        if not ids:
            raise ValueError("tasks is empty: a scenario asks for at least one thing")
        if len(set(ids)) != len(ids):
            raise ValueError("two tasks have the same id")
        for place, task in enumerate(self.tasks):
            if task.after is not None and task.after not in ids[:place]:
                raise ValueError(f"task {task.id!r}: no task before it has the id {task.after!r}")
        for provider in (self.provider, *self.fallbacks):
            for rule in provider.faults:
                if rule.when.task is not None and rule.when.task not in ids:
                    name = rule.when.task
                    raise ValueError(f"fault {rule.id!r} names the unknown task {name!r}")
        for fallback in self.fallbacks:
            self._fits_the_provider(fallback)
        for what, names in self._names():
            twice = next((name for name in names if names.count(name) > 1), None)
            if twice is not None:
                raise ValueError(f"two {what} have the same name {twice!r}")
        self._only_what_the_role_has()
        if self.disk is not None and self.role != "session_store":
            raise ValueError("disk is for the role session_store")
        if self.role == "session_store":
            self._what_a_store_is_asked()
        return self

    def _names(self) -> Iterator[tuple[str, list[str]]]:
        yield "tools", [tool.name for tool in self.tools]
        yield "models", list(self.models)
        yield "fallbacks", [provider.id for provider in self.fallbacks]
        yield "hosts", [provider.host_name for provider in self.fallbacks]
        yield "programs", [program.name for program in self.programs]
        yield "hooks", [hook.id for hook in self.hooks]
        yield "interactors", [interactor.id for interactor in self.interactors]
        yield "rules", [rule.id for rule in rules_in(self)]

    def _fits_the_provider(self, fallback: FallbackProvider) -> None:
        if fallback.host_name in _TAKEN_HOSTS:
            raise ValueError(
                f"fallback {fallback.id!r}: {fallback.host} is already the host of another service"
            )
        if fallback.dialect != self.provider.dialect:
            raise ValueError(f"fallback {fallback.id!r} speaks another dialect than the provider")
        if "latency" in fallback.model_fields_set and fallback.latency != self.provider.latency:
            raise ValueError(
                f"fallback {fallback.id!r}: the latency is the whole network's, given at provider"
            )
        if fallback.jitter not in (0, self.provider.jitter):
            raise ValueError(
                f"fallback {fallback.id!r}: the jitter is the whole network's, given at provider"
            )

    def _only_what_the_role_has(self) -> None:
        others: frozenset[str] = frozenset()
        if self.role == "provider_adapter":
            others = self.SPARSE - _OF_ANY_ROLE - {"cancels"}
        elif self.role != "runtime":
            others = RUNTIME_ONLY
        for name in sorted(others):
            if getattr(self, name):
                raise ValueError(f"{name} is for another role than {self.role}")
        self._cancels_what_there_is()
        if self.role != "provider_adapter":
            for task in self.tasks:
                for name in ("key", "after"):
                    if getattr(task, name) is not None:
                        raise ValueError(
                            f"task {task.id!r}: {name} is for the role provider_adapter"
                        )
            return
        for task in self.tasks:
            if task.do != "call" or task.question is not None or task.arguments:
                raise ValueError(f"task {task.id!r}: a provider adapter is only called")

    def _cancels_what_there_is(self) -> None:
        called = {task.id for task in self.tasks}
        called |= {f"{task.id}/{n}" for task in self.tasks for n in range(1, task.copies + 1)}
        for rule in self.cancels:
            if (rule.scope == "call") is not (self.role == "provider_adapter"):
                known = "call" if self.role == "provider_adapter" else "not call"
                raise ValueError(f"cancel {rule.id!r}: the scope for {self.role} is {known}")
            if rule.scope == "call" and rule.target is not None and rule.target not in called:
                raise ValueError(f"cancel {rule.id!r}: there is no call {rule.target!r}")

    def _what_a_store_is_asked(self) -> None:
        for task in self.tasks:
            if task.do not in STORE_OPERATIONS:
                known = ", ".join(STORE_OPERATIONS)
                raise ValueError(f"task {task.id!r}: a store knows no {task.do!r}, only {known}")
            if task.copies != 1:
                raise ValueError(f"task {task.id!r}: a store is asked one thing at a time")
            try:
                StoreArguments.model_validate(task.arguments).check(task.do)
            except ValueError as error:
                raise ValueError(f"task {task.id!r}: {error}") from None

    @property
    def family(self) -> str:
        """The first part of the id."""
        return self.id.split("/", 1)[0]


def scenario_digest(scenario: Scenario) -> str:
    """Return the SHA-256 (hex) of the scenario's canonical JSON; equal meaning, equal digest."""
    text = json.dumps(scenario.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
