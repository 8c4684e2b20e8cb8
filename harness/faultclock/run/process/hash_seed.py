"""Starts a command again with a fixed hash seed. It imports little: that would be done twice."""

from __future__ import annotations

import contextlib
import os
import sys

#: Set in the environment once the process was started again with a fixed hash seed.
_RESTARTED = "FAULTCLOCK_HASH_SEED_FIXED"


def ensure_hash_seed() -> None:
    """Start this process again with PYTHONHASHSEED=0, unless its hash seed is fixed already.

    Sets of strings iterate in another order in every process otherwise. It happens at most
    once; a child of a restarted process inherits the setting.
    """
    if os.environ.get("PYTHONHASHSEED", "random") != "random" or _RESTARTED in os.environ:
        return
    environment = {**os.environ, "PYTHONHASHSEED": "0", _RESTARTED: "1"}
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            with contextlib.suppress(ValueError, OSError):
                stream.flush()
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)  # noqa: S606
