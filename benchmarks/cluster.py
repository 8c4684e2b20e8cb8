"""What a cluster adds to a run: the same exploration in this process, and by workers of Dask.

Scheduler and workers are real, in processes of this machine. What is counted is processor time of
all of them, from the kernel's account of each process and of those that it has waited for; who has
taken it is told by what a process is. How fast the runs were is said too: that is real time, so
other work on the machine shows, and more workers than cores gain nothing.
"""

from __future__ import annotations

import importlib.util
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from functools import cache

from msgspec.structs import replace

from benchmarks._table import Goal, Row, Size, rows_of
from faultclock.explore.engine import ExploreRequest, explore
from faultclock.load.error_model import load_error_model
from faultclock.load.scenario import find_scenarios
from faultclock.run.prepare import hosted
from faultclock.run.process.cluster import Cluster
from faultclock.run.process.workers import working_at
from faultclock.subjects.binding import Binding

PEERS = {"distributed": importlib.util.find_spec("distributed") is not None}
#: A real SDK, each run in a child of its own, and a subject whose runs share a process.
SUBJECTS = {"openai-async": 192, "reference": 768}
SCENARIO = "rate-limits/retry-after-integer"
#: What a process is, by a word of its command line.
PARTS = {
    "cluster_worker import main": "the runs",
    "spawn_main": "workers of Dask",
    "faultclock.run.process.local_cluster": "scheduler of Dask",
}
_COMMAND = "the command"
GOALS = (
    Goal(case="openai-async: a run", name="workers: 4", against="no cluster", most=1.05),
    Goal(case="reference: a run", name="workers: 4", against="no cluster", most=1.05),
    Goal(case="openai-async: real time", name="workers: 1", against="workers: 2", most=0.526),
    Goal(case="reference: real time", name="workers: 1", against="workers: 2", most=0.526),
)


def spent() -> Counter[str]:
    """Return the seconds of processor time that this process and those below it took, by part."""
    import psutil

    total = Counter[str]()

    def add(process: psutil.Process, part: str) -> None:
        try:
            # One that has ended has no words any more, and its time until it is waited for.
            words = [] if process.status() == psutil.STATUS_ZOMBIE else process.cmdline()
            part = next((name for word, name in PARTS.items() if word in str(words)), part)
            times = process.cpu_times()
            total[part] += times.user + times.system + times.children_user + times.children_system
            for child in process.children():
                add(child, part)
        except psutil.NoSuchProcess:
            return

    add(psutil.Process(), _COMMAND)
    return total


@cache
def loaded(subject: str) -> Binding:
    """Return a subject, whose process stays: what ends between two looks is not counted."""
    return hosted(subject)


def explored(subject: str, runs: int, workers: int | None) -> tuple[Counter[str], float]:
    """Return the processor time of each part for a run, in ms, and how many runs a second it were.

    An exploration has a beginning that each worker pays for, so a short one is taken off.

    Args:
        workers: None: all in this process.
    """
    request = ExploreRequest(
        scenarios=tuple(s for item in find_scenarios((SCENARIO,)) for s in item.runnable),
        binding=loaded(subject),
        subject_spec=subject,
        model=load_error_model("common"),
    )
    few = runs // 4
    marks = []
    with ExitStack() as stack:
        if workers is not None:
            stack.enter_context(working_at(stack.enter_context(Cluster(f"local:{workers}"))))
        # Every worker loads the subject, and what runs use is loaded with the first of them.
        for number in (few, few, few + runs):
            explore(replace(request, runs=number))
            marks.append((spent(), time.perf_counter()))
    (first, first_s), (second, second_s), (third, third_s) = marks
    cpu_s = {part: third[part] - 2 * second[part] + first[part] for part in third}
    took_s = third_s - 2 * second_s + first_s
    return Counter({part: each / runs * 1_000 for part, each in cpu_s.items()}), runs / took_s


def measure(size: Size) -> Iterator[Row]:
    """Yield processor time for each run, whose it is with most workers, and runs a second."""
    if not PEERS["distributed"]:
        return
    for subject, runs in size.of(SUBJECTS, {"reference": 16}).items():
        cpu: dict[str, float] = {}
        rate: dict[str, float] = {}
        for workers in size.of((None, 1, 2, 4), (None, 1)):
            name = "no cluster" if workers is None else f"workers: {workers}"
            parts, rate[name] = explored(subject, runs, workers)
            cpu[name] = parts.total()
        yield from rows_of(f"{subject}: a run", "ms", cpu, "no cluster")
        shown = {part: ms for part, ms in parts.items() if ms > 0}
        yield from rows_of(f"{subject}: whose time, most workers", "ms", shown)
        yield from rows_of(f"{subject}: real time", "runs/s", rate, "workers: 1")
