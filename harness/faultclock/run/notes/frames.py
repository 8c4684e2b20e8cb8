"""Whose code a line is, and which lines of a stack or a traceback a person wants to see.

It is called inside a run, so it only looks: no file is read here. A line is a plain tuple, which
`notes_made` makes a Frame of.
"""

from __future__ import annotations

import sysconfig
from asyncio import CancelledError
from collections.abc import Iterable, Iterator
from enum import IntEnum
from http.client import HTTPException
from opcode import opname
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import Literal

import faultclock
from faultclock.sim.kernel.handles import SimHandle
from faultclock.sim.kernel.kernel import Kernel

#: File as the code names it, 1-based line, function, and whether it is the user's own.
RawFrame = tuple[str, int, str, bool]
RaisedBy = Literal["raise", "operation", "unknown"]

#: Own lines kept of a stack, innermost first.
_OWN_MAX = 8
#: Own lines kept of a traceback: the first ones and the last ones of a deep recursion.
_FIRST_MAX, _LAST_MAX = 4, 12
_RAISES = frozenset({"RAISE_VARARGS", "RERAISE"})
#: What Python's own library raises on purpose, to say how something went. Everything else that it
#: raises, such as ValueError, is about what it was given.
_TOLD = (OSError, CancelledError, HTTPException, EOFError)
#: Where a task's step or a thread of the world begins: what is further out is not the subject.
_STEP, _RUN = SimHandle._run.__code__, Kernel.run.__code__


class Whose(IntEnum):
    """Whose code a file is."""

    OWN = 1
    """The user's, or a shipped subject's."""
    LIBRARY = 2
    STANDARD = 3
    """Python's own, or not in a file."""
    OURS = 4


_PACKAGE = str(Path(faultclock.__file__).parent) + "/"
#: Where the subjects are that come with Faultclock: references, wrong ones, clients, their policy.
_SHIPPED = tuple(
    f"{_PACKAGE}{place}"
    for place in (
        "agents/",
        "mutants/by_hand/",
        "mutants/talks.",
        "subjects/clients/",
        "subjects/stud.",
        "subjects/retry_after.",
    )
)
_STANDARD = tuple(
    sorted({f"{sysconfig.get_path(name)}/" for name in ("stdlib", "platstdlib")} | {"<", "node:"})
)
#: The folder of the commands of an environment, such as `faultclock` itself.
_SCRIPTS = sysconfig.get_path("scripts")
#: Folders of libraries, of Python and of Node.
_INSTALLED = ("/site-packages/", "/dist-packages/", "/node_modules/")
_known: dict[str, Whose] = {}


def whose(file: str) -> Whose:
    """Return whose code the file is that a code object names."""
    known = _known.get(file)
    if known is None:
        known = _known[file] = _whose(file)
    return known


def _whose(file: str) -> Whose:
    if file.startswith(_PACKAGE):
        return Whose.OWN if file.startswith(_SHIPPED) else Whose.OURS
    if _is_command(file):
        return Whose.OURS
    if any(mark in file for mark in _INSTALLED):
        return Whose.LIBRARY
    return Whose.STANDARD if file.startswith(_STANDARD) else Whose.OWN


def _is_command(file: str) -> bool:
    """Return whether a file is a command of the environment, also where it was named relatively."""
    folder, _, name = file.rpartition("/")
    return bool(folder) and "." not in name and f"/{_SCRIPTS}".endswith(f"/{folder}")


def stack_of(frames: Iterable[FrameType]) -> tuple[RawFrame, ...]:
    """Return the user's own lines of a stack that is innermost first, the outermost first.

    The innermost line of a library stays as well, where it lies inside of them. Nothing is
    returned of a stack that is Python's and ours alone.
    """
    kept: list[RawFrame] = []
    known = _known
    for frame in frames:
        code = frame.f_code
        of = known.get(code.co_filename) or whose(code.co_filename)
        if of is Whose.OWN or (of is Whose.LIBRARY and not kept):
            own = of is Whose.OWN
            kept.append((code.co_filename, frame.f_lineno or 1, code.co_name, own))
            if len(kept) > _OWN_MAX:
                break
        elif code is _STEP or code is _RUN:
            # By identity: to hash code reads all of it.
            break
    return tuple(reversed(kept))


def stack_of_lines(lines: Iterable[tuple[str, int, str]]) -> tuple[RawFrame, ...]:
    """Return what `stack_of` does, of a stack that is known by its files, lines and functions."""
    kept: list[RawFrame] = []
    for file, line, function in lines:
        of = whose(file)
        if of is Whose.OURS and (function, file.endswith("/sim/kernel/kernel.py")) == ("run", True):
            break
        if of is Whose.OWN or (of is Whose.LIBRARY and not kept):
            kept.append((file, max(1, line), function, of is Whose.OWN))
    return tuple(reversed(kept[: _OWN_MAX + 1]))


# ---------------------------------------------------------------------- tracebacks

_TRACEBACK = vars(BaseException)["__traceback__"].__get__


def traced(error: BaseException) -> tuple[RawFrame, ...]:
    """Return the traceback of `error`, cut to the user's own lines and the innermost line."""
    steps = list(_steps(error))
    own = [_raw(step) for step in steps if whose(_code(step).co_filename) is Whose.OWN]
    if len(own) > _FIRST_MAX + _LAST_MAX:
        own = own[:_FIRST_MAX] + own[-_LAST_MAX:]
    if steps and whose(_code(steps[-1]).co_filename) is not Whose.OWN:
        own.append(_raw(steps[-1]))
    return tuple(own)


def raised_by(error: BaseException) -> RaisedBy:
    """Return what raised `error`, seen from the innermost of the user's own lines.

    What a library raises by a `raise` statement is its way of saying how something went. What
    Python's own functions raise for what they were given is an accident of the line that gave it.
    """
    steps = list(_steps(error))
    if not steps:
        return "unknown"
    innermost = steps[-1]
    if whose(_code(innermost).co_filename) is Whose.STANDARD:
        return "raise" if issubclass(type(error), _TOLD) else "operation"
    # Where nothing of the user's or a library's lies inside of ours, the world itself has raised:
    # a connection that breaks is no accident of the line that reads from it.
    is_told = _stands_on_raise(innermost) or innermost.tb_next is not None
    return "raise" if is_told else "operation"


def _steps(error: BaseException) -> Iterator[TracebackType]:
    """Yield the steps of a traceback that are not ours, the outermost first."""
    step: TracebackType | None = _TRACEBACK(error)
    while step is not None:
        if whose(_code(step).co_filename) is not Whose.OURS:
            yield step
        step = step.tb_next


def _code(step: TracebackType) -> CodeType:
    return step.tb_frame.f_code


def _raw(step: TracebackType) -> RawFrame:
    code = _code(step)
    own = whose(code.co_filename) is Whose.OWN
    return code.co_filename, step.tb_lineno or 1, code.co_name, own


def _stands_on_raise(step: TracebackType) -> bool:
    bytecode, at = _code(step).co_code, step.tb_lasti
    return 0 <= at < len(bytecode) and opname[bytecode[at]] in _RAISES
