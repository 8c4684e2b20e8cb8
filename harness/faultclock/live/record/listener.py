"""Hears what the agents in the recorded processes tell, and keeps it in memory."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import tempfile
import threading
import time
from types import TracebackType
from typing import Any

from faultclock.errors import InputError

#: What a path of a Unix socket may be long (`man 7 unix`: 108 bytes with the final zero).
_PATH_BYTES_MAX = 107
_PIECE_BYTES = 1 << 16
#: How long processes that outlive the program may be silent, in seconds, before the recorder stops.
_QUIET_S = 0.25
_STEP_S = 0.01


class Listener:
    """A Unix socket in a folder that only this user can enter, while inside of `with`.

    Attributes:
        messages: what arrived so far, in the order of its arrival.
        broken: how many lines were no message: a process was killed in the middle of one.
    """

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.broken = 0
        self._folder = ""
        self._socket: socket.socket | None = None
        self._open: set[socket.socket] = set()
        self._heard_s = 0.0

    @property
    def address(self) -> str:
        """The path of the socket."""
        return os.path.join(self._folder, "s")  # noqa: PTH118 - it goes into an environment

    def __enter__(self) -> Listener:
        """Begin to listen.

        Raises:
            InputError: there is no place for a socket.
        """
        folder = tempfile.gettempdir()
        if len(os.fsencode(folder)) > _PATH_BYTES_MAX - 30:
            folder = "/tmp"  # noqa: S108 - the folder within it is made with mode 700
        try:
            self._folder = tempfile.mkdtemp(prefix="faultclock-", dir=folder)
            self._socket = socket.socket(socket.AF_UNIX)
            self._socket.bind(self.address)
            self._socket.listen(64)
        except OSError as error:
            self.__exit__(None, None, None)
            raise InputError(
                f"{folder}: the recorder's socket cannot be made here: {error.strerror or error}",
                hint="set TMPDIR to another folder",
            ) from None
        threading.Thread(target=self._accept, args=(self._socket,), daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Hang up and take the folder away."""
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
            self._socket.close()
        for connection in tuple(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)

    def settle(self) -> None:
        """Wait until all processes have hung up, or those that live on say nothing more."""
        self._heard_s = time.monotonic()
        # A connection of a process that has just ended may still wait to be accepted.
        time.sleep(_STEP_S)
        while self._open and time.monotonic() - self._heard_s < _QUIET_S:
            time.sleep(_STEP_S)

    def _accept(self, listening: socket.socket) -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            self._open.add(connection)
            threading.Thread(target=self._hear, args=(connection,), daemon=True).start()

    def _hear(self, connection: socket.socket) -> None:
        rest = b""
        with connection, contextlib.suppress(OSError):
            while piece := connection.recv(_PIECE_BYTES):
                self._heard_s = time.monotonic()
                *lines, rest = (rest + piece).split(b"\n") if b"\n" in piece else (rest + piece,)
                for line in lines:
                    self._take(line)
        if rest:
            self.broken += 1
        self._open.discard(connection)

    def _take(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except ValueError:
            self.broken += 1
            return
        if isinstance(message, dict):
            self.messages.append(message)
