"""What no scenario shows of the tools of a LangGraph graph that ask a person themselves."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from typing import Any

from langchain_core.tools import BaseTool
from langgraph.pregel import Pregel

from faultclock.subjects.frameworks.langgraph_interrupts import (
    asks,
    interrupts,
    is_question,
    source_of,
)
from faultclock.subjects.frameworks.langgraph_middleware import guards_in, reviewed_in
from faultclock.subjects.frameworks.langgraph_parts import tools_in
from faultclock.subjects.frameworks.own_tools import unjudged

#: What may be called to make a value, and does nothing else; so may any class of Python's own.
_MAKES = (len, sum, min, max, abs, round, sorted, repr, format, isinstance, getattr, any, all)


def unjudged_of(graph: Pregel[Any, Any, Any, Any]) -> Iterator[tuple[str, str]]:
    """Yield that, and why: LangGraph runs a tool again from its beginning at each answer."""
    tools = [tool for tool, _ in tools_in(graph)]
    reviewed = reviewed_in(graph) | guards_in(graph).keys()
    asking = [tool for tool in tools if interrupts(tool)]
    yield from unjudged(it.name for it in asking if it.name not in reviewed and not asks(it))
    for tool in filter(_acts_first, asking):
        yield (
            f"what {tool.name} does before it asks a person",
            "it is not seen: LangGraph does it before a no as well, and again at each answer",
        )


def _acts_first(tool: BaseTool) -> bool:
    """Return whether a tool calls anything before it asks a person, but to make a value."""
    tree, uses = source_of(tool)
    nodes = [it for part in tree.body for it in ast.walk(part)] if uses and tree is not None else []
    called = [it for it in nodes if isinstance(it, ast.Call)]
    asking = min(filter(is_question, called), key=_place, default=None)
    return asking is not None and any(
        _place(it) < _place(asking) and asking not in ast.walk(it) and not _makes_a_value(it)
        for it in called
    )


def _place(node: ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _makes_a_value(call: ast.Call) -> bool:
    """Return whether what is called is Python's own, and does nothing: `str(x)`, `"".join(x)`."""
    if isinstance(call.func, ast.Attribute):
        return isinstance(call.func.value, ast.Constant | ast.JoinedStr)
    known = getattr(builtins, getattr(call.func, "id", ""), None)
    return isinstance(known, type) or known in _MAKES
