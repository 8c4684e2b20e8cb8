"""Watches what a subject loads and reads.

    with Watch() as watch:          # before the subject is loaded
        binding = hosted(spec)
        ... it is run ...
        watch.reads()               # the files and variables that were read, in the runs too

The subject is loaded and run in forked processes: what they read is noted in a file that they
inherit. It shows what a subject does without meaning harm, and the usual ways of
meaning it. Not seen: what C code opens by itself, what stands in a file that was opened before,
and variables that C code reads, or that came as a copy of the whole environment from a library.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from msgspec import Struct

import faultclock
from faultclock.run.process.child import INHERITED

_PACKAGE = "faultclock"
_SOURCE = (".py", ".pyc")
_OURS = os.path.dirname(os.path.realpath(faultclock.__file__)) + os.sep  # noqa: PTH120 - as text
#: What runs the subject's own calls: a file that is opened from there is opened by the subject.
_WORLD = os.path.join(_OURS, "sim") + os.sep  # noqa: PTH118 - as text
#: What stands in the place of Python's own functions is not who calls them.
_PATCHES = os.path.join(_WORLD, "patches") + os.sep  # noqa: PTH118 - as text
_PYTHON = os.path.dirname(os.__file__) + os.sep  # noqa: PTH120 - as text
#: Of the watches that are open, the descriptors; an audit hook cannot be taken away.
_NOTED: set[int] = set()
#: What is noted already, by this process and by those that it was forked from.
_noted_once: set[bytes] = set()
_hooked = False
_modules_before: Mapping[str, object] = {}


class Reads(Struct, frozen=True, kw_only=True):
    """What was read since a watch began, also where that failed.

    Attributes:
        sources: source files of Python, by any code.
        data: other files, by any code but the part of Faultclock that judges.
        variables: environment variables, each with the file of the code that asked for it by
            itself, and not through a library.
    """

    sources: frozenset[Path]
    data: frozenset[Path]
    variables: frozenset[tuple[str, Path]]


class Watch:
    """What was loaded when it was made, and what has been read since."""

    def __init__(self) -> None:
        global _modules_before
        _modules_before = dict(sys.modules)
        with tempfile.TemporaryFile() as file:
            # What several processes write by it stands one after the other.
            self._descriptor: int | None = os.dup(file.fileno())
        _hook()
        _noted_once.clear()
        _NOTED.add(self._descriptor)
        INHERITED.add(self._descriptor)

    def __enter__(self) -> Self:
        """Watch."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop watching."""
        self.close()

    def close(self) -> None:
        """Stop watching; nothing happens the second time."""
        if self._descriptor is not None:
            _NOTED.discard(self._descriptor)
            INHERITED.discard(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = None

    def reads(self) -> Reads:
        """Return what was read so far, in this process and in those forked from it."""
        descriptor = self._descriptor
        assert descriptor is not None, "asked while it watches"
        said = os.pread(descriptor, os.fstat(descriptor).st_size, 0)
        found: dict[str, set[str]] = {_DATA: set(), _VARIABLE: set(), _CODE: set()}
        for note in said.split(b"\0"):
            if note:
                found[chr(note[0])].add(os.fsdecode(note[1:]))
        return Reads(
            sources=frozenset(Path(name).resolve() for name in map(_source, found[_CODE])),
            data=frozenset(Path(name).resolve() for name in found[_DATA]),
            variables=frozenset(map(_variable, found[_VARIABLE])),
        )


def modules_before() -> Mapping[str, object]:
    """Return the modules that were loaded before the last watch began, in a fork of it too."""
    return _modules_before


def _source(name: str) -> str:
    """Return the file that a cached one of Python's was made from."""
    try:
        source = importlib.util.source_from_cache(name)
    except (ValueError, NotImplementedError):
        return name
    return source if os.path.exists(source) else name  # noqa: PTH110 - as text


def _variable(note: str) -> tuple[str, Path]:
    name, _, reader = note.partition("=")
    return name, Path(reader).resolve()


def _hook() -> None:
    global _hooked
    if not _hooked:
        sys.addaudithook(_note)
        for environment in (os.environ, os.environb):
            # What encodes a name is asked for each one; no traceback gets another line by it.
            environment.encodekey = _noting(environment.encodekey)
        _hooked = True


def _note(event: str, args: tuple[Any, ...]) -> None:
    if not _NOTED or event not in _OPENS or not isinstance(args[0], str | bytes):
        return
    name = os.fsencode(args[0])
    if name.endswith(_ENDINGS):
        _write(_CODE, os.path.abspath(name))  # noqa: PTH100 - in any thread
    elif (event != "open" or _is_read(*args[1:])) and _reader() is not None:
        _write(_DATA, os.path.abspath(name))  # noqa: PTH100 - in any thread


def _is_read(mode: str | None, flags: int) -> bool:
    if mode is not None:
        return "r" in mode or "+" in mode
    return flags & os.O_ACCMODE != os.O_WRONLY and not flags & os.O_DIRECTORY


def _noting(encode: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return what encodes the name of a variable, and notes it where the variable is read."""

    def encoded(name: Any) -> Any:
        if _NOTED and sys._getframe(1).f_code.co_name == "__getitem__":
            reader = _reader(by_itself=True)
            if reader and isinstance(name, str | bytes):
                _write(_VARIABLE, os.fsencode(name) + b"=" + os.fsencode(reader))
        return encode(name)

    return encoded


def _reader(*, by_itself: bool = False) -> str | None:
    """Return the file of the nearest code that is not Python's own; None: that which judges.

    It is empty where the simulated world makes a call that the subject has asked for.

    Args:
        by_itself: not through Python's own modules, but those that reading a variable takes.
    """
    frame = sys._getframe(2)
    while frame is not None:
        file = frame.f_code.co_filename
        is_python = file.startswith(("<frozen ", _PYTHON, _PATCHES)) and "-packages" not in file
        if not is_python:
            ours = "" if file.startswith(_WORLD) else None
            return ours if file.startswith(_OURS) else file
        if by_itself and not file.endswith(_ENVIRONMENT):
            return None
        frame = frame.f_back  # type: ignore[assignment]
    return ""


def _write(kind: str, said: bytes) -> None:
    note = kind.encode() + said + b"\0"
    if note not in _noted_once:
        _noted_once.add(note)
        for descriptor in tuple(_NOTED):
            with contextlib.suppress(OSError):
                os.write(descriptor, note)


_CODE, _DATA, _VARIABLE = "c", "d", "v"
_OPENS = frozenset({"open", "sqlite3.connect"})
_ENDINGS = tuple(ending.encode() for ending in _SOURCE)
#: What `os.environ.get` and `os.getenv` are made of, some of it frozen into the interpreter.
_ENVIRONMENT = ("os.py", "_collections_abc.py", "<frozen os>", "<frozen _collections_abc>")
