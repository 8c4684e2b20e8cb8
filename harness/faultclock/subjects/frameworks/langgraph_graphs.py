"""Compiled graphs of LangGraph, and what `create_agent` makes: with their own tools and savers.

The seam is the hook that a ToolNode has for its calls. A graph without a checkpointer gets one that
keeps what LangGraph's own saver in memory has in the store of the scenario; one with a checkpointer
keeps it. A run that was interrupted goes on with `Command`, one that was cut off with `None`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from langchain_core.tools import BaseTool
from langgraph.prebuilt import ToolNode
from langgraph.pregel import Pregel
from langgraph.types import Command

from faultclock.errors import SubjectError
from faultclock.model.scenario.tool_script import ToolScript
from faultclock.subjects.frameworks.langgraph_saver import StoreSaver
from faultclock.subjects.frameworks.life import Life
from faultclock.subjects.frameworks.own_tools import own_tool
from faultclock.subjects.ports import Surroundings
from faultclock.subjects.reading import reply_of

#: The middleware of LangChain that asks a person, and where it has the tools that need a yes.
_ASKING = "HumanInTheLoopMiddleware.after_model"
_GATED = "interrupt_on"


def tools_of(graph: Pregel[Any, Any, Any, Any]) -> tuple[ToolScript, ...]:
    """Return what the tools of the graph's ToolNodes declare of themselves.

    Raises:
        SubjectError: the graph is no conversation.
    """
    if "messages" not in graph.channels:
        raise SubjectError(
            f"the graph {graph.get_name()} has no messages in its state",
            hint="name a function of a prompt that invokes it: `async def ask(prompt): ...`",
        )
    gated = _gated(graph)
    found = (
        own_tool(name, tool.description, _schema(tool), gated=name in gated)
        for node in _tool_nodes(graph)
        for name, tool in node.tools_by_name.items()
    )
    return tuple(tool for tool in found if tool is not None)


def live(graph: Pregel[Any, Any, Any, Any], surroundings: Surroundings) -> Life:
    """Return one life of the graph."""
    return _Life(graph, surroundings)


def _tool_nodes(graph: Pregel[Any, Any, Any, Any]) -> Iterator[ToolNode]:
    for node in graph.nodes.values():
        if isinstance(node.bound, ToolNode):
            yield node.bound
    for _, inner in graph.get_subgraphs():
        if isinstance(inner, Pregel):
            yield from _tool_nodes(inner)


def _schema(tool: BaseTool) -> Mapping[str, Any]:
    """Return the schema that the model is given of a tool."""
    schema: Any = tool.tool_call_schema
    return schema if isinstance(schema, Mapping) else schema.model_json_schema()


def _gated(graph: Pregel[Any, Any, Any, Any]) -> set[str]:
    """Return the tools that a person has to approve, as the middleware has them."""
    node = graph.nodes.get(_ASKING)
    for function in (getattr(node.bound, name, None) for name in ("func", "afunc")) if node else ():
        middleware = getattr(function, "__self__", None)
        if hasattr(middleware, _GATED):
            return set(getattr(middleware, _GATED))
    return set()


class _Life(Life):
    def __init__(self, graph: Pregel[Any, Any, Any, Any], surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self._graph = graph
        self._config: Any = {"configurable": {"thread_id": surroundings.session_id}}
        self._saver: StoreSaver | None = None
        if graph.checkpointer is None:
            graph.checkpointer = self._saver = StoreSaver(self)
        for node in _tool_nodes(graph):
            for tool in node.tools_by_name.values():
                self._observe(tool)

    def _observe(self, tool: BaseTool) -> None:
        """Let the calls of a tool go through the seam, inside of what its node does with errors."""
        called, known = tool.ainvoke, _schema(tool).get("properties", {})

        async def ainvoke(given: Any, config: Any = None, **named: Any) -> Any:
            if not isinstance(given, dict) or given.get("type") != "tool_call":
                return await called(given, config, **named)
            # What a node puts in beside, such as the state, is no argument of the model's.
            arguments = {name: value for name, value in given["args"].items() if name in known}
            return await self.tools.call(
                given["name"], arguments, given["id"], lambda: called(given, config, **named)
            )

        # A tool is a model of pydantic, which lets no method be assigned.
        object.__setattr__(tool, "ainvoke", ainvoke)

    async def start(self) -> None:
        """Open the session, where it is not the graph's own checkpointer that has it."""
        if self._saver is not None:
            await super().start()

    async def resume(self, kept: Mapping[str, Any]) -> None:
        """Take up what the saver had."""
        assert self._saver is not None, "nothing was read without it"
        self._saver.load(kept["saved"])

    async def turn(self, text: str) -> Any:
        """Go on with a run that did not end, then answer."""
        begun = await self._graph.aget_state(self._config)
        # `next` is empty as well where the last task of a step is done, and its step is not.
        if begun.tasks:
            await self._run(self._resumed(begun.interrupts))
        state = await self._run({"messages": [{"role": "user", "content": text}]})
        return reply_of(state["messages"][-1])

    def _resumed(self, interrupts: Any) -> Any:
        """Return what a run goes on with that waits for a person, or was cut off."""
        return {"__interrupt__": interrupts} if interrupts else None

    async def _run(self, given: Any) -> Any:
        state = given
        if given is None or "__interrupt__" not in given:
            state = await self._graph.ainvoke(given, self._config)
        while state.get("__interrupt__"):
            answers = {
                interrupt.id: await self._answer_to(interrupt.value)
                for interrupt in state["__interrupt__"]
            }
            state = await self._graph.ainvoke(Command(resume=answers), self._config)
        return state

    async def _answer_to(self, value: Any) -> Any:
        """Return what the person says to an interrupt."""
        actions = value.get("action_requests") if isinstance(value, Mapping) else None
        if actions is None:
            return not await self.approved("interrupt", {"value": value}, None)
        reviews = {item["action_name"]: item for item in value.get("review_configs", ())}
        decisions: list[dict[str, Any]] = []
        for action in actions:
            why_not = await self.approved(action["name"], action["args"], None)
            allowed = reviews.get(action["name"], {}).get("allowed_decisions", ("approve",))
            edited = {"name": action["name"], "args": action["args"]}
            yes = (
                {"type": "approve"}
                if "approve" in allowed
                else {"type": "edit", "edited_action": edited}
            )
            decisions.append({"type": "reject", "message": why_not} if why_not else yes)
        return {"decisions": decisions}
