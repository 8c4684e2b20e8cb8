"""Which installed libraries a subject's own files import, and does not name."""

from __future__ import annotations

import ast
import sys
import sysconfig
from collections.abc import Collection, Iterable, Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

from faultclock.certify.artifact import LoadedFile
from faultclock.errors import InputError

_PACKAGE = "faultclock"


def check_declared(loaded: Iterable[LoadedFile], declared: Collection[str]) -> None:
    """Check that each library which the files import is named, so that its digest is known.

    Libraries that a library imports in turn are not asked for.

    Args:
        loaded: the subject's own files.
        declared: distributions that it names.

    Raises:
        InputError: one is imported and not named.
    """
    known = {_normal(name) for name in declared}
    places: dict[str, Path] = {}
    files = tuple(loaded)
    for item in files:
        for package in _imported(item.path):
            places.setdefault(package, item.path)
    own = {item.path for item in files}
    installed = [name for name in sorted(places) if _is_installed(name, own)]
    if not installed:
        return
    owners = packages_distributions()
    for package in installed:
        names = owners.get(package, [])
        if names and known.isdisjoint(map(_normal, names)):
            raise InputError(
                f"{places[package].name} imports {package}, and the subject does not name it, so"
                " that nothing would say which one was certified",
                hint=f'bind it with distributions=("{names[0]}",)',
            )


def _imported(path: Path) -> Iterator[str]:
    """Yield the top-level packages that a source file imports, wherever in it."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            yield node.module.partition(".")[0]


def _is_installed(package: str, own: Collection[Path]) -> bool:
    """Return whether a package is loaded from where libraries are, and is not the subject's own."""
    file = getattr(sys.modules.get(package), "__file__", None)
    if package == _PACKAGE or file is None:
        return False
    path, paths = Path(file).resolve(), sysconfig.get_paths()
    libraries = (Path(paths[name]).resolve() for name in ("purelib", "platlib"))
    return path not in own and any(map(path.is_relative_to, libraries))


def _normal(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")
