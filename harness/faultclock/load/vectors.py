"""Tables of vectors: a shipped one by its id, or any file."""

from __future__ import annotations

from pathlib import Path

from faultclock.errors import Problem, SourceError
from faultclock.load.payloads import dialect_names
from faultclock.load.resources import file_of, fixtures_root, ids_in
from faultclock.load.yaml_file import read_document
from faultclock.model.scenario.vectors import Vectors


def vector_ids() -> tuple[str, ...]:
    """Return the ids of the shipped tables, sorted."""
    return ids_in(_root())


def load_vectors(id_or_path: str) -> Vectors:
    """Return a table of vectors.

    Args:
        id_or_path: id of a shipped table, or a YAML file.

    Raises:
        UnknownNameError: there is no such table.
        InputError: the file cannot be read.
        SourceError: it is no table of vectors; every problem is in it, with its place.
    """
    document = read_document(file_of("table of vectors", id_or_path, _root()))
    vectors = document.validate(Vectors)
    problems: list[Problem] = []
    known = dialect_names()
    if vectors.dialect is not None and vectors.dialect not in known:
        said = f"there is no dialect {vectors.dialect!r}"
        problems.append(document.problem(("dialect",), said, f"known: {', '.join(known)}"))
    ids = [row.id for row in vectors.rows]
    for index, id_ in enumerate(ids):
        if id_ in ids[:index]:
            line = document.problem(("rows", ids.index(id_)), "").line
            said = f"two rows have the id {id_!r}; the first is in line {line}"
            problems.append(document.problem(("rows", index, "id"), said))
    if problems:
        raise SourceError(tuple(problems))
    return vectors


def _root() -> Path:
    return fixtures_root() / "vectors"
