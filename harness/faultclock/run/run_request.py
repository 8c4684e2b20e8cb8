"""What a run is asked for with, and what it leaves behind: plain data for any process."""

from __future__ import annotations

from msgspec import Struct

from faultclock.model.scenario.scenario import Scenario
from faultclock.model.tape import PLAIN, Chance
from faultclock.model.trace.notes import RunNotes
from faultclock.model.trace.trace import EndingReason
from faultclock.run.notes.making import made_notes
from faultclock.run.notes.output import KeptLines
from faultclock.run.run_result import Ended, Happened

_NS = 1_000_000_000
#: Why a run was ended that took too much memory.
NO_MEMORY = "it needed more memory than a run may take: --memory-limit says how much"


class RunRequest(Struct, frozen=True, kw_only=True):
    """A run that is asked for.

    Attributes:
        scenario: as it is played: in the dialect that the subject speaks.
        chance: choices that are played or explored.
        isolate: in a forked child for each life; else in the process that makes it.
        wall_limit_s: real seconds after which a hanging run is ended; None takes the scenario's.
    """

    scenario: Scenario
    seed: int
    chance: Chance = PLAIN
    isolate: bool = True
    wall_limit_s: float | None = None

    @property
    def limit_s(self) -> float:
        """Real seconds that the run may take."""
        given = self.wall_limit_s
        return given if given is not None else self.scenario.limits.wall_time / _NS


class Made(Ended, frozen=True, kw_only=True):
    """What a run left behind, as any process takes it.

    Attributes:
        notes: what helps a person to find the line; no part of the trace.
    """

    notes: RunNotes | None = None


def made_of(happened: Happened, spilled: KeptLines | None = None) -> Made:
    """Return what is handed over of a run.

    Args:
        spilled: what the subject wrote past Python's own streams.
    """
    same = {name: getattr(happened, name) for name in Ended.__struct_fields__}
    return Made(**same, notes=made_notes(happened.notes, spilled))


def lost(
    asked: RunRequest,
    detail: tuple[str, ...],
    *,
    ending: EndingReason = "harness_error",
) -> Made:
    """Return what stands for a run of which no event is left.

    Args:
        ending: what ended it.
    """
    return Made(
        facts=[],
        ending=ending,
        detail=detail,
        ended_at_ns=0,
        tape=asked.chance.tape,
    )
