"""What a subject writes during a run: print, logging, warnings, and the process's descriptors.

Nothing of it reaches the terminal, and each line is kept with the virtual time and the call that
wrote it. A subject may write without end, so the first and the last lines are kept and the others
counted. What is bound to a descriptor before a run, such as a handler that was made on import, is
caught in the child of an isolated run by a `Spill`; inline, it goes where it always went.
"""

from __future__ import annotations

import io
import logging
import os
import sys
import tempfile
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, BinaryIO, Literal, TextIO

from msgspec import Struct, field

from faultclock.sim.kernel.escapes import SimEscape, SimKilled

Stream = Literal["log", "warning", "stdout", "stderr"]

#: Virtual time, stream, text, call, level, logger, file as it is known here, line.
RawLine = tuple[int, Stream, str, str | None, str, str, str, int]
#: Takes one text: stream, text, level, logger, file, line.
Write = Callable[[Stream, str, str, str, str, int], None]

#: Lines kept of a run: the first ones, and the last ones.
_FIRST_MAX, _LAST_MAX = 50, 150
#: Characters kept of a line.
_LINE_MAX = 1_000
#: Lines kept of one text, such as a log record with many.
_LINES_OF_TEXT_MAX = 40
#: A line that is longer is cut there, whether or not it has ended.
_PENDING_MAX = 1 << 16
#: Bytes read back of what went to a descriptor.
_SPILL_MAX = 1 << 18


class KeptLines(Struct):
    """The first and the last lines of a run, and how many there were between them."""

    first: list[RawLine] = field(default_factory=list)
    last: deque[RawLine] = field(default_factory=lambda: deque(maxlen=_LAST_MAX))
    cut: int = 0

    def add(self, line: RawLine) -> None:
        """Add a line."""
        if len(self.first) < _FIRST_MAX:
            self.first.append(line)
            return
        self.cut += len(self.last) == _LAST_MAX
        self.last.append(line)

    def joined(self, later: KeptLines) -> KeptLines:
        """Return these lines and those of a later life."""
        joined = KeptLines(cut=self.cut + later.cut)
        for line in (*self, *later):
            joined.add(line)
        return joined

    def __iter__(self) -> Iterator[RawLine]:
        return iter((*self.first, *self.last))


def lines_of(text: str) -> list[str]:
    """Return the lines of a text, as many and as long as are kept."""
    lines = text[: _LINE_MAX * _LINES_OF_TEXT_MAX].splitlines() or [""]
    return [line[:_LINE_MAX] for line in lines[:_LINES_OF_TEXT_MAX]]


@contextmanager
def capturing(write: Write) -> Iterator[None]:
    """Hand everything that is printed, logged or warned of in this process to `write`."""
    with ExitStack() as stack:
        stack.enter_context(_streams(write))
        stack.enter_context(_logging(write))
        stack.enter_context(_warnings(write))
        yield


# ---------------------------------------------------------------------- print


class _Sink(io.BufferedIOBase):
    """Makes lines of the bytes of a stream."""

    def __init__(self, stream: Stream, write: Write, shadowed: TextIO | None) -> None:
        self._stream = stream
        self._write = write
        self._shadowed = shadowed
        self._pending = b""

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        content = bytes(data)
        *lines, self._pending = (self._pending + content).split(b"\n")
        if len(self._pending) > _PENDING_MAX:
            lines.append(self._pending)
            self._pending = b""
        for line in lines:
            self._line(line)
        return len(content)

    def fileno(self) -> int:
        if self._shadowed is None:
            raise io.UnsupportedOperation("fileno")
        return self._shadowed.fileno()

    def finish(self) -> None:
        """Write what did not end with a newline."""
        if self._pending:
            self._line(self._pending)
            self._pending = b""

    def _line(self, line: bytes) -> None:
        text = line[: 4 * _LINE_MAX].decode("utf-8", "replace").rstrip("\r")
        self._write(self._stream, text, "", "", "", 0)


@contextmanager
def _streams(write: Write) -> Iterator[None]:
    kept = sys.stdout, sys.stderr
    sinks = _Sink("stdout", write, kept[0]), _Sink("stderr", write, kept[1])
    ours = tuple(map(_text_stream, sinks))
    sys.stdout, sys.stderr = ours
    try:
        yield
    finally:
        # What a subject has put there in our place is its own, and ends with the run.
        sys.stdout, sys.stderr = kept
        for sink in sinks:
            sink.finish()


def _text_stream(sink: Any) -> TextIO:
    return io.TextIOWrapper(sink, encoding="utf-8", errors="backslashreplace", write_through=True)


# ---------------------------------------------------------------------- logging and warnings


@contextmanager
def _logging(write: Write) -> Iterator[None]:
    """Write each record that a logger hands to its handlers.

    A handler of ours would change what `logging.basicConfig` does, and would not see the loggers
    that do not propagate.
    """
    real, last_resort = logging.Logger.callHandlers, logging.lastResort

    def call_handlers(self: logging.Logger, record: logging.LogRecord) -> None:
        write(
            "log", _said(record), record.levelname, record.name, record.pathname, record.lineno or 0
        )
        real(self, record)

    logging.Logger.callHandlers = call_handlers  # type: ignore[method-assign]
    logging.lastResort = logging.NullHandler()
    try:
        yield
    finally:
        if logging.Logger.callHandlers is call_handlers:
            logging.Logger.callHandlers = real  # type: ignore[method-assign]
        logging.lastResort = last_resort


def _said(record: logging.LogRecord) -> str:
    try:
        text = record.getMessage()
        error = record.exc_info[1] if record.exc_info else None
        return text if error is None else f"{text}\n{type(error).__name__}: {error}"
    except (SimEscape, SimKilled):
        raise
    except Exception as failure:  # noqa: BLE001 - logging itself would say so and go on
        said = record.msg if isinstance(record.msg, str) else type(record.msg).__name__
        return f"{said} (cannot be formatted: {type(failure).__name__})"


@contextmanager
def _warnings(write: Write) -> Iterator[None]:
    real = warnings.showwarning
    is_own = real is not getattr(warnings, "_showwarning_orig", None)

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if file is not None:
            real(message, category, filename, lineno, file, line)
            return
        write("warning", str(message), category.__name__, "", filename, lineno)
        if is_own:
            # Such as the one that hands warnings to the log.
            real(message, category, filename, lineno, file, line)

    warnings.showwarning = show
    try:
        yield
    finally:
        if warnings.showwarning is show:
            warnings.showwarning = real


# ---------------------------------------------------------------------- descriptors


class Spill:
    """Where the descriptors 1 and 2 of a child lead, so that its output floods no terminal."""

    def __init__(self) -> None:
        self._files: tuple[BinaryIO, BinaryIO] = (_memory("stdout"), _memory("stderr"))

    @property
    def descriptors(self) -> tuple[int, int]:
        """What stands for 1 and for 2."""
        return self._files[0].fileno(), self._files[1].fileno()

    def __enter__(self) -> Spill:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Forget what was written."""
        for file in self._files:
            file.close()

    def lines(self, at_ns: int) -> KeptLines:
        """Return what was written to them, as lines of one virtual time."""
        kept = KeptLines()
        streams: tuple[Stream, Stream] = ("stdout", "stderr")
        for stream, file in zip(streams, self._files, strict=True):
            size = os.fstat(file.fileno()).st_size
            if not size:
                continue
            content = os.pread(file.fileno(), _SPILL_MAX, max(0, size - _SPILL_MAX))
            for line in content.decode("utf-8", "replace").splitlines():
                kept.add((at_ns, stream, line[:_LINE_MAX], None, "", "", "", 0))
        return kept


def _memory(name: str) -> BinaryIO:
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create(f"faultclock-{name}"), "w+b", buffering=0)
    return tempfile.TemporaryFile(buffering=0)
