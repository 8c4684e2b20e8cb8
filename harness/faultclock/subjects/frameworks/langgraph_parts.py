"""What a compiled graph is made of: its tools, wherever they hang.

A tool may hang on a ToolNode, in the function of a node that calls it itself, in a subgraph, or in
a graph that a tool calls. So what a node has is followed: what its functions close over, and what
they use of their module.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import FunctionType, MethodType
from typing import Any

from langchain_core.runnables import Runnable, RunnableBinding, RunnableSequence
from langchain_core.tools import BaseTool
from langgraph.prebuilt import ToolNode
from langgraph.pregel import Pregel

from faultclock.subjects.frameworks.own_tools import names_in

#: How far what a node has is followed.
_DEPTH_MAX = 12
#: Where code is that is not the user's: what it uses of its module is its own.
_INSTALLED = ("langchain", "langchain_core", "langgraph", "langsmith")


def parts_of(graph: Pregel[Any, Any, Any, Any]) -> list[tuple[Any, tuple[str, ...]]]:
    """Return what a graph is made of, each part once: nodes, functions, tools, middleware.

    Each comes with the graphs and tools that it hangs on, from the outermost.
    """
    seen: dict[int, tuple[Any, tuple[str, ...]]] = {}
    for node in graph.nodes.values():
        _follow(node.bound, seen, ())
    return list(seen.values())


def hooks_of(graph: Pregel[Any, Any, Any, Any]) -> list[Any]:
    """Return the user's functions that stand around the calls of its tools."""
    seen: dict[int, tuple[Any, tuple[str, ...]]] = {}
    for node in [part for part, _ in parts_of(graph) if isinstance(part, ToolNode)]:
        for hook in (node._wrap_tool_call, node._awrap_tool_call):
            _follow(hook, seen, ())
    functions = [part for part, _ in seen.values() if isinstance(part, FunctionType)]
    return [function for function in functions if not is_installed(function)]


def tools_in(graph: Pregel[Any, Any, Any, Any]) -> list[tuple[BaseTool, tuple[str, ...]]]:
    """Return its tools, those of a name once, and what the model has to call first."""
    by_name: dict[str, tuple[BaseTool, tuple[str, ...]]] = {}
    for part, through in sorted(parts_of(graph), key=lambda item: len(item[1])):
        if isinstance(part, BaseTool):
            by_name.setdefault(part.name, (part, through))
    return list(by_name.values())


def _follow(
    part: Any,
    seen: dict[int, tuple[Any, tuple[str, ...]]],
    through: tuple[str, ...],
    depth: int = 0,
) -> None:
    if depth > _DEPTH_MAX or id(part) in seen:
        return
    if not isinstance(part, list | tuple | dict):
        seen[id(part)] = (part, through)
    if isinstance(part, Pregel | BaseTool):
        through = (*through, part.name)
    for inner in _inside(part):
        _follow(inner, seen, through, depth + 1)


def _inside(part: Any) -> Iterator[Any]:
    """Yield what a part has. The order of the cases matters: a graph and a tool can be run, too."""
    match part:
        case Pregel():
            yield from (node.bound for node in part.nodes.values())
        case ToolNode():
            yield from part.tools_by_name.values()
            yield from (part._wrap_tool_call, part._awrap_tool_call)
        case RunnableSequence():
            yield from part.steps
        case RunnableBinding():
            yield part.bound
        case BaseTool():
            yield from (getattr(part, name, None) for name in ("func", "coroutine"))
        case list() | tuple():
            yield from part
        case dict():
            yield from part.values()
        case MethodType():
            yield part.__self__
            yield part.__func__
        case FunctionType():
            yield from _used(part)
        case Runnable():
            yield from (getattr(part, name, None) for name in ("func", "afunc"))


def _used(function: FunctionType) -> Iterator[Any]:
    """Yield what a function closes over, and what the user's functions take from their module."""
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:
            continue
    yield getattr(function, "__wrapped__", None)
    if is_installed(function):
        return
    known = function.__globals__
    yield from (known[name] for name in names_in(function) if name in known)


def is_installed(function: Any) -> bool:
    """Return whether code is a library's, and not the user's."""
    return str(getattr(function, "__module__", "")).partition(".")[0] in _INSTALLED
