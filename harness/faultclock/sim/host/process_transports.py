"""The part of a simulated event loop that starts programs and serves their pipes.

Mixed into SimLoop. Starting, waiting and ending are the standard library's own transport; only
its pipes are simulated. In a world that starts no programs, and for any real pipe, the methods
are refused by name.
"""

from __future__ import annotations

import asyncio
import contextvars
from abc import ABC, abstractmethod
from asyncio import base_events, futures, unix_events
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, cast

from faultclock.sim.host.process_files import RawInput, RawOutput
from faultclock.sim.host.processes import current_processes
from faultclock.sim.kernel.actors import current
from faultclock.sim.kernel.escapes import refuse

_Loop = asyncio.AbstractEventLoop

#: How much one read takes, as the standard library's pipe transport does.
_READ_LIMIT = 256 * 1024


class _SubprocessTransport(unix_events._UnixSubprocessTransport):  # type: ignore[name-defined,misc]
    """The standard library's, which takes the simulated Popen for a real one."""

    _closed: bool

    def __del__(self) -> None:
        """Do as the base class, but for what the end of the run itself has left behind."""
        here = current()
        if here is None or here[0].ending is not None:
            self._closed = True
        else:
            super().__del__()


class _PipeTransport(ABC):
    """What a transport at either end of a pipe has in common."""

    def __init__(
        self,
        loop: _Loop,
        raw: RawInput | RawOutput,
        protocol: asyncio.BaseProtocol,
        waiter: asyncio.Future[None],
    ) -> None:
        self._loop = loop
        self._raw = raw
        self._protocol = protocol
        self._closing = False
        # What happens at the other end comes in the context in which this one was made.
        self._context = contextvars.copy_context()
        raw.pipe.watch(self._changed)
        self._soon(protocol.connection_made, self)
        self._soon(self._changed)
        set_result = futures._set_result_unless_cancelled  # type: ignore[attr-defined]
        self._soon(set_result, waiter, None)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {'closing' if self._closing else 'open'}>"

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return the file object as `pipe`."""
        return self._raw if name == "pipe" else default

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """Serve another protocol from now on."""
        self._protocol = protocol

    def get_protocol(self) -> asyncio.BaseProtocol:
        """Return whom it serves."""
        return self._protocol

    def is_closing(self) -> bool:
        """Return whether it is closing or closed, if only because its loop is."""
        return self._closing or self._loop.is_closed()

    def close(self) -> None:
        """Close our end."""
        self._close(None)

    def _close(self, error: BaseException | None) -> None:
        if not self._closing:
            self._closing = True
            self._soon(self._lose, error)

    def _lose(self, error: BaseException | None) -> None:
        try:
            self._protocol.connection_lost(cast("Exception | None", error))
        finally:
            self._raw.close()

    def _soon(self, function: Callable[..., object], *args: Any) -> None:
        # A program may outlive the loop that started it.
        if not self._loop.is_closed():
            self._loop.call_soon(function, *args, context=self._context)

    @abstractmethod
    def _changed(self) -> None: ...


class _ReadTransport(_PipeTransport, asyncio.ReadTransport):
    """Hands what a program writes to a protocol, when the loop comes round."""

    _raw: RawOutput
    _protocol: asyncio.Protocol
    _paused = False
    _due = False

    def is_reading(self) -> bool:
        """Return whether data is handed on."""
        return not (self._paused or self._closing)

    def pause_reading(self) -> None:
        """Hand nothing on until `resume_reading`."""
        self._paused = True

    def resume_reading(self) -> None:
        """Hand on again."""
        self._paused = False
        self._changed()

    def _changed(self) -> None:
        if not self._due and self.is_reading() and self._raw.pipe.readable:
            self._due = True
            self._soon(self._read)

    def _read(self) -> None:
        self._due = False
        if not self.is_reading():
            return
        data = self._raw.pipe.take(_READ_LIMIT)
        if data:
            self._protocol.data_received(data)
            self._changed()
        elif self._raw.pipe.ended:
            self._soon(self._protocol.eof_received)
            self._close(None)


class _WriteTransport(_PipeTransport, asyncio.WriteTransport):
    """Takes what a protocol writes to a program. It never pauses the protocol."""

    _raw: RawInput

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        """Write; once the program has ended, or after closing, it is lost."""
        if self._closing or not data:
            return
        try:
            self._raw.write(data)
        except BrokenPipeError as error:
            self._close(error)

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview[Any]]) -> None:
        """Write all of them."""
        for data in list_of_data:
            self.write(data)

    def can_write_eof(self) -> bool:
        """Return True."""
        return True

    def write_eof(self) -> None:
        """Close our end."""
        self._close(None)

    def abort(self) -> None:
        """Close our end."""
        self._close(None)

    def get_write_buffer_size(self) -> int:
        """Return 0: everything is written at once."""
        return 0

    def get_write_buffer_limits(self) -> tuple[int, int]:
        """Return the limits that nothing ever reaches."""
        return 0, 0

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Do nothing: everything is written at once."""

    def _changed(self) -> None:
        if self._raw.pipe.broken:
            self._close(None)


class ProcessLoopMixin:
    """`subprocess_exec`, `subprocess_shell` and the pipes of what they start."""

    def subprocess_exec(self, *args: Any, **kwargs: Any) -> Any:
        """Start a program; see `asyncio.loop.subprocess_exec`."""
        if current_processes() is None:
            refuse("loop.subprocess_exec")
        return base_events.BaseEventLoop.subprocess_exec(cast("Any", self), *args, **kwargs)

    def subprocess_shell(self, *args: Any, **kwargs: Any) -> Any:
        """Start a program with a command; see `asyncio.loop.subprocess_shell`."""
        if current_processes() is None:
            refuse("loop.subprocess_shell")
        return base_events.BaseEventLoop.subprocess_shell(cast("Any", self), *args, **kwargs)

    def connect_read_pipe(self, protocol_factory: Callable[[], Any], pipe: Any) -> Any:
        """Read from the output of a simulated program."""
        if not isinstance(pipe, RawOutput):
            refuse("loop.connect_read_pipe")
        return self._connect(_ReadTransport, protocol_factory, pipe)

    def connect_write_pipe(self, protocol_factory: Callable[[], Any], pipe: Any) -> Any:
        """Write to the input of a simulated program."""
        if not isinstance(pipe, RawInput):
            refuse("loop.connect_write_pipe")
        return self._connect(_WriteTransport, protocol_factory, pipe)

    async def _connect(
        self, make: Callable[..., _PipeTransport], protocol_factory: Callable[[], Any], pipe: Any
    ) -> tuple[_PipeTransport, Any]:
        loop = cast("_Loop", self)
        protocol = protocol_factory()
        waiter = loop.create_future()
        transport = make(loop, pipe, protocol, waiter)
        try:
            await waiter
        except BaseException:
            transport.close()
            raise
        return transport, protocol

    async def _make_subprocess_transport(
        self,
        protocol: asyncio.BaseProtocol,
        args: Any,
        shell: bool,
        stdin: Any,
        stdout: Any,
        stderr: Any,
        bufsize: int,
        extra: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Do what the loop of Unix does, without a child watcher."""
        loop = cast("_Loop", self)
        waiter = loop.create_future()
        transport = _SubprocessTransport(
            loop,
            protocol,
            args,
            shell,
            stdin,
            stdout,
            stderr,
            bufsize,
            waiter=waiter,
            extra=extra,
            **kwargs,
        )
        processes = current_processes()
        child = None if processes is None else processes.child(transport.get_pid())
        assert child is not None, "what was started is in the table"
        child.watch(partial(_exited, loop, transport, child))
        try:
            await waiter
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException:
            transport.close()
            await transport._wait()
            raise
        return transport


def _exited(loop: _Loop, transport: Any, child: Any) -> None:
    returncode = child.collect()
    if returncode is not None and not loop.is_closed():
        loop.call_soon_threadsafe(transport._process_exited, returncode)
