"""What a run borrows from the process, and gives back exactly.

The seeded `random` module, the garbage collector, process-wide counters that name threads and
executors, the event loop policy's memory, the running loop, the wall clock.
"""

from __future__ import annotations

import asyncio
import gc
import platform
import random
import sys
import tempfile
import threading
import uuid
from asyncio import events, tasks
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from hashlib import sha256
from itertools import count
from struct import pack
from typing import Any

from faultclock.sim.kernel.kernel import Kernel
from faultclock.sim.patches import WallClock, databases

#: Attributes of a module or class that a run changes: (owner, name, how to make a fresh value).
_COUNTERS: tuple[tuple[Any, str, Any], ...] = (
    (threading, "_counter", lambda: count(1).__next__),
    (ThreadPoolExecutor, "_counter", lambda: count().__next__),
    (uuid, "_last_timestamp", lambda: None),
    # Names of temporary files come from a generator that is seeded at its first use.
    (tempfile, "_name_sequence", lambda: None),
    (platform, "_platform_cache", dict),
)


@contextmanager
def borrowed(kernel: Kernel) -> Iterator[None]:
    """Seed and freeze what a run needs, and put everything back afterwards."""
    kept = [(owner, name, getattr(owner, name)) for owner, name, _ in _COUNTERS]
    random_state = random.getstate()
    numpy_state = _seed_numpy(kernel.seed)
    collecting = gc.isenabled()
    running_loop = events._get_running_loop()
    running_task = _swap_task(running_loop, None)
    policy_memory = _policy_memory()
    policy_kept = dict(policy_memory)
    gc.disable()
    random.seed(kernel.seed)
    for owner, name, fresh in _COUNTERS:
        setattr(owner, name, fresh())
    policy_memory.clear()
    events._set_running_loop(None)
    databases.begin_run()
    try:
        with WallClock(kernel.epoch_ns):
            yield
    finally:
        events._set_running_loop(running_loop)
        _swap_task(running_loop, running_task)
        policy_memory.clear()
        policy_memory.update(policy_kept)
        for owner, name, value in kept:
            setattr(owner, name, value)
        random.setstate(random_state)
        if numpy_state is not None:
            sys.modules["numpy.random"].set_state(numpy_state)
        if collecting:
            gc.enable()


def random_state_digest() -> str:
    """Return a digest of the module `random`'s state: equal ones drew equally."""
    _, words, _ = random.getstate()
    return sha256(pack(f"<{len(words)}I", *words)).hexdigest()


def _policy_memory() -> dict[str, Any]:
    """Return the calling thread's part of the event loop policy: its loop, and whether set."""
    # CPython 3.14 warns of the public name, and keeps this one for itself.
    policy = getattr(events, "_get_event_loop_policy", asyncio.get_event_loop_policy)()
    return getattr(policy, "_local", policy).__dict__


def _swap_task(loop: Any, task: Any) -> Any:
    """Let `task` be what runs in `loop`, the running one, and return what was.

    From CPython 3.14 on a thread has one running task, and not one for each of its loops.
    """
    if loop is None or not hasattr(tasks, "_swap_current_task"):
        return None
    return tasks._swap_current_task(loop, task)


def _seed_numpy(seed: int) -> Any:
    """Seed NumPy's legacy global generator if somebody imported it; return its old state."""
    module: Any = sys.modules.get("numpy.random")
    if module is None:
        return None
    state = module.get_state()
    module.seed(seed & 0xFFFF_FFFF)
    return state
