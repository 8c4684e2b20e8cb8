"""Tools of LangGraph that ask a person themselves, by `interrupt()`: that is an approval.

Such a tool is called twice. The first time it ends at `interrupt()`, and has done nothing; the
second time that returns the person's answer. A tool that asks at the outset, whatever its
arguments, needs an approval; one that asks only sometimes does not.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from langchain_core.tools import BaseTool
from langgraph.types import Interrupt, interrupt

from faultclock.model.json_sample import json_sample

#: What a yes and a no is in the code of a tool, the likelier words first.
_WORDS = (
    ("approve", "approved", "accept", "accepted", "yes", "y", "allow", "confirm", "continue", "ok"),
    ("reject", "rejected", "deny", "denied", "no", "n", "decline", "cancel", "ignore", "response"),
)
#: What is done in any case, of a statement whose rest is done only sometimes.
_DONE: Mapping[type[ast.stmt], str] = {
    **dict.fromkeys((ast.If, ast.While), "test"),
    **dict.fromkeys((ast.For, ast.AsyncFor), "iter"),
    ast.Match: "subject",
}


def asks(tool: BaseTool) -> bool:
    """Return whether a tool asks a person at each call, before anything else can end it."""
    tree, uses = source_of(tool)
    return uses and any(
        is_question(node)
        for statement in (tree.body if tree is not None else ())
        if not isinstance(statement, ast.Try)
        for node in ast.walk(getattr(statement, _DONE.get(type(statement), ""), statement))
    )


def interrupts(function: Any) -> bool:
    """Return whether a tool, or a function around one, asks a person somewhere."""
    tree, uses = source_of(function)
    return uses and tree is not None and any(map(is_question, ast.walk(tree)))


def heeds(tool: BaseTool) -> bool:
    """Return whether a tool that asks reads the answer: else it acts after a no as well."""
    tree, _ = source_of(tool)
    nodes = [] if tree is None else list(ast.walk(tree))
    names = [node for node in nodes if isinstance(node, ast.Name)]
    read = {name.id for name in names if isinstance(name.ctx, ast.Load)}
    for node in nodes:
        if isinstance(node, ast.Expr | ast.Assign) and is_question(node.value):
            named = [] if isinstance(node, ast.Expr) else node.targets
            return any(not isinstance(it, ast.Name) or it.id in read for it in named)
    return True


def is_question(value: ast.AST) -> bool:
    """Return whether that asks a person."""
    return isinstance(value, ast.Call) and _is_interrupt(value.func)


def resumption(asked: Interrupt, tool: Any, why_not: str) -> Any:
    """Return what `interrupt()` returns for a yes or a no, in the form that the tool reads.

    Args:
        why_not: the reason of a no; empty for a yes.
    """
    schema = getattr(asked, "response_schema", None)
    if schema is not None:
        given = schema if isinstance(schema, Mapping) else schema.model_json_schema()
        return json_sample(given, bool(why_not))
    tree, _ = source_of(tool)
    nodes = [] if tree is None else list(ast.walk(tree))
    texts = [node.value for node in nodes if isinstance(node, ast.Constant)]
    word = next((word for word in _WORDS[bool(why_not)] if word in texts), None)
    other = next((word for word in _WORDS[not why_not] if word in texts), None)
    keys = dict.fromkeys(_keys(nodes))
    if not keys:
        yes = not why_not if other is None else "no" if why_not else "yes"
        return yes if word is None else word
    said = word if word is not None else _WORDS[bool(why_not)][0]
    return {
        key: [{"type": said}] if key == "decisions" else _member(key, said, why_not) for key in keys
    }


def says_no(value: Any) -> bool:
    """Return whether what a tool was resumed with is a no."""
    values = value.values() if isinstance(value, Mapping) else (value,)
    return any(
        item is False or item in _WORDS[1] for item in values if isinstance(item, str | bool)
    )


def _member(key: str, said: str, why_not: str) -> Any:
    """Return a member of an answer: whether, which decision, or why."""
    if key in ("approved", "approve", "accepted", "accept", "confirmed", "confirm", "allowed"):
        return not why_not
    return why_not if key in ("reason", "message", "feedback") else said


def _keys(nodes: list[ast.AST]) -> Iterator[str]:
    """Yield the members that code reads of an answer, and not of what it was called with."""
    given = {node.arg for node in nodes if isinstance(node, ast.arg)}
    for node in nodes:
        key: ast.AST | None = None
        if _root(node) in given:
            continue
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            # What it would take from its own arguments, in place of those it was called with.
            key = node.args[0] if node.func.attr == "get" and len(node.args) == 1 else None
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            key = node.slice
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            yield key.value


def _root(node: Any) -> str | None:
    """Return the name at the beginning of `name.member["key"].get("key")`."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return getattr(node, "id", None)


def source_of(tool: Any) -> tuple[ast.FunctionDef | ast.AsyncFunctionDef | None, bool]:
    """Return the function of a tool as it is written, and whether it can interrupt."""
    function: Any = getattr(tool, "func", None) or getattr(tool, "coroutine", None) or tool
    function = inspect.unwrap(function) if callable(function) else None
    if not hasattr(function, "__globals__"):
        return None, False
    uses = interrupt in function.__globals__.values()
    try:
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    except (OSError, TypeError, SyntaxError, ValueError):
        return None, False
    if isinstance(tree, ast.FunctionDef | ast.AsyncFunctionDef):
        return tree, uses
    return None, False


def _is_interrupt(called: ast.AST) -> bool:
    return getattr(called, "id", None) == "interrupt" or getattr(called, "attr", "") == "interrupt"
