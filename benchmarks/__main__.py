"""Runs benchmarks, compares two commits by them, and writes their tables into the page.

python -m benchmarks run [NAME]... [--tiny] [--json FILE]
python -m benchmarks compare BASE [NAME]... [--tiny] [--rounds N]
python -m benchmarks page [--json FILE]
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks._table import FULL, TINY, as_json, as_page, as_text
from benchmarks._turns import machine

HERE = Path(__file__).parent
ROOT = HERE.parent
NAMES = sorted(path.stem for path in HERE.glob("[!_]*.py"))


def run(names: Sequence[str], tiny: bool) -> dict[str, Any]:
    """Measure each in a process of its own, since a benchmark patches its process, and print it.

    A benchmark that fails has no figures; what it wrote is on standard error.
    """
    results: dict[str, Any] = {"machine": machine(), "benchmarks": {}}
    for name in names:
        print(f"\n{name}", flush=True)
        one = measured(name, tiny, ROOT) if len(names) > 1 else here(name, tiny)
        if one is not None:
            results["benchmarks"][name] = one
            print(as_text(one), flush=True)
    return results


def here(name: str, tiny: bool) -> dict[str, Any]:
    """Measure one benchmark in this process."""
    module = importlib.import_module(f"benchmarks.{name}")
    rows = module.measure(TINY if tiny else FULL)
    return as_json(rows, getattr(module, "PEERS", {}), getattr(module, "GOALS", ()))


def measured(name: str, tiny: bool, tree: Path) -> dict[str, Any] | None:
    """Measure the package of `tree` in a new process; None: the benchmark failed there.

    The benchmarks are those of `tree` too, or of this checkout where those of `tree` are older than
    this command.
    """
    folder = tree if (tree / "benchmarks" / "__main__.py").exists() else ROOT
    path = os.pathsep.join((str(tree / "harness"), str(folder)))
    with tempfile.TemporaryDirectory() as kept:
        file = Path(kept, "figures.json")
        words = ["run", name, "--json", str(file), *(["--tiny"] if tiny else [])]
        subprocess.run(
            [sys.executable, "-m", "benchmarks", *words],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": path},
            stdout=subprocess.DEVNULL,
            check=False,
        )
        if not file.exists():
            return None
        found: dict[str, Any] = json.loads(file.read_text("utf-8"))["benchmarks"][name]
        return found


@contextmanager
def checkout(commit: str) -> Iterator[Path]:
    """Yield a folder with the files of a commit."""
    with tempfile.TemporaryDirectory() as kept:
        folder = Path(kept, "base")
        worktree = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*worktree, "add", "--quiet", "--detach", folder, commit], check=True)
        try:
            yield folder
        finally:
            subprocess.run([*worktree, "remove", "--force", folder], check=True)


def compare(base: str, names: Sequence[str], tiny: bool, rounds: int) -> bool:
    """Print what each figure of this checkout is against that of `base`; both take turns.

    Returns whether every benchmark gave figures for both.
    """
    whole = True
    with checkout(base) as folder:
        print(f"| this checkout against {base} | median | lowest | highest |\n|---|---|---|---|")
        for name in names:
            turns = [[measured(name, tiny, tree) for tree in (folder, ROOT)] for _ in range(rounds)]
            pairs = [(before, after) for before, after in turns if before and after]
            whole &= len(pairs) == rounds
            for case, found in ratios(pairs).items():
                shown = f"{median(found):.2f} | {min(found):.2f} | {max(found):.2f}"
                print(f"| {name}: {case} | {shown} |", flush=True)
    return whole


def ratios(pairs: Sequence[tuple[dict[str, Any], dict[str, Any]]]) -> dict[str, list[float]]:
    """Return for each figure that all results have the ratio of after to before, pair by pair."""
    tables = [
        [{f"{row['case']}, {row['name']}": row["figure"] for row in one["rows"]} for one in pair]
        for pair in pairs
    ]
    shared = [key for key in tables[0][0] if all(key in one for pair in tables for one in pair)]
    return {key: [after[key] / before[key] for before, after in tables] for key in shared}


def main(words: Sequence[str] | None = None) -> int:
    """Do one of the three; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for command in ("run", "compare", "page"):
        one = commands.add_parser(command)
        if command == "compare":
            one.add_argument("base", help="a commit")
            one.add_argument("--rounds", type=int, default=5, help="turns of each of the two")
        else:
            one.add_argument("--json", type=Path, help="file of the figures")
        if command != "page":
            one.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}")
            one.add_argument("--tiny", action="store_true", help="as little as shows that it works")
    asked = parser.parse_args(words)
    if asked.command == "page":
        page = HERE / "README.md"
        results = json.loads((asked.json or ROOT / "reports" / "bench.json").read_text("utf-8"))
        page.write_text(as_page(page.read_text("utf-8"), results), "utf-8")
        return 0
    names = asked.names or NAMES
    if unknown := set(names) - set(NAMES):
        parser.error(f"no benchmark is named {', '.join(sorted(unknown))}")
    if asked.command == "compare":
        return 0 if compare(asked.base, names, asked.tiny, asked.rounds) else 1
    results = run(names, asked.tiny)
    if asked.json:
        asked.json.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    return 0 if set(results["benchmarks"]) == set(names) else 1


if __name__ == "__main__":
    sys.exit(main())
