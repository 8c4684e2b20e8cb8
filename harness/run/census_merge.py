"""Two censuses as one: libraries that cannot be installed together are run apart.

They have to be of the same situations, judged by the same model: anything else would set things
side by side that are not alike.
"""

from __future__ import annotations

from harness.errors import InputError
from harness.model.census import Census
from harness.subjects.registry import shipped_ids

__all__ = ["check_families", "merged"]

_SAME = ("format", "faultclock", "model", "model_revision", "families", "scenarios")


def check_families(asked: tuple[str, ...], other: Census) -> None:
    """Check what can be known of `merged` before the clients are run, which takes long.

    Raises:
        InputError: `other` is of other families.
    """
    if other.families != asked:
        raise _differing("families")


def merged(mine: Census, other: Census) -> Census:
    """Return `mine` with the clients of `other` that it does not have.

    Clients stand in the order in which they are shipped; those of a person's own come last. Who
    is absent in one and was run in the other is not absent.

    Raises:
        InputError: they are not censuses of the same thing.
    """
    for name in _SAME:
        if getattr(mine, name) != getattr(other, name):
            raise _differing(name)
    here = {client.id for client in mine.clients}
    clients = [*mine.clients, *(item for item in other.clients if item.id not in here)]
    run = {client.id for client in clients}
    told = {item.id for item in mine.absent}
    absent = [*mine.absent, *(item for item in other.absent if item.id not in told)]
    places = {name: place for place, name in enumerate(shipped_ids())}
    return mine.model_copy(
        update={
            "clients": tuple(sorted(clients, key=lambda item: places.get(item.id, len(places)))),
            "absent": tuple(
                sorted(
                    (item for item in absent if item.id not in run),
                    key=lambda item: places.get(item.id, len(places)),
                )
            ),
        }
    )


def _differing(name: str) -> InputError:
    return InputError(
        f"the censuses differ in their {name.replace('_', ' ')}",
        hint="take both with the same version, model and families",
    )
