"""Agents of frameworks as targets: the object itself, or a function that makes one.

A file may have the agent, or a function without arguments that returns it, as programs have that
open a database or a client first: plain, async, or a context manager. It is called once to see what
it makes, and in each life of a run again. Beside the agent it may return what the agent's runs are
given (`deps`, a context): `return agent, deps`.
"""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext
from importlib.util import find_spec
from typing import Any, Literal

from msgspec import Struct

from faultclock.errors import SubjectError
from faultclock.model.scenario.service_host import ServiceHost
from faultclock.model.scenario.tool_script import ToolScript
from faultclock.subjects.foreign import Export, snake
from faultclock.subjects.frameworks.known import FRAMEWORKS, Known, agent_of
from faultclock.subjects.frameworks.life import Blocking, there
from faultclock.subjects.frameworks.mcp_tools import McpClient, mcp_tools
from faultclock.subjects.frameworks.own_tools import seems_to_read
from faultclock.subjects.offline import LOADING_LIMIT_S, TooLongError, in_time, offline
from faultclock.subjects.said import ACTS

#: Names of functions that make an agent.
_MAKES = re.compile(
    r"(make|create|build|get|new|setup|init)_(\w+_)?(agent|graph|crew|workflow|assistant|team|app)"
)
#: What an annotation calls an agent.
_NOTED = re.compile(
    rf"\b({'|'.join(sorted({kind for item in FRAMEWORKS for kind in item.kinds}))}"
    r"|Compiled(State)?Graph)\b"
)
#: What a tool that only reads or computes cannot break.
_REPEATED = "COMMON-EFFECT-02"
#: What may be mended in a tool as well, where the check does not see it, and what is said of that.
_AROUND_TOOLS = ("COMMON-END-03", "COMMON-RESULT-05")
_INSIDE = (
    "To mend it inside the tool is as good, and this problem stays: its failures and delays are"
    " simulated outside of the function."
)
_OF_EFFECTS = ("COMMON-EFFECT-01", _REPEATED)
#: Tools that a message names.
_NAMES_MAX = 3
#: A parameter that a server of LangGraph fills in.
_CONFIG = "config"


class AgentTarget(Struct, frozen=True, kw_only=True):
    """An agent, and how each life gets one.

    Attributes:
        deps: what its runs are given; None: nothing was handed over.
        make: makes it anew, in the world of a life; None: it is the object itself.
    """

    agent: Any
    known: Known
    deps: Any = None
    make: Callable[[], Any] | None = None

    @property
    def style(self) -> Literal["async", "sync"]:
        """Whether its turns are coroutines: some agents cannot be awaited."""
        return "sync" if self.blocks else self.known.style

    @property
    def blocks(self) -> str:
        """What in it cannot be awaited, though its framework can be; empty for nothing."""
        blocks = getattr(self.known.framework(), "blocks", None)
        return "" if blocks is None else str(blocks(self.agent))

    def tools(self) -> tuple[ToolScript, ...]:
        """Return what the agent's own tools declare of themselves."""
        framework: Any = self.known.framework()
        given = (self.agent, self.deps) if self.known.deps else (self.agent,)
        return tuple(tool for tool in framework.tools_of(*given) if tool is not None)

    def all_tools(
        self, spec: str, services: tuple[ServiceHost, ...], only_read: tuple[str, ...]
    ) -> tuple[ToolScript, ...]:
        """Return its own tools and those of its MCP servers.

        Args:
            spec: how it was named, for messages.
            only_read: names of those that only read or compute, as a person says; one that does
                not, whatever its name says, ends with `ACTS`.

        Raises:
            SubjectError: nothing says which tools a server has, or it has no tool of such a name.
        """
        tools = (*self.tools(), *mcp_tools(self.servers(), services))
        names = [tool.name for tool in tools]
        said = {name.removesuffix(ACTS): not name.endswith(ACTS) for name in only_read}
        for name in said:
            if name not in names:
                raise SubjectError(
                    f"{spec} has no tool {name!r}, of which you say that it only reads",
                    hint=f"its tools are {', '.join(names)}" if names else "it has no tools",
                )
        return tuple(
            tool.model_copy(update={"reads": said.get(tool.name, tool.reads)}) for tool in tools
        )

    def remedies(self, tools: tuple[ToolScript, ...]) -> Mapping[str, str]:
        """Return what mends a broken requirement, by the id of that, or shows that none is."""
        model = type(getattr(self.agent, "model", None)).__name__
        said = {**self.known.remedies, **self.known.models.get(model, {})}
        if handed := self.session[0].partition(":")[0]:
            said[_REPEATED] = f"Your agent has no store of its own: {handed}."
        if any(tool.service is not None for tool in tools):
            for id_, text in self.known.mcp_remedies.items():
                said[id_] = f"{said.get(id_, '')} {text}".lstrip()
        for id_ in _AROUND_TOOLS:
            said[id_] = f"{said.get(id_, '')} {_INSIDE}".lstrip()
        # A tool that needs a yes has an effect: its author says so.
        unsure = [tool.name for tool in tools if not tool.reads and not tool.gated]
        if unsure:
            names = " or ".join(unsure) if len(unsure) <= _NAMES_MAX else "the tool"
            one = unsure[0] if len(unsure) == 1 else "TOOL"
            for id_ in _OF_EFFECTS:
                text = f"If {names} only reads or computes, say so: --reads {one}."
                said[id_] = f"{said.get(id_, '')} {text}".lstrip()
        return said

    @property
    def unjudged(self) -> tuple[tuple[str, str], ...]:
        """What of single tools no scenario shows, and why."""
        unjudged_of = getattr(self.known.framework(), "unjudged_of", None)
        return () if unjudged_of is None else tuple(dict.fromkeys(unjudged_of(self.agent)))

    def servers(self) -> Iterable[McpClient]:
        """Return the agent's MCP servers."""
        servers_of = getattr(self.known.framework(), "servers_of", None)
        return () if servers_of is None else servers_of(self.agent)

    @property
    def answer_form(self) -> str:
        """What the model writes where it answers in code; `{text}` is its answer."""
        form = getattr(self.known.framework(), "answer_form", None)
        return "" if form is None else str(form(self.agent))

    def declared(self) -> dict[str, Any]:
        """Return what the binding declares of it, as options of `runtime`."""
        sends = getattr(self.known.framework(), "sends_history", None)
        return {
            "style": self.style,
            "distributions": self.known.distributions,
            "streams": self.known.streams,
            "history": sends is None or bool(sends(self.agent)),
        }

    @property
    def session(self) -> tuple[str, str]:
        """What is said of its session, where it is kept, and where it is not."""
        own_of = getattr(self.known.framework(), "own_session", None)
        if own_of is not None and (own := own_of(self.agent, self.deps)):
            return "", f"its {own} is lost with the process"
        return f"the check {self.known.session}" if self.known.session else "", ""

    def because(self, tools: tuple[ToolScript, ...]) -> str:
        """Return what it was taken for an agent with: its tools, and how it is run."""
        marks = {(True, False): " (needs a yes)", (False, True): " (only reads)"}
        names = ", ".join(f"{it.name}{marks.get((it.gated, it.reads), '')}" for it in tools)
        guessed = [
            tool.name
            for tool in tools
            if tool.reads and seems_to_read(tool.name, tool.description, tool.input_schema)
        ]
        if guessed:
            one = guessed[0] if len(guessed) == 1 else "TOOL"
            names += f"; if {'it' if len(tools) == 1 else 'one'} acts, say --reads {one}{ACTS}"
        none = "it is an agent in which no tools are found, so no call of one is judged"
        said = f"its own tools are {names}" if tools else none
        if self.answer_form:
            said = "it is an agent that writes code, so no call of a tool is played around"
        if blocks := self.blocks:
            said += f"; {blocks}, so it is called as a blocking program"
        return said

    def lives(self) -> Callable[..., Any]:
        """Return what makes the runtime of one life: a coroutine function for an async one."""
        if self.style == "sync":
            return self._live_blocking
        return self._live

    async def _live(self, surroundings: Any) -> Any:
        if self.make is None:
            return self._life(self.agent, self.deps, surroundings)
        made, leave = await _entered(self.make())
        life = self._life(*_parted(made), surroundings)
        if leave is not None:
            life.close = _one_after_the_other(getattr(life, "close", None), leave)
        return life

    def _live_blocking(self, surroundings: Any) -> Any:
        agent, deps, leave = self.agent, self.deps, None
        if self.make is not None:
            made, leave = _entered_blocking(self.make())
            agent, deps = _parted(made)
        life = self._life(agent, deps, surroundings)
        if self.known.style == "async":
            life = Blocking(life)
        if leave is not None:
            life.close = leave
        return life

    def _life(self, agent: Any, deps: Any, surroundings: Any) -> Any:
        framework: Any = self.known.framework()
        if self.known.deps:
            return framework.live(agent, surroundings, deps)
        return framework.live(agent, surroundings)


def agent_target(
    target: Any, spec: str, services: tuple[ServiceHost, ...] = (), *, said: bool = False
) -> AgentTarget | None:
    """Return the agent that `target` is or makes; None where it is neither.

    Args:
        spec: how it was named, for messages.
        services: what the services file has, which says what an MCP server of it has.
        said: a person says that it is an agent, so a function is called whatever its name.

    Raises:
        SubjectError: it makes no agent, or one that cannot be run without more.
    """
    make = target if _is_factory(target, said=said) else None
    if isinstance(make, Export):
        # Its process makes it anew in each life.
        target, make = _made_elsewhere(make), None
    made = target if make is None else _tried(make, spec, services)
    agent, deps = _parted(made)
    known = agent_of(agent)
    if known is None:
        if make is None:
            return None
        raise SubjectError(
            f"{spec} returns {_a(agent)}, and no agent of a framework that Faultclock knows",
            hint=f"if it asks a model itself, name {spec}@nothing",
        )
    if deps is not None and not known.deps:
        raise SubjectError(
            f"{spec}: {known.name} has no dependencies to hand over", hint="return the agent alone"
        )
    check = getattr(known.framework(), "check", None)
    if check is not None:
        try:
            check(agent, deps)
        except SubjectError as error:
            raise SubjectError(f"{spec}: {error.message}", hint=error.hint) from None
    return AgentTarget(agent=agent, known=known, deps=deps, make=make and _called(make))


def _is_factory(target: Any, *, said: bool) -> bool:
    is_elsewhere = isinstance(target, Export) and target.makes is not None
    if not (inspect.isroutine(target) or is_elsewhere) or not _takes_nothing(target):
        return False
    noted = str(getattr(inspect.unwrap(target), "__annotations__", {}).get("return", ""))
    return said or bool(_NOTED.search(noted) or _MAKES.fullmatch(snake(target.__name__)))


def _made_elsewhere(make: Export) -> Export:
    """Return the agent that a function of another language makes, in a process of its own."""
    assert make.makes is not None, "it is a factory"
    return make.makes()


def _takes_nothing(function: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return all(
        item.name == _CONFIG
        or item.default is not item.empty
        or item.kind in (item.VAR_POSITIONAL, item.VAR_KEYWORD)
        for item in parameters
    )


def _called(make: Callable[..., Any]) -> Callable[[], Any]:
    config = inspect.signature(make).parameters.get(_CONFIG)
    needed = config is not None and config.default is config.empty
    return (lambda: make(**{_CONFIG: {"configurable": {}}})) if needed else make


def _tried(make: Callable[..., Any], spec: str, services: tuple[ServiceHost, ...]) -> Any:
    """Call a factory once, to see what it makes."""

    async def entered(begun: Any) -> Any:
        made, leave = await _entered(begun)
        if leave is not None:
            await leave()
        return made

    try:
        with offline(), in_time(), _listing(services):
            begun = _called(make)()
            if isinstance(begun, Awaitable | AbstractAsyncContextManager):
                return asyncio.run(entered(begun))
            made, leave = _entered_blocking(begun)
            if leave is not None:
                leave()
    except SubjectError:
        raise
    except TooLongError:
        raise SubjectError(
            f"{spec}: to make the agent had not ended after {LOADING_LIMIT_S:.0f} s",
            hint="what it waits for has to come at once: no world runs yet",
        ) from None
    except Exception as error:
        raise SubjectError(
            f"{spec}: to make the agent raised {type(error).__name__}: {error}",
            hint="make it work first: it is called without arguments",
        ) from error
    return made


def _listing(services: tuple[ServiceHost, ...]) -> AbstractContextManager[None]:
    """Return where the services file lists the tools of a factory's MCP servers."""
    if find_spec("langchain_mcp_adapters") is None:
        return nullcontext()
    from faultclock.subjects.frameworks.langgraph_mcp import listed

    return listed(services)


def _one_after_the_other(first: Callable[[], Any] | None, then: Callable[[], Any]) -> Any:
    """Return what closes a life: what it has opened, then what its factory has."""

    async def close() -> None:
        if first is not None:
            await first()
        await there(then())

    return close


async def _entered(begun: Any) -> tuple[Any, Callable[[], Any] | None]:
    """Return what a factory makes, and what is to be called at the end of a life."""
    if isinstance(begun, AbstractAsyncContextManager) and agent_of(begun) is None:
        return await begun.__aenter__(), lambda: begun.__aexit__(None, None, None)
    if isinstance(begun, Awaitable):
        return await begun, None
    return _entered_blocking(begun)


def _entered_blocking(begun: Any) -> tuple[Any, Callable[[], Any] | None]:
    if isinstance(begun, AbstractContextManager) and agent_of(begun) is None:
        return begun.__enter__(), lambda: begun.__exit__(None, None, None)
    return begun, None


def _parted(made: Any) -> tuple[Any, Any]:
    """Return an agent, and what its runs are given."""
    if isinstance(made, tuple) and len(made) == 2 and agent_of(made[0]) is not None:
        return made[0], made[1]
    return made, None


def _a(value: object) -> str:
    return "None" if value is None else f"an object of the class {type(value).__name__}"
