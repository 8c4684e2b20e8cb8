"""Matrix: many scenarios from one file, one for each combination of what its axes offer."""

from __future__ import annotations

from itertools import product
from typing import Any

from pydantic import Field, model_validator

from faultclock.model._base import Value


class Choice(Value):
    """One value of an axis."""

    merge: dict[str, Any] = {}
    """What it changes in the scenario: mappings are merged, lists are added to, and anything else
    replaces what was there. A text `$name` stands for what `define` of a choice says."""
    define: dict[str, Any] = {}
    """Values that the choices of other axes may name as `$name`."""


class Omission(Value):
    """Combinations that cannot be, and why."""

    where: dict[str, str | tuple[str, ...]] = Field(min_length=1)
    """Axis to a choice, or to several of them."""
    because: str = Field(min_length=1)

    def covers(self, cell: dict[str, str]) -> bool:
        """Return whether the combination `cell` (axis to choice) is left out."""
        return all(
            cell[axis] in ((named,) if isinstance(named, str) else named)
            for axis, named in self.where.items()
        )


class Matrix(Value):
    """The axes, and the combinations that are left out."""

    axes: dict[str, dict[str, Choice]] = Field(min_length=2)
    """Axis to its choices by name."""
    define: dict[str, Any] = {}
    """Values that every choice may name as `$name`; what a choice defines comes before them."""
    omit: tuple[Omission, ...] = ()

    @model_validator(mode="after")
    def _names_exist(self) -> Matrix:
        for axis, choices in self.axes.items():
            if not choices:
                raise ValueError(f"the axis {axis!r} has no choice")
        for omission in self.omit:
            for axis, named in omission.where.items():
                if axis not in self.axes:
                    raise ValueError(f"omit names the unknown axis {axis!r}")
                for name in (named,) if isinstance(named, str) else named:
                    if name not in self.axes[axis]:
                        raise ValueError(f"the axis {axis!r} has no choice {name!r}")
        if not any(self.omission(cell) is None for cell in self.cells()):
            raise ValueError("every combination is left out")
        return self

    def cells(self) -> list[dict[str, str]]:
        """Return every combination (axis to choice), in the order of the file."""
        return [
            dict(zip(self.axes, names, strict=True))
            for names in product(*(self.axes[axis] for axis in self.axes))
        ]

    def omission(self, cell: dict[str, str]) -> str | None:
        """Return why `cell` is left out, None where it is not."""
        return next((item.because for item in self.omit if item.covers(cell)), None)
