"""What the architecture tests read: the modules of the package, parsed once, never imported.

Their trees take hundreds of megabytes, and each process that a test forks copies the tables of its
memory. So they are parsed by the first test that asks, and `parsed` forgets them when this folder's
tests are over.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PROJECT = Path(__file__).parents[2]
PACKAGE = PROJECT / "harness" / "faultclock"


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """One imported module name, and where it stands."""

    name: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Module:
    """One source file.

    Attributes:
        path: relative to the project, with slashes.
        room: first part below the package; the stem for a top-level file such as `errors.py`.
    """

    path: str
    room: str
    text: str

    @property
    def tree(self) -> ast.Module:
        """What the text says."""
        return parsed(self)

    def imports(self) -> tuple[Import, ...]:
        """Return every import of the module, those inside functions included."""
        return _imports(self)

    def imported_from(self, known: Set[str]) -> Iterator[str]:
        """Yield the modules among `known`, by dotted names, that it imports, or something of."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names if alias.name in known)
            elif isinstance(node, ast.ImportFrom) and node.module is not None:
                for alias in node.names:
                    whole = f"{node.module}.{alias.name}"
                    found = whole if whole in known else node.module
                    if found in known:
                        yield found


@cache
def modules() -> tuple[Module, ...]:
    """Return every Python file of the package, sorted by path."""
    return tuple(_read(path) for path in sorted(PACKAGE.rglob("*.py")))


@cache
def suite_modules() -> tuple[Module, ...]:
    """Return every Python file of the tests, sorted by path."""
    return tuple(_read(path) for path in sorted((PROJECT / "tests").rglob("*.py")))


def functions(module: Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield every function of the module, nested ones included."""
    for node in ast.walk(module.tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node


@cache
def _imports(module: Module) -> tuple[Import, ...]:
    found: list[Import] = []
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            found += (Import(name=alias.name, line=node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module.path}:{node.lineno}: imports are absolute"
            found.append(Import(name=node.module or "", line=node.lineno))
    return tuple(found)


@cache
def parsed(module: Module) -> ast.Module:
    """Return the tree of a module."""
    return ast.parse(module.text, filename=module.path)


def _read(path: Path) -> Module:
    relative = path.relative_to(PROJECT)
    below = path.relative_to(PACKAGE).parts if path.is_relative_to(PACKAGE) else relative.parts[1:]
    room = below[0] if len(below) > 1 else relative.stem
    text = path.read_text("utf-8")
    return Module(path=relative.as_posix(), room=room, text=text)
