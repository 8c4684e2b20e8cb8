"""One simulated world: build it, mount services on its network, run a subject in it once."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import partial
from inspect import iscoroutinefunction
from typing import Any

from faultclock.model.trace.trace import WALL_EPOCH_NS
from faultclock.sim.kernel.choices import Choices
from faultclock.sim.kernel.escapes import SimKilled
from faultclock.sim.kernel.interrupts import interruptible
from faultclock.sim.kernel.kernel import Ending, Kernel, Limits
from faultclock.sim.kernel.recorder import Recorder
from faultclock.sim.kernel.waits import pending_tasks
from faultclock.sim.loop import SimLoop
from faultclock.sim.net.network import DEFAULT_LATENCY_NS, Network
from faultclock.sim.patches import install, install_late
from faultclock.sim.surroundings import borrowed, random_state_digest

#: A subject: blocking code, or a coroutine function.
Subject = Callable[[], Any]


class World:
    """Everything that one run happens in.

    Args:
        seed: of everything random, 0 to 2**32 - 1. Equal seeds draw equally.
        limits: where the run is ended by force.
        epoch_ns: wall-clock time of virtual time 0, in nanoseconds since 1970.
        latency_ns: one way, of every delivery.
        jitter_ns: a delivery takes up to this much longer.
        recorder: where facts go; one of its own is made when none is given.
        life: 1-based number of the subject's process: a fresh one gets a world of its own, which
            goes on where the last one ended.
        start_ns: virtual time at which it goes on.
        connections: how many were opened before it.
        choices: what is left to chance; None: as a blank tape has it.

    Attributes:
        recorder: the facts.
        kernel: time and threads.
        network: names, listeners and connections.
        choices: what was left to chance.
    """

    def __init__(
        self,
        *,
        seed: int = 0,
        limits: Limits | None = None,
        epoch_ns: int = WALL_EPOCH_NS,
        latency_ns: int = DEFAULT_LATENCY_NS,
        jitter_ns: int = 0,
        recorder: Recorder | None = None,
        life: int = 1,
        start_ns: int = 0,
        connections: int = 0,
        choices: Choices | None = None,
    ) -> None:
        self.recorder = recorder or Recorder()
        self.choices = choices or Choices(seed, life=life)
        self.kernel = Kernel(
            self.recorder,
            seed,
            limits,
            epoch_ns=epoch_ns,
            life=life,
            start_ns=start_ns,
            order=self.choices.order,
        )
        self.network = Network(
            self.kernel,
            latency_ns=latency_ns,
            jitter_ns=jitter_ns,
            streams=self.choices.streams,
        )
        self.network.connections_made = connections

    def run(self, subject: Subject) -> Ending:
        """Run `subject` to its end, once, and leave the process as it was.

        Whatever the subject raises is in the Ending. The patches are installed if they are not
        yet; a subject that was imported before may then keep real locks.

        Raises:
            InternalError: it ran before, or the calling thread is simulated already.
            KeyboardInterrupt: a person interrupted the run.
        """
        install()
        install_late()
        main = partial(_run_coroutine, subject) if iscoroutinefunction(subject) else subject
        kernel = self.kernel
        with borrowed(kernel), _quiet_finalizers(), interruptible(kernel):
            ending = kernel.run(main)
            drawn = random_state_digest()
        if ending.reason == "crashed":
            # A killed process has no last words.
            return ending
        counts = {name: n for name, n in sorted(kernel.touched.items()) if not name.startswith("_")}
        self.recorder.record("harness", "world.touched", **counts, random_state=drawn)
        return ending


@contextmanager
def _quiet_finalizers() -> Iterator[None]:
    """Say nothing of a finalizer that the end of the run has stopped, as of all other code."""
    kept = sys.unraisablehook

    def hook(unraisable: sys.UnraisableHookArgs) -> None:
        if not issubclass(unraisable.exc_type, SimKilled):
            kept(unraisable)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = kept


def _run_coroutine(function: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """Do what `asyncio.run` does, on a simulated loop."""
    loop = SimLoop()
    try:
        return loop.run_until_complete(function())
    finally:
        if loop.kernel.ending is None:
            _close_as_asyncio_run_does(loop)


def _close_as_asyncio_run_does(loop: SimLoop) -> None:
    try:
        tasks = pending_tasks(loop)
        if tasks:
            for task in tasks:
                task.cancel()
            loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
            for task in tasks:
                if not task.cancelled() and (error := task.exception()) is not None:
                    loop.call_exception_handler(
                        {
                            "message": "unhandled exception during shutdown of the loop",
                            "exception": error,
                            "task": task,
                        }
                    )
        if loop._asyncgens:
            loop.run_until_complete(loop.shutdown_asyncgens())
        if loop._default_executor is not None:
            loop.run_until_complete(loop.shutdown_default_executor())
    finally:
        loop.close()
