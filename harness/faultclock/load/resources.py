"""Where the files that come with Faultclock lie: in a wheel, or in a checkout; and their ids.

A wheel carries `scenarios/` and `fixtures/` inside the package, below `_bundled`; an editable
checkout has them at its top. Nothing here reads a file.
"""

from __future__ import annotations

import os
from pathlib import Path

import faultclock
from faultclock.errors import InputError, UnknownNameError

#: How the names of YAML files end.
YAML_SUFFIXES = (".yaml", ".yml")

_PACKAGE = Path(faultclock.__file__).resolve().parent


def scenarios_root() -> Path:
    """Return the folder of the shipped scenarios.

    Raises:
        InputError: the installation is incomplete.
    """
    return _shipped("scenarios")


def fixtures_root() -> Path:
    """Return the folder of payloads, cassettes and golden traces.

    Raises:
        InputError: the installation is incomplete.
    """
    return _shipped("fixtures")


def error_models_root() -> Path:
    """Return the folder of the reference error models."""
    return _PACKAGE / "error_models"


def foreign_maps_root() -> Path:
    """Return the folder of the maps of other systems' logs."""
    return _PACKAGE / "foreign_maps"


def requirement_sets_root() -> Path:
    """Return the folder of the frozen requirement sets."""
    return _PACKAGE / "requirement_sets"


def ids_in(root: Path) -> tuple[str, ...]:
    """Return the ids of the YAML files in one of these folders, sorted."""
    return tuple(sorted(path.stem for path in root.glob("*.yaml")))


def file_of(what: str, id_or_path: str, root: Path) -> str | os.PathLike[str]:
    """Return the file in `root` that an id names, or a path as it was given.

    Args:
        what: it is called in messages.

    Raises:
        UnknownNameError: it is neither.
    """
    ids = ids_in(root)
    if id_or_path in ids:
        return root / f"{id_or_path}.yaml"
    if id_or_path.endswith(YAML_SUFFIXES) or Path(id_or_path).is_file():
        return id_or_path
    raise UnknownNameError(what, id_or_path, ids)


def _shipped(name: str) -> Path:
    places = (_PACKAGE / "_bundled" / name, _PACKAGE.parents[1] / name)
    for place in places:
        if place.is_dir():
            return place
    raise InputError(
        f"the {name} that come with Faultclock are missing from this installation",
        hint="install it again, or work in a complete checkout",
    )
