"""How a miniature of an agent runtime is made: a subclass of a reference, with one defect.

    relavium = wrong_in("relavium")

    @relavium("retries-denied-tool", "Asks again for what was denied", fails="failures.redone",
              shown_by="tool-denied", origin="owner/name#1")
    class _RetriesDeniedTool(RelaviumAgent): ...

Where the defect is a real one, `origin` names the public issue, and so does the title or the
docstring.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from faultclock.subjects.bind_runtime import runtime
from faultclock.subjects.miniatures import Miniature
from faultclock.subjects.reference_agents.bound import DECLARES

__all__ = ["AGENT_MINIATURES", "wrong_in"]

AGENT_MINIATURES: dict[str, Miniature] = {}

_AgentT = TypeVar("_AgentT", bound=type[Any])


class _Wrong(Protocol):
    def __call__(
        self, name: str, title: str, *, fails: str, shown_by: str, origin: str | None = None
    ) -> Callable[[_AgentT], _AgentT]: ...


def wrong_in(model: str) -> _Wrong:
    """Return what registers a runtime as `mini-MODEL-NAME`, shown by a scenario of that family."""

    def wrong(
        name: str, title: str, *, fails: str, shown_by: str, origin: str | None = None
    ) -> Callable[[_AgentT], _AgentT]:
        def register(agent: _AgentT) -> _AgentT:
            bind = runtime(id=f"mini-{model}-{name}", title=title, declares=DECLARES, inline=True)
            binding = bind(agent)
            AGENT_MINIATURES[binding.id] = Miniature(
                binding=binding,
                fails=fails,
                model=model,
                shown_by=f"{model}/{shown_by}",
                origin=origin,
            )
            return agent

        return register

    return wrong
