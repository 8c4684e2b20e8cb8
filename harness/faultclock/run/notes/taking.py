"""Takes notes of one life of a subject: what it raised, what it wrote, and where it waited.

`noting` is put around the run of a world, in the process that makes the run. Notes are no facts:
they help a person to find the line, no verdict rests on them, and nothing that the subject can see
depends on them. They are plain tuples here and go to another process as they are; `notes_made`
makes RunNotes of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from msgspec import Struct, field

from faultclock.run.notes.frames import (
    RaisedBy,
    RawFrame,
    raised_by,
    stack_of,
    stack_of_lines,
    traced,
)
from faultclock.run.notes.output import KeptLines, Stream, capturing, lines_of
from faultclock.sim.kernel.context import current_call
from faultclock.sim.kernel.kernel import Kernel
from faultclock.sim.kernel.waits import waiting_stacks

#: Waits looked at in a run: a subject that only waits must not fill the memory.
_WAITS_MAX = 20_000
#: Waits and exceptions kept of a run; of the waits those that lasted longest.
_KEPT_MAX = 200
#: Threads and tasks that are named when a run hangs.
_HANGING_MAX = 20

#: Call, when it began and ended (None: it did not), lines, whether it hangs.
RawWait = tuple[str | None, int, int | None, tuple[RawFrame, ...], bool]
#: Call, type, message, lines, what raised it.
RawRaised = tuple[str, str, str, tuple[RawFrame, ...], RaisedBy]


class RawNotes(Struct, frozen=True):
    """The notes of one life or of several: plain data, cheap to hand to another process."""

    raised: tuple[RawRaised, ...] = ()
    output: KeptLines = field(default_factory=KeptLines)
    waits: tuple[RawWait, ...] = ()

    def joined(self, later: RawNotes) -> RawNotes:
        """Return these notes and those of a later life."""
        return RawNotes(
            raised=self.raised + later.raised,
            output=self.output.joined(later.output),
            waits=self.waits + later.waits,
        )


class Notes:
    """The notes of one world.

    Attributes:
        kernel: its clock, and whether it still goes on.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self._raised: list[RawRaised] = []
        self._output = KeptLines()
        self._waits: list[RawWait] = []
        self._hanging: list[RawWait] = []

    def taken(self) -> RawNotes:
        """Return what was noted so far."""
        waits = self._waits
        if len(waits) > _KEPT_MAX:
            longest = sorted(waits, key=lambda wait: wait[1] - (wait[2] or 0))[:_KEPT_MAX]
            waits = sorted(longest, key=lambda wait: wait[1])
        return RawNotes(
            raised=tuple(self._raised), output=self._output, waits=(*waits, *self._hanging)
        )

    # ------------------------------------------------------------------ what the world shows

    def waited(self, from_ns: int, frames: Iterator[FrameType], call: str | None) -> None:
        """Note a wait that has just ended; see `sim.waits.Watcher`."""
        if len(self._waits) >= _WAITS_MAX:
            return
        lines = stack_of(frames)
        if lines:
            self._waits.append((call, from_ns, self.kernel.now_ns, lines, False))

    def waited_at(
        self, from_ns: int, places: Iterable[tuple[str, int, str]], call: str | None
    ) -> None:
        """Note a wait of a program of another language, by the places of its stack."""
        if len(self._waits) < _WAITS_MAX and (lines := stack_of_lines(places)):
            self._waits.append((call, from_ns, self.kernel.now_ns, lines, False))

    def hangs(self) -> None:
        """Note where everything waits that still does."""
        now_ns = self.kernel.now_ns
        for call, stack in waiting_stacks(self.kernel):
            frames = stack_of(stack)
            if frames and len(self._hanging) < _HANGING_MAX:
                self._hanging.append((call, now_ns, None, frames, True))

    # ------------------------------------------------------------------ what the subject does

    def raised(self, call: str, error: BaseException, described: dict[str, Any]) -> None:
        """Note what a call raised; `described` is the first of its chain in the trace."""
        if len(self._raised) < _KEPT_MAX:
            told = str(described["type"]), str(described["message"])
            self._raised.append((call, *told, traced(error), raised_by(error)))

    def wrote(
        self, stream: Stream, text: str, level: str, logger: str, file: str, line: int
    ) -> None:
        """Note what was written, unless it is the last word of code that the end has stopped."""
        if self.kernel.quiet:
            return
        now_ns, call = self.kernel.now_ns, current_call()
        for part in lines_of(text):
            self._output.add((now_ns, stream, part, call, level, logger, file, line))


#: Of the world that runs in this process.
_current: Notes | None = None


@contextmanager
def noting(kernel: Kernel) -> Iterator[Notes]:
    """Take notes of the world of `kernel` while it runs."""
    global _current
    notes = Notes(kernel)
    before, _current = _current, notes
    kernel.watcher = notes
    try:
        with capturing(notes.wrote):
            yield notes
    finally:
        kernel.watcher = None
        _current = before


def current_notes() -> Notes | None:
    """Return the notes of the world that runs now; None between worlds."""
    return _current


def hung_notes(stacks: Iterable[Iterable[tuple[str, int, str]]], at_ns: int) -> RawNotes:
    """Return the notes of a run that the watchdog ended: where each of its threads was.

    Args:
        at_ns: virtual time at which it hung; 0 where it is not known.
    """
    found = [frames for stack in stacks if (frames := stack_of_lines(stack))]
    return RawNotes(
        waits=tuple((None, at_ns, None, frames, True) for frames in found[:_HANGING_MAX])
    )


def note_raised(call: str, error: BaseException, chain: list[dict[str, Any]]) -> None:
    """Note what a call raised, where notes are taken.

    Args:
        chain: as it is recorded; see `describe_exception`.
    """
    if _current is not None:
        _current.raised(call, error, chain[0])
