"""What a run left behind, and how it ended: plain values, cheap to hand to another process."""

from __future__ import annotations

from msgspec import Struct, field

from faultclock.model.tape import BLANK, Tape
from faultclock.model.trace.trace import EndingReason
from faultclock.run.notes.taking import RawNotes, current_notes
from faultclock.sim.kernel.kernel import Ending
from faultclock.sim.kernel.recorder import Fact
from faultclock.subjects.outcome import describe_exception


class Ended(Struct, frozen=True, kw_only=True):
    """What a run left behind, but for its notes.

    Attributes:
        facts: in the order in which they happened.
        ended_at_ns: virtual time of the end.
        tape: what was chosen and a blank tape would not have chosen.
    """

    facts: list[Fact]
    ending: EndingReason
    detail: tuple[str, ...]
    ended_at_ns: int
    tape: Tape = BLANK


class Happened(Ended, frozen=True, kw_only=True):
    """What a run left behind in the process that made it.

    Attributes:
        notes: what helps a person to find the line; no part of the trace.
    """

    notes: RawNotes = field(default_factory=RawNotes)


def so_far() -> Happened | None:
    """Return what has happened in the world of this process; None if it has none."""
    notes = current_notes()
    if notes is None:
        return None
    return Happened(
        facts=list(notes.kernel.recorder.events),
        ending="watchdog",
        detail=(),
        ended_at_ns=notes.kernel.now_ns,
        notes=notes.taken(),
    )


def reason_of(ending: Ending) -> tuple[EndingReason, tuple[str, ...]]:
    """Return how a world's ending ends a run, and its details."""
    assert ending.reason != "crashed", "after a crash a run goes on"
    if ending.reason != "raised":
        return ending.reason, tuple(ending.detail)
    assert ending.error is not None, "what was raised is in the ending"
    error = describe_exception(ending.error)[0]
    text = f"{error['type']}: {error['message']}".rstrip(": ")
    # What a call raises is recorded by the driver. What ends the world around it is a task that
    # exits, cancels the others or stops the loop; anything else that arrives here is our bug.
    stopped = isinstance(ending.error, RuntimeError) and "loop stopped" in error["message"]
    if stopped or not isinstance(ending.error, Exception):
        return "escape", (f"the subject ended the run from inside: {text}",)
    return "harness_error", (text,)
