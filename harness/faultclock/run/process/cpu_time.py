"""Whose processor time a run takes: the subject's, its libraries', the world's or the judge's.

    with CpuTime() as cpu:          # in the process of a command, before others are forked from it
        ...                         # each run and each judgement is `measured`, wherever it is made
        cpu.spent()                 # {("subject", "client.py"): 1_200_000, ...} in nanoseconds

Each function of Python is charged to the file that it stands in. Python's own library, and what is
written in C, is charged to who calls it, and so is a library that the world or the judge uses. The
measuring takes time itself, most of it where many small functions are called: the sum is too large,
and the shares are right within some per cent.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import PurePath
from time import thread_time_ns
from types import FrameType
from typing import Any, Literal

import faultclock
from faultclock.run.notes.frames import Whose, whose
from faultclock.run.process.child import INHERITED
from faultclock.sim.kernel.handles import SimHandle

#: Whose time it is, and where within: a room of Faultclock, a library, a file of the subject.
Place = tuple[str, str]
Part = Literal["subject", "libraries", "world", "judge"]

_PACKAGE = PurePath(faultclock.__file__).parent
#: Rooms of ours: what judges, and what calls a subject and what that is made of.
_JUDGE, _BINDING = "oracle", "subjects"
#: Where the loop begins a step of a task: a library whose task it is was not called by the world.
_STEP = SimHandle._run.__code__
#: The descriptor is above those that a run counts from: what it opens has the same number as ever.
_FIRST_DESCRIPTOR = 240
_descriptor: int | None = None


class CpuTime:
    """What is measured from now on, in this process and in those that are forked from it."""

    def __enter__(self) -> CpuTime:
        """Begin."""
        global _descriptor
        with tempfile.TemporaryFile() as file:
            # What several processes write by it stands one after the other.
            _descriptor = fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, _FIRST_DESCRIPTOR)
        INHERITED.add(_descriptor)
        return self

    def __exit__(self, *_: object) -> None:
        """End."""
        global _descriptor
        assert _descriptor is not None, "left twice"
        INHERITED.discard(_descriptor)
        os.close(_descriptor)
        _descriptor = None

    def spent(self) -> dict[Place, int]:
        """Return the nanoseconds of each place, the most first."""
        assert _descriptor is not None, "asked while it measures"
        written = os.pread(_descriptor, os.fstat(_descriptor).st_size, 0)
        total = Counter[Place]()
        for line in written.splitlines():
            total.update({(part, room): ns for part, room, ns in json.loads(line)})
        return dict(sorted(total.items(), key=lambda item: (-item[1], item[0])))


@contextmanager
def measured(part: Part, room: str) -> Iterator[Callable[[], None]]:
    """Measure what is done here, where that was asked for, beginning with this part and room.

    Yields:
        What ends it early, for a process that is ended in the middle.
    """
    if _descriptor is None:
        yield lambda: None
        return
    spent = Counter[Place]()

    def begin(frame: FrameType, event: str, argument: Any) -> None:
        meter = _meter(spent, (part, room))
        sys.setprofile(meter)
        meter(frame, event, argument)

    def end() -> None:
        sys.setprofile(None)
        threading.setprofile(None)
        if spent and _descriptor is not None:
            lines = [(*place, ns) for place, ns in spent.items()]
            os.write(_descriptor, f"{json.dumps(lines)}\n".encode())
            spent.clear()

    threading.setprofile(begin)
    sys.setprofile(_meter(spent, (part, room)))
    try:
        yield end
    finally:
        end()


def _meter(spent: Counter[Place], place: Place) -> Callable[[FrameType, str, Any], None]:
    """Return what Python calls at each call and return in a thread that begins in `place`."""
    outside: list[Place] = []
    since_ns = thread_time_ns()

    def meter(frame: FrameType, event: str, _: Any) -> None:
        nonlocal place, since_ns
        if event not in ("call", "return"):
            return
        spent[place] += thread_time_ns() - since_ns
        if event == "call":
            outside.append(place)
            place = _entered(frame, place)
        elif outside:
            place = outside.pop()
        since_ns = thread_time_ns()

    return meter


def _entered(frame: FrameType, caller: Place) -> Place:
    """Return the place that a function belongs to when `caller` calls it."""
    file = frame.f_code.co_filename
    match whose(file):
        case Whose.OWN:
            return "subject", PurePath(file).name
        case Whose.OURS:
            room = PurePath(file).relative_to(_PACKAGE).parts[0]
            return "judge" if room == _JUDGE else "world", room
        case Whose.LIBRARY:
            begins = frame.f_back is not None and frame.f_back.f_code is _STEP
            if begins or caller[0] in ("subject", "libraries") or caller[1] == _BINDING:
                return "libraries", _library(file)
    return caller


def _library(file: str) -> str:
    parts = PurePath(file).parts
    installed = max(at for at, part in enumerate(parts) if part.endswith("-packages"))
    return parts[installed + 1].removesuffix(".py")


def as_json(spent: Mapping[Place, int]) -> str:
    """Return the text of a file with what was spent."""
    parts: dict[str, dict[str, float]] = {}
    for (part, room), ns in spent.items():
        parts.setdefault(part, {})[room] = round(ns / 1e6, 3)
    value = {
        "format": 1,
        "faultclock": faultclock.__version__,
        "cpu_ms": round(sum(spent.values()) / 1e6, 3),
        "parts": {
            part: {"cpu_ms": round(sum(rooms.values()), 3), "rooms": rooms}
            for part, rooms in parts.items()
        },
    }
    return json.dumps(value, indent=1) + "\n"


def in_words(spent: Mapping[Place, int]) -> str:
    """Return one line on the shares of the parts."""
    total = sum(spent.values())
    if not total:
        return "no run was made: no processor time was measured"
    parts = Counter[str]()
    for (part, _), ns in spent.items():
        parts[part] += ns
    named = {
        "subject": "your code",
        "libraries": "its libraries",
        "world": "the simulated world",
        "judge": "the judge",
    }
    said = ", ".join(
        f"{words} {100 * parts[part] / total:.0f} %" for part, words in named.items() if parts[part]
    )
    return f"processor time: {said}"
