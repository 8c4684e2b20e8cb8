"""Two censuses as one: libraries that cannot be installed together are run apart.

Both must be of the same scenarios and judged by the same model. Otherwise the clients could not be
compared.
"""

from __future__ import annotations

from collections.abc import Mapping

from faultclock.errors import InputError
from faultclock.model.report.census import Census, tally_of
from faultclock.subjects.node.clients import NODE_CLIENTS
from faultclock.subjects.registry import shipped_ids

#: What must be the same, so that a verdict of one census means what it means in the other.
JUDGED_ALIKE = ("format", "faultclock", "model", "model_revision")
_SAME = (*JUDGED_ALIKE, "families", "scenarios")


def check_families(asked: tuple[str, ...], other: Census) -> None:
    """Check before the long runs what `merged` checks after them.

    Raises:
        InputError: `other` is of other families.
    """
    if other.families != asked:
        raise _differing("families")


def check_same(mine: Census, other: Census, names: tuple[str, ...] = _SAME) -> None:
    """Check that two censuses have the same in each of the fields `names`.

    Raises:
        InputError: they have not.
    """
    for name in names:
        if getattr(mine, name) != getattr(other, name):
            raise _differing(name)


def taken_in(census: Census, environment: str) -> Census:
    """Return `census` with the name of the environment at each client that is installed there."""
    clients = tuple(
        item.model_copy(update={"id": f"{item.id}@{environment}", "environment": environment})
        for item in census.clients
    )
    absent = tuple(
        item.model_copy(update={"id": f"{item.id}@{environment}"}) if item.installed else item
        for item in census.absent
    )
    return census.model_copy(update={"clients": clients, "absent": absent})


def merged(mine: Census, other: Census) -> Census:
    """Return `mine` with the clients of `other` that it does not have.

    The shipped clients come first, in their order, then the user's own. A client that is absent in
    one census and was run in the other is not absent.

    Raises:
        InputError: they are not censuses of the same thing.
    """
    check_same(mine, other)
    here = {client.id for client in mine.clients}
    added = [
        client.model_copy(update={"tally": tally_of(client.runs)})
        for client in other.clients
        if client.id not in here
    ]
    places = _places()
    clients = sorted((*mine.clients, *added), key=lambda item: places.get(item.client, len(places)))
    run = {name for item in clients for name in (item.id, item.client)}
    listed = {item.id for item in mine.absent}
    absent = [*mine.absent, *(item for item in other.absent if item.id not in listed)]
    return mine.model_copy(
        update={
            "clients": tuple(clients),
            "absent": tuple(
                sorted(
                    (item for item in absent if item.id not in run),
                    key=lambda item: places.get(item.id.partition("@")[0], len(places)),
                )
            ),
        }
    )


def _places() -> Mapping[str, int]:
    """Return the place of each client; one for Node stands beside its vendor's for Python."""
    ids: list[str] = []
    for shipped in shipped_ids():
        ids += [shipped, *(id_ for id_, item in NODE_CLIENTS.items() if item.after == shipped)]
    return {id_: place for place, id_ in enumerate(ids)}


def _differing(name: str) -> InputError:
    return InputError(
        f"the censuses differ in their {name.replace('_', ' ')}",
        hint="take both with the same version, model and families",
    )
