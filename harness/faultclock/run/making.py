"""Makes one run of a subject that this process has loaded.

A run has a forked child of its own, and each life of a runtime has one; inline, it shares this
process.
"""

from __future__ import annotations

import time
from dataclasses import replace

from faultclock.run.drive_store import forks_lives
from faultclock.run.execute import simulate
from faultclock.run.happened import Happened
from faultclock.run.isolate import Died, Hung, leave, run_contained
from faultclock.run.lives import Life, LifeOver, live
from faultclock.run.made import Made, RunRequest, lost, made_of
from faultclock.run.notes import RawNotes, hung_notes
from faultclock.run.notes_made import made_notes
from faultclock.run.notes_output import Spill
from faultclock.run.staying import staying
from faultclock.run.untouched import Untouched
from faultclock.run.worlds import has_lives
from faultclock.subjects.binding import Binding

__all__ = ["make"]

#: What observes a subject in a run. Few enough to be looked at after each run.
_OBSERVERS = Untouched(
    "faultclock.fakes.delivery",
    "faultclock.fakes.http_server",
    "faultclock.fakes.injector",
    "faultclock.fakes.provider",
    "faultclock.run.calls",
    "faultclock.run.execute",
    "faultclock.run.happened",
    "faultclock.run.host",
    "faultclock.run.lives",
    "faultclock.run.made",
    "faultclock.run.turns",
    "faultclock.sim.escapes",
    "faultclock.sim.kernel",
    "faultclock.sim.ledger",
    "faultclock.sim.recorder",
    "faultclock.sim.world",
)
_NO_MEMORY = "it needed more memory than a run may take: --memory-limit says how much"


def make(binding: Binding, asked: RunRequest) -> Made:
    """Make the run; a child that hangs or dies becomes a run that proves nothing.

    Raises:
        InputError: the scenario does not fit the subject.
    """
    if not asked.isolate:
        with staying():
            return made_of(_simulated(binding, asked))
    with Spill() as spill:
        outcome: Happened | Hung | Died
        if binding.role == "runtime" and has_lives(asked.scenario):
            outcome = _live_isolated(binding, asked, spill)
        else:
            outcome = run_contained(
                lambda: _simulated(binding, asked),
                wall_limit_s=asked.limit_s,
                output=spill.descriptors,
                confined=not forks_lives(asked.scenario, binding),
            )
        if isinstance(outcome, Happened):
            if _ran_out_of_memory(outcome):
                return lost(asked, (_NO_MEMORY,), ending="watchdog")
            return made_of(outcome, spill.lines(outcome.ended_at_ns))
        raw = hung_notes(outcome.stacks) if isinstance(outcome, Hung) else RawNotes()
        notes = made_notes(raw, spill.lines(0))
        return lost(asked, outcome.detail, ending=outcome.ending, notes=notes)


def _simulated(binding: Binding, asked: RunRequest) -> Happened:
    """Do what `simulate` does; a subject that changes what observes it proves nothing."""
    return _observed(simulate(asked.scenario, binding, asked.seed, asked.chance))


def _observed(happened: Happened) -> Happened:
    changed = _OBSERVERS.changed()
    if not changed:
        return happened
    return replace(happened, ending="escape", detail=(f"the subject replaced {changed}",))


def _ran_out_of_memory(happened: Happened) -> bool:
    return any(
        kind == "call.raised" and any(item["type"] == "MemoryError" for item in payload["chain"])
        for _, _, _, kind, payload in happened.facts
    )


class _LifeLostError(Exception):
    """The process of a life hung or died, and not because of a crash that was planned."""

    def __init__(self, outcome: Hung | Died) -> None:
        super().__init__()
        self.outcome = outcome


def _lived(life: Life) -> LifeOver:
    over = life(leave)
    if over.happened is None:
        return over
    return replace(over, happened=_observed(over.happened))


def _live_isolated(binding: Binding, asked: RunRequest, spill: Spill) -> Happened | Hung | Died:
    """Do what `live` does, with a forked child for each life, all within one time limit."""
    deadline_s = time.monotonic() + asked.limit_s

    def run_life(life: Life) -> LifeOver:
        # A child that gets no time at all is killed like one that took too much.
        outcome = run_contained(
            lambda: _lived(life),
            wall_limit_s=max(0.0, deadline_s - time.monotonic()),
            output=spill.descriptors,
        )
        if isinstance(outcome, Hung):
            said = f"no end after {asked.limit_s:g} s of real time"
            raise _LifeLostError(replace(outcome, detail=(said, *outcome.detail[1:])))
        if isinstance(outcome, Died):
            raise _LifeLostError(outcome)
        return outcome

    try:
        return live(asked.scenario, binding, asked.seed, asked.chance, run_life=run_life)
    except _LifeLostError as life_lost:
        return life_lost.outcome
