"""Where a subject stands in its author's file: what a build server points at.

Read from the file's text, so that it is the line that a person wrote, whatever decorators and
bindings made of it. Nothing is imported or run here.
"""

from __future__ import annotations

import ast
import warnings
from pathlib import Path

from faultclock.model.report.finding import SourcePlace

#: What stands before the name of a file that is loaded as a module.
FILE_MODULE = "subject."
#: Folders of environments, which many keep in their working folder.
_INSTALLED = frozenset({"site-packages", "dist-packages", "node_modules"})

_Defining = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def place_in(file: Path, source: bytes, name: str) -> SourcePlace | None:
    """Return the place of `name` in a file of the person's own; None in any other.

    Args:
        source: what the file holds.
        name: as a subject is named, such as `subject` or `Adapter.call`.
    """
    return place_at(file, line_of(source, name))


def place_at(file: Path, line: int) -> SourcePlace | None:
    """Return a line (1-based) of a file of the person's own; None in any other.

    Their own are those below the working folder, but for what is installed there.
    """
    try:
        below = file.resolve().relative_to(Path.cwd().resolve())
    except (OSError, ValueError):
        return None
    if not _INSTALLED.isdisjoint(below.parts):
        return None
    return SourcePlace(file=below.as_posix(), line=line)


def line_of(source: bytes, name: str) -> int:
    """Return the line (1-based) on which `name` is defined or assigned; 1 where none is found."""
    body, line = statements_of(source), 1
    for part in name.split("."):
        # The last one counts, as it does when the file is run.
        found = [node for node in body if part in _names(node)]
        if not found:
            break
        line = found[-1].lineno
        body = found[-1].body if isinstance(found[-1], _Defining) else []
    return line


def statements_of(source: bytes) -> list[ast.stmt]:
    """Return the statements of a file at its top level; none of one that is no Python."""
    try:
        with warnings.catch_warnings():
            # Python warns of what stands in a file when it is imported, and that is enough.
            warnings.simplefilter("ignore")
            return ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError):
        return []


def imported_modules(source: bytes) -> tuple[str, ...]:
    """Return the first part of each module that a file imports at its top level, in order."""
    names: dict[str, None] = {}
    for node in statements_of(source):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0]: None for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            names[node.module.split(".")[0]] = None
    return tuple(names)


def _names(node: ast.stmt) -> set[str]:
    """Return the names that a statement binds."""
    if isinstance(node, _Defining):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        inner = (part for target in targets for part in ast.walk(target))
        return {part.id for part in inner if isinstance(part, ast.Name)}
    # Of `if`, `try` and `with`: what their own statements bind, as in `if TYPE_CHECKING:`.
    blocks = (getattr(node, field, []) for field in ("body", "orelse", "finalbody"))
    return {name for block in blocks for item in block for name in _names(item)}
