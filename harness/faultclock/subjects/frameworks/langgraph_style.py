"""Whether an application can await a graph, or has to call it as a blocking program."""

from __future__ import annotations

from functools import partial
from typing import Any

from langchain_core.tools import BaseTool
from langgraph.prebuilt import ToolNode
from langgraph.pregel import Pregel

from faultclock.subjects.frameworks.langgraph_parts import is_installed, parts_of

#: The pairs of a middleware: the blocking hook, and what is called where there is an event loop.
_WRAPS = (("wrap_model_call", "awrap_model_call"), ("wrap_tool_call", "awrap_tool_call"))


def blocks(graph: Pregel[Any, Any, Any, Any]) -> str:
    """Return what in it cannot be awaited, so that an application calls `invoke`; else "".

    A function of a node that blocks can be awaited too, so it decides only where nothing has to be.
    """
    saver = graph.checkpointer
    if saver and _says_it_is_not(getattr(type(saver), "aget_tuple", None)):
        return f"its {type(saver).__name__} only blocks (an Async saver can be awaited)"
    parts = [part for part, _ in parts_of(graph)]
    for kind in map(type, parts):
        for pair in _WRAPS:
            if _lacks(kind, *pair):
                return f"its {kind.__name__} only blocks (it can be awaited with {pair[1]})"
    nodes = {name: node.bound for name, node in graph.nodes.items()}
    plain = [
        name
        for name, node in nodes.items()
        if _function(node, "func") and not _function(node, "afunc")
    ]
    awaited = any(
        _function(node, "afunc") and not _function(node, "func") for node in nodes.values()
    )
    coroutines = any(
        getattr(part, "coroutine", None) and not getattr(part, "func", None)
        for part in parts
        if isinstance(part, BaseTool)
    )
    if not plain or awaited or coroutines:
        return ""
    return f"its node {plain[0]} only blocks (it can be awaited as an `async def`)"


def _function(node: Any, name: str) -> Any:
    """Return the user's function of a node; None where it is the library's own, or missing."""
    function = None if isinstance(node, Pregel | ToolNode) else getattr(node, name, None)
    # What LangGraph makes of a function that blocks is a partial, which calls it on a thread.
    return None if isinstance(function, partial) or is_installed(function) else function


def _lacks(kind: type, blocking: str, awaited: str) -> bool:
    """Return whether a class has a blocking hook of its own, and none that is awaited."""
    own = [name for name in (blocking, awaited) if not _says_it_is_not(getattr(kind, name, None))]
    return own == [blocking]


def _says_it_is_not(method: Any) -> bool:
    """Return whether a method does nothing but say that it is not implemented."""
    code = getattr(method, "__code__", None)
    return code is None or code.co_names[:1] == ("NotImplementedError",)
