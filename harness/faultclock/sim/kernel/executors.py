"""`ThreadPoolExecutor` in the world: any executor works, wherever and whenever it was made.

An executor made outside the run may have real worker threads, or a queue that blocks for real;
one kept from an earlier run has dead workers. So each run lends it fresh inner state at its
first use and gives the old state back at the end.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from faultclock.sim.kernel.actors import current
from faultclock.sim.kernel.context import Carried, carried, carrying
from faultclock.sim.kernel.escapes import SimKilled
from faultclock.sim.kernel.kernel import Kernel
from faultclock.sim.kernel.locks import HybridLock, HybridSimpleQueue
from faultclock.sim.kernel.threads import NUMBER

Function = Callable[..., Any]

_KERNEL = "_faultclock_kernel"
_LENT = ("_work_queue", "_idle_semaphore", "_threads", "_shutdown_lock", "_shutdown", "_broken")


def make_submit(original: Function) -> Function:
    """Return a `submit` whose work runs in the world and knows the call it belongs to."""

    def submit(self: ThreadPoolExecutor, fn: Function, /, *args: Any, **kwargs: Any) -> Any:
        here = current()
        if here is None:
            return original(self, fn, *args, **kwargs)
        kernel = here[0]
        _adopt(self, kernel)
        work = partial(_run_for_call, carried(), fn)
        future = original(self, work, *args, **kwargs)
        future.__dict__[NUMBER] = kernel.touched[NUMBER] = kernel.touched.get(NUMBER, 0) + 1
        return future

    return submit


def make_critical(original: Function) -> Function:
    """Return a log method for executors that says nothing of a worker whose world ended."""

    def critical(message: object, *args: Any, **kwargs: Any) -> None:
        if not isinstance(sys.exc_info()[1], SimKilled):
            original(message, *args, **kwargs)

    return critical


def make_shutdown(original: Function) -> Function:
    """Return a `shutdown` that leaves an outside executor's real workers alone."""

    def shutdown(
        self: ThreadPoolExecutor, wait: bool = True, *, cancel_futures: bool = False
    ) -> None:
        here = current()
        if here is not None:
            _adopt(self, here[0])
        original(self, wait, cancel_futures=cancel_futures)

    return shutdown


def _run_for_call(given: Carried, fn: Function, *args: Any, **kwargs: Any) -> Any:
    with carrying(given):
        return fn(*args, **kwargs)


def _adopt(executor: ThreadPoolExecutor, kernel: Kernel) -> None:
    state = executor.__dict__
    if state.get(_KERNEL) is kernel:
        return
    kept = {name: state[name] for name in _LENT}
    state.update(
        _work_queue=HybridSimpleQueue(),
        _idle_semaphore=threading.Semaphore(0),
        _threads=set(),
        _shutdown_lock=HybridLock(),
    )
    state[_KERNEL] = kernel
    kernel.at_end.append(partial(_give_back, weakref.ref(executor), kept))


def _give_back(executor: weakref.ref[ThreadPoolExecutor], kept: dict[str, Any]) -> None:
    alive = executor()
    if alive is not None:
        alive.__dict__.update(kept)
        alive.__dict__.pop(_KERNEL, None)
