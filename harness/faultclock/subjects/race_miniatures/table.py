"""How a miniature is registered that only exploration finds.

It says the scenario of the family `exploration` that it is found in, and the check that finds it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from faultclock.subjects import reference
from faultclock.subjects.bind_runtime import runtime
from faultclock.subjects.binding import provider_adapter
from faultclock.subjects.miniatures import Miniature
from faultclock.subjects.reference_agents import bound as agents
from faultclock.subjects.reference_runtime import bound as stud_runtime
from faultclock.subjects.runtime_miniatures.table import reference_with

__all__ = ["RACE_MINIATURES", "Race"]

RACE_MINIATURES: dict[str, Miniature] = {}

_T = TypeVar("_T", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Race:
    """What is registered: `mini-race-NAME`.

    Attributes:
        name: of the miniature, and of its scenario.
        fails: id of the check that finds it.
        model: id of the error model by which it is wrong.
        origin: the public bug that it has, as `owner/name#number`.
    """

    name: str
    title: str
    fails: str
    model: str = "stud-cli"
    origin: str | None = None

    def adapter(self, run: _T) -> _T:
        """Register a provider adapter."""
        bind = provider_adapter(
            id=self.id, title=self.title, declares=reference.DECLARES, inline=True
        )
        return self._kept(run, bind(run))

    def runtime(self, part: _T) -> _T:
        """Register the reference runtime of stud-cli with the decorated part."""
        bind = runtime(id=self.id, title=self.title, declares=stud_runtime.DECLARES, inline=True)
        return self._kept(part, bind(reference_with(part)))  # type: ignore[arg-type]

    def agent(self, agent: _T) -> _T:
        """Register a reference runtime of another model."""
        bind = runtime(id=self.id, title=self.title, declares=agents.DECLARES, inline=True)
        return self._kept(agent, bind(agent))

    @property
    def id(self) -> str:
        """What `--subject` takes."""
        return f"mini-race-{self.name}"

    def _kept(self, given: _T, binding: Any) -> _T:
        RACE_MINIATURES[self.id] = Miniature(
            binding=binding,
            fails=self.fails,
            model=self.model,
            shown_by=f"exploration/{self.name}",
            origin=self.origin,
            found_by="explore",
        )
        return given
