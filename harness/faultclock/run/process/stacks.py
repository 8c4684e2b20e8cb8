"""Where the threads of a process are, read from what faulthandler writes of them."""

from __future__ import annotations

import re
from itertools import takewhile

#: Innermost frames shown of each stack.
_FRAMES_MAX = 6
#: Frames below those of a subject, and above them.
_WORLD, _CALLERS = "faultclock/sim/", ("faultclock/run/", "faultclock/subjects/binding.py")

_FRAME = re.compile(r'^  File "(?P<path>.*)", line (?P<line>\d+|\?\?\?) in (?P<function>.*)$')

#: Of each thread its frames, innermost first: file, line (0 where it is not known) and function.
Stacks = tuple[tuple[tuple[str, int, str], ...], ...]


def stacks_in(dump: str) -> Stacks:
    """Return the stacks of a dump."""
    threads: list[list[tuple[str, int, str]]] = []
    for line in dump.splitlines():
        found = _FRAME.match(line)
        if found is None:
            if line.startswith(("Thread ", "Current thread ")):
                threads.append([])
        elif threads:
            number = int(found["line"]) if found["line"].isdigit() else 0
            threads[-1].append((found["path"], number, found["function"]))
    return tuple(map(tuple, threads))


def in_words(stacks: Stacks) -> tuple[str, ...]:
    """Return one line for each thread, the running ones first.

    Paths are cut to file names, so that the text is the same on every machine. What called a
    subject is shown where it has no frames itself.
    """
    running: list[str] = []
    waiting: list[str] = []
    for number, frames in enumerate(stacks, start=1):
        waits = bool(frames) and frames[0][0].endswith("faultclock/sim/kernel/kernel.py")
        outside = [frame for frame in frames if _WORLD not in frame[0]]
        own = list(takewhile(_is_below_its_caller, outside))
        shown = [
            f"{path.rsplit('/', 1)[-1]}:{line or '???'} {function}"
            for path, line, function in own or outside
        ]
        text = " <- ".join(shown[:_FRAMES_MAX] or ["unknown"])
        state = "waits" if waits else "is running"
        (waiting if waits else running).append(f"thread {number} {state} at {text}")
    return tuple(running + waiting)


def _is_below_its_caller(frame: tuple[str, int, str]) -> bool:
    return not any(part in frame[0] for part in _CALLERS)
