"""The references that rows are made of: their parts, and where their events pass.

A part is a class that an attribute of another one names, as `breaker_type` of an agent names its
breaker, so that nothing is patched.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from faultclock.mutants.events import Editor, EventOperator, Fields
from faultclock.mutants.operators import StepOperator, Use, applied, beside, tuned
from faultclock.mutants.paths import constant
from faultclock.mutants.row import Also, AtEvent, Beside, Emit, Row, Tune
from faultclock.subjects.bind_runtime import runtime
from faultclock.subjects.binding import Binding
from faultclock.subjects.reference_agents.bound import DECLARES

__all__ = ["REFERENCES", "Part", "Reference"]

_Edited = Callable[[type[Any], tuple[EventOperator, ...]], type[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A class that another one names.

    Attributes:
        owner: name of the part that names it; empty: the reference itself.
        attribute: what it is named by.
    """

    made: type[Any]
    owner: str = ""
    attribute: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """What the rows of one file are made of.

    Attributes:
        prefix: what the ids of its wrong subjects begin with.
        model: id of the error model that it is right by.
        base: the class of the reference.
        bind: makes a binding of a class, with an id and a title.
        scenarios: what the ids of its scenarios begin with.
        parts: by the names that a row has for them, each before its owner.
        edited: changes a class (of `emitter`) so that its events pass through operators.
        emitter: name of the part where events pass.
        emit: declares an event for a subject, or for one of its parts.
    """

    prefix: str
    model: str
    base: type[Any]
    bind: Callable[[type[Any], str, str], Binding]
    scenarios: str = ""
    parts: Mapping[str, Part] = field(default_factory=dict)
    edited: _Edited | None = None
    emitter: str = ""
    emit: Callable[[Any, str, Fields], None] | None = None

    def wrong(self, row: Row) -> type[Any]:
        """Return the reference with the operators of a row."""
        changed: dict[str, type[Any]] = {}

        def of(name: str) -> type[Any]:
            return changed.get(name) or (self.parts[name].made if name else self.base)

        edits = tuple(item for item in row.operators() if isinstance(item, AtEvent))
        if edits:
            assert self.edited is not None
            changed[self.emitter] = self.edited(of(self.emitter), edits)  # type: ignore[arg-type]
        for operator in row.operators():
            if isinstance(operator, AtEvent):
                continue
            part, step = self.place(operator)
            changed[part] = self._applied(operator, of(part), step)
        for name, part in self.parts.items():
            if name in changed:
                owner = of(part.owner)
                named = {part.attribute: changed[name], "__doc__": owner.__doc__}
                changed[part.owner] = type(owner.__name__, (owner,), named)
        return of("")

    def place(self, operator: StepOperator | Tune | Beside) -> tuple[str, str]:
        """Return the part, and its step or constant, that an operator is on."""
        if isinstance(operator, Tune):
            named = operator.constant
        elif isinstance(operator, Beside):
            named = operator.before or operator.behind or ""
        else:
            named = operator.step
        part, _, step = named.rpartition(".")
        return part, step

    def _applied(self, operator: Any, base: type[Any], step: str) -> type[Any]:
        if isinstance(operator, Tune):
            return tuned(operator, base, step)
        if isinstance(operator, Also):
            return beside(operator, base, step, partial(_take, operator))
        if isinstance(operator, Emit):
            assert self.emit is not None
            return beside(operator, base, step, partial(_declare, operator, self.emit))
        return applied(operator, base, step)


def _take(operator: Also, use: Use, taken: Fields) -> Any:
    head = operator.step.partition(".")[0]
    step = use.at(operator.step if head in use.arguments else f"self.{operator.step}")
    return step(**constant(operator.given), **taken)


def _declare(operator: Emit, emit: Callable[..., None], use: Use, taken: Fields) -> None:
    emit(use.subject, operator.event, {**operator.fields, **taken})


def _agent(agent: type[Any], id_: str, title: str) -> Binding:
    return runtime(id=id_, title=title, declares=DECLARES, inline=True)(agent)


def _emitting(base: type[Any], operators: tuple[EventOperator, ...]) -> type[Any]:
    """Return a class whose `emit(name, **fields)` passes through operators."""

    def emit(self: Any, name: str, **fields: Any) -> None:
        editor = vars(self).get("_editor")
        if editor is None:
            editor = self._editor = Editor(operators, lambda own, its: base.emit(self, own, **its))
        editor.pass_on(name, fields)

    return type(base.__name__, (base,), {"emit": emit, "__doc__": base.__doc__})


def _with_timeline(base: type[Any], operators: tuple[EventOperator, ...]) -> type[Any]:
    """Return an agent whose timeline passes its events, bookmarks and all, through operators."""

    def make_timeline(self: Any, epoch: int = 1) -> Any:
        timeline = base.make_timeline(self, epoch)
        timeline.put = Editor(operators, timeline.put).pass_on
        return timeline

    return type(base.__name__, (base,), {"make_timeline": make_timeline, "__doc__": base.__doc__})


def _emit(subject: Any, name: str, fields: Fields) -> None:
    subject.emit(name, **fields)


def _afk() -> Reference:
    from faultclock.subjects.reference_agents.afk import AfkAgent
    from faultclock.subjects.reference_agents.afk_breaker import Breaker

    return Reference(
        prefix="mini-afk-",
        model="afk",
        base=AfkAgent,
        bind=_agent,
        scenarios="afk/",
        parts={"breaker": Part(made=Breaker, attribute="breaker_type")},
        edited=_emitting,
        emit=_emit,
    )


def _error_matrix() -> Reference:
    from faultclock.subjects.reference_agents.matrix import MatrixAgent
    from faultclock.subjects.reference_agents.matrix_programs import ProgramRunner

    return Reference(
        prefix="mini-error-matrix-",
        model="error-matrix",
        base=MatrixAgent,
        bind=_agent,
        scenarios="error-matrix/",
        parts={"runner": Part(made=ProgramRunner, attribute="runner_type")},
        edited=_emitting,
        emit=_emit,
    )


def _kode() -> Reference:
    from faultclock.subjects.reference_agents.kode import KodeAgent
    from faultclock.subjects.reference_agents.kode_memory import Memory

    def emit(agent: Any, name: str, fields: Fields) -> None:
        own = dict(fields)
        agent.timeline.emit(own.pop("channel"), name, own)

    return Reference(
        prefix="mini-kode-sdk-",
        model="kode-sdk",
        base=KodeAgent,
        bind=_agent,
        scenarios="kode-sdk/",
        parts={"memory": Part(made=Memory, attribute="memory_type")},
        edited=_with_timeline,
        emit=emit,
    )


def _relavium() -> Reference:
    from faultclock.subjects.reference_agents.relavium import RelaviumAgent
    from faultclock.subjects.reference_agents.relavium_run import Run

    def emit(agent: Any, name: str, fields: Fields) -> None:
        agent.run.emit(name, **fields)

    return Reference(
        prefix="mini-relavium-",
        model="relavium",
        base=RelaviumAgent,
        bind=_agent,
        scenarios="relavium/",
        parts={"run": Part(made=Run, attribute="run_type")},
        edited=_emitting,
        emitter="run",
        emit=emit,
    )


#: Id of a reference, which is also the name of its file of rows, to what makes it.
REFERENCES: dict[str, Callable[[], Reference]] = {
    "afk": _afk,
    "error-matrix": _error_matrix,
    "kode-sdk": _kode,
    "relavium": _relavium,
}
