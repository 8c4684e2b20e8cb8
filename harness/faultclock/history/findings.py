"""What a history says: its sessions, and which verdicts changed and why, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from faultclock.model.report.coordinates import Coordinates
from faultclock.model.report.finding import Verdict
from faultclock.model.report.session import SessionCommand

#: What stands for a verdict where the runs of one coordinate were not the same twice.
UNSTEADY = "UNSTEADY"

SessionState = Literal["open", "stopped", "done"]
#: `determinism`: the same runs did not come to the same. `changed`: subject, scenario, model or
#: Faultclock did. `other_runs`: nothing did, but other seeds or orders were tried.
FlipCause = Literal["determinism", "changed", "other_runs"]


class SessionLine(Struct, frozen=True, kw_only=True):
    """One session and what its runs came to.

    Attributes:
        number: from 1, in the order in which they began.
        asked: runs for each scenario; None where each says itself.
        state: `open` is being written, or was killed; `stopped` ended before it was complete.
        started_at: wall-clock time; ended_at: None while it is open.
        scenarios: how many were asked for, a variant counted by itself.
        verdicts: runs per verdict; `UNSTEADY` counts those that were not the same twice.
    """

    number: int
    command: SessionCommand
    subject: str
    model: str
    model_revision: str
    faultclock: str
    seed: int | None
    asked: int | None
    state: SessionState
    started_at: str
    ended_at: str | None
    scenarios: int
    runs: int
    verdicts: Mapping[str, int]


class RunRef(Struct, frozen=True, kw_only=True):
    """One run of a session; `number` is from 1 within its session, scenario and variant."""

    session: int
    number: int
    seed: int
    schedule: str
    verdict: Verdict
    ending: str
    trace_digest: str
    fingerprints: tuple[str, ...]


class DeterminismBug(Struct, frozen=True, kw_only=True):
    """Equal in all that a run follows from, and not equal: never the subject's failure.

    Attributes:
        kind: `traces`: runs of equal coordinates have different traces. `verdicts`: equal traces
            were judged differently. `unsteady`: a session itself found a run that was not the same
            twice.
        runs: how many runs are not like the first of their kind.
        compared: how many there are to compare with a first one.
        first: one of these first ones.
        other: a run that is not like it; for `unsteady` the run itself.
        difference: for `unsteady` what differs in the trace, in words.
        leaks: for `unsteady` what the traces say got in from outside.
    """

    kind: Literal["traces", "verdicts", "unsteady"]
    scenario: str
    variant: str | None
    subject: str
    runs: int
    compared: int
    first: RunRef
    other: RunRef
    difference: tuple[str, ...] = ()
    leaks: tuple[str, ...] = ()


class FlakySubject(Struct, frozen=True, kw_only=True):
    """Each run by itself is always the same; some of them fail, and some do not.

    Attributes:
        failing: how many different runs failed; passing: passed, with or without a warning.
        runs: all different runs, those included that prove nothing.
        first: the first that failed.
        coordinates: what leads to it again.
        is_current: whether subject, scenario and model are those of the last session with them.
    """

    scenario: str
    variant: str | None
    subject: str
    model: str
    failing: int
    passing: int
    runs: int
    first: RunRef
    coordinates: Coordinates
    is_current: bool


class Flip(Struct, frozen=True, kw_only=True):
    """The verdict of a scenario (its worst run) changed from one session to the next.

    Attributes:
        before: number of the session; was: its verdict.
        after: of the next session with this scenario and subject, by the same command.
        changes: what changed in between, in words.
        unfinished: those of the two sessions that were not complete.
    """

    scenario: str
    variant: str | None
    subject: str
    command: SessionCommand
    before: int
    was: Verdict
    after: int
    now: Verdict
    cause: FlipCause
    changes: tuple[str, ...]
    unfinished: tuple[int, ...]


class History(Struct, frozen=True, kw_only=True):
    """All of it."""

    sessions: tuple[SessionLine, ...] = ()
    bugs: tuple[DeterminismBug, ...] = ()
    flaky: tuple[FlakySubject, ...] = ()
    flips: tuple[Flip, ...] = ()
