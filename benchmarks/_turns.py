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
from multiprocessing.connection import Connection

__all__ = ["Aside", "best_rates", "machine"]

Piece = Callable[[], object]


class Aside:
    """A process that runs `peers` on demand. Make it before anything is patched."""

    def __init__(self, peers: Mapping[str, Piece]) -> None:
        context = multiprocessing.get_context("fork")
        self._here, there = context.Pipe()
        self._names = tuple(peers)
        self._process = context.Process(target=_serve, args=(there, peers), daemon=True)
        self._process.start()

    def pieces(self, turn_s: float) -> dict[str, Callable[[], float]]:
        """Return for each peer a function that gives it one turn and returns its rate."""

        def ask(name: str) -> float:
            self._here.send((name, turn_s))
            rate: float = self._here.recv()
            return rate

        return {name: lambda name=name: ask(name) for name in self._names}

    def close(self) -> None:
        """End the process."""
        self._here.send(None)
        self._process.join()


def _serve(pipe: Connection, peers: Mapping[str, Piece]) -> None:
    while (asked := pipe.recv()) is not None:
        name, turn_s = asked
        pipe.send(turn(peers[name], turn_s))


def processor_s() -> float:
    """Return the processor time of this process and of its ended children, in seconds."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def turn(run: Piece, turn_s: float) -> float:
    """Run for `turn_s` seconds of processor time, at least once; return the runs per second."""
    gc.collect()
    count, started_s = 0, processor_s()
    while True:
        run()
        count += 1
        passed_s = processor_s() - started_s
        if passed_s >= turn_s:
            return count / passed_s


def best_rates(
    ours: Mapping[str, Piece], aside: Aside, *, turn_s: float, rounds: int
) -> dict[str, float]:
    """Return the best runs per second of processor time, the peers' first; all take turns."""
    pieces: dict[str, Callable[[], float]] = aside.pieces(turn_s)
    pieces |= {name: lambda run=run: turn(run, turn_s) for name, run in ours.items()}
    best = dict.fromkeys(pieces, 0.0)
    for _ in range(rounds):
        for name, take in pieces.items():
            best[name] = max(best[name], take())
    return best


def machine() -> str:
    """Return one line that says what the figures were measured on, without any name."""
    load, _, _ = os.getloadavg()
    return (
        f"{os.cpu_count()} cores, {platform.python_implementation()} "
        f"{platform.python_version()}, load average at the start {load:.1f}"
    )
