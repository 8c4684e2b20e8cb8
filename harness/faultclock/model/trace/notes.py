"""Notes: what helps a person to find the line of code, kept beside a trace and outside its digest.

A trace is the same on every machine, byte for byte. Source lines, log texts and tracebacks are
not: they belong to one checkout. So they travel beside the trace, and no verdict rests on them.
Paths are relative to the working folder or to the folder of a library, never absolute. Secrets
are taken out of every text.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from faultclock.model._base import SparseValue, Value


class Frame(Value):
    """One line of a traceback or of a waiting stack."""

    file: str
    """Relative to the working folder with forward slashes, or `package/module.py` of a library.
    `…/name.py` is a file elsewhere, and its folder is left out."""
    line: int = Field(ge=1)
    """1-based."""
    function: str
    code: str = ""
    """The source line without its indentation; empty where it cannot be read."""
    own: bool = True
    """Whether it is the user's own code, and not a library's, Python's or ours."""


class RaisedError(Value):
    """An exception that left a call of the subject."""

    call: str
    type: str
    """Qualified name, such as `ValueError` or `openai.RateLimitError`."""
    message: str
    frames: tuple[Frame, ...] = ()
    """The outermost first, cut to the user's own lines and the innermost line."""
    raised_by: Literal["raise", "operation", "unknown"] = "unknown"
    """What raised it, seen from the innermost of the user's own lines: a `raise` statement there,
    or something that the line did, such as `float("soon")` or `answer["choices"]`."""


class OutputLine(SparseValue):
    """One line that the subject logged, warned or printed during a run."""

    SPARSE: ClassVar[frozenset[str]] = frozenset({"call", "level", "logger", "file", "line"})

    at_ns: int
    """Virtual time."""
    stream: Literal["log", "warning", "stdout", "stderr"]
    text: str
    call: str | None = None
    """The call that wrote it; None where that is not known."""
    level: str = ""
    """Of a log record, such as `WARNING`."""
    logger: str = ""
    file: str = ""
    line: int = 0
    """Where a log record or a warning comes from; 0 where that is not known."""


class WaitingPlace(Value):
    """Where the subject waited: in a sleep before a retry, or in something that never came.

    A wait for something that came in time, such as an answer, is none of them.
    """

    call: str | None
    from_ns: int
    """Virtual time at which the wait began."""
    until_ns: int | None
    """When it ended; None: it did not."""
    frames: tuple[Frame, ...] = ()
    """The outermost first; the last one of the user's own is the line to look at."""
    hangs: bool = False
    """Whether it was still waiting when the run ended."""


class RunNotes(Value):
    """All notes of one run."""

    raised: tuple[RaisedError, ...] = ()
    output: tuple[OutputLine, ...] = ()
    output_cut: int = 0
    """How many lines were left out, the middle ones first."""
    waits: tuple[WaitingPlace, ...] = ()


class NotesFile(Value):
    """The file beside a stored trace that holds its notes."""

    format: int = 1
    trace: str
    """Digest of the trace that they are about."""
    notes: RunNotes
