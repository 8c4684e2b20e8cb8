"""Keeps a subject's own code from the real network while it is imported, before there is a world.

A file that asks a model when it is imported would make a real request with a real key. It gets the
error that a machine without a network gives, and its author sees at which line.
"""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn


@contextmanager
def offline() -> Iterator[None]:
    """Let nothing in this process connect to a host; sockets of this machine's files go on."""
    looked_up = socket.getaddrinfo
    connects = {name: getattr(socket.socket, name) for name in ("connect", "connect_ex")}
    socket.getaddrinfo = _no_address
    for name, real in connects.items():
        setattr(socket.socket, name, _refusing(real))
    try:
        yield
    finally:
        socket.getaddrinfo = looked_up
        for name, real in connects.items():
            setattr(socket.socket, name, real)


def _no_address(*_: Any, **__: Any) -> NoReturn:
    raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")


def _refusing(real: Callable[..., Any]) -> Callable[..., Any]:
    def connect(self: socket.socket, address: Any) -> Any:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            raise OSError(errno.ENETUNREACH, os.strerror(errno.ENETUNREACH))
        return real(self, address)

    return connect
