"""The command line: parse, call, write files, exit code. It decides nothing about conformance.

One module per command; `app` lists them and imports one only when it is called, so that
`faultclock --help` answers at once.
"""

from __future__ import annotations

import gc
import sys

__all__ = ["main"]

#: Objects that are made before the youngest are looked through. What is imported stays, which is
#: 150,000 of them: with the 700 of CPython, a tenth of the start of a command goes into looking for
#: garbage in it.
_YOUNG_MAX = 200_000
#: What simulates has to start under a fixed hash seed, which takes a fresh interpreter.
_SIMULATING = frozenset(
    {"check", "run", "explore", "replay", "doctor", "mutate", "census", "infer"}
    | {"certify", "verify", "conform"}
)


def main() -> None:
    """Run the command line of this process and exit with its code."""
    gc.set_threshold(_YOUNG_MAX)
    words = sys.argv[1:]
    if words and words[0] in _SIMULATING and not {"-h", "--help"} & set(words):
        # Before anything else is imported: what is would be imported twice.
        from faultclock.run.process.hash_seed import ensure_hash_seed

        ensure_hash_seed()
    from faultclock.cli.app import app

    try:
        app()
    finally:
        # Everything goes with the process: an interpreter that ends looks for garbage first.
        gc.freeze()
