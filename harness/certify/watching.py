"""Watches what a subject loads, and that it leaves alone by what it is judged.

    with Watch() as watch:          # before the subject is loaded
        binding = prepare(spec)
        ... it is run ...
        watch.check_untouched()
        watch.opened()              # the source files that were read, in the runs too

The runs are made in forked processes, whose modules nobody sees here: what they open to read is
noted in a file that they inherit. It shows what a subject does without meaning harm, and the usual
ways of meaning it; whoever reads code as something else than a source file is not seen by this.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sys
import tempfile
import types
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from harness.errors import InputError

__all__ = ["Watch"]

_PACKAGE = "harness"
_SOURCE = (".py", ".pyc")
#: Of the watches that are open, the descriptors; an audit hook cannot be taken away.
_NOTED: set[int] = set()
_hooked = False


class Watch:
    """What was loaded when it was made, and what has been read since.

    Attributes:
        before: modules by name, as they were.
    """

    def __init__(self) -> None:
        self.before: dict[str, object] = dict(sys.modules)
        self._ours = dict(_ours())
        with tempfile.TemporaryFile() as file:
            # What several processes write by it stands one after the other.
            self._descriptor: int | None = os.dup(file.fileno())
        _hook()
        _NOTED.add(self._descriptor)

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
            os.close(self._descriptor)
            self._descriptor = None

    def opened(self) -> frozenset[Path]:
        """Return the source files that were opened to be read, whatever became of them."""
        descriptor = self._descriptor
        assert descriptor is not None, "asked while it watches"
        said = os.pread(descriptor, os.fstat(descriptor).st_size, 0)
        names = {os.fsdecode(name) for name in said.split(b"\0") if name}
        return frozenset(Path(name).resolve() for name in map(_source, names))

    def check_untouched(self) -> None:
        """Check that what judges is what was loaded before the subject.

        Raises:
            InputError: the subject has replaced a part of it.
        """
        now = dict(_ours())
        for name, was in self._ours.items():
            if now.get(name) is not was:
                raise InputError(
                    f"{name} was changed while the subject was loaded or run",
                    hint="a subject that changes Faultclock is judged by itself",
                )


def _ours() -> Iterator[tuple[str, object]]:
    """Yield each function of ours by its name, with its code, and each class with what it has."""
    for name, module in tuple(sys.modules.items()):
        if name.partition(".")[0] == _PACKAGE:
            for place, value in tuple(vars(module).items()):
                yield from _parts(f"{name}.{place}", value)


def _parts(name: str, value: object) -> Iterator[tuple[str, object]]:
    if not str(getattr(value, "__module__", "")).startswith(_PACKAGE):
        # A module's own state, or somebody else's: the patches of a simulation are among them.
        return
    if isinstance(value, types.FunctionType):
        yield name, value
        yield f"{name}()", value.__code__
    elif isinstance(value, type):
        yield name, value
        for place, part in tuple(vars(value).items()):
            function = getattr(part, "__func__", getattr(part, "fget", part))
            if isinstance(function, types.FunctionType):
                yield f"{name}.{place}", function
                yield f"{name}.{place}()", function.__code__


def _source(name: str) -> str:
    """Return the file that a cached one of Python's was made from."""
    try:
        source = importlib.util.source_from_cache(name)
    except (ValueError, NotImplementedError):
        return name
    return source if os.path.exists(source) else name  # noqa: PTH110 - as text


def _hook() -> None:
    global _hooked
    if not _hooked:
        sys.addaudithook(_note)
        _hooked = True


def _note(event: str, args: tuple[Any, ...]) -> None:
    if event != "open" or not _NOTED or not isinstance(args[0], str | bytes):
        return
    name = os.fsencode(args[0])
    if name.endswith(_ENDINGS):
        for descriptor in tuple(_NOTED):
            with contextlib.suppress(OSError):
                os.write(descriptor, os.path.abspath(name) + b"\0")  # noqa: PTH100 - in any thread


_ENDINGS = tuple(ending.encode() for ending in _SOURCE)
