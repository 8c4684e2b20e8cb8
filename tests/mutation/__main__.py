"""Mutants of the oracle's own code: does a stored run or a test see each small change?

    python -m tests.mutation 'retries.py'              all mutants of the files that fit
    python -m tests.mutation '*' --limit 200 --seed 7  some mutants of all files
    python -m tests.mutation '*' --only '*:Judge.*'    those of some functions, by `path:function`

A mutant is one small change of one module. It is judged in a process of its own, which imports the
oracle with that change: first by stored runs of the ledger (`make ledger`) that execute the changed
statement, then by tests that do, first of all by those in `test_<module>*.py`. The first difference
from what the code says as it is kills it.

A mutant that survives is shown as the line before and after: write a test that kills it, or name it
in `equivalent.txt` with the reason why nothing can. Before that, try it with `--share 1` and a
larger `--budget`: more stored runs may see it.

mutmut and cosmic-ray do not fit: both write mutants to disk and know a test command as the only
judge, so the ledger would be read and the oracle imported anew for each mutant; mutatest is not
maintained.

Exit code 1: a mutant survived. Exit code 2: `equivalent.txt` has an entry that is not true, there
is no ledger, or the code as it is does not survive.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path

# Settings of hypothesis, which all tests share.
import tests.conftest  # noqa: F401
from tests.ledger.files import stored_units
from tests.mutation import equivalent
from tests.mutation.coverage import Coverage, find_runs, find_tests, key_of, read, write
from tests.mutation.imports import PACKAGE, sources
from tests.mutation.operators import NOOP, OPERATORS, Mutant
from tests.mutation.trial import (
    Module,
    Result,
    Trial,
    module_of,
    run,
    run_all,
    stock_of,
    trial_of,
    unchanged,
)

_KEPT = Path("reports/mutation")
_EVERY_S = 15.0


def _arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutation",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("files", help="pattern over paths in the package, such as 'retries.py'")
    parser.add_argument("--only", action="append", help="pattern over `path:function`")
    parser.add_argument("--operator", action="append", choices=sorted(OPERATORS), metavar="NAME")
    parser.add_argument("--limit", type=int, help="so many mutants, drawn at random")
    parser.add_argument("--seed", type=int, default=0, help="of that draw")
    parser.add_argument("--share", type=int, default=4, metavar="N", help="each Nth unit only")
    parser.add_argument("--budget", type=float, default=2.0, metavar="SECONDS", help="of judging")
    parser.add_argument("--folder", type=Path, default=Path("reports/ledger"))
    parser.add_argument("--tests", type=Path, default=Path("tests/oracle"))
    parser.add_argument("--kept", type=Path, default=_KEPT, help="folder for the coverage")
    parser.add_argument("--equivalent", type=Path, default=equivalent.FILE)
    parser.add_argument("--jobs", type=int, default=2)
    return parser.parse_args(words)


def _ledger_coverage(asked: argparse.Namespace) -> Coverage:
    """Return what stored runs execute, found now or before."""
    key = key_of(asked.folder.resolve(), asked.share)
    path = asked.kept / "runs.json.gz"
    found = read(path).get(key)
    if found is None:
        started_s = time.monotonic()
        found = find_runs(asked.folder, stored_units(asked.folder)[:: asked.share], asked.jobs)
        write(path, {key: found})
        _noted("stored runs", len(found.samples), started_s)
    return found


def _test_coverage(asked: argparse.Namespace) -> Coverage:
    """Return what tests execute: found before, where neither they nor what they share changed."""
    files = sorted(asked.tests.rglob("*.py")) if asked.tests.is_dir() else [asked.tests]
    tests = {path for path in files if path.name.startswith("test_")}
    shared = [path.read_bytes() for path in files if path not in tests]
    keys = {key_of(path, path.read_bytes(), *shared): path for path in sorted(tests)}
    path = asked.kept / "tests.json.gz"
    parts = {key: part for key, part in read(path).items() if key in keys}
    if missing := {str(keys[key]): key for key in keys if key not in parts}:
        started_s = time.monotonic()
        found = find_tests([Path(name) for name in missing], asked.tests)
        parts |= {missing[name]: part for name, part in found.items()}
        write(path, parts)
        _noted("tests", sum(len(part.samples) for part in found.values()), started_s)
    whole = Coverage()
    for part in parts.values():
        whole.extend(part)
    return whole


def _noted(what: str, count: int, started_s: float) -> None:
    _note(f"coverage of {count} {what} in {time.monotonic() - started_s:.0f} s")


def _wanted(asked: argparse.Namespace, files: Mapping[str, Path]) -> list[tuple[Module, Mutant]]:
    """Return the mutants that are asked for, each with its module."""
    root = files[PACKAGE].parent
    modules = [
        module_of(name, path)
        for name, path in files.items()
        if fnmatchcase(f"/{path.relative_to(root)}", f"*/{asked.files}")
    ]
    operators = asked.operator or [name for name in OPERATORS if name != NOOP]
    patterns = asked.only or ["*"]
    found = [
        (module, mutant)
        for module in modules
        for mutant in module.mutants
        if mutant.operator in operators
        and any(fnmatchcase(f"{module.path.name}:{mutant.function}", only) for only in patterns)
    ]
    if asked.limit is not None and asked.limit < len(found):
        places = sorted(random.Random(asked.seed).sample(range(len(found)), asked.limit))
        found = [found[place] for place in places]
    return found


def _stale(
    entries: Mapping[equivalent.Key, str], files: Mapping[str, Path]
) -> list[equivalent.Key]:
    """Return the entries that fit no mutant of any module."""
    made: list[Mutant] = []
    for name, path in files.items():
        source = path.read_text("utf-8")
        if any(equivalent.may_hold(source, entry) for entry in entries):
            made.extend(module_of(name, path).mutants)
    return equivalent.stale(entries, made)


class _Report:
    """What the mutants came to, said as they come."""

    def __init__(self, made: int, entries: dict[equivalent.Key, str]) -> None:
        self.counts: Counter[str] = Counter(made=made)
        self.survived: set[equivalent.Key] = set()
        self._entries = entries
        self._noted_s = self._started_s = time.monotonic()
        self._done = 0

    def add(self, trial: Trial, result: Result) -> None:
        """Count a mutant, and show it if it survived without a reason."""
        self._done += 1
        key = equivalent.key_of(trial.mutant)
        if result.by is not None:
            self.counts[result.by] += 1
        else:
            self.survived.add(key)
            self.counts["named" if key in self._entries else "survived"] += 1
            if key not in self._entries:
                self._show(trial)
        if time.monotonic() - self._noted_s > _EVERY_S:
            self._noted_s = time.monotonic()
            _note(self.line())

    def _show(self, trial: Trial) -> None:
        where = f"{os.path.relpath(trial.module.path)}:{trial.mutant.line}"
        judges = f"{len(trial.runs)} runs and {len(trial.tests)} tests"
        if not trial.is_executed:
            judges = "no run and no test executes it"
        _say(f"survived {self.counts['survived']}: {where} ({judges})")
        _say("".join(f"    {line}\n" for line in equivalent.entry_of(trial.mutant).splitlines()))

    def line(self) -> str:
        """Return the counts in one line."""
        count = self.counts
        return (
            f"{self._done} of {count['made']} mutants: {count['ledger']} killed by the ledger, "
            f"{count['tests']} by tests, {count['limit']} by a limit, {count['named']} named, "
            f"{count['survived']} survived; {time.monotonic() - self._started_s:.0f} s"
        )


def main(words: Sequence[str] | None = None) -> int:
    """Read the arguments, and try the mutants."""
    asked = _arguments(words)
    asked.tests = asked.tests.resolve()
    if not stored_units(asked.folder):
        _say(f"no ledger in {asked.folder}: make ledger writes it")
        return 2
    entries = equivalent.read_equivalent(asked.equivalent)
    files = sources()
    if stale := _stale(entries, files):
        _say("\n".join(f"no such mutant: {' | '.join(entry)}" for entry in stale))
        return 2
    wanted = _wanted(asked, files)
    ledger, by_tests = _ledger_coverage(asked), _test_coverage(asked)
    report = _Report(len(wanted), entries)
    trials: dict[str, list[Trial]] = {}
    for module, mutant in wanted:
        trial = trial_of(module, mutant, ledger, by_tests, asked.tests, asked.budget)
        trials.setdefault(module.name, []).append(trial)
    for name, of_module in trials.items():
        as_it_is = unchanged(of_module)
        stock = stock_of(asked.folder, as_it_is.runs)
        # A child that collects garbage would copy all that it shares with this process.
        gc.collect()
        gc.freeze()
        judge = partial(run, stock=stock)
        (_, first), *_ = run_all([as_it_is], judge, 1)
        if first.by is not None:
            _say(f"{name}: the code as it is does not survive: {first.by}, {first.why}")
            return 2
        for trial, result in run_all(of_module, judge, asked.jobs):
            report.add(trial, result)
    killed = [key for key in entries if _is_tried(key, wanted) and key not in report.survived]
    _say("".join(f"killed, so not equivalent: {' | '.join(key)}\n" for key in killed))
    _say(report.line())
    return 2 if killed else int(report.counts["survived"] > 0)


def _is_tried(key: equivalent.Key, wanted: Sequence[tuple[Module, Mutant]]) -> bool:
    return any(equivalent.key_of(mutant) == key for _, mutant in wanted)


def _say(text: str) -> None:
    if text:
        sys.stdout.write(f"{text.rstrip()}\n")
        sys.stdout.flush()


def _note(text: str) -> None:
    sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main())
