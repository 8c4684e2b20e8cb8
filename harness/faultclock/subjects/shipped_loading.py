"""From the id of a shipped subject to its Binding. Only what is named is imported."""

from __future__ import annotations

import importlib
import sys
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

from faultclock.errors import SubjectError
from faultclock.subjects.binding import Binding
from faultclock.subjects.shipped import SHIPPED

if TYPE_CHECKING:
    from faultclock.subjects.miniature import Miniature

#: Where the wrong subjects are. Whoever runs a subject of their own pays for none of them.
_MINIATURES = "faultclock.mutants.registry"
_MINIATURE_PREFIX = "mini-"


@cache
def miniatures() -> dict[str, Miniature]:
    """Return the miniatures of all roles by id; this imports every one of them."""
    found: dict[str, Miniature] = importlib.import_module(_MINIATURES).MUTANTS
    return found


def shipped_binding(id_: str) -> Binding | None:
    """Return the shipped subject `id_`; None where there is none of that id.

    Raises:
        SubjectError: a library that it needs is not installed, or too old.
    """
    if id_.startswith(_MINIATURE_PREFIX) and id_ in miniatures():
        return miniatures()[id_].binding
    return _load_shipped(id_) if id_ in SHIPPED else None


def missing(needs: tuple[str, ...]) -> tuple[str, ...]:
    """Return those of the modules `needs` that are not installed."""
    return tuple(name for name in needs if name not in sys.modules and not _is_installed(name))


def _load_shipped(id_: str) -> Binding:
    item = SHIPPED[id_]
    absent = missing(item.needs)
    if absent:
        raise SubjectError(
            f"subject {id_!r} needs {' and '.join(absent)}, which is not installed",
            hint=_install_hint(absent[0], item.extra),
        )
    place, _, name = item.place.partition(":")
    try:
        module = importlib.import_module(f"faultclock.{place}")
    except ImportError as error:
        # An older version of the library without a name that the adapter uses.
        raise SubjectError(
            f"subject {id_!r} cannot be imported: {error}",
            hint=_install_hint(item.needs[0], item.extra),
        ) from error
    binding = getattr(module, name)
    assert isinstance(binding, Binding)
    return binding


def _is_installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        # Of `google.genai` where there is no `google` at all.
        return False


def _install_hint(name: str, extra: str | None = None) -> str:
    return f"pip install {name}" if extra is None else f"pip install 'faultclock[{extra}]'"
