"""Which stored runs and which tests execute a statement, found once and kept in a file.

What is judged again for a mutant is chosen from it: first one sample for each way through the
module, so that a few seconds of judging see as many different ways as possible.
"""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from io import StringIO
from itertools import zip_longest
from multiprocessing import get_context
from pathlib import Path

import pytest

from tests.ledger.files import read_traces
from tests.ledger.rows import digest_of
from tests.ledger.units import Played, Unit
from tests.mutation.imports import Marks, sources


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Stored runs that one model judges together, or one test.

    Attributes:
        source: of the unit of the ledger, or the file of the test.
        unit: name of the unit; empty for a test.
        name: label of the run or of its group of seeds, or the node id of the test.
        model: which judges it; empty for a test.
        digest: of the findings and their words; empty for a test.
        seconds: of processor time that judging it or running it takes.
    """

    source: str
    unit: str
    name: str
    model: str
    digest: str
    seconds: float

    def __str__(self) -> str:
        return (
            f"{self.source} {self.unit}: {self.name}, by {self.model}" if self.unit else self.name
        )


@dataclass(frozen=True, slots=True)
class Coverage:
    """Samples, and what each executes.

    Attributes:
        records: for each module, the numbers of the samples by what they execute; see `Marks`.
    """

    samples: list[Sample] = field(default_factory=list)
    records: dict[str, dict[str, list[int]]] = field(default_factory=dict)

    def add(self, sample: Sample, marks: dict[str, str]) -> None:
        """Add a sample."""
        for module, record in marks.items():
            numbers = self.records.setdefault(module, {}).setdefault(record, [])
            numbers.append(len(self.samples))
        self.samples.append(sample)

    def extend(self, other: Coverage) -> None:
        """Add all samples of another."""
        first = len(self.samples)
        self.samples.extend(other.samples)
        for module, records in other.records.items():
            mine = self.records.setdefault(module, {})
            for record, numbers in records.items():
                mine.setdefault(record, []).extend(first + number for number in numbers)

    def chosen(
        self,
        module: str,
        statements: Collection[int] | None,
        budget_s: float,
        first: str = "",
    ) -> list[Sample]:
        """Return samples that execute any of some statements of a module, as many as there is time.

        Args:
            statements: their numbers; None: any statement of the module.
            budget_s: how long all samples may take together.
            first: how the names of the files begin whose samples come first.
        """

        def place(sample: Sample) -> tuple[bool, float]:
            return not Path(sample.source).name.startswith(first), sample.seconds

        ways = [
            sorted((self.samples[number] for number in numbers), key=place)
            for record, numbers in self.records.get(module, {}).items()
            if statements is None or any(record[number] == "1" for number in statements)
        ]
        ways.sort(key=lambda way: place(way[0]))
        found: list[Sample] = []
        for round_ in zip_longest(*ways):
            for sample in round_:
                if sample is not None:
                    budget_s -= sample.seconds
                    if budget_s < 0:
                        return found or [sample]
                    found.append(sample)
        return found


def judged(all_played: Iterable[Played], model: str) -> str:
    """Return the digest of what the oracle of this process says of some runs."""
    # Which oracle that is has been decided by now.
    from tests.ledger.judging import rows_of

    mine = [replace(played, models=(model,)) for played in all_played]
    return digest_of(f"{row.findings} {row.words}" for row in rows_of(mine, digest_traces=False))


def groups_of(
    all_played: Iterable[Played],
) -> Iterator[tuple[str, tuple[str, ...], list[Played]]]:
    """Yield what is judged together: its label, the models that judge it, and the runs."""
    groups: dict[tuple[str, tuple[str, ...]], list[Played]] = {}
    for played in all_played:
        groups.setdefault((played.group or played.label, played.models), []).append(played)
    for (label, models), group in groups.items():
        yield label, models, group


_marks = Marks()


def find_runs(folder: Path, units: Collection[Unit], jobs: int) -> Coverage:
    """Return what the stored runs of a ledger execute.

    Args:
        folder: of the ledger.
        units: those whose runs are judged; at least one.
    """
    found = Coverage()
    work = [(folder, unit) for unit in units]
    # A process judges many units: to import the marked oracle takes longer than to judge one.
    with get_context("fork").Pool(min(jobs, len(work)), initializer=_marks.install) as pool:
        for part in pool.imap_unordered(_of_unit, work, chunksize=1):
            found.extend(part)
    return found


def find_tests(paths: Collection[Path], folder: Path) -> dict[str, Coverage]:
    """Return what each file of tests executes, by the name of the file.

    Args:
        folder: holds the only `conftest.py` that is read.
    """
    with get_context("fork").Pool(1, initializer=_marks.install) as pool:
        return pool.apply(_of_tests, (paths, folder))


def _of_unit(work: tuple[Path, Unit]) -> Coverage:
    from tests.ledger import judging

    folder, unit = work
    # What a model is compiled to is made again for each unit, so that many samples execute it.
    judging._judge.cache_clear()
    found = Coverage()
    for label, models, group in groups_of(read_traces(folder, unit)):
        for model in models:
            _marks.take()
            started_s = time.process_time()
            digest = judged(group, model)
            sample = Sample(
                source=unit.source,
                unit=unit.name,
                name=label,
                model=model,
                digest=digest,
                seconds=round(time.process_time() - started_s, 4),
            )
            found.add(sample, _marks.take())
    return found


class _Recorder:
    """A plugin of pytest that records what each test executes."""

    def __init__(self) -> None:
        self.found: dict[str, Coverage] = {}
        self._failed: set[str] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Run a test between two looks at the marks."""
        _marks.take()
        started_s = time.process_time()
        done = yield
        seconds = round(time.process_time() - started_s, 4)
        if item.nodeid not in self._failed:
            source = str(item.path)
            sample = Sample(
                source=source, unit="", name=item.nodeid, model="", digest="", seconds=seconds
            )
            self.found.setdefault(source, Coverage()).add(sample, _marks.take())
        return done

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Leave out what fails without any change."""
        if report.failed:
            self._failed.add(report.nodeid)


def _of_tests(paths: Collection[Path], folder: Path) -> dict[str, Coverage]:
    recorder = _Recorder()
    run_pytest(paths, folder, recorder)
    return {str(path): recorder.found.get(str(path), Coverage()) for path in paths}


def run_pytest(paths: Iterable[Path], folder: Path, plugin: object) -> int:
    """Run tests in this process, without a word; return the exit code.

    Args:
        folder: holds the only `conftest.py` that is read.
    """
    options = ["-o", "addopts=", "--import-mode=importlib", "--disable-plugin-autoload"]
    options += ["-p", "_hypothesis_pytestplugin", "-p", "no:cacheprovider"]
    top = folder if folder.is_dir() else folder.parent
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        code = pytest.main([*options, f"--confcutdir={top}", *map(str, paths)], plugins=[plugin])
    return int(code)


def key_of(*parts: object) -> str:
    """Return a digest of some values and of the whole package: what a stored coverage is for."""
    whole = sha256("\n".join(map(str, parts)).encode())
    for path in sources().values():
        whole.update(path.read_bytes())
    return whole.hexdigest()[:16]


def write(path: Path, parts: Mapping[str, Coverage]) -> None:
    """Write what was found, by the key of what it was found in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8", compresslevel=1) as file:
        for key, part in parts.items():
            samples = [list(asdict(sample).values()) for sample in part.samples]
            file.write(json.dumps([key, samples, part.records]) + "\n")


def read(path: Path) -> dict[str, Coverage]:
    """Return what `write` wrote; nothing where there is no file."""
    if not path.exists():
        return {}
    names = tuple(Sample.__dataclass_fields__)
    found = {}
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            key, samples, records = json.loads(line)
            made = [Sample(**dict(zip(names, facts, strict=True))) for facts in samples]
            found[key] = Coverage(made, records)
    return found
