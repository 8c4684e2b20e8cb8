"""Where the files that come with Faultclock lie: in a wheel, or in a checkout.

A wheel carries `scenarios/` and `fixtures/` inside the package, below `_bundled`; an editable
checkout has them at its top. Nothing here reads a file.
"""

from __future__ import annotations

from pathlib import Path

import faultclock
from faultclock.errors import InputError

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


def _shipped(name: str) -> Path:
    places = (_PACKAGE / "_bundled" / name, _PACKAGE.parents[1] / name)
    for place in places:
        if place.is_dir():
            return place
    raise InputError(
        f"the {name} that come with Faultclock are missing from this installation",
        hint="install it again, or work in a complete checkout",
    )
