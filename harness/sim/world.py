"""A world: kernel, network and recorder of one run, and the process state around it.

After `run` the process is as before: threads ended, loops closed, random state, collector and
counters restored.
"""

from __future__ import annotations

import asyncio
import gc
import hashlib
import itertools
import random
import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from harness.sim.kernel import Ending, Kernel, Limits
from harness.sim.loop import SimLoop
from harness.sim.net.network import Network
from harness.sim.patches import install
from harness.sim.recorder import Recorder

__all__ = ["World"]


class World:
    """One simulated world, for one run.

    Args:
        seed: of everything random in it, 0 to 2**32 - 1.
        limits: where the run is ended by force.
        latency_ns: one-way delay of its network.
    """

    def __init__(
        self, *, seed: int = 0, limits: Limits | None = None, latency_ns: int = 1_000_000
    ) -> None:
        self.seed = seed
        self.kernel = Kernel(seed=seed, limits=limits)
        self.network = Network(self.kernel, latency_ns=latency_ns)

    @property
    def recorder(self) -> Recorder:
        """The facts of this run."""
        return self.kernel.recorder

    def run(self, main: Callable[[], Any]) -> Ending:
        """Run a function or coroutine function as the first simulated thread.

        The patches are installed when they are not yet; they stay.
        """
        install()
        simulated = (lambda: self._run_async(main)) if _is_async(main) else main
        with _process_state(self.seed):
            ending = self.kernel.run(simulated)
            state = hashlib.sha256(repr(random.getstate()).encode()).hexdigest()
        self.kernel.record(
            "harness",
            "world.touched",
            random_state_sha256=state,
            counts=dict(sorted(self.kernel.touched.items())),
        )
        return ending

    def _run_async(self, main: Callable[[], Any]) -> Any:
        return SimLoop(self.kernel).run_until_complete(main())


def _is_async(main: Callable[[], Any]) -> bool:
    return asyncio.iscoroutinefunction(main)


@contextmanager
def _process_state(seed: int) -> Iterator[None]:
    """Seed and number everything anew for one run, and put it back after it."""
    random_state = random.getstate()
    thread_counter = threading._counter  # type: ignore[attr-defined]
    pool_counter = ThreadPoolExecutor._counter
    collecting = gc.isenabled()
    # A collection runs finalizers at a moment that depends on the process's past.
    gc.disable()
    random.seed(seed)
    uuid_timestamp, uuid._last_timestamp = uuid._last_timestamp, None  # type: ignore[attr-defined]
    threading._counter = itertools.count(1).__next__  # type: ignore[attr-defined]
    ThreadPoolExecutor._counter = itertools.count().__next__  # type: ignore[assignment]
    try:
        yield
    finally:
        ThreadPoolExecutor._counter = pool_counter  # type: ignore[assignment]
        threading._counter = thread_counter  # type: ignore[attr-defined]
        uuid._last_timestamp = uuid_timestamp  # type: ignore[attr-defined]
        random.setstate(random_state)
        if collecting:
            gc.enable()
