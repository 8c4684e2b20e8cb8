"""The APIs that the fake provider can speak, one module each, found by their names.

The dialect `anthropic-messages` is `DIALECT` in the module `anthropic_messages`, and its error
answers are `fixtures/payloads/anthropic-messages.yaml`. There is no list to add it to.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from faultclock.errors import UnknownNameError
from faultclock.fakes.wire.dialect import Dialect

__all__ = ["dialect_named", "dialect_names"]


def dialect_names() -> tuple[str, ...]:
    """Return the names of all dialects, sorted; no module is imported."""
    modules = (found.name for found in pkgutil.iter_modules(__path__))
    return tuple(sorted(name.replace("_", "-") for name in modules if not name.startswith("_")))


@cache
def dialect_named(name: str) -> Dialect:
    """Return the dialect that scenarios call `name`.

    Raises:
        UnknownNameError: there is none.
    """
    if name not in dialect_names():
        raise UnknownNameError("dialect", name, dialect_names())
    module = importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
    dialect: Dialect = module.DIALECT
    return dialect
