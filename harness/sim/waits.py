"""What each thread and task of a world waits for, in words that are the same on every machine."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio

    from harness.sim.kernel import Actor, Kernel

__all__ = ["describe_stack", "describe_waits"]

#: Frames below which nothing is the subject's.
_MACHINERY = ("harness.sim", "harness.run", "threading", "asyncio", "concurrent.futures", "queue")
_FRAMES_MAX = 4
_TASKS_MAX = 50


def describe_waits(kernel: Kernel) -> tuple[str, ...]:
    """Return one line for each live thread and unfinished task of `kernel`."""
    frames = sys._current_frames()
    lines = [
        f"thread {actor.name} waits for {_reason(actor)}: "
        f"{describe_stack(_frames(frames.get(actor.ident)))}"
        for actor in kernel.actors
        if not actor.dead
    ]
    tasks = kernel.tasks()
    lines += [_describe_task(task) for task in tasks[:_TASKS_MAX]]
    if len(tasks) > _TASKS_MAX:
        lines.append(f"and {len(tasks) - _TASKS_MAX} more tasks")
    return tuple(lines)


def describe_stack(frames: list[FrameType]) -> str:
    """Return the innermost frames that are not machinery, as `module:line function`."""
    theirs = [f for f in frames if not _module(f).startswith(_MACHINERY)]
    chosen = (theirs or frames)[:_FRAMES_MAX]
    return " <- ".join(f"{_module(f)}:{f.f_lineno} {f.f_code.co_name}" for f in chosen) or "?"


def _reason(actor: Actor) -> str:
    if actor.parked is not None and actor.parked.reason:
        return actor.parked.reason
    return "its event loop" if actor.in_loop is not None else "nothing: it runs"


def _frames(frame: FrameType | None) -> list[FrameType]:
    found = []
    while frame is not None:
        found.append(frame)
        frame = frame.f_back
    return found


def _describe_task(task: asyncio.Task[Any]) -> str:
    return f"task {task.get_name()} waits at {describe_stack(list(_awaits(task.get_coro())))}"


def _awaits(coroutine: Any) -> Iterator[FrameType]:
    """Yield the frames of a suspended coroutine, innermost first."""
    chain = []
    while coroutine is not None:
        frame = getattr(coroutine, "cr_frame", None) or getattr(coroutine, "gi_frame", None)
        if frame is None:
            break
        chain.append(frame)
        coroutine = getattr(coroutine, "cr_await", None) or getattr(
            coroutine, "gi_yieldfrom", None
        )
    return reversed(chain)


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "?"))
