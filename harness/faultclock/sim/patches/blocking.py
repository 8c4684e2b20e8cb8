"""Locks, queues, threads, executors and event loops: what makes code block or run beside.

The replacements are in `locks`, `threads`, `executors` and `loop`; here is only which names
they stand behind. They must be installed before the subject is imported, because a lock or a
`from threading import Lock` is bound then.
"""

from __future__ import annotations

import _thread
import asyncio
import concurrent.futures
import queue
import threading
from asyncio import Future, events, iscoroutine, tasks
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from faultclock.sim.kernel.actors import current
from faultclock.sim.kernel.executors import make_critical, make_shutdown, make_submit
from faultclock.sim.kernel.locks import HybridLock, HybridRLock, HybridSimpleQueue
from faultclock.sim.kernel.threads import make_hash, make_init, make_is_alive, make_join, make_start
from faultclock.sim.loop import new_event_loop
from faultclock.sim.patches.registry import Patch, dispatching, named_like


def _always(replacement: Any) -> Any:
    """Make a replacement that does not look at the original: it is hybrid itself."""
    return lambda _original: replacement


def _make_policy_new_event_loop(original: Any) -> Any:
    def new_loop(self: Any) -> Any:
        return original(self) if current() is None else new_event_loop()

    return named_like(new_loop, original)


def _make_as_completed(original: Any) -> Any:
    """`asyncio.as_completed` starts its coroutines in the order of a set, which is by address."""

    def as_completed(fs: Any, *, timeout: float | None = None) -> Any:
        if current() is not None and not isinstance(fs, Future) and not iscoroutine(fs):
            loop = events._get_running_loop()
            if loop is not None:
                fs = [tasks.ensure_future(item, loop=loop) for item in dict.fromkeys(fs)]
        return original(fs, timeout=timeout)

    return named_like(as_completed, original)


PATCHES: tuple[Patch, ...] = (
    Patch(threading, "Lock", _always(HybridLock)),
    Patch(threading, "_allocate_lock", _always(HybridLock)),
    Patch(threading, "RLock", _always(HybridRLock)),
    Patch(threading, "_CRLock", _always(HybridRLock)),
    Patch(queue, "SimpleQueue", _always(HybridSimpleQueue)),
    Patch(threading.Thread, "__init__", make_init),
    Patch(threading.Thread, "__hash__", make_hash),
    Patch(threading.Thread, "start", make_start),
    Patch(threading.Thread, "join", make_join),
    Patch(threading.Thread, "is_alive", make_is_alive),
    Patch(ThreadPoolExecutor, "submit", make_submit),
    Patch(ThreadPoolExecutor, "shutdown", make_shutdown),
    Patch(concurrent.futures.Future, "__hash__", make_hash),
    Patch(concurrent.futures._base.LOGGER, "critical", make_critical, aliases=False),
    Patch(tasks, "as_completed", _make_as_completed),
    Patch(events, "new_event_loop", dispatching(new_event_loop)),
    Patch(
        getattr(events, "_BaseDefaultEventLoopPolicy", None) or events.BaseDefaultEventLoopPolicy,
        "new_event_loop",
        _make_policy_new_event_loop,
    ),
)

# `asyncio.new_event_loop` and `_thread.allocate_lock` are reached as aliases, by the walk.
assert asyncio.new_event_loop is events.new_event_loop
assert threading._allocate_lock is _thread.allocate_lock  # type: ignore[attr-defined]
