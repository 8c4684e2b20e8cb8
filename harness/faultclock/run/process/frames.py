"""Frames on a stream between two processes of which one runs code that is not ours.

A frame is a length (8 bytes, big endian), the SHA-256 of the rest, and the rest. What a subject
writes to the descriptor of such a stream makes a frame that is refused.
"""

from __future__ import annotations

import hashlib
import os
import select
import struct
import time

_HEAD = struct.Struct(">Q32s")
#: The largest trace of our own scenarios is 3 MB.
_BYTES_MAX = 1 << 30
_PIECE = 1 << 20


class DamagedError(Exception):
    """What arrived is no frame."""


def send(descriptor: int, data: bytes) -> None:
    """Write a frame.

    Raises:
        OSError: the other side has closed the stream.
    """
    left = memoryview(_HEAD.pack(len(data), hashlib.sha256(data).digest()) + data)
    while left:
        left = left[os.write(descriptor, left) :]


def receive(descriptor: int, deadline_s: float | None = None) -> bytes:
    """Read a frame and return its content.

    Args:
        deadline_s: on the clock of `time.monotonic`; None waits for ever.

    Raises:
        EOFError: the other side has closed the stream.
        TimeoutError: the deadline came first.
        DamagedError: what arrived is no frame.
    """
    length, digest = _HEAD.unpack(_exactly(descriptor, _HEAD.size, deadline_s))
    if length > _BYTES_MAX:
        raise DamagedError("it says a length that no trace has")
    data = _exactly(descriptor, length, deadline_s)
    if hashlib.sha256(data).digest() != digest:
        raise DamagedError("its digest is that of something else")
    return data


def _exactly(descriptor: int, count: int, deadline_s: float | None) -> bytes:
    pieces: list[bytes] = []
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    while count:
        left_ms = None if deadline_s is None else max(0.0, deadline_s - time.monotonic()) * 1_000
        if not poller.poll(left_ms):
            raise TimeoutError
        piece = os.read(descriptor, min(count, _PIECE))
        if not piece:
            raise EOFError
        pieces.append(piece)
        count -= len(piece)
    return b"".join(pieces)
