"""Makes every run a second time, in other processes with another hash seed, and notes its digest.

A run that is not the same there proves nothing: something got in that is not simulated.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from faultclock.model.report.evidence import Double
from faultclock.model.scenario.scenario import Scenario

#: Name of the run, the scenario and its seed.
Again = tuple[str, Scenario, int]


def doubles_of(
    runs: Sequence[Again],
    subject_spec: str,
    *,
    jobs: int = 1,
    on_progress: Callable[[int, int], None] | None = None,
) -> tuple[Double, ...]:
    """Make `runs` once more, and return their digests in the same order.

    Args:
        subject_spec: how the subject is loaded there.
        jobs: processes that work at once, each with a hash seed of its own.
    """
    found: dict[str, str] = {}
    children = [
        _Child(subject_spec, runs[number::jobs], number) for number in range(min(jobs, len(runs)))
    ]
    with selectors.DefaultSelector() as selector:
        for child in children:
            selector.register(child.out, selectors.EVENT_READ, child)
        try:
            while selector.get_map():
                for key, _ in selector.select():
                    lines = key.data.lines()
                    if lines is None:
                        selector.unregister(key.fileobj)
                        continue
                    found.update(map(json.loads, lines))
                    if on_progress is not None:
                        on_progress(len(found), len(runs))
        finally:
            for child in children:
                child.end()
    return tuple(Double(name=name, digest=found.get(name, "")) for name, _, _ in runs)


class _Child:
    """One of the processes; it gets everything at once."""

    def __init__(self, subject_spec: str, runs: Sequence[Again], number: int) -> None:
        environment = dict(os.environ, PYTHONHASHSEED=str(_other_hash_seed(number)))
        # It finds what this process finds, wherever it was started.
        environment["PYTHONPATH"] = os.pathsep.join(str(Path(path).resolve()) for path in sys.path)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "faultclock.certify.levels.again"],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._process.stdin is not None, "it was made with pipes"
        assert self._process.stdout is not None, "it was made with pipes"
        self.out = self._process.stdout
        self._rest = b""
        asked = {
            "subject": subject_spec,
            "runs": [
                [name, scenario.model_dump(mode="json"), seed] for name, scenario, seed in runs
            ],
        }
        try:
            # It reads all of it before it writes anything.
            self._process.stdin.write(json.dumps(asked).encode())
            self._process.stdin.close()
        except BrokenPipeError:
            # It has ended: then there is no digest of any of its runs.
            pass

    def lines(self) -> list[bytes] | None:
        """Return the lines that have come; None: no more will."""
        data = os.read(self.out.fileno(), 1 << 16)
        if not data:
            return None
        *lines, self._rest = (self._rest + data).split(b"\n")
        return lines

    def end(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()
        self.out.close()


def _other_hash_seed(number: int) -> int:
    own = os.environ.get("PYTHONHASHSEED", "")
    return (int(own) if own.isdecimal() else 0) + 1 + number
