"""Trace: the waist of the hourglass. What happened in one run, as immutable data.

A trace file is JSON Lines: a header, one line per TraceEvent, a footer. A file without a footer
was cut off and is refused. Equal scenario, subject and seed give equal bytes, so nothing here
may hold a wall-clock time, a path, a user or a host name. Only a trace that was recorded in real
time (`time_base: wall`) says when it began, and no two of those are equal.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from msgspec import Struct
from pydantic import Field, model_validator

from faultclock.model._base import SparseValue, Value
from faultclock.model.canonical import canonical_text, canonical_value
from faultclock.model.duration import MILLISECOND_NS
from faultclock.model.foreign_map import ForeignLog
from faultclock.model.retry_policy import RetryPolicy
from faultclock.model.scenario.scenario import BaseScenario, Scenario, scenario_text
from faultclock.model.tape import BLANK, Tape
from faultclock.model.trace.event_fields import EventFields
from faultclock.model.trace.notes import RunNotes

#: Version of the trace format. A reader refuses a newer one.
FORMAT = 1
#: No host that runs agents has timers with longer steps: 15.6 ms is what Windows has by default.
TIMER_GRANULARITY_MAX_NS = 50 * MILLISECOND_NS
#: Wall-clock time of virtual time 0, in nanoseconds since 1970: 2026-01-01T00:00:00Z, in every run.
WALL_EPOCH_NS = 1_767_225_600_000_000_000

EndingReason = Literal[
    "completed",
    "deadlock",
    "livelock",
    "virtual_time_limit",
    "event_limit",
    "escape",
    "watchdog",
    "harness_error",
    "log_cut",
]
#: Endings by force, or by a fault of ours: what the subject would have done next is not known.
CUT_SHORT: tuple[EndingReason, ...] = (
    "watchdog",
    "harness_error",
    "escape",
    "event_limit",
    "log_cut",
)


class TraceEvent(Struct, EventFields, frozen=True):
    """One stamped fact. The fields of its payload are attributes; see `model.event_fields`.

    Attributes:
        seq: 1-based position in the trace.
        at_ns: virtual time in nanoseconds from the start of the run.
        actor: who did it: `harness`, `subject`, `network`, `provider`, `tool`, `hook`... Facts of
            any actor but `subject` were *observed* by the world; facts of the actor `subject`
            whose kind begins with `declared.` are what the subject *says*.
        kind: canonical kind, dotted lower case, such as `http.response`.
        payload: JSON-able facts.
    """

    seq: int
    at_ns: int
    actor: str
    kind: str
    payload: Mapping[str, Any]


def seqs(*events: TraceEvent | None) -> tuple[int, ...]:
    """Return `seq` of the events that there are."""
    return tuple(event.seq for event in events if event is not None)


#: What the times of a trace are: of a simulated world, or of this one.
TimeBase = Literal["virtual", "wall"]


#: What a binding may say that its subject can express, and so be judged by.
Declares = Literal["errors", "audit", "events", "user", "model", "operator"]


class SubjectInfo(SparseValue):
    """Which subject produced a trace, and what its binding declares."""

    SPARSE: ClassVar[frozenset[str]] = frozenset({"timer_granularity_ns", "lacks"})

    id: str
    role: str
    style: Literal["async", "sync"]
    declares: tuple[str, ...] = ()
    """What the binding can express: `errors`, `audit`, `events`, `user`, `model`."""
    retry_policies: tuple[RetryPolicy, ...] = ()
    """Policies that the adapter declares in place of the model's defaults."""
    source_digest: str | None = None
    """SHA-256 of the file that a user's subject was loaded from."""
    distributions: dict[str, str] = {}
    """Versions of the libraries that the subject names, such as `{"openai": "3.52.0"}`."""
    timer_granularity_ns: int = Field(default=0, ge=0, le=TIMER_GRANULARITY_MAX_NS)
    """The step of the timers that its host has: a wait may miss its ends by that."""
    lacks: tuple[str, ...] = ()
    """What the binding declares that it never does, such as `no-streams`."""


class TraceHeader(SparseValue):
    """The first line: everything that is needed to run it again."""

    SPARSE: ClassVar[frozenset[str]] = frozenset({"foreign", "time_base", "epoch_ns", "tape"})

    format: int = FORMAT
    scenario: Scenario
    scenario_digest: str
    subject: SubjectInfo
    seed: int
    tape: Tape = BLANK
    """The choices of this run that are not what it would do by itself; see `model.tape`."""
    versions: dict[str, str] = {}
    """Versions of Faultclock, Python and the libraries that shape a trace."""
    foreign: ForeignLog | None = None
    """Set where it is the log of another system, which cannot be run again."""
    time_base: TimeBase = "virtual"
    """`wall`: it was recorded in real time, so of a wait it shows only that it was too short."""
    epoch_ns: int = WALL_EPOCH_NS
    """Wall-clock instant of time 0, in nanoseconds since 1970; only a trace in real time has its
    own."""

    @model_validator(mode="after")
    def _epoch_of_its_own(self) -> TraceHeader:
        if self.time_base == "virtual" and self.epoch_ns != WALL_EPOCH_NS:
            raise ValueError("epoch_ns goes with time_base: wall")
        return self


class TraceFooter(Value):
    """The last line: how it ended. Its absence means that the trace was cut off."""

    events: int = Field(ge=0)
    ended_at_ns: int = Field(ge=0)
    ending: EndingReason
    detail: tuple[str, ...] = ()
    """What each task and thread was waiting for, when something hung."""
    digest: str
    """SHA-256 over all lines before the footer, newline included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """Header, events and footer of one run, and beside them its notes.

    Attributes:
        notes: what helps a person to find the line. They are in no line and no digest of a trace,
            and two traces are equal also when theirs differ.
    """

    header: TraceHeader
    events: tuple[TraceEvent, ...]
    footer: TraceFooter
    notes: RunNotes | None = field(default=None, compare=False)
    #: Where `digest` keeps what it has made.
    _digest: list[str] = field(init=False, default_factory=list, compare=False, repr=False)

    @classmethod
    def sealed(
        cls,
        header: TraceHeader,
        events: tuple[TraceEvent, ...],
        notes: RunNotes | None = None,
        **ended: Any,
    ) -> Trace:
        """Return a trace that is closed with its footer.

        Args:
            ended: what the footer says of the end.
        """
        digest = trace_digest(header, events)
        footer = TraceFooter(events=len(events), digest=digest, **ended)
        trace = cls(header=header, events=events, footer=footer, notes=notes)
        trace._digest.append(digest)
        return trace

    @property
    def digest(self) -> str:
        """The digest of header and events as they are, whatever the footer says; made once."""
        if not self._digest:
            self._digest.append(trace_digest(self.header, self.events))
        return self._digest[0]

    @property
    def is_virtual(self) -> bool:
        """Whether its times are exact and can be had again: only such a trace can be certified."""
        return self.header.time_base == "virtual" and self.header.foreign is None

    def of_kind(self, *kinds: str) -> Iterator[TraceEvent]:
        """Yield the events whose kind is one of `kinds`, in order."""
        wanted = frozenset(kinds)
        return (event for event in self.events if event.kind in wanted)


def header_line(header: TraceHeader) -> str:
    """Return the first line of a trace file, newline included.

    It is written part by part: for the whole, pydantic builds what writes the scenarios of all
    roles, and a command has those of one.
    """
    parts = sorted(header.written_fields())
    members = ",".join(f'"{name}":{_text_of(part)}' for name, part in parts)
    return f'{{"header":{{{members}}}}}\n'


def _text_of(part: object) -> str:
    if isinstance(part, BaseScenario):
        return scenario_text(part)
    return canonical_text(part) if isinstance(part, Value) else canonical_value(part)


def event_line(event: TraceEvent) -> str:
    """Return the line of one event, newline included."""
    return (
        canonical_value(
            {
                "seq": event.seq,
                "at_ns": event.at_ns,
                "actor": event.actor,
                "kind": event.kind,
                "payload": event.payload,
            }
        )
        + "\n"
    )


def trace_digest(header: TraceHeader, events: tuple[TraceEvent, ...]) -> str:
    """Return the SHA-256 (hex) over the header and event lines."""
    lines = [header_line(header)]
    lines += map(event_line, events)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def trace_lines(trace: Trace) -> Iterator[str]:
    """Yield the lines of a trace file, newline included."""
    yield header_line(trace.header)
    for event in trace.events:
        yield event_line(event)
    yield canonical_value({"footer": trace.footer.model_dump(mode="json")}) + "\n"
