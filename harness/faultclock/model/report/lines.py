"""Whose lines a run shows: of its exceptions, and of the places where it waited. Pure."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from faultclock.model.report.finding import RunReport
from faultclock.model.trace.notes import Frame

#: Files of a program elsewhere, and of Python's own modules: no package.
_STANDARD = sys.stdlib_module_names | {"…"}
#: Names that many packages share, such as `google/adk` and `@openai/agents`.
_SHARED = ("google/", "@")


def lines_of(run: RunReport) -> Iterator[bool]:
    """Yield of each line that waited or raised in a run whether it is the user's own."""
    if run.notes is not None:
        stacks = [item.frames for item in run.notes.raised]
        stacks += [item.frames for item in run.notes.waits]
        yield from (frame.own for frames in stacks for frame in frames)


def own_frame(frames: Sequence[Frame]) -> Frame | None:
    """Return the innermost line of the user's own."""
    return next((frame for frame in reversed(frames) if frame.own), None)


def package_of(frames: Sequence[Frame]) -> str:
    """Return the package of a library in which an exception was raised; empty for any other."""
    file = "" if not frames or frames[-1].own else frames[-1].file
    parts = file.split("/")[: 2 if file.startswith(_SHARED) else 1]
    return "" if parts[0] in _STANDARD else ".".join(parts)
