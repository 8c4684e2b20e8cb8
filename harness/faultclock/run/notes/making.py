"""Makes RunNotes of what was noted in a run: paths for people, source lines, texts without secrets.

This is done outside of the run, in the process that keeps its trace: here files may be read.
"""

from __future__ import annotations

import linecache
import sysconfig
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

import faultclock
from faultclock.model.paths import ELSEWHERE
from faultclock.model.trace.notes import Frame, OutputLine, RaisedError, RunNotes, WaitingPlace
from faultclock.run.notes.frames import RawFrame
from faultclock.run.notes.output import KeptLines, RawLine
from faultclock.run.notes.taking import RawNotes, RawWait
from faultclock.subjects.outcome import scrub

#: The longest source line that is shown, in characters.
_CODE_MAX = 200
_PACKAGES = ("/site-packages/", "/dist-packages/", "/node_modules/")


def made_notes(raw: RawNotes, spilled: KeptLines | None = None) -> RunNotes | None:
    """Return the notes of a run; None where there is nothing to note.

    Args:
        spilled: what went past Python's own streams.
    """
    output = raw.output if spilled is None else raw.output.joined(_not_yet_noted(raw, spilled))
    if not (raw.raised or raw.waits or output.first):
        return None
    return RunNotes(
        raised=tuple(
            RaisedError(
                call=call,
                type=kind,
                message=message,
                frames=_frames(frames),
                raised_by=raised_by,
            )
            for call, kind, message, frames, raised_by in raw.raised
        ),
        output=tuple(map(_output_line, output)),
        output_cut=output.cut,
        waits=tuple(map(_waiting_place, raw.waits)),
    )


def _not_yet_noted(raw: RawNotes, spilled: KeptLines) -> KeptLines:
    """Return what was spilled without what a handler of the subject's made of noted records."""
    told = [text for _, stream, text, *_ in raw.output if stream in ("log", "warning") and text]
    kept = KeptLines(cut=spilled.cut)
    for line in spilled:
        if not any(text in line[2] for text in told):
            kept.add(line)
    return kept


def _waiting_place(wait: RawWait) -> WaitingPlace:
    call, from_ns, until_ns, frames, hangs = wait
    return WaitingPlace(
        call=call, from_ns=from_ns, until_ns=until_ns, frames=_frames(frames), hangs=hangs
    )


def _output_line(line: RawLine) -> OutputLine:
    at_ns, stream, text, call, level, logger, file, number = line
    return OutputLine(
        at_ns=at_ns,
        stream=stream,
        text=scrub(text),
        call=call,
        level=level,
        logger=logger,
        file=_shown(file, str(Path.cwd())) if file else "",
        line=number,
    )


def _frames(frames: Iterable[RawFrame]) -> tuple[Frame, ...]:
    # A folder of its own may be worked in by each test of a suite.
    cwd = str(Path.cwd())
    return tuple(_frame(frame, cwd) for frame in frames)


@lru_cache(maxsize=4_096)
def _frame(frame: RawFrame, cwd: str) -> Frame:
    file, line, function, own = frame
    code = scrub(linecache.getline(file, line).strip()[:_CODE_MAX])
    return Frame(file=_shown(file, cwd), line=line, function=function, code=code, own=own)


def _shown(file: str, cwd: str) -> str:
    """Return a path that says which file it is, and nothing of the machine."""
    package = f"{Path(faultclock.__file__).parent.parent}/"
    if file.startswith(f"{package}faultclock/"):
        return file.removeprefix(package)
    for mark in _PACKAGES:
        if mark in file:
            return file.rpartition(mark)[2]
    if file.startswith(f"{cwd}/"):
        return file.removeprefix(f"{cwd}/")
    standard = f"{sysconfig.get_path('stdlib')}/"
    if file.startswith(standard):
        return file.removeprefix(standard)
    if file.startswith(("/", "..")):
        return ELSEWHERE + file.rpartition("/")[2]
    return file
