"""What a store may answer: the value of each thing that it keeps, followed through a history.

A manifest and a slot are registers. A write that was acknowledged is their value; one that failed
or was cut off may or may not be. A journal is a list that each manifest begins anew. Nothing is
judged here: this says which answers would be right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from faultclock.oracle.store_facts import StoreCall

__all__ = ["Entry", "Journal", "Register", "matches"]


@dataclass(slots=True)
class Register:
    """A manifest or a slot.

    Attributes:
        acked: the call that wrote what is there for certain; None: nothing was ever written.
        digest: of that; after a crash, of what was then read.
        maybe: calls since then that did not end well.
        ever: digests that any call tried to write.
        edited: the files changed from outside since the last good write.
        life: in which it was last written; 0 for never.
    """

    acked: StoreCall | None = None
    digest: str | None = None
    maybe: list[StoreCall] = field(default_factory=list)
    ever: set[str] = field(default_factory=set)
    edited: bool = False
    life: int = 0

    def wrote(self, call: StoreCall) -> None:
        """Take in the end of a write."""
        assert call.digest is not None, "a write has a value"
        self.ever.add(call.digest)
        self.life = call.life
        if call.returned:
            self.acked, self.digest = call, call.digest
            self.maybe.clear()
            self.edited = False
        else:
            self.maybe.append(call)

    @property
    def legal(self) -> set[str | None]:
        """Digests that a read may find, None for nothing."""
        return {self.digest, *(call.digest for call in self.maybe)}

    def was_read(self, call: StoreCall) -> None:
        """Take in what a fresh process found: from then on that is the value."""
        settled = self.maybe and all(write.life < call.life for write in self.maybe)
        if settled and call.found in self.legal:
            self.came_back(call)

    def came_back(self, read: StoreCall) -> None:
        """Take what a fresh process read for the value from now on."""
        self.acked, self.digest = read, read.found
        self.maybe.clear()


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a journal: what was appended by which call."""

    call: StoreCall

    @property
    def digest(self) -> str:
        """Of the entry."""
        return str(self.call.digest)


@dataclass(slots=True)
class Journal:
    """The journal of one session.

    Attributes:
        since: the manifests that may be the present one, each with the entries after it.
    """

    since: list[tuple[str | None, list[Entry]]] = field(default_factory=lambda: [(None, [])])
    edited: bool = False
    life: int = 0

    def began(self, write: StoreCall) -> None:
        """Take in the end of a write of the manifest."""
        fresh: tuple[str | None, list[Entry]] = (write.digest, [])
        self.life = write.life
        if write.returned:
            self.since = [fresh]
            self.edited = False
        else:
            self.since.append(fresh)

    def appended(self, call: StoreCall) -> None:
        """Take in the end of an append."""
        for _, entries in self.since:
            entries.append(Entry(call))
        self.life = call.life

    def manifest_read(self, digest: str | None) -> None:
        """Take in which manifest is the present one."""
        fitting = [item for item in self.since if item[0] == digest]
        if fitting:
            self.since = fitting


def matches(found: Sequence[str], entries: Sequence[Entry], *, all_may_miss: bool = False) -> bool:
    """Return whether `found` is `entries` in order, but for some that were not acknowledged."""
    positions = {0}
    for entry in entries:
        reached = {
            position + 1
            for position in positions
            if position < len(found) and found[position] == entry.digest
        }
        if all_may_miss or not entry.call.returned:
            reached |= positions
        positions = reached
    return len(found) in positions
