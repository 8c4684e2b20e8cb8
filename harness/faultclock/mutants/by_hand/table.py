"""How a wrong subject that is code is registered: a class, and what a row says too.

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
from faultclock.subjects.miniature import Miniature

#: The wrong subjects that are code, by id.
BY_HAND: dict[str, Miniature] = {}

_T = TypeVar("_T", bound=type[Any])


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
            BY_HAND[id_] = Miniature(
                binding=self.reference.bind(self.reference.whole(made), id_, does),
                fails=fails,
                model=model or self.reference.model,
                shown_by=self.reference.scenarios + shown_by,
                origin=origin,
            )
            return made

        return register

    def race(self, name: str, does: str, *, fails: str, origin: str) -> Callable[[_T], _T]:
        """Register the decorated class as one that only exploration finds."""

        def register(made: _T) -> _T:
            id_ = f"mini-race-{name}"
            BY_HAND[id_] = Miniature(
                binding=self.reference.bind(self.reference.whole(made), id_, does),
                fails=fails,
                model=self.reference.model,
                shown_by=f"exploration/{name}",
                origin=origin,
                found_by="explore",
            )
            return made

        return register
