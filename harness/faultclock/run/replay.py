"""Runs again what was run before: a stored trace, or what coordinates lead to.

A trace holds its scenario, so it can be compared byte by byte with what happens now. Coordinates
hold only the scenario's id and digest, so they are run twice, in processes of their own, and the
two are compared.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from faultclock.errors import InputError
from faultclock.model.report.coordinates import Coordinates
from faultclock.model.scenario.scenario import Scenario, scenario_digest
from faultclock.model.scenario.varied import varied
from faultclock.model.tape import Chance, Tape
from faultclock.model.trace.trace import Trace
from faultclock.run.bind_scenario import of_role
from faultclock.run.compare import ReplayResult, compare
from faultclock.run.expand import cell_of, crash_after
from faultclock.run.suite import run_one
from faultclock.subjects.binding import Binding

__all__ = ["ReplayResult", "Replayed", "compare", "replay", "replay_at", "scenario_at"]

_CRASH = re.compile(r"(?:^|, )crash after event ([0-9]+)$")
#: A digest is shown by its first digits.
_DIGITS = 12


class Replayed(Struct, frozen=True, kw_only=True):
    """What came of coordinates.

    Attributes:
        trace: of the first run.
        result: what the second one differs in.
        unplayed: how many choices of the tape the first run did not come to: it took another
            course than the one that the tape is of.
    """

    trace: Trace
    result: ReplayResult
    unplayed: int = 0


def replay(
    recorded: Trace,
    binding: Binding,
    *,
    isolate: bool = True,
    wall_limit_s: float | None = None,
) -> ReplayResult:
    """Run the scenario and seed of `recorded` again with `binding`, and compare."""
    scenario = recorded.header.scenario
    header = recorded.header
    observed = run_one(
        scenario,
        binding,
        header.seed,
        isolate=isolate,
        wall_limit_s=wall_limit_s,
        chance=Chance(tape=header.tape),
    )
    return compare(recorded, observed)


def replay_at(
    scenario: Scenario,
    binding: Binding,
    coordinates: Coordinates,
    *,
    wall_limit_s: float | None = None,
) -> Replayed:
    """Make the run at `coordinates` twice, each in a process of its own.

    Args:
        scenario: as `scenario_at` returns it.

    Raises:
        InputError: the tape says something of the scenario that it does not declare, or the
            subject is for another role.
    """
    if not of_role(scenario, binding):
        raise InputError(
            f"{scenario.id} is a scenario for role {scenario.role}, and the subject"
            f" {binding.id} is a {binding.role}"
        )
    tape = coordinates.tape
    try:
        concrete = varied(scenario, tape)
    except ValueError as error:
        raise InputError(f"the tape is not one of {scenario.id}: {error}") from None
    first, second = (
        run_one(
            concrete,
            binding,
            coordinates.seed,
            isolate=True,
            wall_limit_s=wall_limit_s,
            chance=Chance(tape=tape),
        )
        for _ in range(2)
    )
    return Replayed(
        trace=first,
        result=compare(first, second),
        unplayed=_unplayed(scenario.tape.joined(tape), first.header.tape),
    )


def _unplayed(given: Tape, noted: Tape) -> int:
    """Return how many choices of a tape are not on the tape of the run that it was given to."""
    return sum(
        noted.get(stream, number) != value
        for stream, chosen in given.choices.items()
        for number, value in chosen
    )


def scenario_at(runnable: Sequence[Scenario], coordinates: Coordinates) -> Scenario:
    """Return the scenario that coordinates are of, as it is written.

    Args:
        runnable: what its file stands for.

    Raises:
        InputError: the file has another scenario, no such variant, or was changed since.
    """
    wanted = coordinates.scenario
    if all(scenario.id != wanted for scenario in runnable):
        raise InputError(f"the file holds {runnable[0].id}, but {wanted} was asked for")
    variant = coordinates.variant
    crash = _CRASH.search(variant or "")
    cell = variant if crash is None else cell_of(variant)
    written = next((item for item in runnable if item.variant == cell), None)
    if written is None:
        raise InputError(
            f"{wanted} has no variant {cell!r}" if cell else f"{wanted} has no variant to run",
            hint="its matrix was changed since: give the file as it was with --scenario FILE",
        )
    run = written if crash is None else crash_after(written, int(crash[1]))
    # A crash that was asked for by hand is part of what was run, and one of a sweep is not.
    digests = [scenario_digest(item) for item in (written, run)]
    if coordinates.scenario_digest not in digests:
        raise InputError(
            f"{wanted} was changed since: its digest was"
            f" {coordinates.scenario_digest[:_DIGITS]}, and is {digests[0][:_DIGITS]}",
            hint="give the file as it was with --scenario FILE",
        )
    return run
