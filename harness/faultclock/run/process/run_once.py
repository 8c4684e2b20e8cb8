"""Makes one run of a subject that this process has loaded.

Each life of the subject has a forked child of its own; inline, it shares this process.
"""

from __future__ import annotations

import time
from functools import partial

from msgspec.structs import replace

from faultclock.run.execute import simulate
from faultclock.run.lives import Life, LifeOver, live
from faultclock.run.notes.output import Spill
from faultclock.run.notes.taking import hung_notes
from faultclock.run.process.child import leave
from faultclock.run.process.cpu_time import measured
from faultclock.run.process.integrity import Untouched
from faultclock.run.process.isolate import Died, Hung, run_contained
from faultclock.run.process.no_exit import staying
from faultclock.run.run_request import NO_MEMORY, Made, RunRequest, made_of
from faultclock.run.run_result import Happened, so_far
from faultclock.subjects.binding import Binding

#: What observes a subject in a run. Few enough to be looked at after each run.
_OBSERVERS = Untouched(
    "faultclock.fakes.wire.delivery",
    "faultclock.fakes.wire.http_server",
    "faultclock.fakes.wire.injector",
    "faultclock.fakes.provider.provider",
    "faultclock.run.drive",
    "faultclock.run.execute",
    "faultclock.run.run_result",
    "faultclock.run.host",
    "faultclock.run.lives",
    "faultclock.run.run_request",
    "faultclock.run.program",
    "faultclock.run.roles.adapter",
    "faultclock.run.roles.extension",
    "faultclock.run.roles.runtime",
    "faultclock.run.roles.store",
    "faultclock.run.roles.tool",
    "faultclock.sim.kernel.escapes",
    "faultclock.sim.kernel.kernel",
    "faultclock.sim.kernel.ledger",
    "faultclock.sim.kernel.recorder",
    "faultclock.sim.world",
)


def make(binding: Binding, asked: RunRequest) -> Made:
    """Make the run; a child that hangs or dies becomes a run that proves nothing.

    Raises:
        InputError: the scenario does not fit the subject.
    """
    if not asked.isolate:
        with staying(), measured("world", "run"):
            happened = simulate(asked.scenario, binding, asked.seed, asked.chance)
            return made_of(_observed(happened))
    with Spill() as spill:
        happened = _lived_isolated(binding, asked, spill)
        if _ran_out_of_memory(happened):
            happened = replace(happened, ending="watchdog", detail=(NO_MEMORY,))
        return made_of(happened, spill.lines(happened.ended_at_ns))


def _lost(outcome: Hung | Died, asked: RunRequest) -> Happened:
    """Return what is known of a run, or of a life, whose process hung or died."""
    known = outcome.so_far if isinstance(outcome, Hung) else None
    if not isinstance(known, Happened):
        known = Happened(facts=[], ending=outcome.ending, detail=(), ended_at_ns=0)
    stacks = outcome.stacks if isinstance(outcome, Hung) else ()
    return replace(
        known,
        ending=outcome.ending,
        detail=outcome.detail,
        tape=asked.chance.tape,
        notes=known.notes.joined(hung_notes(stacks, known.ended_at_ns)),
    )


def _observed(happened: Happened) -> Happened:
    """Return what happened; a subject that changes what observes it proves nothing."""
    changed = _OBSERVERS.changed()
    if not changed:
        return happened
    return replace(happened, ending="escape", detail=(f"the subject replaced {changed}",))


def _ran_out_of_memory(happened: Happened) -> bool:
    return any(
        kind == "call.raised" and any(item["type"] == "MemoryError" for item in payload["chain"])
        for _, _, _, kind, payload in happened.facts
    )


def _lived(life: Life) -> LifeOver | Happened:
    with measured("world", "run") as ended:

        def leave_measured(over: LifeOver) -> None:
            ended()
            leave(over)

        over = life(leave_measured)
    return _observed(over) if isinstance(over, Happened) else over


def _lived_isolated(binding: Binding, asked: RunRequest, spill: Spill) -> Happened:
    """Do what `live` does, with a forked child for each life, all within one time limit."""
    deadline_s = time.monotonic() + asked.limit_s

    def run_life(life: Life) -> LifeOver | Happened:
        # A child that gets no time at all is killed like one that took too much.
        outcome = run_contained(
            partial(_lived, life),
            wall_limit_s=max(0.0, deadline_s - time.monotonic()),
            output=spill.descriptors,
            so_far=so_far,
        )
        if isinstance(outcome, Hung):
            said = f"no end after {asked.limit_s:g} s of real time"
            outcome = replace(outcome, detail=(said, *outcome.detail[1:]))
        return _lost(outcome, asked) if isinstance(outcome, (Hung, Died)) else outcome

    return live(asked.scenario, binding, asked.seed, asked.chance, run_life=run_life)
