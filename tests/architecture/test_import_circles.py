"""No module needs one that needs it: what a room holds can be read from the bottom to the top."""

from __future__ import annotations

from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter

import pytest

from tests.architecture.source_tree import Module, modules

#: Rooms that still have circles, to be cut one after the other. No room may be added.
STILL = frozenset({"fakes", "live", "model", "sim"})
ROOMS = sorted({module.room for module in modules()} - STILL)


def test_a_circle_is_seen() -> None:
    """Otherwise the test below would show nothing."""
    with pytest.raises(CycleError):
        list(TopologicalSorter({"one": {"other"}, "other": {"one"}}).static_order())


@pytest.mark.parametrize("room", ROOMS)
def test_no_modules_of_a_room_import_each_other_in_a_circle(room: str) -> None:
    """Imports for types alone count as well: they are read in the same way."""
    assert list(TopologicalSorter(_imports_within(room)).static_order())


@pytest.mark.parametrize("room", sorted(STILL))
def test_a_room_without_circles_is_not_excused(room: str) -> None:
    """The list of rooms that have circles only becomes shorter."""
    with pytest.raises(CycleError):
        list(TopologicalSorter(_imports_within(room)).static_order())


def _imports_within(room: str) -> Mapping[str, set[str]]:
    """Return each module of a room, by its dotted name, with those of the room it imports."""
    own = {_dotted(module): module for module in modules() if module.room == room}
    return {
        name: {found for found in module.imported_from(own.keys()) if found != name}
        for name, module in own.items()
    }


def _dotted(module: Module) -> str:
    path = module.path.removeprefix("harness/").removesuffix(".py").removesuffix("/__init__")
    return path.replace("/", ".")
