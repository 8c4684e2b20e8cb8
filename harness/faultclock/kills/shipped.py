"""The shipped wrong subjects of a shipped reference: rows of YAML, and code.

They are mutants that a person has thought of. By its own model, each is tried for the check that it
is made for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from msgspec import Struct

from faultclock.kills.mutant import Mutant
from faultclock.subjects.binding import Binding
from faultclock.subjects.registry import catalog
from faultclock.subjects.shipped_loading import shipped_binding


class Shipped(Struct, frozen=True):
    """A shipped wrong subject, in place of the right one."""

    id: str

    def __call__(self, binding: Binding) -> Binding:
        """Return the wrong subject."""
        return replace(_bound(self.id), dialects=binding.dialects)


def shipped_mutants(subject: str, model: str) -> Iterator[Mutant]:
    """Yield the wrong subjects of a shipped reference that are wrong by `model`.

    Those that are made for the reference's own model may break a rule of another model as well.

    Args:
        subject: as it was named; a subject that is not shipped has none.
    """
    entries = catalog()
    right = next((entry for entry in entries if entry.id == subject), None)
    if right is None or right.kind != "reference":
        return
    for entry in entries:
        if entry.kind != "miniature" or entry.role != right.role or entry.found_by != "run":
            continue
        if entry.model not in (model, right.model):
            continue
        is_of_model = entry.model == model
        named = None if entry.shown_by is None else frozenset({entry.shown_by})
        yield Mutant(
            id=entry.id,
            family="shipped",
            group=entry.fails or "",
            does=entry.title,
            change=Shipped(entry.id),
            binding=_bound(entry.id),
            # By another model it may break anything, and nothing says where else.
            scenarios=None if is_of_model else named,
            only_for=entry.fails if is_of_model else None,
            shown_by=entry.shown_by,
        )


def _bound(id_: str) -> Binding:
    binding = shipped_binding(id_)
    assert binding is not None, id_
    return binding
