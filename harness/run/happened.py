"""What a run left behind, and how it ended: plain values, cheap to hand to another process."""

from __future__ import annotations

from dataclasses import dataclass

from harness.model.tape import BLANK, Tape
from harness.model.trace import EndingReason
from harness.sim.kernel import Ending
from harness.sim.recorder import Fact
from harness.subjects.outcome import describe_exception

__all__ = ["Happened", "reason_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened:
    """What a run left behind.

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
