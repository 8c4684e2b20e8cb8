"""MCP servers that a subject starts and speaks to over their input and output; none is started.

A line of the input is a request like any other to the service, and what is written in answer goes
out in the steps of the same engine: a cut is a program that ends in the middle of a line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from faultclock.fakes.dialects.mcp import STDIO
from faultclock.fakes.wire.delivery import Body, End, Fire, Start, Step, Wait
from faultclock.fakes.wire.event_stream import json_object
from faultclock.fakes.wire.http_server import HttpRequest
from faultclock.model.duration import MILLISECOND_NS
from faultclock.sim.host.processes import Child, Processes
from faultclock.sim.kernel.context import current_call
from faultclock.sim.kernel.escapes import refuse

if TYPE_CHECKING:
    import signal

    from faultclock.fakes.provider.planned import PlannedExchange
    from faultclock.fakes.provider.services import FakeService
    from faultclock.sim.kernel.kernel import Kernel

#: How long a server takes to end once its input has.
_ENDS_AFTER_NS = 10 * MILLISECOND_NS


class StdioServers:
    """The servers of one life that are started by a command."""

    def __init__(self, services: Sequence[FakeService], kernel: Kernel) -> None:
        self._services = {service.host.words: service for service in services}
        self._processes = Processes(kernel, self)

    def has(self, program: str) -> bool:
        """Return whether somebody who looks for `program` now finds it."""
        return any(words[0] == program for words in self._services)

    def start(self, program: str, argv: tuple[str, ...], child: Child) -> _Server | None:
        """Begin to play a server.

        Raises:
            SimEscape: nothing says what the program does.
        """
        service = self._services.get((program, *argv[1:]))
        if service is None and len(self._processes.hosts) == 1:
            refuse(f"the start of {' '.join((program, *argv[1:]))} (no service has this command)")
        return None if service is None else _Server(service, child)


class _Server:
    """One started server."""

    #: It writes nothing to its standard error, so that may be any file.
    complains = False

    def __init__(self, service: FakeService, child: Child) -> None:
        self._service, self._child = service, child
        self._unread = b""
        if child.stdin is not None:
            child.stdin.reader = self._read

    def signalled(self, number: signal.Signals) -> None:
        """End by a signal."""
        self._service.kernel.call_after(0, self._child.end, -number)

    def _read(self, data: bytes) -> None:
        kernel = self._service.kernel
        if not data:
            kernel.call_after(_ENDS_AFTER_NS, self._child.end, 0)
            return
        *lines, self._unread = (self._unread + data).split(b"\n")
        for line in filter(None, lines):
            # The server takes its turn after the subject, whose write returns at once.
            kernel.call_after(0, self._hear, line, current_call())

    def _hear(self, line: bytes, call: str | None) -> None:
        request = HttpRequest(method=STDIO, target=self._service.host.place, headers={}, body=line)
        planned = self._service.plan(request, f"p{self._child.pid}", call)
        self._play(planned, iter(planned.steps), wanted="id" in (json_object(line) or {}))

    def _play(self, planned: PlannedExchange, steps: Iterator[Step], *, wanted: bool) -> None:
        """Go on until the next wait, or to the end; a notification is answered by nothing."""
        for step in steps:
            if self._child.returncode is not None:
                return
            match step:
                case Wait():
                    play: Any = lambda: self._play(planned, steps, wanted=wanted)  # noqa: E731
                    self._service.kernel.call_after(step.delay_ns, play)
                    return
                case Fire():
                    self._service.fired(planned)
                case Body() if wanted:
                    self._child.write("stdout", step.data)
                case End():
                    self._finish(planned, step, wanted)
                case Start() | _:
                    pass

    def _finish(self, planned: PlannedExchange, end: End, wanted: bool) -> None:
        self._service.ended(planned)
        self._service.kernel.record(
            self._service.actor,
            f"{self._service.about}.exchange_ended",
            exchange=planned.id,
            connection=f"p{self._child.pid}",
            call=planned.call,
            how=end.how,
            finish_reason=None,
            text_sha256=None,
            **self._service.mark,
        )
        if end.how in ("complete", "clean_end") and wanted:
            self._child.write("stdout", b"\n")
        elif end.how in ("eof", "reset"):
            self._child.end(1)
