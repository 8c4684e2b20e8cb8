"""The event loop that a subject gets: time, network and programs of its world.

What it has of none of these is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from faultclock.sim.host.process_transports import ProcessLoopMixin
from faultclock.sim.kernel.escapes import refuse
from faultclock.sim.kernel.loop import KernelLoop
from faultclock.sim.net.transports import NetworkLoopMixin


class SimLoop(NetworkLoopMixin, ProcessLoopMixin, KernelLoop):
    """The event loop of the world that it was made in."""


def new_event_loop() -> SimLoop:
    """Return a fresh loop of the calling thread's world."""
    return SimLoop()


def _refused(name: str) -> Callable[..., Any]:
    def method(_self: object, *_args: Any, **_kwargs: Any) -> Any:
        refuse(f"loop.{name}")

    method.__name__ = name
    method.__doc__ = f"Refuse: {name} is not simulated."
    return method


#: What a loop of the standard library can do and this world cannot. Signal handlers are not
#: among them: the base class answers NotImplementedError, which programs expect on Windows.
_UNSUPPORTED = (
    "create_datagram_endpoint",
    "create_unix_connection",
    "create_unix_server",
    "sendfile",
    "sock_recvfrom",
    "sock_recvfrom_into",
    "sock_sendfile",
    "sock_sendto",
)

for _name in _UNSUPPORTED:
    setattr(SimLoop, _name, _refused(_name))
