"""The process that loads a subject: the side of it on which code runs that is not ours.

It loads the subject when it is asked to, and then does nothing but fork: each session is a process
of its own, in which the subject is as it was right after it was loaded. A session calls functions
of ours with the subject, and hands over what they return as JSON. See `hosting` for the other side.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import pickle
import signal
import socket
import struct
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from pathlib import PurePath
from typing import Any, NoReturn

from msgspec import Struct
from msgspec.structs import asdict

from faultclock.errors import HarnessError, InternalError
from faultclock.model._base import Value
from faultclock.run.process.child import fork_process, keep_from_children
from faultclock.run.process.frames import receive, send
from faultclock.run.process.lifeline import end_with
from faultclock.run.process.second_process import rearrange

#: What is asked of this process: one byte, and the number of a session.
MESSAGE = struct.Struct(">cQ")
#: Begin a session; `BESIDE` arranges its memory in another way. `END` kills one that hangs.
OPEN, BESIDE, END = b"o", b"b", b"e"


def serve(control: socket.socket, first: int) -> NoReturn:
    """Load what is asked for first, then begin sessions until the other side closes.

    Args:
        control: takes a MESSAGE and, to begin a session, the descriptor of its stream.
        first: the stream on which the subject is asked for.
    """
    code = 1
    keep_from_children(control.fileno(), first)
    try:
        subject = _loaded(first)
        os.close(first)
        keep_from_children(control.fileno())
        _begin_sessions(control, subject)
        code = 0
    finally:
        os._exit(code)


def _loaded(first: int) -> Any:
    """Call the function that loads, and return the subject, which is the first that it returns."""
    function, args = pickle.loads(receive(first))  # noqa: S301 - the process that forked us wrote it
    found: list[Any] = []

    def load() -> Any:
        subject, answer = function(*args)
        found.append(subject)
        return answer

    send(first, _answer(load))
    if not found:
        os._exit(0)
    return found[0]


def _begin_sessions(control: socket.socket, subject: Any) -> None:
    parent = os.getpid()
    sessions: dict[int, int] = {}
    while True:
        data, descriptors, _, _ = socket.recv_fds(control, MESSAGE.size, 1)
        if len(data) != MESSAGE.size:
            return
        what, number = MESSAGE.unpack(data)
        if what == END:
            _kill(sessions.pop(number, 0))
        for descriptor in descriptors:
            process = fork_process()
            if process == 0:
                end_with(parent)
                control.close()
                _session(descriptor, subject, is_beside=what == BESIDE)
            os.close(descriptor)
            sessions[number] = process
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG) != (0, 0):
                pass


def _kill(process: int) -> None:
    if process:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def _session(descriptor: int, subject: Any, *, is_beside: bool) -> NoReturn:
    """Answer until the stream is closed."""
    code = 1
    keep_from_children(descriptor)
    # A collection may look at what runs leave behind, and not at the parent's objects: to touch a
    # page of them is to copy it.
    gc.freeze()
    kept = rearrange() if is_beside else []
    try:
        while True:
            function, args = pickle.loads(receive(descriptor))  # noqa: S301 - written by our side
            send(descriptor, _answer(lambda: function(subject, *args)))  # noqa: B023 - called now
    except (EOFError, OSError):
        # The other side is done.
        code = 0
    finally:
        del kept
        os._exit(code)


def _answer(function: Callable[[], Any]) -> bytes:
    """Return what is handed over of a call: its value, or why there is none."""
    try:
        answer = {"value": function()}
        return json.dumps(answer, default=_plain).encode()
    except HarnessError as error:
        said = {"error": error.code, "message": error.message, "hint": error.hint}
    except BaseException as error:  # noqa: BLE001 - loaded code may raise anything anywhere
        said = {"error": "broken", "message": f"{type(error).__name__}: {error}", "hint": None}
    return json.dumps(said).encode()


def _plain(value: object) -> Any:
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, Value):
        return value.model_dump(mode="json")
    if isinstance(value, Struct):
        return asdict(value)
    if is_dataclass(value):
        return {item.name: getattr(value, item.name) for item in fields(value)}
    raise InternalError(f"a {type(value).__name__} cannot be handed over")
