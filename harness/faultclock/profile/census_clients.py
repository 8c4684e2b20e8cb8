"""A census: every client in a process of its own, in the same scenarios, side by side.

Libraries patch each other, fill the same caches and demand different versions of the same thing,
so no two clients are ever imported into one process. Within its process a client runs as under
`faultclock run`: one child for each run, as many at a time as there are jobs. What cannot be done
is listed by name: a client that cannot be loaded, a scenario that its dialect has no words for.
"""

from __future__ import annotations

import multiprocessing
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection

from msgspec import Struct

import faultclock
from faultclock.errors import HarnessError, InputError, InternalError, SubjectError
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.census import (
    Absent,
    Census,
    ClientCensus,
    Hindrance,
    ScenarioConduct,
    ScenarioEntry,
    tally_of,
)
from faultclock.model.report.finding import RunReport
from faultclock.model.scenario.scenario import Scenario
from faultclock.model.trace.trace import Trace
from faultclock.profile.census import behaviour, with_verdict
from faultclock.run.doctor.fitting import unplayable
from faultclock.run.prepare import hosted
from faultclock.run.process.lifeline import end_with
from faultclock.run.suite import SuiteRequest, run_suite
from faultclock.subjects.binding import Binding
from faultclock.subjects.outcome import scrub
from faultclock.subjects.registry import SubjectEntry

#: What a census is taken of by default.
FAMILIES = ("rate-limits", "provider-limits", "provider-transient", "streams")

#: Called after each run with the client's id and the scenario's.
OnRun = Callable[[str, str], None]


class CensusRequest(Struct, frozen=True, kw_only=True):
    """What to take a census of.

    Attributes:
        families: what was asked for, as it stands in the census.
        scenarios: for provider adapters; each is run once, with its own first seed.
        model: whose verdicts are counted.
        jobs: runs of a client at a time (1 or more).
    """

    families: tuple[str, ...]
    scenarios: tuple[Scenario, ...]
    model: ErrorModel
    jobs: int = 1


def is_real_client(entry: SubjectEntry) -> bool:
    """Return whether a shipped subject is a library that asks a provider."""
    return entry.kind == "client" and entry.role == "provider_adapter"


def fits(scenario: Scenario, model_id: str | None) -> bool:
    """Return whether a client can be run in `scenario`: one for provider adapters.

    Args:
        model_id: leave out what is written for other error models only; None leaves out nothing.
    """
    is_of_model = model_id is None or not scenario.models or model_id in scenario.models
    return scenario.role == "provider_adapter" and is_of_model


def streams(scenario: Scenario) -> bool:
    """Return whether a call of `scenario` asks for a stream."""
    return any(task.stream for task in scenario.tasks)


def take_census(
    request: CensusRequest, clients: Sequence[SubjectEntry], *, on_run: OnRun | None = None
) -> Census:
    """Run all `clients`, one after the other, and set what they did side by side.

    The order is that of `clients` and of the scenarios; it does not depend on which run ends first.

    Raises:
        InternalError: a client's process ended without saying why.
    """
    counted: list[ClientCensus] = []
    absent: list[Absent] = []
    for entry in clients:
        found = _not_installed(entry) or _in_a_process(request, entry, on_run)
        if isinstance(found, Absent):
            absent.append(found)
        else:
            counted.append(found)
    return Census(
        faultclock=faultclock.__version__,
        model=request.model.id,
        model_title=request.model.title,
        model_revision=request.model.revision,
        families=request.families,
        scenarios=tuple(
            ScenarioEntry(id=_name(scenario), title=scenario.title, streams=streams(scenario))
            for scenario in request.scenarios
        ),
        clients=tuple(counted),
        absent=tuple(absent),
    )


def _name(scenario: Scenario) -> str:
    return scenario.id if scenario.variant is None else f"{scenario.id} ({scenario.variant})"


def _not_installed(entry: SubjectEntry) -> Absent | None:
    if entry.available:
        return None
    what = entry.extra or " ".join(entry.needs)
    what = f"'faultclock[{what}]'" if entry.extra else what
    how = f"{entry.install} {what}"
    needs = " and ".join(entry.needs)
    return Absent(id=entry.id, title=entry.title, reason=f"not installed: it needs {needs} ({how})")


# ---------------------------------------------------------------------- the parent's side


def _in_a_process(
    request: CensusRequest, entry: SubjectEntry, on_run: OnRun | None
) -> ClientCensus | Absent:
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    with tempfile.TemporaryFile() as said:
        place = (theirs, said.fileno(), os.getpid())
        process = context.Process(target=_live, args=(request, entry, *place))
        process.start()
        theirs.close()
        try:
            for message in _messages(ours):
                if not isinstance(message, str):
                    return message
                if on_run is not None:
                    on_run(entry.id, message)
        finally:
            ours.close()
            process.join(timeout=_GRACE_S)
            process.kill()
            process.join()
        said.seek(0)
        last = said.read().decode("utf-8", "replace").splitlines()[-_LINES_MAX:]
    raise InternalError(
        f"the process of {entry.id} ended with exit code {process.exitcode} and no result",
        hint="\n".join(last) or None,
    )


#: Real seconds that a process gets to end by itself once it has said everything.
_GRACE_S = 5.0
#: Lines quoted of what a process said before it ended without a result.
_LINES_MAX = 20


def _messages(ours: Connection) -> Iterator[str | ClientCensus | Absent]:
    with suppress(EOFError):
        while True:
            message = ours.recv()
            if isinstance(message, BaseException):
                raise message
            yield message


# ---------------------------------------------------------------------- the client's side


def _live(
    request: CensusRequest, entry: SubjectEntry, theirs: Connection, said: int, parent: int
) -> None:
    end_with(parent)
    # Clients log and print; thirty of them at once would be noise on a terminal.
    for descriptor in (1, 2):
        os.dup2(said, descriptor)
    sys.stdout = sys.stderr = os.fdopen(os.dup(said), "w", buffering=1)
    # A person's Ctrl-C reaches the parent too, which ends this process.
    with suppress(KeyboardInterrupt), theirs:
        try:
            theirs.send(client_census(request, entry, theirs.send))
        except InputError as error:
            theirs.send(error)
        except HarnessError as error:
            theirs.send(InternalError(f"the census of {entry.id}: {error}"))


def client_census(
    request: CensusRequest, entry: SubjectEntry, on_scenario: Callable[[str], None]
) -> ClientCensus | Absent:
    """Run one client through everything, in this process.

    Args:
        on_scenario: called with the scenario's id after each run.
    """
    try:
        binding = hosted(entry.target)
        distributions = binding.info().distributions
    except SubjectError as error:
        return _not_loaded(entry, error.message)
    except HarnessError:
        raise
    except Exception as error:  # noqa: BLE001 - any exception at import is a reason
        return _not_loaded(entry, f"{type(error).__name__}: {error}")
    if binding.role != "provider_adapter":
        return _not_loaded(
            entry, f"it is a {binding.role}, and a census compares provider adapters"
        )
    reasons = [(item, unplayable(item, binding)) for item in request.scenarios]
    playable = tuple(item for item, reason in reasons if reason is None)
    runs = _runs(request, entry, binding, playable, on_scenario) if playable else ()
    return ClientCensus(
        id=entry.id if entry.spec else binding.id,
        title=entry.title if entry.spec else binding.title,
        style=binding.style,
        dialect=binding.dialect,
        distributions=distributions,
        python=platform.python_version(),
        runs=runs,
        inexpressible=tuple(
            Hindrance(what=_name(item), reason=reason)
            for item, reason in reasons
            if reason is not None
        ),
        cannot=entry.cannot,
        tally=tally_of(runs),
    )


def _runs(
    request: CensusRequest,
    entry: SubjectEntry,
    binding: Binding,
    scenarios: tuple[Scenario, ...],
    on_scenario: Callable[[str], None],
) -> tuple[ScenarioConduct, ...]:
    seen: list[ScenarioConduct] = []

    def keep(trace: Trace) -> None:
        conduct = behaviour(trace)
        seen.append(conduct.model_copy(update={"scenario": _name(trace.header.scenario)}))

    def judged(run: RunReport) -> None:
        # Right after its trace, which is the last one.
        seen[-1] = with_verdict(seen[-1], run)
        on_scenario(run.scenario)

    suite = SuiteRequest(
        scenarios=scenarios,
        binding=binding,
        subject_spec=entry.target,
        model=request.model,
        seeds=1,
        jobs=request.jobs,
        sweep=False,
        # A census does not judge, so it makes no run twice.
        confirm=False,
    )
    run_suite(suite, on_run=judged, on_trace=keep)
    return tuple(seen)


def _not_loaded(entry: SubjectEntry, reason: str) -> Absent:
    # It may quote a path of this machine.
    said = " ".join(scrub(reason).split())
    return Absent(
        id=entry.id, title=entry.title, reason=f"it cannot be loaded: {said}", installed=True
    )
