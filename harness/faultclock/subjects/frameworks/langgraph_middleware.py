"""What the middleware of a LangGraph graph asks a person before a tool is called.

That of LangChain says it itself, by `interrupt_on`. A hook of the user around the calls of tools
interrupts: for the tools that it names, or for all where it does so in any case.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from langgraph.pregel import Pregel

from faultclock.subjects.frameworks.langgraph_interrupts import asks, interrupts
from faultclock.subjects.frameworks.langgraph_parts import hooks_of, parts_of, tools_in
from faultclock.subjects.frameworks.own_tools import names_in


def reviewed_in(graph: Pregel[Any, Any, Any, Any]) -> set[str]:
    """Return the names of the tools for which the middleware of LangChain asks a person."""
    return {
        name
        for part, _ in parts_of(graph)
        for name, wanted in (getattr(part, "interrupt_on", None) or {}).items()
        if wanted
    }


def guards_in(graph: Pregel[Any, Any, Any, Any]) -> dict[str, Any]:
    """Return the hook of the user that asks a person, by the name of each tool that it is for."""
    names = [tool.name for tool, _ in tools_in(graph)]
    found: dict[str, Any] = {}
    for hook in hooks_of(graph):
        if interrupts(hook):
            texts = set(_texts(hook))
            named = [name for name in names if name in texts]
            for name in named or (names if asks(hook) else ()):
                found.setdefault(name, hook)
    return found


def _texts(hook: Any) -> Iterator[str]:
    """Yield the texts that a function uses, also from what it takes of its module."""
    function: Any = inspect.unwrap(hook)
    used = [function.__globals__.get(name) for name in names_in(function)]
    for value in (*function.__code__.co_consts, *used):
        many = value if isinstance(value, set | frozenset | tuple | list | dict) else (value,)
        yield from (item for item in many if isinstance(item, str))


async def reviewed(approved: Callable[..., Awaitable[str]], actions: Any, configs: Any) -> Any:
    """Return what the person decides on calls that a middleware of LangChain holds back."""
    reviews = {item["action_name"]: item for item in configs}
    decisions: list[dict[str, Any]] = []
    for action in actions:
        why_not = await approved(action["name"], action["args"], None)
        allowed = reviews.get(action["name"], {}).get("allowed_decisions", ("approve",))
        edited = {"name": action["name"], "args": action["args"]}
        yes = (
            {"type": "approve"}
            if "approve" in allowed
            else {"type": "edit", "edited_action": edited}
        )
        decisions.append({"type": "reject", "message": why_not} if why_not else yes)
    return {"decisions": decisions}
