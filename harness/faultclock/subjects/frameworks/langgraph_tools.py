"""The tools of a LangGraph graph: what they declare, and the seam around each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from functools import partial
from typing import Any

from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.pregel import Pregel

from faultclock.model.scenario.tool_script import ToolScript
from faultclock.subjects.frameworks.langgraph_interrupts import asks
from faultclock.subjects.frameworks.langgraph_middleware import guards_in, reviewed_in
from faultclock.subjects.frameworks.langgraph_parts import tools_in
from faultclock.subjects.frameworks.langgraph_questions import Questions
from faultclock.subjects.frameworks.own_tools import OwnTools, own_tool

#: The tool that was awaited, and what it was given: one without a coroutine comes to `invoke`.
_AWAITED: ContextVar[tuple[BaseTool, Any] | None] = ContextVar("faultclock_awaited", default=None)


def declared_tools(graph: Pregel[Any, Any, Any, Any]) -> Iterator[ToolScript | None]:
    """Yield what each tool declares but those of MCP servers; None: no model could call it."""
    reviewed = reviewed_in(graph) | guards_in(graph).keys()
    for tool, through in tools_in(graph):
        if is_mcp(tool):
            continue
        gated = tool.name in reviewed or asks(tool)
        yield own_tool(tool.name, tool.description, schema_of(tool), gated=gated, through=through)


def is_mcp(tool: BaseTool) -> bool:
    """Return whether langchain-mcp-adapters has made a tool: it is one of an MCP server."""
    called = getattr(tool, "coroutine", None)
    return str(getattr(called, "__module__", "")).startswith("langchain_mcp_adapters.")


def schema_of(tool: BaseTool) -> Mapping[str, Any]:
    """Return the schema that the model is given of a tool."""
    schema: Any = tool.tool_call_schema
    return schema if isinstance(schema, Mapping) else schema.model_json_schema()


def observe(tool: BaseTool, own: OwnTools, blocking: Callable[[], bool]) -> None:
    """Let the calls of a tool go through the seam, inside of what its node does with errors.

    A call by `invoke` is observed in a life with an event loop, too: from a thread, or from a
    function that blocks the loop.

    Args:
        blocking: whether its life blocks, so that `ainvoke` comes to `invoke`.
    """
    name, known, asking = tool.name, schema_of(tool).get("properties", {}), asks(tool)
    invoke, ainvoke = tool.invoke, tool.ainvoke

    def read(given: Any) -> tuple[dict[str, Any], str]:
        call = isinstance(given, dict) and given.get("type") == "tool_call"
        values = given["args"] if call else given if isinstance(given, dict) else {}
        # What a node puts in beside, such as the state, is no argument of the model's.
        arguments = {key: value for key, value in values.items() if key in known}
        return arguments, given["id"] if call else ""

    def begun(given: Any, config: Any) -> Questions:
        refused = partial(own.refused, name, read(given)[1])
        return Questions(tool, config, refused, asks=asking)

    def observed(given: Any, config: Any = None, **named: Any) -> Any:
        awaited = _AWAITED.get()
        if awaited is not None and awaited[0] is tool and awaited[1] is given:
            return invoke(given, config, **named)
        questions = begun(given, config)

        def work() -> Any:
            with questions:
                return invoke(given, questions.config, **named)

        if not questions.goes_on():
            return work()
        return own.call_blocking(name, *read(given), work, acted=questions.acted)

    async def aobserved(given: Any, config: Any = None, **named: Any) -> Any:
        if blocking():
            return await ainvoke(given, config, **named)
        questions = begun(given, config)

        async def work() -> Any:
            before = _AWAITED.set((tool, given))
            try:
                with questions:
                    return await ainvoke(given, questions.config, **named)
            finally:
                _AWAITED.reset(before)

        if not questions.goes_on():
            return await work()
        return await own.call(name, *read(given), work, acted=questions.acted)

    # A tool is a model of pydantic, which lets no method be assigned.
    object.__setattr__(tool, "invoke", observed)
    object.__setattr__(tool, "ainvoke", aobserved)


def waiting_call(messages: list[Any], names: set[str], asked: set[str]) -> dict[str, Any] | None:
    """Return the call of the model, to a tool that asks, that has no result yet.

    Args:
        asked: ids of the calls that a person was asked about.
    """
    done = {it.tool_call_id for it in messages if isinstance(it, ToolMessage)} | asked
    last = next((it for it in reversed(messages) if isinstance(it, AIMessage)), None)
    calls: Iterator[Any] = iter(last.tool_calls if last is not None else ())
    return next((call for call in calls if call["name"] in names and call["id"] not in done), None)
