"""The APIs that the fake provider can speak, found by their names.

A dialect is a file: `anthropic-messages.yaml` says what that API looks like on the wire, and
`fixtures/payloads/anthropic-messages.yaml` what its error answers are. What is no template is a
function in the module of the same name (`anthropic_messages.py`), at most three for a dialect;
`sheets/spoken.py` says which there can be. An API that is nothing like the others is a `DIALECT` in
such a module. There is no list to add one to.
"""

from __future__ import annotations

import importlib.util
import pkgutil
from functools import cache
from pathlib import Path

from faultclock.errors import UnknownNameError
from faultclock.fakes.sheets.sheet import read_sheet
from faultclock.fakes.sheets.spoken import HOOKS, SpokenDialect
from faultclock.fakes.wire.dialect import Dialect

_FOLDER = Path(__file__).parent


@cache
def dialect_names() -> tuple[str, ...]:
    """Return the names of all dialects, sorted; none is read."""
    modules = {found.name.replace("_", "-") for found in pkgutil.iter_modules(__path__)}
    return tuple(sorted(modules | _files()))


@cache
def dialect_named(name: str) -> Dialect:
    """Return the dialect that scenarios call `name`; its file is read once.

    Raises:
        UnknownNameError: there is none.
        SourceError: its file is wrong.
    """
    if name not in dialect_names():
        raise UnknownNameError("dialect", name, dialect_names())
    path = f"{__name__}.{name.replace('-', '_')}"
    members = vars(importlib.import_module(path)) if importlib.util.find_spec(path) else {}
    if name not in _files():
        dialect: Dialect = members["DIALECT"]
        return dialect
    hooks = {hook: members[hook] for hook in HOOKS if hook in members}
    return SpokenDialect(name, read_sheet(_FOLDER, name), hooks)


def _files() -> set[str]:
    return {file.stem for file in _FOLDER.glob("*.yaml")}
