"""What a session store was asked and what it answered, read off a trace. Says nothing of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from faultclock.model.trace import Trace, TraceEvent
from faultclock.oracle.chain import typed

__all__ = ["StoreCall", "StoreHistory", "read_store"]

#: Faults after which an act has failed; a slow act is good, and a lost fsync says that it is.
_FAILING = ("no_space", "io_error")


@dataclass(slots=True, kw_only=True)
class StoreCall:
    """One thing that the store was asked.

    Attributes:
        store: id of the store that was asked.
        digest: of what was to be written.
        end: how it ended; None where a crash cut it off, or nothing did.
        failing: the faults of the disk that it met.
        lies: the syncs in it that did nothing.
    """

    id: str
    do: str
    life: int
    store: str
    session: str | None
    owner: str | None
    digest: str | None
    start: TraceEvent
    end: TraceEvent | None = None
    failing: list[TraceEvent] = field(default_factory=list)
    lies: list[TraceEvent] = field(default_factory=list)

    @property
    def returned(self) -> bool:
        """Whether it ended with an answer; for a write, with an acknowledgement."""
        return self.end is not None and self.end.kind == "call.returned"

    @property
    def raised(self) -> bool:
        """Whether it ended with an error."""
        return self.end is not None and self.end.kind == "call.raised"

    @property
    def answer(self) -> dict[str, Any]:
        """What `call.returned` or `call.raised` says."""
        return {} if self.end is None else dict(self.end.payload)

    @property
    def found(self) -> str | None:
        """Digest of what a read returned; None where it found nothing."""
        return self.answer.get("value_sha256") if self.answer.get("found") else None

    @property
    def error(self) -> tuple[str, str] | None:
        """Class and code of what it raised, None where there are none."""
        chain = self.answer.get("chain") or [{}]
        return typed(chain[0])

    @property
    def said(self) -> str:
        """What it raised, in words."""
        chain = self.answer.get("chain") or [{}]
        name = str(chain[0].get("type", "")).rpartition(".")[2]
        return name if self.error is None else "/".join(self.error)

    @property
    def seqs(self) -> tuple[int, ...]:
        """The events that show it."""
        end = () if self.end is None else (self.end.seq,)
        return (self.start.seq, *(event.seq for event in self.failing), *end)


@dataclass(slots=True, kw_only=True)
class StoreHistory:
    """All calls in their order, and what befell the disk between them.

    Attributes:
        edited: lives before which files were changed from outside.
        crashes: `process.crashed` by life.
    """

    calls: list[StoreCall] = field(default_factory=list)
    edited: dict[int, TraceEvent] = field(default_factory=dict)
    crashes: dict[int, TraceEvent] = field(default_factory=dict)

    def asked(self, *operations: str) -> Iterator[StoreCall]:
        """Yield the calls that asked for one of these."""
        return (call for call in self.calls if call.do in operations)

    def crash_between(self, first: StoreCall, second: StoreCall) -> TraceEvent | None:
        """Return a crash after the one and before the other."""
        lives = range(first.life, second.life)
        return next((self.crashes[life] for life in lives if life in self.crashes), None)


def read_store(trace: Trace) -> StoreHistory:
    """Return the history of the store in `trace`."""
    history = StoreHistory()
    by_id: dict[str, StoreCall] = {}
    for event in trace.events:
        payload = event.payload
        call = by_id.get(str(payload.get("call")))
        if event.kind == "call.started":
            fresh = _call(event)
            by_id[fresh.id] = fresh
            history.calls.append(fresh)
        elif event.kind in ("call.returned", "call.raised") and call is not None:
            call.end = event
        elif event.kind == "fault.fired" and call is not None:
            kind = payload.get("fault_kind")
            if kind in _FAILING:
                call.failing.append(event)
            elif kind == "lost_fsync":
                call.lies.append(event)
        elif event.kind == "disk.edited":
            history.edited.setdefault(int(payload.get("life", 1)), event)
        elif event.kind == "process.crashed":
            history.crashes[int(payload.get("life", 1))] = event
    return history


def _call(event: TraceEvent) -> StoreCall:
    payload = event.payload
    return StoreCall(
        id=str(payload.get("call")),
        do=str(payload.get("do", "call")),
        life=int(payload.get("life", 1)),
        store=str(payload.get("store", "")),
        session=payload.get("session"),
        owner=payload.get("owner"),
        digest=payload.get("value_sha256"),
        start=event,
    )
