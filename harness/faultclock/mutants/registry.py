"""From rows to the wrong subjects that are run, by their ids."""

from __future__ import annotations

from pathlib import Path

from faultclock.errors import SourceError
from faultclock.load.yaml_file import read_document
from faultclock.mutants.by_hand import BY_HAND
from faultclock.mutants.checked import mistakes
from faultclock.mutants.reference import Reference
from faultclock.mutants.references import REFERENCES
from faultclock.mutants.row import Row
from faultclock.mutants.rows import FOLDER, rows_of
from faultclock.subjects.miniature import Miniature


def mutants(path: Path) -> dict[str, Miniature]:
    """Return the wrong subjects of a file of rows, by id.

    Raises:
        SourceError: with every mistake of the file.
    """
    document = read_document(path)
    found = rows_of(document)
    if found.of not in REFERENCES:
        message = f"there is no reference {found.of!r}"
        hint = f"write one of {', '.join(REFERENCES)}"
        raise SourceError((document.problem(("of",), message, hint),))
    reference = REFERENCES[found.of]()
    problems = tuple(
        document.problem(("rows", number), f"{row.id}: {mistake}")
        for number, row in enumerate(found.rows)
        for mistake in mistakes(reference, row)
    )
    if problems:
        raise SourceError(problems)
    return {reference.prefix + row.id: _made(reference, row) for row in found.rows}


def _made(reference: Reference, row: Row) -> Miniature:
    binding = reference.bind(reference.wrong(row), reference.prefix + row.id, row.does)
    return Miniature(
        binding=binding,
        fails=row.fails,
        model=row.model or reference.model,
        shown_by=reference.scenarios + row.shown_by,
        origin=row.origin,
    )


#: All wrong subjects by id: rows, then code.
MUTANTS: dict[str, Miniature] = {
    **{id_: made for name in REFERENCES for id_, made in mutants(FOLDER / f"{name}.yaml").items()},
    **BY_HAND,
}
