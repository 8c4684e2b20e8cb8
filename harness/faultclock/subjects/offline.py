"""Keeps a subject's own code from the network, and from going on for ever, while it is imported.

A file that asks a model when it is imported would make a real request with a real key. It gets the
error that a machine without a network gives, and its author sees at which line. There is no world
yet, which would end what hangs.

Nothing is replaced, so no module can keep a stand-in for its runs: an audit hook refuses. It sees
every socket of Python, but neither programs that are started nor extensions with sockets in C.
"""

from __future__ import annotations

import errno
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

#: https://docs.python.org/3/library/audit_events.html
_LOOKUPS = frozenset(
    {"socket.getaddrinfo", "socket.gethostbyaddr", "socket.gethostbyname", "socket.getnameinfo"}
)
_SENDS = frozenset({"socket.connect", "socket.sendmsg", "socket.sendto"})

#: Real seconds that an import may take, or a function that makes an agent. Large libraries need
#: ten of them on a machine that does nothing else.
LOADING_LIMIT_S = 120.0

_depth = 0
_hooked = False


@contextmanager
def offline() -> Iterator[None]:
    """Let nothing in this process reach a host; sockets of this machine's files go on."""
    global _depth, _hooked
    if not _hooked:
        # It cannot be removed.
        _hooked = True
        sys.addaudithook(_audit)
    _depth += 1
    try:
        yield
    finally:
        _depth -= 1


class TooLongError(BaseException):
    """Raised in code whose time is up. No `except Exception` keeps it."""


@contextmanager
def in_time() -> Iterator[None]:
    """Let this end within `LOADING_LIMIT_S`; in another thread than the main one without limit.

    Raises:
        TooLongError: it did not end, at the line that ran then.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(*_: object) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, LOADING_LIMIT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _audit(event: str, args: tuple[Any, ...]) -> None:
    if not _depth:
        return
    if event in _LOOKUPS:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    if event in _SENDS and args[0].family in (socket.AF_INET, socket.AF_INET6):
        raise OSError(errno.ENETUNREACH, os.strerror(errno.ENETUNREACH))
