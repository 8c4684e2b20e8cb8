"""Says what every simulated thread and every task waits for, when a run hangs.

Places are given as `module:line function`, so that the text is the same on every machine.
Frames of the subject and its libraries are shown; the standard library's are kept only where
there is nothing else, and those of what makes the run never.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol

from faultclock.sim.kernel.context import CALL_ID

if TYPE_CHECKING:
    from faultclock.sim.kernel.actors import Actor
    from faultclock.sim.kernel.kernel import Kernel
    from faultclock.sim.kernel.loop import KernelLoop

#: A shorter wait is shown to no watcher: 1 ms of virtual time.
SHOWN_NS = 1_000_000

#: What makes a run: a person looks for their own lines.
_OURS = (
    *("faultclock.sim.", "faultclock.run.", "faultclock.fakes."),
    *(f"faultclock.subjects.{name}" for name in ("adopt", "binding", "foreign")),
)
#: Innermost frames shown of each stack.
_FRAMES_MAX = 4
#: Threads and tasks shown; a hang of thousands looks alike after a few.
_LINES_MAX = 50


class Watcher(Protocol):
    """Is shown what a world waited for, while the code that waited is still there."""

    def waited(self, from_ns: int, frames: Iterator[FrameType], call: str | None) -> None:
        """See a wait that lasts until now and had this end of its own.

        Args:
            frames: of the code that waits, innermost first.
            call: of the harness, to which it belongs; None outside of all calls.
        """
        ...

    def hangs(self) -> None:
        """See a run that hangs, before anything of it is torn down."""
        ...


def describe_waits(kernel: Kernel) -> tuple[str, ...]:
    """Return one line for each live thread, then one for each pending task of each loop."""
    frames = sys._current_frames()
    lines = [
        _thread_line(actor, frames.get(actor.ident)) for actor in kernel.actors if not actor.dead
    ]
    for loop in kernel.loops:
        lines += [_task_line(task) for task in pending_tasks(loop) if not _is_ours(task)]
    if len(lines) > _LINES_MAX:
        lines[_LINES_MAX:] = [f"... and {len(lines) - _LINES_MAX} more"]
    return tuple(lines)


def waiting_stacks(kernel: Kernel) -> Iterator[tuple[str | None, list[FrameType]]]:
    """Yield call and frames, innermost first, of all that `describe_waits` describes."""
    frames = sys._current_frames()
    for actor in kernel.actors:
        if not actor.dead:
            call = None if actor.wake is None else actor.wake.call
            yield call, list(outwards(frames.get(actor.ident)))
    for loop in kernel.loops:
        for task in pending_tasks(loop):
            yield call_of(task), list(task_stack(task))


def call_of(task: asyncio.Task[Any]) -> str | None:
    """Return the call of the harness in which a task runs."""
    # Nothing is known of a task that a factory of the subject's has made.
    context = getattr(task, "_runs_in", None)
    return None if context is None else context.get(CALL_ID)


def task_stack(task: asyncio.Task[Any]) -> Iterator[FrameType]:
    """Yield the frames of a task that waits, innermost first."""
    return reversed(list(_awaited_frames(task.get_coro())))


def pending_tasks(loop: KernelLoop) -> list[asyncio.Task[Any]]:
    """Return the tasks of `loop` that are not done, in the order of their creation."""
    return sorted(asyncio.all_tasks(loop), key=hash)


def _thread_line(actor: Actor, frame: FrameType | None) -> str:
    frames = list(outwards(frame))
    if actor.wake is not None:
        doing = f"waits for {actor.wake.reason}{_by(frames)}"
    elif actor.loop is not None:
        doing = "runs an event loop with nothing to do"
    else:
        doing = "is running"
    return f"thread {actor.name!r} {doing}{_at(frames)}"


def _task_line(task: asyncio.Task[Any]) -> str:
    frames = list(task_stack(task))
    return f"task {task.get_name()!r} waits{_by(frames)}{_at(frames)}"


def _is_ours(task: asyncio.Task[Any]) -> bool:
    frames = list(task_stack(task))
    return bool(frames) and _module(frames[-1]).startswith(_OURS) and not _at(frames)


def _by(frames: list[FrameType]) -> str:
    """Return ` in callee`, the library function that the subject's innermost frame called."""
    callee = None
    for frame in frames:
        name = _module(frame)
        if name.startswith(_OURS):
            continue
        if name.partition(".")[0] not in sys.stdlib_module_names:
            break
        callee = f" in {name}.{frame.f_code.co_qualname}"
    return callee or ""


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "?"))


def outwards(frame: FrameType | None) -> Iterator[FrameType]:
    """Yield the frames of a stack, innermost first, up to where the world was entered."""
    while frame is not None:
        if frame.f_code.co_name == "run" and _module(frame) == "faultclock.sim.kernel.kernel":
            return
        yield frame
        frame = frame.f_back


def _awaited_frames(awaited: Any) -> Iterator[FrameType]:
    """Yield the frames of a coroutine and of what it awaits, outermost first."""
    while awaited is not None:
        for frame_name, next_name in (
            ("cr_frame", "cr_await"),
            ("gi_frame", "gi_yieldfrom"),
            ("ag_frame", "ag_await"),
        ):
            if hasattr(awaited, frame_name):
                frame = getattr(awaited, frame_name)
                if frame is not None:
                    yield frame
                awaited = getattr(awaited, next_name)
                break
        else:
            return


def _at(frames: list[FrameType]) -> str:
    """Return ` at place <- place`, innermost first, without our own frames."""
    subject: list[str] = []
    library: list[str] = []
    for frame in frames:
        name = _module(frame)
        if name.startswith(_OURS):
            continue
        place = f"{name}:{frame.f_lineno} {frame.f_code.co_name}"
        standard = name.partition(".")[0] in sys.stdlib_module_names
        (library if standard else subject).append(place)
    places = (subject or library)[:_FRAMES_MAX]
    return f" at {' <- '.join(places)}" if places else ""
