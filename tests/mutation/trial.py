"""One mutant: judged by what executes it, in a process of its own."""

from __future__ import annotations

import ast
import os
import resource
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import Literal

import pytest

from tests.ledger.files import read_traces
from tests.ledger.units import Played, Unit, model_of
from tests.mutation.coverage import Coverage, Sample, groups_of, judged, run_pytest
from tests.mutation.imports import import_as
from tests.mutation.operators import Mutant, mutants, statements

_FORK = get_context("fork")
#: A mutant may use so many times the processor time of the code as it is, and so much in any case.
_SLOWER, _LIMIT_S = 6, 10.0
#: A process that waits uses no processor time. Nothing in the oracle waits, but a mutant may.
_HANGS_S = 600.0
#: What nothing is known to execute gets a smaller share of the time.
_LESS = 4
#: More memory than any of our runs needs.
_MEMORY_BYTES = 6 << 30

#: The runs that one sample is about.
Stock = Mapping[tuple[Unit, str, str], list[Played]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """A module, its mutants, and its syntax tree, which a mutant changes in place."""

    name: str
    path: Path
    tree: ast.Module
    mutants: tuple[Mutant, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A mutant beside everything that can kill it.

    Attributes:
        runs: stored runs that execute it.
        tests: tests that execute it.
        folder: of the tests.
        is_executed: whether a run or a test is known to execute the change. What runs only on
            import is not: then samples of the whole module judge it.
    """

    module: Module
    mutant: Mutant
    runs: tuple[Sample, ...]
    tests: tuple[Sample, ...]
    folder: Path
    is_executed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What became of a mutant.

    Attributes:
        by: what killed it first; None: it survived.
        why: the run or the test that did, or the exception that was raised.
    """

    by: Literal["ledger", "tests", "limit"] | None
    why: str = ""


def module_of(name: str, path: Path) -> Module:
    """Return a module with all its mutants."""
    source = path.read_text("utf-8")
    tree = ast.parse(source)
    return Module(name=name, path=path, tree=tree, mutants=tuple(mutants(source, tree)))


def trial_of(
    module: Module, mutant: Mutant, ledger: Coverage, tests: Coverage, folder: Path, budget_s: float
) -> Trial:
    """Return a mutant with the samples that execute what it changes."""
    wanted: Collection[int] | None = None
    if mutant.statement is not None:
        wanted = (mutant.statement,)
    elif mutant.names:
        wanted = _reading(module.tree, mutant.names) or None
    runs = ledger.chosen(module.name, wanted, budget_s)
    own = f"test_{module.path.stem}"
    by_tests = tests.chosen(module.name, wanted, budget_s, own)
    is_executed = bool(runs or by_tests)
    if not is_executed:
        runs = ledger.chosen(module.name, None, budget_s / _LESS)
        by_tests = tests.chosen(module.name, None, budget_s / _LESS, own)
    return Trial(
        module=module,
        mutant=mutant,
        runs=tuple(runs),
        tests=tuple(by_tests),
        folder=folder,
        is_executed=is_executed,
    )


def _reading(tree: ast.Module, names: Collection[str]) -> tuple[int, ...]:
    """Return the statements of functions that read any of some names of their module."""
    return tuple(
        number
        for statement, number in statements(tree).items()
        if any(isinstance(node, ast.Name) and node.id in names for node in ast.walk(statement))
    )


def unchanged(trials: Sequence[Trial]) -> Trial:
    """Return the trial of the code as it is, with the samples of all `trials`: it must survive."""
    first = trials[0]
    return replace(
        first,
        mutant=replace(first.mutant, apply=lambda: None),
        runs=tuple(dict.fromkeys(sample for trial in trials for sample in trial.runs)),
        tests=tuple(dict.fromkeys(sample for trial in trials for sample in trial.tests)),
    )


def stock_of(folder: Path, samples: Iterable[Sample]) -> Stock:
    """Read the stored runs of some samples, and the models that judge them."""
    names: dict[Unit, set[str]] = defaultdict(set)
    for sample in samples:
        model_of(sample.model)
        names[_unit(sample)].add(sample.name)
    stock = {}
    for unit, wanted in names.items():
        for label, models, group in groups_of(read_traces(folder, unit, wanted)):
            for model in models:
                stock[unit, label, model] = group
    return stock


def _unit(sample: Sample) -> Unit:
    return Unit(sample.source, sample.unit)  # type: ignore[arg-type]


def run(trial: Trial, stock: Stock) -> Result:
    """Return what becomes of a mutant; it changes this process for good."""
    trial.mutant.apply()
    import_as(trial.module.name, trial.module.tree)
    try:
        for sample in trial.runs:
            group = stock[_unit(sample), sample.name, sample.model]
            if judged(group, sample.model) != sample.digest:
                return Result(by="ledger", why=str(sample))
    except Exception as raised:
        return Result(by="ledger", why=repr(raised))
    if not trial.tests:
        return Result(by=None)
    chosen = _Chosen(trial.tests)
    paths = sorted({Path(sample.source) for sample in trial.tests})
    code = run_pytest(paths, trial.folder, chosen)
    return Result(by="tests", why=chosen.failed or f"exit code {code}") if code else Result(by=None)


class _Chosen:
    """A plugin of pytest that runs some tests only, in their order, up to the first failure."""

    def __init__(self, samples: Iterable[Sample]) -> None:
        self._places = {sample.name: place for place, sample in enumerate(samples)}
        self.failed = ""

    def pytest_collection_modifyitems(
        self, session: pytest.Session, items: list[pytest.Item]
    ) -> None:
        """Choose."""
        session.config.option.maxfail = 1
        chosen = [item for item in items if item.nodeid in self._places]
        items[:] = sorted(chosen, key=lambda item: self._places[item.nodeid])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember what failed."""
        if report.failed:
            self.failed = report.nodeid


@dataclass(frozen=True, slots=True, kw_only=True)
class _Running:
    """A process that tries a mutant, and when it has to be done, on the monotonic clock."""

    trial: Trial
    process: ForkProcess
    ends_s: float


def run_all(
    trials: Iterable[Trial], function: Callable[[Trial], Result], jobs: int
) -> Iterator[tuple[Trial, Result]]:
    """Yield the result of each trial as it comes; each has a process of its own, and a limit."""
    running: dict[Connection, _Running] = {}
    waiting = iter(trials)
    while True:
        while len(running) < jobs and (trial := next(waiting, None)) is not None:
            connection, one = _started(function, trial)
            running[connection] = one
        if not running:
            return
        soonest_s = min(one.ends_s for one in running.values())
        ready = wait(list(running), timeout=max(0.0, soonest_s - time.monotonic()))
        for connection, one in list(running.items()):
            if connection in ready:
                result = _received(connection)
            elif time.monotonic() > one.ends_s:
                result = Result(by="limit", why="it hangs")
            else:
                continue
            one.process.kill()
            one.process.join()
            connection.close()
            del running[connection]
            yield one.trial, result


def _started(function: Callable[[Trial], Result], trial: Trial) -> tuple[Connection, _Running]:
    mine, its = _FORK.Pipe(duplex=False)
    process = _FORK.Process(target=_work, args=(function, trial, its), daemon=True)
    process.start()
    its.close()
    return mine, _Running(trial=trial, process=process, ends_s=time.monotonic() + _HANGS_S)


def _received(connection: Connection) -> Result:
    try:
        received: Result = connection.recv()
    except EOFError:
        return Result(by="limit", why="the process ended, or used too much time")
    return received


def _work(function: Callable[[Trial], Result], trial: Trial, its: Connection) -> None:
    """Run one trial in a fresh process, silently."""
    silence = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(silence, number)
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    spent_s = sum(sample.seconds for sample in (*trial.runs, *trial.tests))
    limit_s = int(_LIMIT_S + _SLOWER * spent_s)
    resource.setrlimit(resource.RLIMIT_CPU, (limit_s, limit_s))
    its.send(function(trial))
    its.close()
    # Nothing that a mutant left behind has a say in how its process ends.
    os._exit(0)
