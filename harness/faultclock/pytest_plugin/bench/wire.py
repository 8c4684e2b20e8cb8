"""How two processes of ours talk: one value after the other, each with its length before it."""

from __future__ import annotations

import pickle
import socket
from typing import Any

#: Bytes that the length of a message takes.
_LENGTH = 8
#: Bytes that are asked for at once.
_PART = 1 << 20


def send(to: socket.socket, value: object) -> None:
    """Send one value."""
    data = pickle.dumps(value)
    to.sendall(len(data).to_bytes(_LENGTH, "big") + data)


def receive(source: socket.socket) -> Any:
    """Return the next value.

    Raises:
        EOFError: the other side is gone.
    """
    length = int.from_bytes(_exactly(source, _LENGTH), "big")
    return pickle.loads(_exactly(source, length))  # noqa: S301 - our own process sent it


def _exactly(source: socket.socket, count: int) -> bytes:
    parts = bytearray()
    while len(parts) < count:
        part = source.recv(min(count - len(parts), _PART))
        if not part:
            raise EOFError
        parts += part
    return bytes(parts)
