"""The file objects at the subject's ends of a simulated program's pipes.

The layers above the raw ends are the standard library's own, so reading lines, text modes and
encodings are what they are for a real pipe. One thing differs: a buffered reader of C holds a
real lock while it reads, and a thread that waited for that would stop the whole world, so a lock
of the world comes before it.
"""

from __future__ import annotations

import io
from typing import IO, Any, Generic, TypeVar

from faultclock.sim.host.processes import InputPipe, OutputPipe
from faultclock.sim.kernel.escapes import refuse
from faultclock.sim.kernel.locks import HybridLock

_PipeT = TypeVar("_PipeT", InputPipe, OutputPipe)


class _RawEnd(io.RawIOBase, Generic[_PipeT]):
    """What both ends have in common: there is no descriptor behind them."""

    def __init__(self, pipe: _PipeT) -> None:
        super().__init__()
        self.pipe: _PipeT = pipe

    def _check_open(self) -> None:
        if self.closed:
            raise ValueError("I/O operation on closed file")

    def fileno(self) -> int:
        """Refuse: whoever asks wants to do something with a real descriptor."""
        refuse("the descriptor of a simulated program's pipe")

    def close(self) -> None:
        """Close it; what was not read is gone."""
        if not self.closed:
            self.pipe.close()
        super().close()


class RawOutput(_RawEnd[OutputPipe]):
    """The end at which the subject reads what a program writes."""

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read what is there, waiting until something is; 0 is the end of the stream."""
        self._check_open()
        self.pipe.wait()
        data = self.pipe.take(len(buffer))
        buffer[: len(data)] = data
        return len(data)


class RawInput(_RawEnd[InputPipe]):
    """The end at which the subject writes what a program could read."""

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, data: Any) -> int:
        """Write all of it; it never blocks.

        Raises:
            BrokenPipeError: the program has ended.
        """
        self._check_open()
        given = bytes(data)
        self.pipe.write(given)
        return len(given)


class PipeReader(io.BufferedReader):
    """A buffered reader whose turns the world gives out."""

    def __init__(self, raw: RawOutput, buffer_size: int) -> None:
        super().__init__(raw, buffer_size)
        self._turn = HybridLock()

    def read(self, size: int | None = -1, /) -> bytes:
        """Read `size` bytes, or to the end."""
        with self._turn:
            return super().read(size)

    def read1(self, size: int = -1, /) -> bytes:
        """Read with at most one wait."""
        with self._turn:
            return super().read1(size)

    def readinto(self, buffer: Any, /) -> int:
        """Read into a buffer."""
        with self._turn:
            return super().readinto(buffer)

    def readinto1(self, buffer: Any, /) -> int:
        """Read into a buffer with at most one wait."""
        with self._turn:
            return super().readinto1(buffer)

    def readline(self, size: int | None = -1, /) -> bytes:
        """Read a line; iterating comes here too."""
        with self._turn:
            return super().readline(size)

    def peek(self, size: int = 0, /) -> bytes:
        """Look ahead."""
        with self._turn:
            return super().peek(size)

    def close(self) -> None:
        """Close it."""
        with self._turn:
            super().close()


def reading_end(
    pipe: OutputPipe, buffering: int, *, text: bool, encoding: str | None, errors: str | None
) -> IO[Any]:
    """Return what `subprocess.Popen` would open at the subject's end of a program's output."""
    raw = RawOutput(pipe)
    if buffering == 0 and not text:
        return raw  # type: ignore[return-value]
    reader = PipeReader(raw, buffering if buffering > 1 else io.DEFAULT_BUFFER_SIZE)
    return io.TextIOWrapper(reader, encoding=encoding, errors=errors) if text else reader


def writing_end(
    pipe: InputPipe, buffering: int, *, text: bool, encoding: str | None, errors: str | None
) -> IO[Any]:
    """Return what `subprocess.Popen` would open at the subject's end of a program's input."""
    raw = RawInput(pipe)
    if buffering == 0 and not text:
        return raw  # type: ignore[return-value]
    writer = io.BufferedWriter(raw, buffering if buffering > 1 else io.DEFAULT_BUFFER_SIZE)
    if not text:
        return writer
    return io.TextIOWrapper(
        writer,
        encoding=encoding,
        errors=errors,
        line_buffering=buffering == 1,
        write_through=True,
    )
