"""Measures pieces of code in turns, so that a busy moment of the machine hits all of them alike.

Peers run in a process of their own, forked before Faultclock patches anything: in a patched
process their clocks and locks would be ours, and slower. What counts is processor time, that of
children included, in the best turn of each: nothing that is measured here waits.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import platform
import resource
from collections.abc import Callable, Mapping
from functools import partial
from multiprocessing.connection import Connection

from benchmarks._table import Size

Piece = Callable[[], object]


class Aside:
    """A process that runs `peers` on demand. Make it before anything is patched."""

    def __init__(self, peers: Mapping[str, Piece]) -> None:
        context = multiprocessing.get_context("fork")
        self._here, there = context.Pipe()
        self._names = tuple(peers)
        context.Process(target=_serve, args=(there, peers), daemon=True).start()

    def turns(self, turn_s: float) -> dict[str, Callable[[], float]]:
        """Return for each peer a function that gives it one turn; see `turn`."""
        return {name: partial(self._ask, name, turn_s) for name in self._names}

    def _ask(self, name: str, turn_s: float) -> float:
        self._here.send((name, turn_s))
        taken_ms: float = self._here.recv()
        return taken_ms


def _serve(pipe: Connection, peers: Mapping[str, Piece]) -> None:
    while True:
        name, turn_s = pipe.recv()
        pipe.send(turn(peers[name], turn_s))


def processor_s() -> float:
    """Return the processor time of this process and of its ended children, in seconds."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def turn(run: Piece, turn_s: float) -> float:
    """Run for `turn_s` seconds of processor time, at least once; return milliseconds per run."""
    gc.collect()
    # What the other pieces hold is no cost of this one: no collection looks at it again.
    gc.freeze()
    count, started_s = 0, processor_s()
    while True:
        run()
        count += 1
        passed_s = processor_s() - started_s
        if passed_s > turn_s:
            return passed_s * 1_000 / count


def best_ms(ours: Mapping[str, Piece], size: Size, aside: Aside | None = None) -> dict[str, float]:
    """Return the fewest milliseconds of processor time per run of each; all take turns."""
    turns: dict[str, Callable[[], float]] = {
        name: partial(turn, run, size.turn_s) for name, run in ours.items()
    }
    if aside is not None:
        turns |= aside.turns(size.turn_s)
    best = dict.fromkeys(turns, float("inf"))
    for _ in range(size.rounds):
        for name, take in turns.items():
            best[name] = min(best[name], take())
    return best


def machine() -> str:
    """Return what the figures were measured on, without any name."""
    load, _, _ = os.getloadavg()
    return (
        f"{platform.python_implementation()} {platform.python_version()} on {os.cpu_count()} "
        f"cores, load average at the start {load:.1f}"
    )
