"""Loaded by every Python that a recorded program starts: brings our agent in, then steps aside.

Why this way: `site` imports a module of this name before the program's first line, whatever the
program is: a script, `-m`, a console script such as pytest, or a child process of one of these. The
other ways reach less or change more: `-c` and `-m` wrappers miss console scripts and children, and
a `.pth` file would have to be installed. Python started with -S, -I or -E cannot be reached.

It takes its own folder off the path and runs the `sitecustomize` that would have run without it.
Without FAULTCLOCK_RECORD in the environment it does only that. It needs nothing but the standard
library, because the Python of the program need not be the one that Faultclock is installed in.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path


def _begin(address: str) -> None:
    """Bring in the agent; whatever is wrong with it must not stop the program."""
    place = Path(__file__).parents[1] / "agent" / "starting.py"
    spec = spec_from_file_location("_faultclock_starting", place)
    if spec is not None and spec.loader is not None:
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        module.begin(address)


def _go_on() -> None:
    """Run the module of our name that stands next on the path, in our place."""
    here = str(Path(__file__).parent)
    sys.path[:] = [entry for entry in sys.path if entry != here]
    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        return
    module = module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


if os.environ.get("FAULTCLOCK_RECORD"):
    try:
        _begin(os.environ["FAULTCLOCK_RECORD"])
    except Exception as error:  # noqa: BLE001 - the program runs on, unrecorded, and is told why
        sys.stderr.write(f"faultclock: not recorded: {type(error).__name__}: {error}\n")
_go_on()
