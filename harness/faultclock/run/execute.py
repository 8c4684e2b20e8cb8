"""One run: scenario + subject + seed in, one sealed Trace out.

Everything that happens to a failure can be followed from here: the world is built, the fake
provider is mounted, the subject is driven, the facts are sealed. Nothing is judged. A runtime may
have several lives in one run: `lives` goes on from here.
"""

from __future__ import annotations

import platform
from functools import cache
from importlib.metadata import version

import faultclock
from faultclock.errors import InputError
from faultclock.model.again import kept_while_same
from faultclock.model.scenario.scenario import Scenario, scenario_digest
from faultclock.model.tape import BLANK, PLAIN, SCENARIO_STREAMS, Chance, Tape
from faultclock.model.trace.notes import RunNotes
from faultclock.model.trace.trace import EndingReason, Trace, TraceEvent, TraceHeader
from faultclock.run.bind_scenario import bind_scenario
from faultclock.run.lives import live
from faultclock.run.run_request import Made, made_of
from faultclock.run.run_result import Happened
from faultclock.subjects.binding import Binding

__all__ = ["Happened", "execute", "seal", "sealed", "simulate", "trace_header"]

#: Libraries whose behaviour shapes a trace of any subject.
_SHAPING = ("h11", "simpy")


def execute(scenario: Scenario, binding: Binding, seed: int, chance: Chance = PLAIN) -> Trace:
    """Run `binding` through `scenario` in a fresh world and return the sealed trace.

    Args:
        seed: of everything random in the run, 0 to 2**32 - 1.
        chance: choices that are played or explored; the trace's tape says what became of them.
    """
    scenario = bind_scenario(scenario, binding)
    made = made_of(simulate(scenario, binding, seed, chance))
    return sealed(trace_header(scenario, binding, seed), made, chance.tape)


def simulate(scenario: Scenario, binding: Binding, seed: int, chance: Chance = PLAIN) -> Happened:
    """Do what `execute` does, up to the sealing; all lives of the subject share this process.

    Args:
        scenario: bound to the subject; see `bind_scenario`.

    Raises:
        InputError: the scenario is for another role, or asks for what its role cannot do.
    """
    if scenario.role != binding.role:
        raise InputError(
            f"{scenario.id} is for role {scenario.role}, and {binding.id} is a {binding.role}"
        )
    return live(scenario, binding, seed, chance)


def sealed(header: TraceHeader, made: Made, played: Tape = BLANK) -> Trace:
    """Return the trace of a run, with the notes beside it.

    Args:
        played: the tape that the run was given. What it says of the scenario has shaped that
            already, and stays on the trace's tape; of the rest only what was chosen does.
    """
    tape = played.about(SCENARIO_STREAMS).joined(made.tape)
    if not tape.is_blank:
        header = header.model_copy(update={"tape": tape})
    events = tuple(TraceEvent(*fact) for fact in made.facts)
    return seal(header, events, made.ending, made.detail, made.ended_at_ns, made.notes)


def seal(
    header: TraceHeader,
    events: tuple[TraceEvent, ...],
    ending: EndingReason,
    detail: tuple[str, ...],
    ended_at_ns: int,
    notes: RunNotes | None = None,
) -> Trace:
    """Close a trace with its footer."""
    return Trace.sealed(
        header, events, notes, ending=ending, detail=detail, ended_at_ns=ended_at_ns
    )


def trace_header(scenario: Scenario, binding: Binding, seed: int) -> TraceHeader:
    """Return the header: all that is needed to run it again.

    Nothing in it comes from a file: what has to be checked of it was checked when it was made.
    """
    return _header_of_seed_0(scenario, binding).model_copy(update={"seed": seed})


@kept_while_same
def _header_of_seed_0(scenario: Scenario, binding: Binding) -> TraceHeader:
    return TraceHeader.model_construct(
        scenario=scenario,
        scenario_digest=scenario_digest(scenario),
        subject=binding.info(),
        seed=0,
        versions=dict(versions()),
    )


@cache
def versions() -> dict[str, str]:
    """Return the versions of all that shapes a trace, as its header has them."""
    return {
        "faultclock": faultclock.__version__,
        "python": platform.python_version(),
        **{name: version(name) for name in _SHAPING},
    }
