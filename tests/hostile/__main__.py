"""Gives many broken inputs to the commands that read them, and counts how they end.

    python -m tests.hostile 10000               that many, of all kinds (make hostile)
    python -m tests.hostile --number 4711       one again; its folder is kept and named
    python -m tests.hostile 500 --only trace    of one kind

Exit code 1: a command ended with another code than 0, 1, 2 or 3, with a traceback, not within 20
seconds, or printed what a terminal or a build server would obey.
"""

from __future__ import annotations

import argparse
import gc
import io
import os
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path

from tests.certify.small import frozen
from tests.hostile.kinds import KINDS, trial
from tests.hostile.samples import Samples, made_samples
from tests.hostile.trial import Ended, Trial, ran, tried

#: Commands with which something is wrong, shown in full at most for each cause.
_SHOWN = 2
_EVERY_S = 30.0


@dataclass(slots=True)
class Tally:
    """What came of the inputs."""

    inputs: set[int] = field(default_factory=set)
    commands: int = 0
    codes: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    wrong: dict[str, list[Ended]] = field(default_factory=lambda: defaultdict(list))
    bytes_max: int = 0
    seconds_max: float = 0.0

    def add(self, end: Ended) -> None:
        """Count one command."""
        self.inputs.add(end.trial.number)
        self.commands += 1
        name = end.command[0] if end.wrong != "hang" else f"{end.command[0]} (hang)"
        self.codes[f"{end.trial.kind} {name}"]["hang" if end.code is None else str(end.code)] += 1
        self.bytes_max = max(self.bytes_max, end.bytes_max)
        self.seconds_max = max(self.seconds_max, end.seconds)
        if end.wrong is not None:
            self.wrong[f"{end.wrong}: {_cause(end)}"].append(end)

    def lines(self) -> Iterable[str]:
        """Yield the figures, and what is wrong, each cause once."""
        for name, codes in sorted(self.codes.items()):
            told = ", ".join(f"{code}: {times}" for code, times in sorted(codes.items()))
            yield f"  {name:24} {told}"
        for cause, ends in sorted(self.wrong.items(), key=lambda item: -len(item[1])):
            yield f"{len(ends)} x {cause}"
            for end in ends[:_SHOWN]:
                named = f"--number {end.trial.number} --only {end.trial.kind}"
                yield f"    {named}: {' '.join(end.command)}"
        kinds = Counter(cause.partition(":")[0] for cause, ends in self.wrong.items() for _ in ends)
        told = ", ".join(f"{times} x {kind}" for kind, times in sorted(kinds.items())) or "none"
        yield f"{len(self.inputs)} inputs, {self.commands} commands; wrong: {told}"
        yield f"slowest command {self.seconds_max:.1f} s, peak memory {self.bytes_max >> 20} MiB"


def _cause(end: Ended) -> str:
    """Return the last line of a traceback with its place, or the command."""
    lines = end.output.rstrip().splitlines()
    places = [line.strip() for line in lines if line.lstrip().startswith("File ")]
    if "Traceback" not in end.output or not places:
        return end.command[0]
    return f"{lines[-1][:120]} in {places[-1].rpartition('faultclock/')[2]}"


def warm(samples: Samples) -> None:
    """Do once what the commands do, so that a child does not have to import and read it all."""
    trace = str(samples.traces[0])
    folder = samples.folder
    report = str(folder / "report.json")
    pages = [
        word for kind in ("html", "junit", "sarif", "json") for word in (f"--{kind}", os.devnull)
    ]
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        for model in samples.models:
            ran(["judge", trace, "--model", model.stem, *pages])
            ran(["validate", str(model)])
        for map_ in samples.maps:
            ran(["judge", str(samples.logs(map_.stem)[0]), "--map", map_.stem])
        ran(["run", "rate-limits/retry-after-integer", "--subject", "reference", "--inline"])
        ran(["merge", str(folder / "part-1.json"), str(folder / "part-2.json")])
        ran(["baseline", "check", str(folder / "known.yaml"), report])
        ran(["diff", report, report])
        ran(["history", str(folder / "history.sqlite")])
        with frozen():
            ran(["verify", str(folder / "certificate"), "--key", str(folder / "key.pub")])
    # What lives on is not copied for each child.
    gc.collect()
    gc.freeze()


def counted(trials: Iterable[Trial], folder: Path, jobs: int) -> Tally:
    """Return what came of the trials."""
    tally, told_s = Tally(), time.monotonic()
    for end in tried(trials, folder, jobs):
        tally.add(end)
        if time.monotonic() - told_s > _EVERY_S:
            told_s = time.monotonic()
            sys.stderr.write(f"{len(tally.inputs)} inputs, {len(tally.wrong)} causes\n")
    return tally


def main() -> int:
    """Read the arguments, try, and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description=__doc__)
    parser.add_argument("inputs", nargs="?", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first input")
    parser.add_argument("--number", type=int, help="only this one")
    parser.add_argument("--only", choices=sorted(KINDS), help="only this kind")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--few", action="store_true", help="make no traces to change")
    parser.add_argument(
        "-o", "--output", type=Path, help="where inputs go with which something is wrong"
    )
    asked = parser.parse_args()
    folder = asked.output or Path(tempfile.mkdtemp(prefix="hostile-"))
    numbers = range(asked.first, asked.first + asked.inputs)
    if asked.number is not None:
        numbers = range(asked.number, asked.number + 1)
    samples = made_samples(folder / "samples", few=asked.few)
    warm(samples)
    started_s = time.monotonic()
    trials = (trial(samples, number, asked.only) for number in numbers)
    tally = counted(trials, folder / "inputs", asked.jobs)
    sys.stdout.write("\n".join(tally.lines()) + f"\n{time.monotonic() - started_s:.0f} s\n")
    if tally.wrong:
        sys.stdout.write(f"the inputs are in {folder / 'inputs'}\n")
    return 1 if tally.wrong else 0


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":
        # What simulates has to start so, and the children are forks of this process.
        os.execve(
            sys.executable,
            [sys.executable, "-m", "tests.hostile", *sys.argv[1:]],
            {**os.environ, "PYTHONHASHSEED": "0"},
        )
    sys.exit(main())
