"""What a store was asked, and what it may answer: each thing that it keeps, call by call.

A manifest and a slot are registers. A write that was acknowledged is their value; one that failed
or was cut off may or may not be. A journal is a list that each manifest begins anew. Nothing is
judged here: this says which answers would be right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from faultclock.model.trace.trace import TraceEvent, seqs
from faultclock.oracle.wire.attempts import Call
from faultclock.oracle.wire.chain import outermost, typed

#: Operations that return what is kept, and those that change it.
READS = ("read", "read_slot", "read_journal")
WRITES = ("write", "write_slot", "append")
#: Faults after which an act has failed; a slow act is good, and a lost fsync says that it is.
_FAILING = ("no_space", "io_error")


def found_by(read: Call) -> str | None:
    """Return the digest of what a read returned; None where it found nothing."""
    return read.end.value_sha256 if read.end is not None and read.end.found else None


def refusal_of(call: Call) -> str | None:
    """Return `Class/Code` of the outermost error of a call, None where it has none."""
    named = typed(outermost(call.end))
    return None if named is None else "/".join(named)


def said_by(call: Call) -> str:
    """Return what a call raised, in words."""
    return refusal_of(call) or str(outermost(call.end).get("type", "")).rpartition(".")[2]


def written_by(write: Call) -> str:
    """Return the digest of what was to be written."""
    return str(write.start.value_sha256)


class Register(Struct):
    """A manifest or a slot.

    Attributes:
        since: the life in which it was first asked for, or last written well.
        acked: the call that wrote what is there for certain; None: nothing was ever written.
        digest: of that; after a crash, of what was then read.
        maybe: calls since then that did not end well.
        ever: digests that any call tried to write.
        life: in which it was last written; the first one for never.
    """

    since: int
    acked: Call | None = None
    digest: str | None = None
    maybe: list[Call] = field(default_factory=list)
    ever: set[str | None] = field(default_factory=set)
    life: int = 1

    @property
    def legal(self) -> set[str | None]:
        """Digests that a read may find, None for nothing."""
        return {self.digest, *(written_by(call) for call in self.maybe)}

    @property
    def may_be_absent(self) -> bool:
        """Whether a read may find nothing."""
        return None in self.legal

    def wrote(self, call: Call) -> None:
        """Take in the end of a write."""
        self.ever.add(written_by(call))
        self.life = call.life
        if call.returned:
            self.acked, self.digest, self.since = call, written_by(call), call.life
            self.maybe.clear()
        else:
            self.maybe.append(call)

    def was_read(self, call: Call) -> None:
        """Take in what a fresh process found: from then on that is the value."""
        settled = self.maybe and all(write.life < call.life for write in self.maybe)
        if settled and found_by(call) in self.legal:
            self.came_back(call)

    def came_back(self, read: Call) -> None:
        """Take what a fresh process read for the value from now on."""
        self.acked, self.digest = read, found_by(read)
        self.maybe.clear()


class Journal(Struct):
    """The journal of one session.

    Attributes:
        since: the life in which the session was first written to, or its manifest last well.
        after: the manifests that may be the present one, each with the appends after it.
        life: in which the manifest or the journal was last written; the first one for never.
    """

    since: int
    after: list[tuple[str | None, list[Call]]] = field(default_factory=lambda: [(None, [])])
    life: int = 1

    def wrote(self, call: Call) -> None:
        """Take in the end of a write of the manifest, or of an append."""
        if call.do == "append":
            for _, appends in self.after:
                appends.append(call)
        elif call.do == "write":
            fresh: tuple[str | None, list[Call]] = (written_by(call), [])
            self.after = [fresh] if call.returned else [*self.after, fresh]
            self.since = call.life if call.returned else self.since
        else:
            return
        self.life = call.life

    def manifest_read(self, digest: str | None) -> None:
        """Take in which manifest is the present one."""
        self.after = [item for item in self.after if item[0] == digest] or self.after


Kept = Register | Journal


class StoreState(Struct, kw_only=True):
    """What is known of a store after some of its calls.

    Attributes:
        calls: all of them, in order.
        faults: what the disk did to each call that it failed.
        edits: lives before which files were changed from outside.
        crashes: `process.crashed` by life.
        lenient: checks of which the model asks less: any error, or only no secret.
        registers: by session and owner; of a manifest the owner is None.
        journals: of the sessions that were written to.
        writers: session to the store that wrote it first.
        spoilt: sessions that a foreign store was let into: nothing of them is known.
        rolled_back: sessions that came back as they were earlier: their journals are those of then.
        torn: sessions that could not be read, with the life in which that was reported.
        lied: session to the last life in which a sync for it did nothing.
    """

    calls: tuple[Call, ...]
    faults: Mapping[str | None, Sequence[TraceEvent]]
    edits: frozenset[int]
    crashes: Mapping[int, TraceEvent]
    lenient: frozenset[str]
    registers: dict[tuple[str, str | None], Register] = field(default_factory=dict)
    journals: dict[str, Journal] = field(default_factory=dict)
    writers: dict[str, str | None] = field(default_factory=dict)
    spoilt: set[str] = field(default_factory=set)
    rolled_back: set[str] = field(default_factory=set)
    torn: set[tuple[str, int]] = field(default_factory=set)
    lied: dict[str, int] = field(default_factory=dict)

    def register(self, call: Call, session: str) -> Register:
        """Return the manifest or the slot that a call is about."""
        owner = (call.start.owner or "") if call.do.endswith("_slot") else None
        return self.registers.setdefault((session, owner), Register(call.life))

    def wrote(self, call: Call, session: str) -> None:
        """Take in the end of a write."""
        self.journals[session].wrote(call)
        if call.do != "append":
            self.register(call, session).wrote(call)
        if call.do == "write" and call.returned:
            self.rolled_back.discard(session)

    def failing(self, call: Call) -> tuple[int, ...]:
        """Return `seq` of the failures of the disk that a call met."""
        met = self.faults.get(call.id, ())
        return tuple(event.seq for event in met if event.fault_kind in _FAILING)

    def lied_to(self, call: Call) -> bool:
        """Return whether a sync in a call did nothing."""
        return any(event.fault_kind == "lost_fsync" for event in self.faults.get(call.id, ()))

    def events_of(self, call: Call) -> tuple[int, ...]:
        """Return `seq` of what shows a call: its start, the failures that it met, and its end."""
        return (call.start.seq, *self.failing(call), *seqs(call.end))

    def was_edited(self, kept: Kept, call: Call) -> bool:
        """Return whether files were changed from outside since something was written well."""
        return any(kept.since < life <= call.life for life in self.edits)

    def may_lack(self, kept: Kept, session: str) -> bool:
        """Return whether what is there is unknown: a sync since the last write did nothing."""
        return self.lied.get(session, 0) >= kept.life

    def crash_between(self, first: Call, second: Call) -> TraceEvent | None:
        """Return a crash after the one and before the other."""
        lives = range(first.life, second.life)
        return next((self.crashes[life] for life in lives if life in self.crashes), None)

    def is_after_damage(self, call: Call) -> bool:
        """Return whether something may have been left half done before a call."""
        earlier = (item for item in self.calls if item.start.seq < call.start.seq)
        own = (item for item in earlier if item.start.session == call.start.session)
        return any(life < call.life for life in self.crashes) or any(map(self.failing, own))

    def elsewhere(self, call: Call) -> str | None:
        """Return in words what else the digest that a read found was written for."""
        own = (call.start.session, call.start.owner if call.do == "read_slot" else None)
        for (session, owner), register in self.registers.items():
            like = (owner is not None) is (call.do == "read_slot")
            if like and (session, owner) != own and found_by(call) in register.ever:
                return in_words(session, owner)
        return None


def in_words(session: str | None, owner: str | None) -> str:
    """Return in words what a call was about."""
    return f"session {session!r}" + ("" if owner is None else f", owner {owner!r}")


def matches(found: Sequence[str], appends: Sequence[Call], *, all_may_miss: bool = False) -> bool:
    """Return whether `found` is what was appended, in order, but for what was not acknowledged."""
    positions = {0}
    for call in appends:
        reached = {
            position + 1
            for position in positions
            if position < len(found) and found[position] == written_by(call)
        }
        if all_may_miss or not call.returned:
            reached |= positions
        positions = reached
    return len(found) in positions
