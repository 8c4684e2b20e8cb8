"""The way out of a recorded program: exchanges become lines of JSON on a socket to the recorder.

Nothing is ever written to a disk here, because nothing is scrubbed yet. An exchange goes out as
soon as it is over, so a program that is killed loses only what was still going on.
"""

from __future__ import annotations

import os
from _socket import AF_UNIX, SOCK_STREAM, socket
from _thread import allocate_lock
from base64 import b64encode
from collections import deque
from collections.abc import Iterable, Mapping
from time import monotonic_ns, time_ns
from typing import Any

# Names are taken from the C modules, at the start of the process: whatever the program does later
# to `socket`, `threading` or `time` (monkey-patching, frozen time) does not reach the recording.


class Channel:
    """Sends messages to the recorder, from any thread, and from forked children, too.

    Args:
        address: path of the recorder's socket.

    Attributes:
        open: exchanges that are going on, by `id()`.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self.open: dict[int, Exchange] = {}
        self._lines: deque[bytes] = deque()
        self._socket: socket | None = None
        self.renew()
        os.register_at_fork(after_in_child=self.renew)

    def renew(self) -> None:
        """Forget a connection that belongs to another process."""
        self._lock = allocate_lock()
        self._gone = False
        self._hang_up()
        self._lines.clear()
        self.open.clear()

    def send(self, message: Mapping[str, Any]) -> None:
        """Send one message; without a recorder, or in an interpreter that is ending, do nothing."""
        import json

        line = json.dumps({"pid": os.getpid(), **message}, separators=(",", ":")).encode() + b"\n"
        self._lines.append(line)
        # Nobody waits here: the garbage collector and signal handlers end exchanges, too, perhaps
        # in the middle of a line of this very thread. Whoever has the lock sends it all, and looks
        # again when it is free.
        while self._lines and self._lock.acquire(False):
            try:
                self._send_all()
            finally:
                self._lock.release()

    def end_all(self) -> None:
        """Tell what is still going on, because the process ends."""
        for exchange in tuple(self.open.values()):
            exchange.end("left")
        with self._lock:
            self._hang_up()

    def _send_all(self) -> None:
        while self._lines:
            line = self._lines.popleft()
            if self._gone:
                continue
            try:
                if self._socket is None:
                    self._socket = socket(AF_UNIX, SOCK_STREAM)
                    self._socket.connect(self._address)
                self._socket.sendall(line)
            except OSError:
                self._gone = True
            except BaseException:
                # Interrupted in the middle of a line: the rest goes over a new connection.
                self._hang_up()
                raise

    def _hang_up(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None


class Exchange:
    """One request that is on its way, and what comes back, each with its instant.

    Args:
        client: what sends it: the name of a library.
        request: as vcrpy describes it.
    """

    def __init__(self, channel: Channel, client: str, request: Any) -> None:
        self._channel = channel
        self._over = False
        self._parts: list[bytes] = []
        self._chunks: list[tuple[int, int]] = []
        self._wire: list[tuple[int, bytes]] = []
        self._sent: list[bytes] = []
        self._told: dict[str, Any] = {
            "kind": "exchange",
            "client": client,
            "wall_ns": time_ns(),
            "started_ns": monotonic_ns(),
            "request": {
                "method": _text(request.method),
                "uri": _text(request.uri),
                "headers": _headers(request.headers.items()),
                "body": _coded(_bytes(request.body)),
            },
        }
        channel.open[id(self)] = self

    @property
    def is_over(self) -> bool:
        """Whether it was told already."""
        return self._over

    def head(self) -> None:
        """Note that the head of an answer is here; a redirected request may have several."""
        self._told["head_ns"] = monotonic_ns()
        self._parts, self._chunks = [], []

    def answer(self, status: int, message: Any, headers: Iterable[tuple[Any, Any]]) -> None:
        """Note what the head says."""
        told = {"code": status, "message": _text(message or "")}
        self._told["response"] = {"status": told, "headers": _headers(headers)}

    def redirected(self, request: Any) -> None:
        """Note that the answer belongs to another request than the one that was begun with."""
        self._told["request"].update(
            method=_text(request.method),
            uri=_text(request.uri),
            headers=_headers(request.headers.items()),
            body=_coded(_bytes(request.body)),
        )

    def chunk(self, data: bytes) -> None:
        """Note a piece of the body, as it arrives."""
        if data:
            self._chunks.append((monotonic_ns(), len(data)))
            self._parts.append(bytes(data))

    def send(self, data: bytes) -> None:
        """Note bytes that went to the connection, where that is what is seen of a request."""
        self._sent.append(data)

    def read(self, data: bytes) -> None:
        """Note bytes that came from the connection; none at all stand for its end."""
        self._wire.append((monotonic_ns(), data))

    def whole(self, body: bytes | None) -> None:
        """Note the body of an answer that was read in one piece."""
        self._parts = [body or b""]

    def fail(self, error: BaseException, kind: str) -> None:
        """Tell that it failed, with whatever came before that; to be left is no failure."""
        if kind == "left":
            self.end("left")
            return
        self._told["failure"] = {"kind": kind, "class": type(error).__name__}
        self.end("failed")

    def end(self, how: str) -> None:
        """Tell that it is over: `complete`, `left` (by the program) or `failed`; once."""
        if self._over:
            return
        self._over = True
        self._channel.open.pop(id(self), None)
        if "response" in self._told:
            self._told["response"]["body"] = _coded(b"".join(self._parts))
        self._told.update(
            how=how,
            ended_ns=monotonic_ns(),
            chunks=self._chunks,
            sent=_coded(b"".join(self._sent)) if self._sent else None,
            wire=[(at_ns, _coded(data)) for at_ns, data in self._wire],
        )
        self._channel.send(self._told)


def _headers(pairs: Iterable[tuple[Any, Any]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in pairs:
        values = value if isinstance(value, (list, tuple)) else [value]
        found.setdefault(_text(name), []).extend(map(_text, values))
    return found


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _bytes(value: Any) -> bytes | None:
    """Return a body as bytes; vcrpy keeps files and iterators as what they are."""
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, str):
        return value.encode("utf-8", "replace")
    if hasattr(value, "read"):
        return _bytes(value.read())
    if isinstance(value, Mapping):
        import json

        return json.dumps(value, default=str).encode()
    try:
        return b"".join(_bytes(item) or b"" for item in value)
    except TypeError:
        return None


def _coded(data: bytes | None) -> str | None:
    return None if data is None else b64encode(data).decode("ascii")
