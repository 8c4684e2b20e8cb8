"""Two censuses as one: libraries that cannot be installed together are run apart.

Both must be of the same scenarios and judged by the same model. Otherwise the clients could not be
compared.
"""

from __future__ import annotations

from faultclock.errors import InputError
from faultclock.model.report.census import Census, tally_of
from faultclock.subjects.registry import shipped_ids

_SAME = ("format", "faultclock", "model", "model_revision", "families", "scenarios")


def check_families(asked: tuple[str, ...], other: Census) -> None:
    """Check before the long runs what `merged` checks after them.

    Raises:
        InputError: `other` is of other families.
    """
    if other.families != asked:
        raise _differing("families")


def merged(mine: Census, other: Census) -> Census:
    """Return `mine` with the clients of `other` that it does not have.

    The shipped clients come first, in their order, then the user's own. A client that is absent in
    one census and was run in the other is not absent.

    Raises:
        InputError: they are not censuses of the same thing.
    """
    for name in _SAME:
        if getattr(mine, name) != getattr(other, name):
            raise _differing(name)
    here = {client.id for client in mine.clients}
    added = [
        client.model_copy(update={"tally": tally_of(client.runs)})
        for client in other.clients
        if client.id not in here
    ]
    clients = [*mine.clients, *added]
    run = {client.id for client in clients}
    listed = {item.id for item in mine.absent}
    absent = [*mine.absent, *(item for item in other.absent if item.id not in listed)]
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
