"""Makes the runs of a battery: each isolated, as many at a time as there are jobs, in order.

Where there is an error model, each run is judged where it was made, and one that fails is made
once more, as in any suite.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from types import TracebackType
from typing import Self

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.trace.trace import Trace
from faultclock.oracle.judge import Judge
from faultclock.profile.infer.probes import Probe
from faultclock.run.process.judged_runs import Done, Twice
from faultclock.run.process.workers import Shared, Workers, in_order
from faultclock.run.suite import lost_run, run_one
from faultclock.subjects.binding import Binding

#: Probes that a worker is given at once, at most.
_CHUNK = 2
#: Called after each run with what was asked.
OnRun = Callable[[str], None]
#: Called with each run that was judged.
OnJudged = Callable[[Done[Probe]], None]


class Bench:
    """Runs probes; used as a context manager, which ends its workers.

    Args:
        jobs: runs at a time (1 or more).
        isolate: one child per run, but for a subject that is bound with `inline`.
        wall_limit_s: real seconds after which a hanging run is ended; None takes the scenario's.
        on_run: called after each run with what was asked.
        model: by which the runs are judged; None: they are not.
        on_judged: called with each run that was judged, in order.
    """

    def __init__(
        self,
        binding: Binding,
        *,
        jobs: int = 1,
        isolate: bool = True,
        wall_limit_s: float | None = None,
        on_run: OnRun | None = None,
        model: ErrorModel | None = None,
        on_judged: OnJudged | None = None,
    ) -> None:
        self._binding = binding
        self._isolate = isolate and not binding.inline
        self._wall_limit_s = wall_limit_s
        self._workers = Workers(jobs)
        self._shared = Shared(self)
        self._on_run = on_run
        self._model = model
        self._on_judged = on_judged
        self._twice: tuple[int, Twice[Probe]] | None = None
        self._parent, self._hushed = os.getpid(), False
        self.runs = 0

    def run(self, probes: Sequence[Probe]) -> list[Trace]:
        """Return the trace of each probe, in their order."""
        traces = []
        done = in_order(
            self._workers,
            partial(_run_there, self._shared),
            probes,
            size=_CHUNK,
            lost=self._lost,
        )
        for probe, made in zip(probes, done, strict=True):
            self.runs += 1
            if isinstance(made, Done):
                traces.append(made.trace)
                if self._on_judged is not None:
                    self._on_judged(made)
            else:
                traces.append(made)
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

    def some(self, probes: Sequence[Probe]) -> Sequence[Trace | Done[Probe]]:
        """Run some probes, in this process or a child of it, and judge them where there is a model.

        Without one no run is made twice, so each has a child of its own.
        """
        if self._model is None:
            return [*map(self._made, probes)]
        if self._twice is None or self._twice[0] != os.getpid():
            twice = Twice(
                judge=Judge(self._model),
                run=self._made,
                again=lambda probe, _: self._made(probe),
                beside=self._isolate,
                inline=not self._isolate,
            )
            self._twice = (os.getpid(), twice)
        return [*map(self._twice[1], probes)]

    def _made(self, probe: Probe) -> Trace:
        return run_one(
            probe.scenario,
            self._binding,
            probe.seed,
            isolate=self._isolate,
            wall_limit_s=self._wall_limit_s,
        )

    def _lost(self, probe: Probe) -> Trace | Done[Probe]:
        trace = lost_run(probe.scenario, self._binding, probe.seed)
        if self._model is None:
            return trace
        return Done(probe, trace, Judge(self._model).judge(trace))

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
        """End the workers, and what this process has for second runs."""
        with closing(self._shared):
            self._workers.__exit__(kind, error, trace)
        if self._twice is not None and self._twice[0] == os.getpid():
            self._twice[1].close()


def _run_there(shared: Shared[Bench], probes: tuple[Probe, ...]) -> list[Trace | Done[Probe]]:
    """Run one chunk; in a worker."""
    bench = shared.get()
    bench.hush()
    return list(bench.some(probes))
