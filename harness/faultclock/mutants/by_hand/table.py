"""How a wrong subject that is code is registered: a class or a function, and what a row says too.

    wrong = ByHand("relavium")

    @wrong("retries-denied-tool", "Asks again for what was denied", fails="failures.redone",
           shown_by="tool-denied", origin="owner/name#1")
    class _RetriesDeniedTool(RelaviumAgent): ...

The class is that of the reference, or of one of its parts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from faultclock.mutants.references import REFERENCES
from faultclock.subjects.binding import Binding
from faultclock.subjects.miniature import Miniature

#: The wrong subjects that are code, by id.
BY_HAND: dict[str, Miniature] = {}

_T = TypeVar("_T", bound=Callable[..., Any])


class ByHand:
    """Registers wrong subjects that are made of one reference.

    Args:
        name: id of the reference.
    """

    def __init__(self, name: str) -> None:
        self.reference = REFERENCES[name]()

    def __call__(
        self,
        name: str,
        does: str,
        *,
        fails: str,
        shown_by: str,
        origin: str | None = None,
        model: str | None = None,
    ) -> Callable[[_T], _T]:
        """Register the decorated class."""

        def register(made: _T) -> _T:
            id_ = self.reference.prefix + name
            binding = self.reference.bind(self.reference.whole(made), id_, does)
            self._keep(binding, fails, shown_by, origin, model)
            return made

        return register

    def run(
        self,
        name: str,
        does: str,
        *,
        fails: str,
        shown_by: str,
        origin: str | None = None,
    ) -> Callable[[_T], _T]:
        """Register the decorated function."""

        def register(run: _T) -> _T:
            assert self.reference.bind_run is not None
            binding = self.reference.bind_run(run, self.reference.prefix + name, does)
            self._keep(binding, fails, shown_by, origin, None)
            return run

        return register

    def race(self, name: str, does: str, *, fails: str, origin: str) -> Callable[[_T], _T]:
        """Register the decorated class or function as one that only exploration finds."""

        def register(made: _T) -> _T:
            bind = self.reference.bind
            whole: Any = made
            if not isinstance(made, type):
                assert self.reference.bind_run is not None
                bind = self.reference.bind_run
            else:
                whole = self.reference.whole(made)
            BY_HAND[f"mini-race-{name}"] = Miniature(
                binding=bind(whole, f"mini-race-{name}", does),
                fails=fails,
                model=self.reference.model,
                shown_by=f"exploration/{name}",
                origin=origin,
                found_by="explore",
            )
            return made

        return register

    def _keep(
        self,
        binding: Binding,
        fails: str,
        shown_by: str,
        origin: str | None,
        model: str | None,
    ) -> None:
        BY_HAND[binding.id] = Miniature(
            binding=binding,
            fails=fails,
            model=model or self.reference.model,
            shown_by=self.reference.scenarios + shown_by,
            origin=origin,
        )
