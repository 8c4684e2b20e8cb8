"""Which streamed pieces of a graph are of its answer: those of nodes that add to it.

A model may be asked for a plan or a summary as well, and LangGraph streams that text, too; the
metadata of each piece has the node as `langgraph_node`, so that an application can choose ("How to
stream LLM tokens from specific nodes",
https://langchain-ai.github.io/langgraph/how-tos/streaming-specific-nodes, read 2026-11-29). What a
node adds is read in its code; where that does not say it, its pieces are held until it ends.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk
from langgraph.prebuilt import ToolNode
from langgraph.pregel import Pregel

from faultclock.subjects.frameworks.langgraph_interrupts import source_of
from faultclock.subjects.frameworks.langgraph_parts import is_installed

#: The parts of a state that hold the answer of a turn.
_ANSWERS = ("messages", "structured_response")
#: What LangChain's own middleware writes beside its requests, such as those for a summary.
_INTERNAL = "lc_source"


class Answers:
    """What a reader sees of the answers of one life of a graph, while they are streamed."""

    def __init__(self, graph: Pregel[Any, Any, Any, Any]) -> None:
        self._adds = {name: _adds(node.bound) for name, node in graph.nodes.items()}
        self._held: dict[str, list[str]] = {}

    def begin(self) -> None:
        """Begin a run: what another one has left is never seen."""
        self._held.clear()

    def seen(self, mode: str, part: Any) -> list[str]:
        """Return what a reader sees with a part of a stream: at once, or when a node has ended."""
        if mode == "messages":
            return self._with_message(*part)
        return self._with_update(part) if mode == "updates" else []

    def _with_message(self, message: Any, metadata: Mapping[str, Any]) -> list[str]:
        node = metadata.get("langgraph_node", "")
        adds = self._adds.get(node, True)
        if not isinstance(message, AIMessageChunk) or _INTERNAL in metadata or adds is False:
            return []
        if adds:
            return [message.text]
        self._held.setdefault(node, []).append(message.text)
        return []

    def _with_update(self, update: Mapping[str, Any]) -> list[str]:
        seen: list[str] = []
        for node, added in update.items():
            held = self._held.pop(node, [])
            if any(map(_is_answer, added if isinstance(added, list) else [added])):
                self._adds[node] = True
                seen += held
        return seen


def _is_answer(added: Any) -> bool:
    """Return whether what a node adds has something that a model has said."""
    if not isinstance(added, Mapping):
        return False
    messages = added.get("messages")
    many = messages if isinstance(messages, list) else [messages]
    return "structured_response" in added or any(isinstance(it, AIMessage) for it in many)


def _adds(node: Any) -> bool | None:
    """Return whether a node adds to the answer; None where only its runs show it."""
    if isinstance(node, ToolNode):
        return False
    function = getattr(node, "func", None) or getattr(node, "afunc", None)
    # What a decorator has wrapped is what the user wrote.
    function = getattr(function, "__wrapped__", function)
    if hasattr(getattr(function, "__self__", None), "wrap_model_call"):
        # A hook of a middleware: its text is often none, as that of a guard.
        return None
    tree, _ = source_of(function)
    added = {None} if tree is None else {_adds_to(it, tree) for it in _returned(tree)}
    if True in added:
        return True
    if None in added:
        return True if is_installed(function) else None
    return False


def _own(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function, without those of functions inside of it."""
    for node in ast.iter_child_nodes(tree):
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from _own(node)


def _returned(tree: ast.AST) -> Iterator[ast.expr | None]:
    for node in _own(tree):
        if isinstance(node, ast.Return):
            yield node.value
        elif isinstance(node, ast.Yield | ast.YieldFrom):
            # What a generator returns is not all that it adds.
            yield node


def _adds_to(value: ast.expr | None, tree: ast.AST) -> bool | None:
    """Return whether a value that a node returns adds to the answer; None: it cannot be read."""
    match value:
        case None | ast.Constant(value=None):
            return False
        case ast.Dict(keys=keys):
            names = [getattr(key, "value", None) for key in keys]
        case ast.Call(func=ast.Name(id="dict"), args=[], keywords=given):
            names = [keyword.arg for keyword in given]
        case ast.Call(func=ast.Name(id="Command"), args=[], keywords=given):
            updates = [keyword.value for keyword in given if keyword.arg in ("update", None)]
            return _adds_to(updates[0], tree) if updates else False
        case ast.Name(id=name):
            return _adds_to_named(name, tree)
        case _:
            return None
    if any(name in _ANSWERS for name in names):
        return True
    return False if all(isinstance(name, str) for name in names) else None


def _adds_to_named(name: str, tree: ast.AST) -> bool | None:
    """Read a name that is assigned once, and used nowhere but where it is returned."""
    uses = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == name]
    values = [
        node.value
        for node in _own(tree)
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and node.targets[0] in uses
    ]
    if len(values) != 1 or isinstance(values[0], ast.Name):
        return None
    adds = _adds_to(values[0], tree)
    return adds if adds or len(uses) == 2 else None
