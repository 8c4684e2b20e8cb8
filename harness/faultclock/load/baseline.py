"""Baselines: files with the known deviations of a subject, and what there is that they can name."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from faultclock.errors import HarnessError, Problem, SourceError
from faultclock.load.scenario import (
    LoadedScenario,
    find_scenarios,
    scenario_files,
    shipped_scenarios,
)
from faultclock.load.yaml_file import Document, parse_document, read_document
from faultclock.model.report.gate import Baseline, included_twice

_SUFFIXES = frozenset({".yaml", ".yml"})


def load_baseline(path: str | os.PathLike[str]) -> Baseline:
    """Return the baseline in the file at `path`.

    Raises:
        InputError: the file cannot be read.
        SourceError: it is no baseline, or one of its entries says what another one says already;
            every problem is in it.
    """
    return _checked(read_document(path))


def parse_baseline(content: bytes, path: str) -> Baseline:
    """Return the baseline that the content of a file holds; `path` is for messages.

    Raises:
        SourceError: as `load_baseline` does.
    """
    return _checked(parse_document(content, path))


def known_scenarios(
    baseline: Baseline,
    found: Iterable[LoadedScenario] = (),
    *,
    folders: Iterable[str | os.PathLike[str]] = (),
) -> dict[str, frozenset[str]]:
    """Return the ids of all scenarios that a baseline may name, with the variants of each.

    Those are the shipped ones, the given ones, and those that lie beside the given ones.

    Args:
        baseline: of shipped files, only those are opened that it names with a variant.
        found: scenarios that are loaded already, such as those of a run.
        folders: where more scenarios may lie; one that is not there holds none.
    """
    shipped = shipped_scenarios()
    given = tuple(found)
    known = {id_: frozenset[str]() for id_ in shipped}
    known.update({item.scenario.id: _variants(item) for item in given})
    for id_ in sorted(_named_with_variant(baseline) & set(shipped)):
        for item in _readable(shipped[id_]):
            known[id_] = _variants(item)
    wanted = {item.scenario for item in baseline.deviations} - known.keys()
    if wanted:
        ours = set(map(os.path.realpath, shipped.values()))
        own = [item.path for item in given if os.path.realpath(item.path) not in ours]
        for path in _neighbours(own, folders):
            if os.path.realpath(path) not in ours and _id_in(path) in wanted:
                known.update((item.scenario.id, _variants(item)) for item in _readable(path))
    return known


def _id_in(path: str) -> object:
    """Return what a file gives as its id: one that no entry names need not be read further."""
    try:
        return read_document(path).data.get("id")
    except HarnessError:
        return None


def _named_with_variant(baseline: Baseline) -> set[str]:
    return {item.scenario for item in baseline.deviations if item.variant is not None}


def _variants(item: LoadedScenario) -> frozenset[str]:
    return frozenset(made.variant for made in item.variants if made.variant is not None)


def _neighbours(paths: Iterable[str], folders: Iterable[str | os.PathLike[str]]) -> tuple[str, ...]:
    """Return what lies below the `scenarios` folders of `paths`, beside them, and in `folders`."""
    roots = {Path(folder) for folder in folders}
    files: set[Path] = set()
    for path in map(Path, paths):
        root = next((parent for parent in path.parents if parent.name == "scenarios"), None)
        if root is not None:
            roots.add(root)
        else:
            files.update(item for item in path.parent.iterdir() if item.suffix in _SUFFIXES)
    files.update(file for root in roots if root.is_dir() for file in scenario_files(root))
    return tuple(sorted(map(str, files)))


def _readable(path: str) -> Iterator[LoadedScenario]:
    """Yield the scenario of a file; what is none was not asked for, and is passed over."""
    try:
        yield from find_scenarios((path,))
    except HarnessError:
        return


def _checked(document: Document) -> Baseline:
    baseline = document.validate(Baseline)
    problems: list[Problem] = []
    for index, other in included_twice(baseline.deviations):
        first = document.problem(("deviations", other), "").line
        same = baseline.deviations[index].includes(baseline.deviations[other])
        problems.append(
            document.problem(
                ("deviations", index),
                f"this says what line {first} says already"
                if same
                else f"this says nothing new: line {first} covers more, and this with it",
                "remove one of them, or let them name different requirements or variants",
            )
        )
    if problems:
        raise SourceError(tuple(problems))
    return baseline
