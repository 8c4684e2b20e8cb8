"""The command line: parse, call, write files, exit code. It decides nothing about conformance.

One module per command; `app` lists them and imports one only when it is called, so that
`faultclock --help` answers at once.
"""

from __future__ import annotations

import gc

__all__ = ["main"]

#: Objects that are made before the youngest are looked through. What is imported stays, and with
#: the 700 of CPython a tenth of the start of a command goes into looking for garbage in it.
_YOUNG_MAX = 20_000


def main() -> None:
    """Run the command line of this process and exit with its code."""
    gc.set_threshold(_YOUNG_MAX)
    from faultclock.cli.app import app

    app()
