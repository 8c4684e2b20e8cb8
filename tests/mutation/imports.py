"""How a process imports an oracle that is not the one on disk, without touching a file.

A process installs this once, before it imports the oracle. Modules that are not changed load as
ever, so a changed module also reaches those that import its names.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from tests.mutation.operators import is_docstring, statements

#: The package whose modules are mutated.
PACKAGE = "faultclock.oracle"
#: What an instrumented module marks its statements in.
_MARKS = "__marks__"
_NO, _YES = b"0", b"1"


def sources() -> dict[str, Path]:
    """Return the file of each module of the package, by the name of the module."""
    spec = find_spec(PACKAGE)
    assert spec is not None
    assert spec.submodule_search_locations is not None
    root = Path(spec.submodule_search_locations[0])
    return {_name(path.relative_to(root)): path for path in sorted(root.rglob("*.py"))}


def _name(path: Path) -> str:
    parts = [PACKAGE, *path.with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


class _Loader(SourceFileLoader):
    """Loads a module from a tree instead of its file."""

    def __init__(self, name: str, path: str, tree: ast.Module, given: dict[str, Any]) -> None:
        super().__init__(name, path)
        self._tree = tree
        self._given = given

    def get_code(self, fullname: str) -> CodeType:
        return compile(self._tree, self.path, "exec", dont_inherit=True)

    def exec_module(self, module: ModuleType) -> None:
        vars(module).update(self._given)
        super().exec_module(module)


class _Finder(MetaPathFinder):
    """Finds the modules that are changed."""

    def __init__(self, change: Callable[[str, str], _Loader | None]) -> None:
        self._change = change

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        if fullname != PACKAGE and not fullname.startswith(f"{PACKAGE}."):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.origin is None:
            return None
        loader = self._change(fullname, spec.origin)
        if loader is None:
            return None
        spec.loader = loader
        return spec


def _install(change: Callable[[str, str], _Loader | None]) -> None:
    assert PACKAGE not in sys.modules, f"{PACKAGE} was imported too early"
    sys.meta_path.insert(0, _Finder(change))


def import_as(module: str, tree: ast.Module) -> None:
    """Have one module imported from a tree."""

    def change(name: str, path: str) -> _Loader | None:
        return _Loader(name, path, tree, {}) if name == module else None

    _install(change)


class Marks:
    """Which statements of the package have run.

    A record is a text for each module with a digit for each statement, `1` where it has run; see
    `statements` for their order.
    """

    def __init__(self) -> None:
        self._marks: dict[str, bytearray] = {}

    def install(self) -> None:
        """Have the modules of the package mark what runs of them."""

        def change(name: str, path: str) -> _Loader:
            tree = ast.parse(Path(path).read_text("utf-8"))
            marks = self._marks[name] = bytearray(_NO * _mark_all(tree))
            return _Loader(name, path, tree, {_MARKS: marks})

        _install(change)

    def take(self) -> dict[str, str]:
        """Return what has run since the last time, for each module of which anything has."""
        found = {}
        for module, marks in self._marks.items():
            if _YES in marks:
                found[module] = marks.decode("ascii")
                marks[:] = _NO * len(marks)
        return found


def _mark_all(tree: ast.Module) -> int:
    """Put a mark before each statement of each function; return how many there are."""
    numbers = statements(tree)
    for node in list(ast.walk(tree)):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list) and any(item in numbers for item in block):
                setattr(node, field, list(_marked(block, numbers)))
    ast.fix_missing_locations(tree)
    return len(numbers)


def _marked(block: list[ast.stmt], numbers: dict[ast.stmt, int]) -> list[ast.stmt]:
    found: list[ast.stmt] = []
    for node in block:
        if not is_docstring(node):
            text = f"{_MARKS}[{numbers[node]}] = {_YES[0]}"
            found.append(ast.copy_location(ast.parse(text).body[0], node))
        found.append(node)
    return found
