"""What the provider needs of the world that it stands in: a clock with a ledger, and connections.

The simulated world has both (`sim.kernel.Kernel`, `sim.net.endpoint.Endpoint`), and so has the
real one (`faultclock.live`). The provider is written against these few names, so that it is the
same provider in both. Nothing here is more than a signature.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol


class Waiting(Protocol):
    """Something that will be called later."""

    def cancel(self) -> None:
        """Never call it; harmless once it was called."""
        ...


class Clockwork(Protocol):
    """Time, and the ledger of facts that it stamps."""

    @property
    def now_ns(self) -> int:
        """Nanoseconds from the start of the run."""
        ...

    def record(self, actor: str, kind: str, /, **payload: Any) -> int:
        """Record a fact; each fact has its own number, which is returned."""
        ...

    def call_after(self, delay_ns: int, function: Callable[..., object], *args: Any) -> Waiting:
        """Call `function(*args)` after a delay; it must not block."""
        ...


class Listener(Protocol):
    """A reader that wants to know that there is something to read."""

    def on_readable(self) -> None:
        """Note that bytes, end of stream or a reset arrived."""
        ...


class ServerSide(Protocol):
    """The server's side of one connection.

    Attributes:
        connection_id: "c1", "c2"... as every fact about it has it.
        last_call_id: the call of the client's most recent bytes.
        rx: bytes that arrived and were not read; the reader deletes what it takes.
        eof: the client will send nothing more.
        closed: this side closed or reset.
        sink: called when there is something to read; may be None.
    """

    connection_id: str
    last_call_id: str | None
    rx: bytearray
    eof: bool
    closed: bool
    sink: Listener | None

    @property
    def error(self) -> OSError | None:
        """The reset that hit this side, or None."""
        ...

    def send(self, data: bytes, /) -> int:
        """Send `data` to the client and return its length.

        Raises:
            OSError: the connection was reset, or this side closed it.
        """
        ...

    def close(self) -> None:
        """End the connection properly, after what was sent before."""
        ...

    def reset(self) -> None:
        """End the connection by a reset, after what was sent before."""
        ...
