"""`python -m tests`: runs all tests, each folder of them in a process of its own, some at once.

A run of a subject forks, and a fork copies a table of all pages. In a process that has imported
every framework that is tested, that takes longer than most of the runs. So a process has what one
folder needs, and each file is read by one of them.

Options that are not its own go to each pytest: `python -m tests --jobs 2 -x`. One folder alone is
run by pytest itself: `python -m pytest tests/oracle`.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from msgspec import Struct

_TESTS = Path(__file__).parent
#: Those that take longest begin first, so that no core is idle while another one has much to do.
_LONGEST = ("run", "cli", "docs", "subjects/frameworks", "subjects/node", "scenarios", "certify")
#: Folders whose libraries cannot stand beside those of the others: the environment that has them,
#: and what replaces the options of `pyproject.toml` there.
APART = {"clients_openai2": "openai2"}
_APART_OPTIONS = ("-o", "addopts=-ra --import-mode=importlib")
_COUNTED = re.compile(r"(\d+) (passed|failed|error|skipped|xfailed|xpassed)")
#: What pytest ends with where a folder has tests and the options choose none of them.
_NONE_CHOSEN = 5


class Folder(Struct, frozen=True):
    """What became of the tests of one folder.

    Attributes:
        code: that pytest ended with.
        output: of pytest, line by line.
    """

    name: str
    code: int
    output: list[str]

    def __str__(self) -> str:
        return f"tests/{self.name}: {self.output[self._end].strip('= ')}"

    @property
    def _end(self) -> int:
        """The place of the line that says how many there were, and how long; else of the last."""
        places = range(len(self.output) - 1, -1, -1)
        return next((at for at in places if _COUNTED.search(self.output[at])), len(self.output) - 1)

    @property
    def counts(self) -> dict[str, int]:
        """How many tests there were, by what became of them."""
        return {what: int(number) for number, what in _COUNTED.findall(self.output[self._end])}

    @property
    def is_well(self) -> bool:
        """Whether none of its tests failed; it may be that none was chosen."""
        return self.code in (0, _NONE_CHOSEN)

    def shown(self) -> list[str]:
        """Return the lines that somebody has to see."""
        before, after = self.output[: self._end], self.output[self._end + 1 :]
        if self.is_well:
            before = [line for line in before if line.startswith("SKIPPED")]
        return [*before, *after, str(self)]


def folders() -> list[str]:
    """Return the folders that have tests, those that take longest first."""
    found = {path.parent.relative_to(_TESTS).as_posix() for path in _TESTS.rglob("test_*.py")}
    return [*_LONGEST, *sorted(found - set(_LONGEST))]


def run(name: str, options: Sequence[str]) -> Folder:
    """Run the tests of a folder, without those of the folders below it."""
    python, own = sys.executable, list(options)
    if name in APART:
        python = f"{sys.prefix}/{APART[name]}/bin/python"
        own = [*_APART_OPTIONS, *options]
    files = sorted(str(path) for path in (_TESTS / name).glob("test_*.py"))
    done = subprocess.run(
        [python, "-m", "pytest", "-q", *own, *files],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    lines = done.stdout.rstrip().splitlines() or ["nothing was said"]
    return Folder(name, done.returncode, lines)


def together(done: Sequence[Folder]) -> tuple[list[str], int]:
    """Return what all of them come to, in lines, and the exit code: no test is no success."""
    counts: Counter[str] = Counter()
    for folder in done:
        counts.update(folder.counts)
    broken = sorted((folder for folder in done if not folder.is_well), key=lambda it: it.name)
    lines = [f"failed: {folder}" for folder in broken]
    lines.append(", ".join(f"{number:,} {what}" for what, number in sorted(counts.items())))
    return lines, 1 if broken or not counts["passed"] else 0


def main() -> int:
    """Run all, and say which fail and how many there were."""
    parser = argparse.ArgumentParser(prog="python -m tests", description=__doc__)
    usual = (os.cpu_count() or 1) + 1
    said = f"folders at once; the default is one more than there are cores, {usual} here"
    parser.add_argument("--jobs", type=int, default=usual, help=said)
    asked, options = parser.parse_known_args()
    done: list[Folder] = []
    names = folders()
    said = f"{len(names)} folders, {asked.jobs} at once; the first ones take some minutes"
    sys.stdout.write(f"{said}: {', '.join(names[: asked.jobs])}\n")
    sys.stdout.flush()
    with ThreadPoolExecutor(asked.jobs) as pool:
        for future in as_completed([pool.submit(run, it, options) for it in names]):
            done.append(future.result())
            sys.stdout.write("\n".join([*done[-1].shown(), ""]))
            sys.stdout.flush()
    lines, code = together(done)
    sys.stdout.write("\n".join([*lines, ""]))
    return code


if __name__ == "__main__":
    sys.exit(main())
