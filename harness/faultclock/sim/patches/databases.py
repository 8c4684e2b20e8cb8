"""Databases: SQLite works on the files of a run; what is asked over a network is refused by name.

The table of functions that SQLite gets is made when something first connects: to load the library
for it takes time that most subjects never need.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from faultclock.sim.host.disk import current_disk
from faultclock.sim.kernel.actors import current
from faultclock.sim.kernel.escapes import refuse
from faultclock.sim.net.databases import INSTEAD
from faultclock.sim.patches.registry import Patch, refusing

_VFS = "faultclock.sim.host.sqlite_vfs"

#: Module to what makes connections there: a class, or an empty text for the module itself, and a
#: function; and to the database. Their C libraries have sockets of their own. Drivers in Python
#: are stopped where they connect, by the port: see `sim/net/databases`.
_CLIENTS: dict[str, tuple[str, tuple[tuple[str, str], ...]]] = {
    "psycopg": (
        "PostgreSQL",
        (("", "connect"), ("Connection", "connect"), ("AsyncConnection", "connect")),
    ),
    "psycopg2": ("PostgreSQL", (("", "connect"),)),
    "MySQLdb": ("MySQL", (("", "connect"),)),
    "oracledb": ("Oracle", (("", "connect"), ("", "connect_async"))),
    "pymongo.asynchronous.topology": ("MongoDB", (("Topology", "open"),)),
    "pymongo.synchronous.topology": ("MongoDB", (("Topology", "open"),)),
    "pyodbc": ("ODBC", (("", "connect"),)),
}
#: Read by `install_late`.
MODULES = frozenset(_CLIENTS)


def connects(database: Any) -> None:
    """Give SQLite the world before it opens a database.

    Raises:
        SimEscape: it cannot be given that, and the run has files of its own.
    """
    from faultclock.sim.host import sqlite_vfs

    text = bytes(database).decode(errors="replace") if isinstance(database, bytes) else database
    if isinstance(text, str) and "vfs=" in text and current() is not None:
        refuse("sqlite3 with a VFS of its own")
    if not sqlite_vfs.register() and current_disk() is not None and text != ":memory:":
        refuse("sqlite3, which is built into this Python and writes its files past it,")


def begin_run() -> None:
    """Have the randomness of SQLite begin anew."""
    if _VFS in sys.modules:
        sys.modules[_VFS].forget_entropy()


def leave() -> None:
    """Give SQLite the real system back."""
    if _VFS in sys.modules:
        sys.modules[_VFS].unregister()


def patches_of(module_name: str) -> Iterator[Patch]:
    """Yield the patches of an imported module."""
    module = sys.modules[module_name]
    database, functions = _CLIENTS[module_name]
    driver = module_name.partition(".")[0]
    for owner_name, name in functions:
        owner = getattr(module, owner_name, None) if owner_name else module
        if owner is not None and hasattr(owner, name):
            yield Patch(owner, name, refusing(f"{database} by {driver}{INSTEAD}"))
