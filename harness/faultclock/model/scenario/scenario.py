"""Scenario: one situation, self-contained after loading.

Pure data. What happens in it is decided by `fakes`; what it means, by `oracle`. Each role has a
class of its own, with what a subject of that role can have around it; `Scenario` is any of them,
told apart by `role`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal, Self, cast, get_args

from pydantic import ConfigDict, Field, model_validator

from faultclock.model._base import SparseValue
from faultclock.model.again import kept_while_same
from faultclock.model.canonical import canonical_text
from faultclock.model.scenario.disk_script import STORE_OPERATIONS, DiskScript, StoreArguments
from faultclock.model.scenario.interaction_script import InteractorScript
from faultclock.model.scenario.matrix import Matrix
from faultclock.model.scenario.mishap import CancelRule, CrashRule
from faultclock.model.scenario.program_script import ProgramScript
from faultclock.model.scenario.provider_script import FallbackProvider, ProviderScript
from faultclock.model.scenario.rule import rules_in
from faultclock.model.scenario.service_host import ServiceHost, check_hosts
from faultclock.model.scenario.services_script import HookScript, QueueScript, TelemetryScript
from faultclock.model.scenario.session_script import SessionScript
from faultclock.model.scenario.store_script import StoreScript
from faultclock.model.scenario.task import Limits, Task
from faultclock.model.scenario.tool_script import ToolScript
from faultclock.model.scenario.vary import Settle, Vary
from faultclock.model.scenario.workflow_script import NodeScript, WorkflowScript
from faultclock.model.tape import BLANK, Tape

_ModelId = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")]
#: Where the first provider is asked, and the subject's own machine: no fallback can be there.
_TAKEN_HOSTS = frozenset({"api.openai.com", "localhost"})

Role = Literal["provider_adapter", "runtime", "tool", "session_store", "extension"]
#: Those whose calls are there to ask the provider.
ASKING_ROLES: tuple[Role, ...] = ("provider_adapter", "runtime")


class RuntimeWorld(SparseValue):
    """What only a runtime has around it."""

    session: SessionScript | None = None
    """How a runtime under test is set up; None: with all defaults."""
    tools: tuple[ToolScript, ...] = ()
    interactors: tuple[InteractorScript, ...] = ()
    store: StoreScript | None = None
    """The fake session store; None: an empty one in memory."""
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

    @property
    def set_up(self) -> SessionScript:
        """How the runtime is set up."""
        return self.session or _SET_UP

    @property
    def stored(self) -> StoreScript:
        """Its session store."""
        return self.store or _STORED

    @property
    def nodes(self) -> tuple[NodeScript, ...]:
        """The nodes of its workflow, none where it has no workflow."""
        return () if self.workflow is None else self.workflow.nodes


RuntimeWorld.SPARSE = frozenset(RuntimeWorld.model_fields)
#: What a subject of any other role has around it. There is nothing to check, and so no validator
#: to build; so it is with the other values whose fields all have their defaults.
_NO_WORLD = RuntimeWorld.model_construct()
_SET_UP, _STORED = SessionScript.model_construct(), StoreScript.model_construct()


class BaseScenario(SparseValue):
    """What a scenario of every role has: provider, tasks, limits, seed."""

    # Each role's class is built when it is first made: most commands make one or two of them.
    model_config = ConfigDict(defer_build=True)

    SPARSE: ClassVar[frozenset[str]] = frozenset(
        {"variant", "matrix", "models", "services", "vary", "settle", "tape", "disk"}
    )

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*(/[a-z0-9][a-z0-9-]*)+$")
    """`family/slug`, as the file lies below `scenarios/`."""
    title: str = Field(min_length=1)
    why: str = Field(min_length=1)
    """What a person learns when this scenario fails, and where it comes from."""
    role: Role
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
    provider: ProviderScript = ProviderScript.model_construct()
    services: tuple[ServiceHost, ...] = ()
    """Other hosts that the subject, or a tool of its own, may ask."""
    tasks: tuple[Task, ...] = (Task.model_construct(id="ask"),)
    disk: DiskScript | None = None
    """The disk below the files that the subject writes. None: for a session store a good one; for
    any other role one that keeps everything and takes no time."""
    limits: Limits = Limits.model_construct()
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
    def _consistent(self) -> Self:
        ids = [task.id for task in self.tasks]
        if not ids:
            raise ValueError("tasks is empty: a scenario asks for at least one thing")
        if len(set(ids)) != len(ids):
            raise ValueError("two tasks have the same id")
        for place, task in enumerate(self.tasks):
            if task.after is not None and task.after not in ids[:place]:
                raise ValueError(f"task {task.id!r}: no task before it has the id {task.after!r}")
        for _, provider in self.providers:
            for rule in provider.faults:
                if rule.when.task is not None and rule.when.task not in ids:
                    name = rule.when.task
                    raise ValueError(f"fault {rule.id!r} names the unknown task {name!r}")
        check_hosts(self.services)
        for what, names in self._names():
            twice = next((name for name in names if names.count(name) > 1), None)
            if twice is not None:
                raise ValueError(f"two {what} have the same name {twice!r}")
        self._check_role()
        return self

    def _names(self) -> Iterator[tuple[str, list[str]]]:
        """Yield what has names, with the names, which have to differ."""
        yield "models", list(self.models)
        yield "rules", [rule.id for rule in rules_in(self)]

    def _check_role(self) -> None:
        """Check what is asked of a scenario of this role alone.

        Raises:
            ValueError: it is not so.
        """
        for task in self.tasks:
            for name in ("key", "after"):
                if getattr(task, name) is not None:
                    raise ValueError(f"task {task.id!r}: {name} is for the role provider_adapter")

    @property
    def family(self) -> str:
        """The first part of the id."""
        return self.id.split("/", 1)[0]

    @property
    def world(self) -> RuntimeWorld:
        """What a runtime has around it; of any other role, nothing."""
        return self if isinstance(self, RuntimeWorld) else _NO_WORLD

    @property
    def providers(self) -> tuple[tuple[tuple[str | int, ...], ProviderScript], ...]:
        """The provider and those after it in the chain, each with its place in the scenario."""
        chain = ((("fallbacks", number), item) for number, item in enumerate(self.world.fallbacks))
        return ((("provider",), self.provider), *chain)

    def with_providers(self, change: Callable[[ProviderScript], ProviderScript]) -> Self:
        """Return the scenario in which `change` was made to each provider."""
        first, *chain = (change(script) for _, script in self.providers)
        if first is self.provider and tuple(chain) == self.world.fallbacks:
            return self
        fallbacks = {"fallbacks": tuple(chain)} if chain else {}
        return self.model_copy(update={"provider": first, **fallbacks})

    def with_crashes(self, *crashes: CrashRule) -> Self:
        """Return the scenario with these crashes and no others; itself where none can be."""
        if not isinstance(self, Killable):
            return self
        return self.model_copy(update={"crashes": crashes, "crash_everywhere": False})

    @property
    def cancel_rules(self) -> tuple[CancelRule, ...]:
        """When its work is cancelled; nothing where work of its role cannot be."""
        return self.cancels if isinstance(self, _Cancelable) else ()

    @property
    def crash_rules(self) -> tuple[CrashRule, ...]:
        """When its process is killed; nothing where its role has no process of its own."""
        return self.crashes if isinstance(self, Killable) else ()

    @property
    def is_swept(self) -> bool:
        """Whether it is run once more for each event of its own trace."""
        return isinstance(self, Killable) and self.crash_everywhere


class Killable(SparseValue):
    """A subject with a process that can be killed."""

    SPARSE: ClassVar[frozenset[str]] = frozenset({"crashes", "crash_everywhere"})

    crashes: tuple[CrashRule, ...] = ()
    """In the order in which they happen, one for each life of the subject but the last."""
    crash_everywhere: bool = False
    """Whether it is run once more for each event of its own trace, with a crash right after it."""


class _Cancelable(BaseScenario):
    """A subject whose work can be cancelled."""

    SPARSE: ClassVar[frozenset[str]] = frozenset({"cancels"})

    cancels: tuple[CancelRule, ...] = ()
    """When what is asked of the subject is cancelled."""

    def _check_role(self) -> None:
        for rule in self.cancels:
            if rule.scope == "call":
                raise ValueError(f"cancel {rule.id!r}: the scope for {self.role} is not call")
        super()._check_role()


class ProviderAdapterScenario(_Cancelable):
    """One situation for a provider adapter: what it asks, and what becomes of it."""

    role: Literal["provider_adapter"] = "provider_adapter"

    def _check_role(self) -> None:
        called = {task.id for task in self.tasks}
        called |= {f"{task.id}/{n}" for task in self.tasks for n in range(1, task.copies + 1)}
        for rule in self.cancels:
            if rule.scope != "call":
                raise ValueError(f"cancel {rule.id!r}: the scope for {self.role} is call")
            if rule.target is not None and rule.target not in called:
                raise ValueError(f"cancel {rule.id!r}: there is no call {rule.target!r}")
        for task in self.tasks:
            if task.do != "call" or task.question is not None or task.arguments:
                raise ValueError(f"task {task.id!r}: a provider adapter is only called")


class RuntimeScenario(Killable, RuntimeWorld, _Cancelable):
    """One situation for a runtime: the world around it, and all its lives."""

    role: Literal["runtime"]

    def _names(self) -> Iterator[tuple[str, list[str]]]:
        yield "tools", [tool.name for tool in self.tools]
        yield "fallbacks", [provider.id for provider in self.fallbacks]
        yield "hosts", [provider.host_name for provider in self.fallbacks]
        yield "programs", [program.name for program in self.programs]
        yield "hooks", [hook.id for hook in self.hooks]
        yield "interactors", [interactor.id for interactor in self.interactors]
        yield from super()._names()

    def _check_role(self) -> None:
        for fallback in self.fallbacks:
            self._check_fallback(fallback)
        super()._check_role()

    def _check_fallback(self, fallback: FallbackProvider) -> None:
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


class ToolScenario(_Cancelable):
    """One situation for a tool: its calls, and the service behind it."""

    role: Literal["tool"]


class ExtensionScenario(_Cancelable):
    """One situation for an extension: its phases, and the service behind it."""

    role: Literal["extension"]


class StoreScenario(Killable, BaseScenario):
    """One situation for a session store: what is asked of it, and the disk below it."""

    role: Literal["session_store"]

    def _check_role(self) -> None:
        super()._check_role()
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


Scenario = Annotated[
    ProviderAdapterScenario | RuntimeScenario | ToolScenario | StoreScenario | ExtensionScenario,
    Field(discriminator="role"),
]
_CLASSES: dict[object, type[Scenario]] = {
    get_args(cls.model_fields["role"].annotation)[0]: cls for cls in get_args(get_args(Scenario)[0])
}
#: What only some roles have.
SECTIONS = frozenset().union(*(cls.model_fields for cls in _CLASSES.values())) - frozenset(
    BaseScenario.model_fields
)


def role_class(data: Mapping[str, Any]) -> type[Scenario]:
    """Return the class for the role that the data of a scenario names.

    Of a role that there is not it is the base class, which says so when it validates.
    """
    role = data.get("role", "provider_adapter")
    return _CLASSES.get(str(role), cast("type[Scenario]", BaseScenario))


def scenario_of(data: Mapping[str, Any]) -> Scenario:
    """Return the scenario that `data` is, as Python holds it.

    Raises:
        ValidationError: it is none.
    """
    return role_class(data).model_validate(data)


def written_scenario(data: Mapping[str, Any]) -> Scenario:
    """Return the scenario that `data` is, as a file holds it: "3" is no number there.

    Raises:
        ValidationError: it is none.
    """
    return role_class(data).model_validate_json(json.dumps(data), strict=True)


#: The text of a scenario, as it stands in a trace.
scenario_text: Callable[[BaseScenario], str] = kept_while_same(canonical_text)


def scenario_digest(scenario: Scenario) -> str:
    """Return the SHA-256 (hex) of the scenario's canonical JSON; equal meaning, equal digest."""
    return hashlib.sha256(scenario_text(scenario).encode()).hexdigest()
