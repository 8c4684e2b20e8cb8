"""How a miniature of an agent runtime is made: a subclass of a reference, with one defect.

    @wrong("retries-denied-tool", "Asks again for what was denied", fails="failures.redone",
           model="relavium", shown_by="relavium/tool-denied", origin="owner/name#1")
    class _RetriesDeniedTool(RelaviumAgent): ...

Where the defect is a real one, `origin` names the public issue, and so does the title or the
docstring. `wrong_in(model)` is the same for one model, whose scenarios go without its name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from harness.subjects.bind_runtime import runtime
from harness.subjects.miniatures import Miniature
from harness.subjects.reference_agents.bound import DECLARES

__all__ = ["AGENT_MINIATURES", "wrong", "wrong_in"]

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
) -> Callable[[_AgentT], _AgentT]:
    """Register the decorated runtime as `mini-MODEL-NAME`."""

    def register(agent: _AgentT) -> _AgentT:
        bind = runtime(id=f"mini-{model}-{name}", title=title, declares=DECLARES, inline=True)
        binding = bind(agent)
        AGENT_MINIATURES[binding.id] = Miniature(
            binding=binding, fails=fails, model=model, shown_by=shown_by, origin=origin
        )
        return agent

    return register


class _WrongIn(Protocol):
    def __call__(
        self, name: str, title: str, *, fails: str, shown_by: str, origin: str | None = None
    ) -> Callable[[_AgentT], _AgentT]: ...


def wrong_in(model: str) -> _WrongIn:
    """Return `wrong` for the miniatures of one model, each shown by a scenario of its family."""

    def register(
        name: str, title: str, *, fails: str, shown_by: str, origin: str | None = None
    ) -> Callable[[_AgentT], _AgentT]:
        scenario = f"{model}/{shown_by}"
        return wrong(name, title, fails=fails, model=model, shown_by=scenario, origin=origin)

    return register
