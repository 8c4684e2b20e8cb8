"""What a compiled graph is made of: its tools, wherever they hang, and whether it has to block.

A tool may hang on a ToolNode, in the function of a node that calls it itself, in a subgraph, or in
a graph that a tool calls. So what a node has is followed: what its functions close over, and what
they use of their module.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import FunctionType, MethodType
from typing import Any

from langchain_core.runnables import Runnable, RunnableBinding, RunnableSequence
from langchain_core.tools import BaseTool
from langgraph.prebuilt import ToolNode
from langgraph.pregel import Pregel

#: How far what a node has is followed.
_DEPTH_MAX = 12
#: Where code is that is not the user's: what it uses of its module is its own.
_INSTALLED = ("langchain", "langchain_core", "langgraph", "langsmith")
#: The pairs of a middleware: the blocking hook, and what is called where there is an event loop.
_WRAPS = (("wrap_model_call", "awrap_model_call"), ("wrap_tool_call", "awrap_tool_call"))


def parts_of(graph: Pregel[Any, Any, Any, Any]) -> list[tuple[Any, tuple[str, ...]]]:
    """Return what a graph is made of, each part once: nodes, functions, tools, middleware.

    Each comes with the graphs and tools that it hangs on, from the outermost.
    """
    seen: dict[int, tuple[Any, tuple[str, ...]]] = {}
    for node in graph.nodes.values():
        _follow(node.bound, seen, ())
    return list(seen.values())


def tools_in(graph: Pregel[Any, Any, Any, Any]) -> list[tuple[BaseTool, tuple[str, ...]]]:
    """Return its tools, those of a name once, and what the model has to call first."""
    by_name: dict[str, tuple[BaseTool, tuple[str, ...]]] = {}
    for part, through in sorted(parts_of(graph), key=lambda item: len(item[1])):
        if isinstance(part, BaseTool):
            by_name.setdefault(part.name, (part, through))
    return list(by_name.values())


def blocks(graph: Pregel[Any, Any, Any, Any]) -> bool:
    """Return whether an application calls `invoke`: something in it cannot be awaited.

    A function of a node that blocks can be awaited too, so it decides only where nothing has to be.
    """
    saver = graph.checkpointer
    if saver and _says_it_is_not(getattr(type(saver), "aget_tuple", None)):
        return True
    parts = [part for part, _ in parts_of(graph)]
    if any(_lacks(type(part), *pair) for part in parts for pair in _WRAPS):
        return True
    nodes = [node.bound for node in graph.nodes.values()]
    plain = any(_function(node, "func") and not _function(node, "afunc") for node in nodes)
    awaited = any(_function(node, "afunc") and not _function(node, "func") for node in nodes)
    coroutines = any(
        getattr(part, "coroutine", None) and not getattr(part, "func", None)
        for part in parts
        if isinstance(part, BaseTool)
    )
    return plain and not awaited and not coroutines


def _function(node: Any, name: str) -> Any:
    """Return the user's function of a node; None where it is the library's own, or missing."""
    function = None if isinstance(node, Pregel | ToolNode) else getattr(node, name, None)
    return None if function is None or _is_installed(function) else function


def _is_installed(function: Any) -> bool:
    return str(getattr(function, "__module__", "")).partition(".")[0] in _INSTALLED


def _lacks(kind: type, blocking: str, awaited: str) -> bool:
    """Return whether a class has a blocking hook of its own, and none that is awaited."""
    own = [name for name in (blocking, awaited) if not _says_it_is_not(getattr(kind, name, None))]
    return own == [blocking]


def _says_it_is_not(method: Any) -> bool:
    """Return whether a method does nothing but say that it is not implemented."""
    code = getattr(method, "__code__", None)
    return code is None or code.co_names[:1] == ("NotImplementedError",)


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
    if _is_installed(function):
        return
    names = inspect.unwrap(function).__code__.co_names
    yield from (function.__globals__[name] for name in names if name in function.__globals__)
