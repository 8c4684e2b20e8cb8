"""What a format makes of a file that it knows: its exchanges, and how each of them is read."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from faultclock.load.located.tree import Mapping, Node, Place, Sequence
from faultclock.recordings.exchange import Oddities
from faultclock.recordings.reading import Parts

#: Reads one exchange.
Read = Callable[[Node, Oddities], Parts]


class Opened(Struct, frozen=True, kw_only=True):
    """A file in a format that is known.

    Attributes:
        place: where the list of exchanges begins.
        entries: the exchanges, in the order in which they were had.
        dialect: the API of hosts on the recording machine, where the recorder got it.
    """

    place: Place
    entries: tuple[Node, ...]
    read: Read
    dialect: str | None = None


def of_list(node: Node | None, read: Read) -> Opened | None:
    """Return what is in a list, None where there is no list."""
    if not isinstance(node, Sequence):
        return None
    return Opened(place=node.place, entries=tuple(node.items), read=read)


def first_of(node: Node | None) -> Node | None:
    """Return the first item of a list; what is no list is its own first item."""
    if isinstance(node, Sequence):
        return node.items[0] if node.items else None
    return node


def keys_of(node: Node | None) -> frozenset[str]:
    """Return the keys of a table, none of anything else."""
    return frozenset(node.values) if isinstance(node, Mapping) else frozenset()
