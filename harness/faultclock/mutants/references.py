"""The references that rows are made of, one for each file of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from faultclock.model.trace.trace import Declares
from faultclock.mutants.events import Editor, EventOperator, Fields
from faultclock.mutants.reference import Part, Reference
from faultclock.mutants.talks import CommonTalk, StudTalk, WholeLookup
from faultclock.subjects.bind_extension import extension
from faultclock.subjects.bind_runtime import runtime
from faultclock.subjects.bind_store import session_store
from faultclock.subjects.bind_tool import tool
from faultclock.subjects.binding import Binding, provider_adapter
from faultclock.subjects.ports import ProviderRequest, Reply, ToolRequest, ToolResult

# How a class becomes a subject.


def _agent(declares: tuple[Declares, ...], agent: type[Any], id_: str, title: str) -> Binding:
    return runtime(id=id_, title=title, declares=declares, inline=True)(agent)


def _talking(declares: tuple[Declares, ...], call: type[Any], id_: str, title: str) -> Binding:
    async def run(request: ProviderRequest) -> Reply:
        return await call(request).talk()  # type: ignore[no-any-return]

    return provider_adapter(id=id_, title=title, declares=declares, inline=True)(run)


def _looking(steps: type[Any], id_: str, title: str) -> Binding:
    from faultclock.agents.tool import CONTRACT

    async def run(call: ToolRequest) -> ToolResult:
        return await steps(call).execute()  # type: ignore[no-any-return]

    options = {"name": "look_up", "declares": ("errors",), "inline": True, **CONTRACT}
    return tool(id=id_, title=title, **options)(run)


def _store(made: type[Any], id_: str, title: str) -> Binding:
    return session_store(id=id_, title=title, inline=True)(made)


def _extension(made: type[Any], id_: str, title: str) -> Binding:
    from faultclock.agents.extension import CONTRACT

    options = {"declares": ("errors", "events"), "inline": True, **CONTRACT}
    return extension(id=id_, title=title, **options)(made)


# Where events pass.


def _emitting(base: type[Any], operators: tuple[EventOperator, ...]) -> type[Any]:
    """Return a class whose `emit(name, **fields)` passes through operators."""

    def emit(self: Any, name: str, **fields: Any) -> None:
        editor = vars(self).get("_editor")
        if editor is None:
            editor = self._editor = Editor(operators, lambda own, its: base.emit(self, own, **its))
        editor.pass_on(name, fields)

    return type(base.__name__, (base,), {"emit": emit, "__doc__": base.__doc__})


class _Host:
    """A host that is given what has become of the events and records of a subject."""

    def __init__(self, host: Any, operators: tuple[EventOperator, ...]) -> None:
        self._host = host
        self._events = Editor(operators, lambda name, fields: host.event(name, **fields))
        self._records = Editor(operators, lambda name, fields: host.audit_event(name, **fields))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._host, name)

    def event(self, name: str, /, **fields: Any) -> None:
        self._events.pass_on(name, fields)

    def audit_event(self, name: str, /, **fields: Any) -> None:
        self._records.pass_on(name, fields)


def _hosted(base: type[Any], operators: tuple[EventOperator, ...]) -> type[Any]:
    """Return a class whose host has operators before it."""

    def init(self: Any, surroundings: Any) -> None:
        host = _Host(surroundings.host, operators)
        base.__init__(self, replace(surroundings, host=host))

    return type(base.__name__, (base,), {"__init__": init, "__doc__": base.__doc__})


def _emit(subject: Any, name: str, fields: Fields) -> None:
    subject.emit(name, **fields)


# The references.


def _parts(**made: type[Any]) -> dict[str, Part]:
    """Return parts by their names: the attribute `x_type` of their owner names the part `x`."""
    return {name: Part(made=part, attribute=f"{name}_type") for name, part in made.items()}


def _emitter(
    model: str, base: type[Any], emit: Callable[[Any, str, Fields], None] = _emit, **more: Any
) -> Reference:
    """Return an agent that emits events, and has an error model and scenarios of its own name."""
    from faultclock.agents.core import DECLARES

    return Reference(
        prefix=f"mini-{model}-",
        model=model,
        base=base,
        bind=partial(_agent, DECLARES),
        scenarios=f"{model}/",
        edited=_emitting,
        emit=emit,
        **more,
    )


def _afk() -> Reference:
    from faultclock.agents.afk import AfkAgent
    from faultclock.agents.breaker import Breaker

    return _emitter("afk", AfkAgent, parts=_parts(breaker=Breaker))


def _error_matrix() -> Reference:
    from faultclock.agents.matrix import MatrixAgent
    from faultclock.agents.matrix_programs import ProgramRunner

    return _emitter("error-matrix", MatrixAgent, parts=_parts(runner=ProgramRunner))


def _kode() -> Reference:
    from faultclock.agents.kode import KodeAgent

    def emit(agent: Any, name: str, fields: Fields) -> None:
        own = dict(fields)
        agent.say(own.pop("channel"), name, **own)

    return _emitter("kode-sdk", KodeAgent, emit)


def _relavium() -> Reference:
    from faultclock.agents.relavium import RelaviumAgent
    from faultclock.agents.relavium_run import Run

    def emit(agent: Any, name: str, fields: Fields) -> None:
        agent.run.emit(name, **fields)

    return _emitter("relavium", RelaviumAgent, emit, parts=_parts(run=Run), emitter="run")


def _stud_cli() -> Reference:
    from faultclock.agents.stud_cli.cancellation import Scope
    from faultclock.agents.stud_cli.lifecycle import Extensions
    from faultclock.agents.stud_cli.persistence import Persistence, Resume
    from faultclock.agents.stud_cli.person import Approvals, Interactions
    from faultclock.agents.stud_cli.provider import ProviderCall, TransportRetries
    from faultclock.agents.stud_cli.runtime import DECLARES, ReferenceRuntime
    from faultclock.agents.stud_cli.session import Telling
    from faultclock.agents.stud_cli.stages import Workflow

    def emit(subject: Any, name: str, fields: Fields) -> None:
        # A part knows its session, which is the runtime itself.
        getattr(subject, "session", subject).host.event(name, **fields)

    return Reference(
        prefix="mini-runtime-",
        model="stud-cli",
        base=ReferenceRuntime,
        bind=partial(_agent, DECLARES),
        parts={
            "retries": Part(made=TransportRetries, owner="provider", attribute="retries_type"),
            **_parts(
                provider=ProviderCall,
                telling=Telling,
                scope=Scope,
                persistence=Persistence,
                interactions=Interactions,
                approvals=Approvals,
                extensions=Extensions,
                resume=Resume,
                workflow=Workflow,
            ),
        },
        edited=_hosted,
        emit=emit,
    )


def _adapters() -> Reference:
    from faultclock.agents.adapter import DECLARES
    from faultclock.agents.chat_exchange import ChatExchange

    return Reference(
        prefix="mini-",
        model="stud-cli",
        base=StudTalk,
        bind=partial(_talking, DECLARES),
        parts=_parts(exchange=ChatExchange),
    )


def _common() -> Reference:
    from faultclock.agents.chat_exchange import ChatExchange

    return Reference(
        prefix="mini-common-",
        model="common",
        base=CommonTalk,
        bind=partial(_talking, ()),
        parts=_parts(exchange=ChatExchange),
    )


def _tools() -> Reference:
    return Reference(prefix="mini-tool-", model="stud-cli", base=WholeLookup, bind=_looking)


def _stores() -> Reference:
    from faultclock.agents.store import FileStore

    return Reference(prefix="mini-store-", model="stud-cli", base=FileStore, bind=_store)


def _extensions() -> Reference:
    from faultclock.agents.extension import Heartbeat, Life

    return Reference(
        prefix="mini-extension-",
        model="stud-cli",
        base=Heartbeat,
        bind=_extension,
        parts=_parts(life=Life),
    )


#: Id of a reference, which is also the name of its file of rows, to what makes it.
REFERENCES: dict[str, Callable[[], Reference]] = {
    "adapters": _adapters,
    "common": _common,
    "tools": _tools,
    "extensions": _extensions,
    "stores": _stores,
    "stud-cli": _stud_cli,
    "afk": _afk,
    "kode-sdk": _kode,
    "error-matrix": _error_matrix,
    "relavium": _relavium,
}

#: Id of a shipped subject to the reference that it is.
SUBJECTS = {
    "reference": "adapters",
    "reference-common": "common",
    "reference-tool": "tools",
    "reference-extension": "extensions",
    "reference-store": "stores",
    "reference-runtime": "stud-cli",
    "reference-afk": "afk",
    "reference-kode-sdk": "kode-sdk",
    "reference-error-matrix": "error-matrix",
    "reference-relavium": "relavium",
}
