"""What cannot be made deterministic is refused by name and call site, and counted.

Most of it is seen through an audit hook. A hook cannot be removed, so ours looks first whether
the patches are installed and the calling thread is simulated; anywhere else it does nothing.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from typing import Any

from harness.sim.escapes import call_site, refuse
from harness.sim.kernel import current
from harness.sim.patches.registry import Patch

__all__ = ["PATCHES", "arm", "disarm"]

#: Audit events that reach the real world.
_REFUSED = frozenset(
    {
        "os.exec",
        "os.fork",
        "os.forkpty",
        "os.posix_spawn",
        "os.spawn",
        "os.system",
        "pty.spawn",
        "socket.__new__",
        "socket.bind",
        "socket.connect",
        "socket.getaddrinfo",
        "socket.gethostbyname",
        "socket.sendto",
        "subprocess.Popen",
    }
)
#: Extension modules with sockets, threads or clocks of their own, which no hook sees.
_UNSEEN = frozenset({"curl_cffi", "gevent", "eventlet", "grpc", "pycurl", "uvloop", "confluent_kafka"})

_armed = False
_added = False


def arm() -> None:
    """Begin to refuse."""
    global _armed, _added
    _armed = True
    if not _added:
        _added = True
        sys.addaudithook(_hook)


def disarm() -> None:
    """Stop refusing; the hook stays and does nothing."""
    global _armed
    _armed = False


def _hook(event: str, args: tuple[Any, ...]) -> None:
    if not _armed:
        return
    if event in _REFUSED:
        if current() is not None:
            refuse(event)
    elif event == "import" and args and str(args[0]).partition(".")[0] in _UNSEEN:
        here = current()
        if here is not None:
            here[0].leak(f"import of {args[0]}, which nothing can simulate", call_site(2))


def _refusal(name: str) -> Callable[[Any], Any]:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def refused(*args: Any, **kwargs: Any) -> Any:
            if current() is not None:
                refuse(f"signal.{name}")
            return original(*args, **kwargs)

        refused.__doc__ = original.__doc__
        return refused

    return make


PATCHES: tuple[Patch, ...] = tuple(
    Patch(owner=signal, name=name, make=_refusal(name))
    for name in ("alarm", "setitimer", "sigtimedwait", "pause")
    if hasattr(signal, name)
)
