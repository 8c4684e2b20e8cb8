"""Makes the runs of a battery: each isolated, as many at a time as there are jobs, in order."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from types import TracebackType
from typing import Self

from harness.infer.probes import Probe
from harness.model.trace import Trace
from harness.run.suite import lost_run, run_one
from harness.run.workers import Shared, Workers, in_order
from harness.subjects.binding import Binding

__all__ = ["Bench", "OnRun"]

#: Told after each run what was asked.
OnRun = Callable[[str], None]


class Bench:
    """Runs probes; used as a context manager, which ends its workers.

    Args:
        jobs: runs at a time (1 or more).
        isolate: one child per run, but for a subject that is bound with `inline`.
        on_run: told after each run what was asked.
    """

    def __init__(
        self, binding: Binding, *, jobs: int = 1, isolate: bool = True, on_run: OnRun | None = None
    ) -> None:
        self._binding = binding
        self._isolate = isolate and not binding.inline
        self._workers = Workers(jobs)
        self._shared = Shared(self)
        self._on_run = on_run
        self._parent, self._hushed = os.getpid(), False
        self.runs = 0

    def run(self, probes: Sequence[Probe]) -> list[Trace]:
        """Return the trace of each probe, in their order."""
        traces = []
        done = in_order(
            self._workers,
            partial(_run_there, self._shared),
            probes,
            size=2,
            lost=lambda probe: lost_run(probe.scenario, self._binding, probe.seed),
        )
        for probe, trace in zip(probes, done, strict=True):
            traces.append(trace)
            self.runs += 1
            if self._on_run is not None:
                self._on_run(probe.asks)
        return traces

    def hush(self) -> None:
        """Keep what clients print and log off the terminal, in a worker of its own process."""
        if os.getpid() != self._parent and not self._hushed:
            self._hushed = True
            nowhere = os.open(os.devnull, os.O_WRONLY)
            for descriptor in (1, 2):
                os.dup2(nowhere, descriptor)

    def one(self, probe: Probe) -> Trace:
        """Run one probe, in this process or a child of it."""
        return run_one(probe.scenario, self._binding, probe.seed, isolate=self._isolate)

    def __enter__(self) -> Self:
        """Return this; workers are made with the first probes."""
        self._workers.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the workers."""
        with closing(self._shared):
            self._workers.__exit__(kind, error, trace)


def _run_there(shared: Shared[Bench], probes: tuple[Probe, ...]) -> list[Trace]:
    """Run one chunk; in a worker."""
    bench = shared.get()
    bench.hush()
    return [bench.one(probe) for probe in probes]
