"""How a miniature of an agent runtime is made: a subclass of a reference, with one defect.

    @wrong("retries-denied-tool", "Asks again for what was denied", fails="failures.redone",
           model="relavium", shown_by="relavium/tool-denied", origin="owner/name#1")
    class _RetriesDeniedTool(RelaviumAgent): ...

Where the defect is a real one, the title of its class names the public issue, like `origin`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from harness.subjects.bind_runtime import runtime
from harness.subjects.binding import Declares
from harness.subjects.miniatures import Miniature

__all__ = ["AGENT_MINIATURES", "wrong"]

AGENT_MINIATURES: dict[str, Miniature] = {}

_AgentT = TypeVar("_AgentT", bound=type[Any])


def wrong(
    name: str,
    title: str,
    *,
    fails: str,
    model: str,
    shown_by: str,
    origin: str | None = None,
    declares: tuple[Declares, ...] = ("errors", "audit", "events", "user", "model", "operator"),
) -> Callable[[_AgentT], _AgentT]:
    """Register the decorated runtime as `mini-MODEL-NAME`."""

    def register(agent: _AgentT) -> _AgentT:
        bind = runtime(id=f"mini-{model}-{name}", title=title, declares=declares, inline=True)
        binding = bind(agent)
        AGENT_MINIATURES[binding.id] = Miniature(
            binding=binding, fails=fails, model=model, shown_by=shown_by, origin=origin
        )
        return agent

    return register
