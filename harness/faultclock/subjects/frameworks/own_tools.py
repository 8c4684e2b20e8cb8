"""The seam at which an agent's own tools are observed, failed, delayed and repeated.

A framework calls its tool; the call goes through the tool of the scenario that stands in its place,
which records it and says what becomes of it. The function of the user is called where the tool does
its work, so its effect is real. A fault is raised as the function itself would raise it.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from types import CodeType
from typing import Any, Protocol, cast

from faultclock.model.scenario.tool_script import ToolScript
from faultclock.subjects.ports import Surroundings, ToolContract, ToolProblem
from faultclock.subjects.schemas import misfit

#: The first word of the name of a tool that only reads, in any spelling. All others may have an
#: effect, unless a person says otherwise.
_READS = re.compile(
    r"(get|read|list|search|find|fetch|look_?up|query|show|count|describe|current|calculate|calc"
    r"|weather|web_?search|retrieve)(_|[A-Z]|$)"
)
#: What a tool is called that calculates, where it is given nothing but numbers.
_CALCULATES = re.compile(r"add|subtract|multiply|divide")
_NUMBERS = ("integer", "number")
#: A description that begins so is of a tool that acts, whatever its name says.
_ACTS = re.compile(
    r"\W*(add|append|book|buy|cancel|change|charge|create|delete|insert|make|mark|order|pay|place"
    r"|post|publish|purchase|put|refund|remove|reserve|save|send|set|start|stop|store|submit"
    r"|transfer|update|write)(e?s)?\b",
    re.IGNORECASE,
)
#: What tools declare of themselves; None for one that no model could call.
Declared = Iterable[ToolScript | None]
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
#: What a function raises for each problem that a tool can have, by its code.
_RAISED: Mapping[str, type[Exception]] = {
    "ExecutionTimeout": TimeoutError,
    "ResourceBusy": ConnectionError,
    "InputInvalid": ValueError,
    "Forbidden": PermissionError,
    "NotFound": FileNotFoundError,
}


def own_tool(
    name: str,
    description: str | None,
    schema: Mapping[str, Any] | None,
    *,
    gated: bool = False,
    reads: bool | None = None,
    through: tuple[str, ...] = (),
) -> ToolScript | None:
    """Return what one tool of an agent declares; None for one that no model could call.

    Args:
        gated: whether the framework asks for an approval before it calls it.
        reads: whether it has no effect on the world; None: as its name and description say.
        through: what the model has to call first, to be offered it: `ToolScript.through`.
    """
    if _NAME.fullmatch(name) is None:
        return None
    given = json.loads(json.dumps(schema or {"type": "object"}))
    return ToolScript(
        name=name,
        description=description or name,
        input_schema=given,
        gated=gated,
        reads=seems_to_read(name, description or "", given) if reads is None else reads,
        through=through,
    )


def seems_to_read(name: str, description: str, schema: Mapping[str, Any]) -> bool:
    """Return whether a tool has no effect on the world, by all that is written of it."""
    if _CALCULATES.fullmatch(name):
        parts = schema.get("properties", {}).values()
        return all(part.get("type") in _NUMBERS for part in parts)
    return bool(_READS.match(name)) and not _ACTS.match(description)


def unjudged(sometimes: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield what no scenario shows of the tools that ask a person for some calls only, and why."""
    for name in sometimes:
        yield (f"whether {name} waits for a yes", "it asks a person only for some of its calls")


def way(name: str, **arguments: str) -> str:
    """Return a call that leads to a tool, as `own_tool` takes it in `through`."""
    return f"{name} {json.dumps(arguments)}"


class _Standing(Protocol):
    """A tool of the scenario that stands for one of the agent's own, however that is called."""

    @property
    def contract(self) -> ToolContract:
        """What it declares."""
        ...

    @property
    def execute(self) -> Callable[..., Any]:
        """Execute once, as the port of a tool says."""

    @property
    def execute_blocking(self) -> Callable[..., Any]:
        """Do what `execute` does and block, also for an async subject."""

    @property
    def refused(self) -> Callable[[str, Exception], None]:
        """Record what left a tool after a no."""


class OwnTools:
    """The tools of one life, by name: those of the scenario that stand for the agent's own."""

    def __init__(self, surroundings: Surroundings) -> None:
        tools = (cast("_Standing", tool) for tool in surroundings.tools)
        self._tools = {tool.contract.name: tool for tool in tools}

    async def call(
        self,
        name: str,
        arguments: object,
        call_id: str,
        work: Callable[[], Awaitable[Any]],
        *,
        validated: bool = False,
        acted: Callable[[], bool] = lambda: True,
    ) -> Any:
        """Have a tool called; return what it returns.

        Arguments that do not fit its schema are left to the framework, which has not called it yet.

        Args:
            arguments: a mapping, or its JSON text.
            work: calls the function of the user.
            validated: the framework has accepted the arguments.
            acted: whether the work, which has ended, did anything but ask a person.

        Raises:
            Exception: what the function raised, or what the scenario has it raise.
        """
        given, tool = self._standing_for(name, arguments, validated)
        return (
            await work()
            if tool is None
            else _value(await tool.execute(given, call_id=call_id, work=work, acted=acted))
        )

    def call_blocking(
        self,
        name: str,
        arguments: object,
        call_id: str,
        work: Callable[[], Any],
        signal: Any = None,
        acted: Callable[[], bool] = lambda: True,
    ) -> Any:
        """Do what `call` does where nothing is awaited: it blocks, and a loop on its thread too.

        Args:
            signal: tells the call to stop; None: nothing does.
        """
        given, tool = self._standing_for(name, arguments, validated=False)
        if tool is None:
            return work()
        done = tool.execute_blocking(given, call_id=call_id, work=work, signal=signal, acted=acted)
        return _value(done)

    def refused(self, name: str, call_id: str, error: Exception) -> None:
        """Say what left a tool that asked a person itself, and did nothing after a no."""
        if name in self._tools:
            self._tools[name].refused(call_id, error)

    def _standing_for(
        self, name: str, arguments: object, validated: bool
    ) -> tuple[Mapping[str, Any], _Standing | None]:
        """Return the arguments, and the tool that the call goes through; None: it goes past."""
        given, tool = mapping_in(arguments), self._tools.get(name)
        if given is None or tool is None:
            return {}, None
        if validated:
            given = _as_asked(given, tool.contract.input_schema)
        elif misfit(tool.contract.input_schema, given) is not None:
            return {}, None
        return given, tool


def names_in(function: Any) -> Iterator[str]:
    """Yield the names that a function of the user's uses, also in what it defines inside."""
    codes = [getattr(inspect.unwrap(function), "__code__", None)] if callable(function) else []
    for code in codes:
        if isinstance(code, CodeType):
            yield from code.co_names
            codes += code.co_consts


def mapping_in(arguments: object) -> Mapping[str, Any] | None:
    """Return the arguments of a call, a mapping or its JSON text; None where they are neither."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except ValueError:
            return None
    return arguments if isinstance(arguments, Mapping) else None


def _as_asked(given: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments as a model writes them, after a framework has made them Python's.

    JSON has one kind of number, so 1.0 is 1; and a fraction that is a default was added.
    """
    known, asked = schema.get("properties", {}), dict(given)
    for name, value in given.items():
        if isinstance(value, float):
            if value.is_integer():
                asked[name] = int(value)
            elif known.get(name, {}).get("default") == value:
                del asked[name]
    return asked


def _value(result: Any) -> Any:
    problem: ToolProblem | None = result.problem
    if problem is None:
        return result.value
    raise _RAISED.get(problem.code, RuntimeError)(problem.message)
