"""From rows to the wrong subjects that are run, by their ids."""

from __future__ import annotations

from faultclock.mutants.by_hand import BY_HAND
from faultclock.mutants.reference import Reference
from faultclock.mutants.references import REFERENCES
from faultclock.mutants.row import Row
from faultclock.mutants.rows import FOLDER, read_rows
from faultclock.subjects.miniature import Miniature

__all__ = ["MUTANTS", "mutants"]


def mutants(name: str) -> dict[str, Miniature]:
    """Return the wrong subjects of one file of rows, by id.

    Raises:
        SourceError: the file has a mistake.
    """
    found = read_rows(FOLDER / f"{name}.yaml")
    reference = REFERENCES[found.of]()
    return {reference.prefix + row.id: _made(reference, row) for row in found.rows}


def _made(reference: Reference, row: Row) -> Miniature:
    binding = reference.bind(reference.wrong(row), reference.prefix + row.id, row.does)
    return Miniature(
        binding=binding,
        fails=row.fails,
        model=row.model or reference.model,
        shown_by=row.shown_by and reference.scenarios + row.shown_by,
        origin=row.origin,
    )


#: All wrong subjects by id: rows, then code.
MUTANTS: dict[str, Miniature] = {
    **{id_: made for name in REFERENCES for id_, made in mutants(name).items()},
    **BY_HAND,
}
