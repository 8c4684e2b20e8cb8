"""What a store was asked, and what it may answer: each thing that it keeps, call by call.

A manifest and a slot are registers. A write that was acknowledged is their value; one that failed
or was cut off may or may not be. A journal is a list that each manifest begins anew. Nothing is
judged here: this says which answers would be right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from faultclock.model.trace import TraceEvent
from faultclock.oracle.attempts import Call
from faultclock.oracle.chain import Link, typed
from faultclock.oracle.history import History

#: Operations that return what is kept, and those that change it.
READS = ("read", "read_slot", "read_journal")
WRITES = ("write", "write_slot", "append")
#: Faults after which an act has failed; a slow act is good, and a lost fsync says that it is.
_FAILING = ("no_space", "io_error")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreCall:
    """One thing that the store was asked.

    Attributes:
        do: the operation.
        store: id of the store that was asked.
        digest: of what was to be written.
        end: how it ended; None where a crash cut it off, or nothing did.
        returned: whether it ended with an answer; for a write, with an acknowledgement.
        failing: the faults of the disk that it met.
        lied: whether a sync in it did nothing.
    """

    id: str
    do: str
    life: int
    store: str
    session: str | None
    owner: str | None
    digest: str | None
    start: TraceEvent
    end: TraceEvent | None
    returned: bool
    raised: bool
    failing: tuple[TraceEvent, ...]
    lied: bool

    @property
    def found(self) -> str | None:
        """Digest of what a read returned; None where it found nothing."""
        return self.end.value_sha256 if self.end is not None and self.end.found else None

    @property
    def error(self) -> Link:
        """The outermost error that it raised, empty for none."""
        return next(iter(() if self.end is None else self.end.chain), {})

    @property
    def pair(self) -> str | None:
        """`Class/Code` of what it raised, None where there are none."""
        named = typed(self.error)
        return None if named is None else "/".join(named)

    @property
    def said(self) -> str:
        """What it raised, in words."""
        return self.pair or str(self.error.get("type", "")).rpartition(".")[2]

    @property
    def seqs(self) -> tuple[int, ...]:
        """The events that show it."""
        shown = (self.start, *self.failing, self.end)
        return tuple(event.seq for event in shown if event is not None)


def store_calls(history: History) -> tuple[StoreCall, ...]:
    """Return what the store under test was asked, in order."""
    faults: dict[str | None, list[TraceEvent]] = {}
    for event in history.of("fault.fired"):
        faults.setdefault(event.call, []).append(event)
    return tuple(_store_call(call, faults.get(call.id, ())) for call in history.calls)


def _store_call(call: Call, faults: Sequence[TraceEvent]) -> StoreCall:
    return StoreCall(
        id=call.id,
        do=call.do,
        life=call.life,
        store=call.start.store or "",
        session=call.start.session,
        owner=call.start.owner,
        digest=call.start.value_sha256,
        start=call.start,
        end=call.end,
        returned=call.returned,
        raised=call.raised,
        failing=tuple(event for event in faults if event.fault_kind in _FAILING),
        lied=any(event.fault_kind == "lost_fsync" for event in faults),
    )


@dataclass(slots=True)
class Register:
    """A manifest or a slot.

    Attributes:
        since: the life in which it was first asked for, or last written well.
        acked: the call that wrote what is there for certain; None: nothing was ever written.
        digest: of that; after a crash, of what was then read.
        maybe: calls since then that did not end well.
        ever: digests that any call tried to write.
        life: in which it was last written; 0 for never.
    """

    since: int
    acked: StoreCall | None = None
    digest: str | None = None
    maybe: list[StoreCall] = field(default_factory=list)
    ever: set[str | None] = field(default_factory=set)
    life: int = 0

    @property
    def legal(self) -> set[str | None]:
        """Digests that a read may find, None for nothing."""
        return {self.digest, *(call.digest for call in self.maybe)}

    @property
    def may_be_absent(self) -> bool:
        """Whether a read may find nothing."""
        return None in self.legal

    def wrote(self, call: StoreCall) -> None:
        """Take in the end of a write."""
        self.ever.add(call.digest)
        self.life = call.life
        if call.returned:
            self.acked, self.digest, self.since = call, call.digest, call.life
            self.maybe.clear()
        else:
            self.maybe.append(call)

    def was_read(self, call: StoreCall) -> None:
        """Take in what a fresh process found: from then on that is the value."""
        settled = self.maybe and all(write.life < call.life for write in self.maybe)
        if settled and call.found in self.legal:
            self.came_back(call)

    def came_back(self, read: StoreCall) -> None:
        """Take what a fresh process read for the value from now on."""
        self.acked, self.digest = read, read.found
        self.maybe.clear()


@dataclass(slots=True)
class Journal:
    """The journal of one session.

    Attributes:
        since: the life in which the session was first written to, or its manifest last well.
        after: the manifests that may be the present one, each with the appends after it.
        life: in which the manifest or the journal was last written; 0 for never.
    """

    since: int
    after: list[tuple[str | None, list[StoreCall]]] = field(default_factory=lambda: [(None, [])])
    life: int = 0

    def wrote(self, call: StoreCall) -> None:
        """Take in the end of a write of the manifest, or of an append."""
        if call.do == "append":
            for _, appends in self.after:
                appends.append(call)
        elif call.do == "write":
            fresh: tuple[str | None, list[StoreCall]] = (call.digest, [])
            self.after = [fresh] if call.returned else [*self.after, fresh]
            self.since = call.life if call.returned else self.since
        else:
            return
        self.life = call.life

    def manifest_read(self, digest: str | None) -> None:
        """Take in which manifest is the present one."""
        self.after = [item for item in self.after if item[0] == digest] or self.after


Kept = Register | Journal


@dataclass(slots=True, kw_only=True)
class StoreState:
    """What is known of a store after some of its calls.

    Attributes:
        calls: all of them, in order.
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

    calls: tuple[StoreCall, ...]
    edits: frozenset[int]
    crashes: Mapping[int, TraceEvent]
    lenient: frozenset[str]
    registers: dict[tuple[str, str | None], Register] = field(default_factory=dict)
    journals: dict[str, Journal] = field(default_factory=dict)
    writers: dict[str, str] = field(default_factory=dict)
    spoilt: set[str] = field(default_factory=set)
    rolled_back: set[str] = field(default_factory=set)
    torn: set[tuple[str, int]] = field(default_factory=set)
    lied: dict[str, int] = field(default_factory=dict)

    def register(self, call: StoreCall, session: str) -> Register:
        """Return the manifest or the slot that a call is about."""
        owner = (call.owner or "") if call.do.endswith("_slot") else None
        return self.registers.setdefault((session, owner), Register(call.life))

    def wrote(self, call: StoreCall, session: str) -> None:
        """Take in the end of a write."""
        self.journals[session].wrote(call)
        if call.do != "append":
            self.register(call, session).wrote(call)
        if call.do == "write" and call.returned:
            self.rolled_back.discard(session)

    def was_edited(self, kept: Kept, call: StoreCall) -> bool:
        """Return whether files were changed from outside since something was written well."""
        return any(kept.since < life <= call.life for life in self.edits)

    def may_lack(self, kept: Kept, session: str) -> bool:
        """Return whether what is there is unknown: a sync since the last write did nothing."""
        return self.lied.get(session, 0) >= max(1, kept.life)

    def crash_between(self, first: StoreCall, second: StoreCall) -> TraceEvent | None:
        """Return a crash after the one and before the other."""
        lives = range(first.life, second.life)
        return next((self.crashes[life] for life in lives if life in self.crashes), None)

    def is_after_damage(self, call: StoreCall) -> bool:
        """Return whether something may have been left half done before a call."""
        return any(life < call.life for life in self.crashes) or any(
            item.failing and item.session == call.session and item.start.seq < call.start.seq
            for item in self.calls
        )

    def elsewhere(self, call: StoreCall) -> str | None:
        """Return in words what else the digest that a read found was written for."""
        own = (call.session, call.owner if call.do == "read_slot" else None)
        for (session, owner), register in self.registers.items():
            like = (owner is not None) is (call.do == "read_slot")
            if like and (session, owner) != own and call.found in register.ever:
                return whose(session, owner)
        return None


def whose(session: str | None, owner: str | None) -> str:
    """Return in words what a call was about."""
    return f"session {session!r}" + ("" if owner is None else f", owner {owner!r}")


def matches(
    found: Sequence[str], appends: Sequence[StoreCall], *, all_may_miss: bool = False
) -> bool:
    """Return whether `found` is what was appended, in order, but for what was not acknowledged."""
    positions = {0}
    for call in appends:
        reached = {
            position + 1
            for position in positions
            if position < len(found) and found[position] == call.digest
        }
        if all_may_miss or not call.returned:
            reached |= positions
        positions = reached
    return len(found) in positions
