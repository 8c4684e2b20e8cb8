"""From one scenario file with a matrix to the scenarios that it stands for.

A choice is data that is merged into the scenario, never code. What a combination comes to is
validated like any other scenario; a mistake is reported at the matrix, with the combination's name.
"""

from __future__ import annotations

import copy
import re
from typing import Any

from msgspec import Struct
from pydantic import ValidationError

from faultclock.errors import SourceError
from faultclock.load.yaml_file import Document
from faultclock.model.scenario.matrix import Matrix
from faultclock.model.scenario.scenario import Scenario, written_scenario

#: What stands for a definition; any other text with a dollar sign is a text.
_NAME = re.compile(r"\$[a-z][a-z0-9-]*")


class _UndefinedError(Exception):
    """A choice names what nothing defines."""


class Crossing(Struct, frozen=True, kw_only=True):
    """What the matrix of one scenario file comes to.

    Attributes:
        scenario: its id.
        cells: number of all combinations.
        omitted: name of each combination that is left out, with the reason.
    """

    scenario: str
    cells: int
    omitted: tuple[tuple[str, str], ...]

    @property
    def run(self) -> int:
        """Number of combinations that are run."""
        return self.cells - len(self.omitted)


def expand(document: Document, scenario: Scenario) -> tuple[tuple[Scenario, ...], Crossing]:
    """Return the scenarios of a file with a matrix, in its order.

    Raises:
        SourceError: a combination is no scenario.
    """
    matrix = scenario.matrix
    assert matrix is not None, "only a file with a matrix is expanded"
    base = {key: value for key, value in document.data.items() if key != "matrix"}
    scenarios: list[Scenario] = []
    omitted: list[tuple[str, str]] = []
    cells = matrix.cells()
    for cell in cells:
        name = variant_name(cell)
        because = matrix.omission(cell)
        if because is not None:
            omitted.append((name, because))
            continue
        try:
            data = {**_combined(base, matrix, cell), "variant": name}
        except _UndefinedError as error:
            message = f"with {name}: nothing defines `{error}`"
            hint = "a choice of this combination, or the matrix, has to `define` it"
            raise SourceError((document.problem(("matrix", "axes"), message, hint),)) from None
        try:
            scenarios.append(written_scenario(data))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "the scenario"
            message = f"with {name}: {where}: {first['msg']}"
            raise SourceError((document.problem(("matrix", "axes"), message),)) from None
    moved = next((made for made in scenarios if made.id != scenario.id), None)
    if moved is not None:
        message = f"with {moved.variant}: the id becomes {moved.id!r}, and all variants share one"
        raise SourceError((document.problem(("matrix", "axes"), message),))
    crossing = Crossing(scenario=scenario.id, cells=len(cells), omitted=tuple(omitted))
    return tuple(scenarios), crossing


def variant_name(cell: dict[str, str]) -> str:
    """Return the name of a combination, such as `state=shown, event=crash`."""
    return ", ".join(f"{axis}={choice}" for axis, choice in cell.items())


def merged(base: Any, change: Any) -> Any:
    """Return `base` changed by `change`: mappings merge, lists are added to, the rest replaces."""
    if isinstance(base, dict) and isinstance(change, dict):
        both = dict(base)
        for key, value in change.items():
            both[key] = merged(both[key], value) if key in both else copy.deepcopy(value)
        return both
    if isinstance(base, list) and isinstance(change, list):
        return [*base, *copy.deepcopy(change)]
    return copy.deepcopy(change)


def _combined(base: dict[str, Any], matrix: Matrix, cell: dict[str, str]) -> dict[str, Any]:
    choices = [matrix.axes[axis][name] for axis, name in cell.items()]
    defined = dict(matrix.define)
    for choice in choices:
        defined.update(choice.define)
    data: Any = base
    for choice in choices:
        data = merged(data, _filled(choice.merge, defined))
    assert isinstance(data, dict)
    return data


def _filled(value: Any, defined: dict[str, Any]) -> Any:
    if isinstance(value, dict):
        return {key: _filled(item, defined) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, defined) for item in value]
    if isinstance(value, str) and _NAME.fullmatch(value):
        if value[1:] not in defined:
            raise _UndefinedError(value)
        # A definition may name others, but never itself: so filling in always ends.
        others = {name: item for name, item in defined.items() if name != value[1:]}
        return _filled(defined[value[1:]], others)
    return copy.deepcopy(value)
