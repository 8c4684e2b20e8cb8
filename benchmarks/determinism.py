"""Byte-equal traces: every shipped subject x scenario of its role, under other hash seeds.

    python -m benchmarks.determinism [processes] [--load] [--subject ID]...

Each process runs everything, isolated as by default, and prints a digest for each trace; all
must be equal. Where they are not, scenario, subject and the first line that differs are named.
`--load` keeps all cores busy meanwhile.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks._turns import machine
from harness.load.payloads import load_payloads
from harness.load.scenario import find_scenarios
from harness.model.trace import Trace, trace_lines
from harness.run.prepare import prepare
from harness.run.suite import of_role, run_one
from harness.subjects.registry import shipped_ids

#: Processes that run at a time; the load of the others must not show in any trace.
_AT_ONCE = os.cpu_count() or 1


def traces(subjects: tuple[str, ...], scenarios: tuple[str, ...]) -> Iterator[tuple[str, Trace]]:
    """Yield all traces, each with its name; no scenario means every one of the subject's role."""
    payloads = {dialect: load_payloads(dialect) for dialect in ("openai-chat", "http-json")}
    every = [found.scenario for found in find_scenarios(scenarios)]
    for subject in subjects:
        binding = prepare(subject, payloads["openai-chat"])
        for scenario in every:
            if of_role(scenario, binding):
                bodies = payloads[scenario.provider.dialect]
                trace = run_one(scenario, binding, scenario.seed, bodies, isolate=True)
                yield f"{subject} {scenario.id}", trace


def child(hash_seed: int, *words: str) -> subprocess.Popen[str]:
    """Start a process of this module with another hash seed."""
    return subprocess.Popen(
        [sys.executable, "-m", "benchmarks.determinism", *words],
        env=dict(os.environ, PYTHONHASHSEED=str(hash_seed)),
        stdout=subprocess.PIPE,
        text=True,
    )


def output_of(process: subprocess.Popen[str]) -> list[str]:
    """Wait for a process and return its lines.

    Raises:
        SystemExit: it failed.
    """
    text, _ = process.communicate()
    if process.returncode:
        raise SystemExit(f"a process ended with exit code {process.returncode}")
    return text.splitlines()


@contextmanager
def load(wanted: bool) -> Iterator[None]:
    """Keep every core busy, if wanted."""
    burners = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"])
        for _ in range(os.cpu_count() or 1)
        if wanted
    ]
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


def first_difference(name: str, one: int, other: int) -> str:
    """Run one subject and scenario again under two hash seeds, and compare line by line."""
    subject, scenario = name.split()
    words = ("--show", "--subject", subject, "--scenario", scenario)
    left, right = (output_of(child(seed, *words)) for seed in (one, other))
    for number, pair in enumerate(zip(left, right, strict=False), start=1):
        if pair[0] != pair[1]:
            return f"line {number}\n    {pair[0]}\n    {pair[1]}"
    if len(left) != len(right):
        return f"{len(left)} lines against {len(right)}"
    return "equal when run alone"


def compare(processes: int, words: list[str]) -> int:
    """Run the processes and print what differs; return the number of traces that do."""
    expected: list[str] = []
    differing: dict[str, int] = {}
    for first in range(1, processes + 1, _AT_ONCE):
        seeds = range(first, min(first + _AT_ONCE, processes + 1))
        for seed, process in [(seed, child(seed, "--digests", *words)) for seed in seeds]:
            lines = output_of(process)
            expected = expected or lines
            for line in set(lines) ^ set(expected):
                differing.setdefault(line.rpartition(" ")[0], seed)
            digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
            print(f"PYTHONHASHSEED={seed:<3d} {len(lines)} traces  {digest[:16]}", flush=True)
    for name, seed in sorted(differing.items()):
        print(f"{name} differs: {first_difference(name, 1, seed)}")
    print(f"{len(expected)} traces x {processes} processes: {len(differing)} differ")
    return len(differing)


def main() -> int:
    """Be the parent, or one of the children."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.determinism")
    parser.add_argument("processes", nargs="?", type=int, default=20)
    parser.add_argument("--load", action="store_true", help="keep all cores busy meanwhile")
    parser.add_argument("--subject", action="append", default=[], help="instead of all shipped")
    parser.add_argument("--scenario", action="append", default=[], help="instead of all shipped")
    parser.add_argument("--digests", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--show", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    subjects, scenarios = tuple(options.subject) or shipped_ids(), tuple(options.scenario)
    if options.digests or options.show:
        for name, trace in traces(subjects, scenarios):
            if options.show:
                sys.stdout.writelines(trace_lines(trace))
            else:
                print(name, trace.footer.digest)
        return 0
    print(machine())
    words = [f"--subject={name}" for name in options.subject]
    words += [f"--scenario={name}" for name in options.scenario]
    started = time.monotonic()
    with load(options.load):
        differing = compare(options.processes, words)
    print(f"{time.monotonic() - started:.0f} s")
    return 1 if differing else 0


if __name__ == "__main__":
    raise SystemExit(main())
