"""Subjects that are not the same twice, each because of something else that is not simulated.

All of them wait too long after a Retry-After of 2 seconds, so that each of their runs fails by
itself; how much too long is what nobody can have again.
"""

from __future__ import annotations

import ctypes
import http.client
import json
import os
import time
import zlib
from collections.abc import Callable
from pathlib import Path

from faultclock.subjects.binding import Binding, provider_adapter
from faultclock.subjects.ports import ProviderRequest

#: Looked up here, where nothing watches: a subject's C extension has it from its own import.
_GETRANDOM = ctypes.CDLL(None).getrandom


def binding_of(
    id_: str,
    too_long_s: Callable[[], float],
    *,
    inline: bool = False,
    before: Callable[[], object] = lambda: None,
) -> Binding:
    """Return a subject that waits that much more than it is asked to.

    Args:
        before: what it does first of all.
    """

    def asks(request: ProviderRequest) -> str:
        before()
        status = 429
        while status == 429:
            connection = http.client.HTTPSConnection("api.openai.com")
            body = {"model": request.model, "messages": list(request.messages), "stream": False}
            headers = {"content-type": "application/json", "authorization": "Bearer key"}
            connection.request("POST", "/v1/chat/completions", json.dumps(body), headers)
            answer = connection.getresponse()
            status, text = answer.status, answer.read()
            if status == 429:
                time.sleep(2 + too_long_s())
        return str(json.loads(text)["choices"][0]["message"]["content"])

    return provider_adapter(id=id_, inline=inline)(asks)


def of_c_entropy() -> float:
    """Ask the system itself, as C code does."""
    buffer = ctypes.create_string_buffer(4)
    _GETRANDOM(buffer, 4, 0)
    return 1 + int.from_bytes(buffer.raw, "big") / 1e9


#: More digits than any count here has.
_DIGITS = 20


class _Thing:
    """Has no hash of its own: its place in a set is where it lies in memory."""

    def __init__(self, number: int) -> None:
        self.number = number


def of_addresses() -> float:
    """Take the order of a set of objects for an order."""
    # So many that they hardly ever come out in the same order twice.
    things = {_Thing(number) for number in range(99)}
    return 1 + zlib.crc32(bytes(thing.number for thing in things)) / 1e10


def of_a_file(path: Path) -> Callable[[], float]:
    """Count in a real file, which is open before any run: what a run opens is its own."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)

    def too_long_s() -> float:
        count = int(os.pread(descriptor, _DIGITS, 0) or b"0")
        os.pwrite(descriptor, str(count + 1).encode(), 0)
        return 1.0 + count

    return too_long_s


def of_process_state(*, ends_at: int) -> Callable[[], float]:
    """Count in the process, up to a number."""
    counted = [0]

    def too_long_s() -> float:
        counted[0] = min(counted[0] + 1, ends_at)
        return float(counted[0] - 1)

    return too_long_s
