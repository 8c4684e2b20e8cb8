"""What was noted of a run, as lines beside one finding: the traceback, the wait, the last output.

The lines are those of a person's own files, as pytest shows them. No line holds a control
character, even where the subject wrote one.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from faultclock.model.report.finding import Finding, SourcePlace
from faultclock.model.trace.notes import Frame, OutputLine, RaisedError, RunNotes, WaitingPlace
from faultclock.render.wording import clipped, count, exact_time, short_time, visible

#: Exceptions and waiting places beside one finding: of fifty alike clients the first ones.
_RAISED_MAX, _HANGING_MAX = 2, 4
#: Lines of output beside one finding, and lines of one exception's message.
_OUTPUT_MAX, _MESSAGE_LINES_MAX = 8, 6
_LINE_MAX = 200


class Noted(Struct, frozen=True, kw_only=True):
    """What stands beside one finding.

    Attributes:
        raised: tracebacks, the outermost line first, each ended by type and message.
        waited: where it waited before it went on.
        hangs: where it still waits.
        output: the last lines that the call logged, warned of or printed.
        output_left_out: how many lines there were before them.
    """

    raised: tuple[str, ...] = ()
    waited: tuple[str, ...] = ()
    hangs: tuple[str, ...] = ()
    output: tuple[str, ...] = ()
    output_left_out: int = 0

    @property
    def said(self) -> tuple[str, ...]:
        """Output, and before it how much is left out."""
        if not self.output_left_out:
            return self.output
        return (f"… {count(self.output_left_out, 'earlier line')}", *self.output)

    @property
    def blocks(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Each kind with its label, without those of which there is nothing."""
        blocks = (
            ("raised", self.raised),
            ("waited", self.waited),
            ("hangs", self.hangs),
            ("output", self.said),
        )
        return tuple((label, lines) for label, lines in blocks if lines)


NOTHING_NOTED = Noted()


def shown_with(finding: Finding, notes: RunNotes | None) -> Noted:
    """Return what was noted of the call that `finding` is about."""
    if notes is None:
        return NOTHING_NOTED
    raised = [error for error in notes.raised if _is_about(finding, error.call)]
    hanging = [wait for wait in notes.waits if wait.hangs and _is_about(finding, wait.call)]
    wait = _waited(finding, notes)
    output = [line for line in notes.output if _is_about(finding, line.call)]
    return Noted(
        raised=tuple(line for error in raised[:_RAISED_MAX] for line in _traceback(error)),
        waited=() if wait is None else tuple(_waiting(wait)),
        hangs=tuple(line for item in hanging[:_HANGING_MAX] for line in _waiting(item)),
        output=tuple(map(output_text, output[-_OUTPUT_MAX:])),
        output_left_out=max(0, len(output) - _OUTPUT_MAX) + (notes.output_cut if output else 0),
    )


def said_lines(notes: RunNotes, *streams: str) -> tuple[str, ...]:
    """Return what was written to some of the streams in a run, with how much is left out."""
    lines = tuple(output_text(line) for line in notes.output if line.stream in streams)
    cut = (f"… {count(notes.output_cut, 'line')} left out",) if notes.output_cut and lines else ()
    return (*lines, *cut)


def output_text(line: OutputLine, *, timed: bool = True) -> str:
    """Return one line of output with where it comes from, and with its virtual time."""
    source = " ".join(part for part in (line.level or line.stream, line.logger) if part)
    time = f"{exact_time(line.at_ns)} " if timed else ""
    return _plain(f"{time}{source}: {line.text}")


def place_text(place: SourcePlace) -> str:
    """Return a place as editors and terminals read it: `client.py:31`."""
    return visible(f"{place.file}:{place.line}")


def _is_about(finding: Finding, call: str | None) -> bool:
    return finding.call is None or call is None or call == finding.call


def _traceback(error: RaisedError) -> Iterator[str]:
    yield from map(_frame, error.frames)
    message = error.message.splitlines()[:_MESSAGE_LINES_MAX] or [""]
    yield _plain(f"{error.type}: {message[0]}".removesuffix(": "))
    yield from (_plain(f"  {line}") for line in message[1:])


def _waiting(wait: WaitingPlace) -> Iterator[str]:
    if wait.hangs:
        yield _plain(f"never went on{f', call {wait.call}' if wait.call else ''}")
    elif wait.until_ns is not None:
        yield f"{short_time(wait.until_ns - wait.from_ns)}, from {exact_time(wait.from_ns)} on"
    yield from map(_frame, wait.frames)


def _waited(finding: Finding, notes: RunNotes) -> WaitingPlace | None:
    """Return the longest wait at the line that the finding points at."""
    if finding.source is None:
        return None
    place = (finding.source.file, finding.source.line)
    there = [
        wait
        for wait in notes.waits
        if not wait.hangs and _is_about(finding, wait.call) and _innermost_own(wait) == place
    ]
    return max(there, key=lambda wait: (wait.until_ns or 0) - wait.from_ns, default=None)


def _innermost_own(wait: WaitingPlace) -> tuple[str, int] | None:
    own = [frame for frame in wait.frames if frame.own]
    return (own[-1].file, own[-1].line) if own else None


def _frame(frame: Frame) -> str:
    where = f"{frame.file}:{frame.line}"
    return _plain(f"{where}: {frame.code}" if frame.code else f"{where} in {frame.function}")


def _plain(text: str) -> str:
    shown = visible(text).replace("\n", " ")
    return shown if len(shown) <= _LINE_MAX else clipped(shown, _LINE_MAX)
