"""Modules for Node with real npm packages, which `make test` installs beside the Python ones."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from faultclock.run.prepare import prepare_target
from faultclock.subjects.binding import Binding

#: Where `make test` has put the packages of `tests/node/package.json`.
PACKAGES = Path(sys.prefix) / "node" / "node_modules"
#: A module for each client.
CLIENTS = Path(__file__).parent

needs_node = pytest.mark.skipif(
    shutil.which("node") is None, reason="Node is missing: nothing of the Node host was tested"
)
needs_packages = pytest.mark.skipif(
    shutil.which("node") is None or not PACKAGES.is_dir(),
    reason="Node or its npm packages are missing (make test installs them): no client was tested",
)


def folder_with(tmp_path: Path, **modules: str) -> Path:
    """Return a folder with these modules, by their names, beside the npm packages."""
    for name, text in modules.items():
        (tmp_path / f"{name}.mjs").write_text(text, encoding="utf-8")
    if PACKAGES.is_dir() and not (tmp_path / "node_modules").exists():
        (tmp_path / "node_modules").symlink_to(PACKAGES)
    return tmp_path


def subject_of(tmp_path: Path, text: str, **said: str) -> Binding:
    """Return the one export of a module, ready for a run."""
    return prepare_target(str(folder_with(tmp_path, app=text) / "app.mjs"), **said).binding  # type: ignore[arg-type]


def fixture(tmp_path: Path, name: str) -> Binding:
    """Return the one export of a module of `tests/node`."""
    return subject_of(tmp_path, (CLIENTS / name).read_text(encoding="utf-8"))
