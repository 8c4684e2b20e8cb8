"""A census: every client in a process of its own, in the same scenarios, side by side.

Libraries patch each other, fill the same caches and demand different versions of the same thing,
so no two clients are ever imported into one process. Within its process a client runs as under
`faultclock run`: one child for each run, as many at a time as there are jobs. What cannot be done
is told by name: a client that cannot be loaded, a scenario that its dialect has no words for.
"""

from __future__ import annotations

import multiprocessing
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection

import harness
from harness.errors import HarnessError, InternalError, SubjectError
from harness.model.census import (
    Absent,
    Census,
    ClientCensus,
    Hindrance,
    ScenarioConduct,
    ScenarioEntry,
    tally_of,
)
from harness.model.error_model import ErrorModel
from harness.model.finding import RunReport
from harness.model.scenario import Scenario
from harness.model.trace import Trace
from harness.run.census import behaviour, with_verdict
from harness.run.lifeline import end_with
from harness.run.prepare import prepare
from harness.run.spoken import cannot_be_said
from harness.run.suite import SuiteRequest, run_suite
from harness.subjects.binding import Binding
from harness.subjects.outcome import scrub
from harness.subjects.registry import SubjectEntry

__all__ = ["FAMILIES", "CensusRequest", "chosen", "is_real_client", "take_census"]

#: What a census is taken of by default.
FAMILIES = ("rate-limits", "provider-limits", "provider-transient", "streams")
#: Not a folder: every scenario that asks for a stream, wherever it lies.
_STREAMS = "streams"

#: Told after each run: the client's id, and the scenario's.
OnRun = Callable[[str, str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class CensusRequest:
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


def chosen(
    scenarios: Sequence[Scenario], families: Sequence[str], model_id: str
) -> tuple[Scenario, ...]:
    """Return those of `scenarios` that a census of `families` is taken in.

    They are for provider adapters, and for any model or for this one. `streams` stands for all
    that ask for a stream; any other name is a scenario's id, or the first part of it.
    """
    return tuple(
        scenario
        for scenario in scenarios
        if scenario.role == "provider_adapter"
        and (not scenario.models or model_id in scenario.models)
        and (
            scenario.family in families
            or scenario.id in families
            or (_STREAMS in families and _streams(scenario))
        )
    )


def take_census(
    request: CensusRequest, clients: Sequence[SubjectEntry], *, on_run: OnRun | None = None
) -> Census:
    """Run all `clients`, one after the other, and set what they did side by side.

    The order is that of `clients` and of the scenarios, whatever finishes first.

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
        faultclock=harness.__version__,
        model=request.model.id,
        model_title=request.model.title,
        model_revision=request.model.revision,
        families=request.families,
        scenarios=tuple(
            ScenarioEntry(id=_name(scenario), title=scenario.title, streams=_streams(scenario))
            for scenario in request.scenarios
        ),
        clients=tuple(counted),
        absent=tuple(absent),
    )


def _streams(scenario: Scenario) -> bool:
    return any(task.stream for task in scenario.tasks)


def _name(scenario: Scenario) -> str:
    return scenario.id if scenario.variant is None else f"{scenario.id} ({scenario.variant})"


def _not_installed(entry: SubjectEntry) -> Absent | None:
    if entry.available:
        return None
    what = entry.extra or " ".join(entry.needs)
    how = f"pip install 'faultclock[{what}]'" if entry.extra else f"pip install {what}"
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
        except HarnessError as error:
            theirs.send(InternalError(f"the census of {entry.id}: {error}"))


def client_census(
    request: CensusRequest, entry: SubjectEntry, told: Callable[[str], None]
) -> ClientCensus | Absent:
    """Run one client through everything, in this process.

    Args:
        told: called with the scenario's id after each run.
    """
    try:
        binding = prepare(entry.id)
        distributions = binding.info().distributions
    except SubjectError as error:
        return _not_loaded(entry, error.message)
    except HarnessError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a library raises at import is a reason
        return _not_loaded(entry, f"{type(error).__name__}: {error}")
    if binding.role != "provider_adapter":
        return _not_loaded(entry, f"it is a {binding.role}, and a census is of provider adapters")
    reasons = [(item, cannot_be_said(item, binding)) for item in request.scenarios]
    playable = tuple(item for item, reason in reasons if reason is None)
    runs = _runs(request, entry, binding, playable, told) if playable else ()
    return ClientCensus(
        id=binding.id,
        title=binding.title,
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
    told: Callable[[str], None],
) -> tuple[ScenarioConduct, ...]:
    seen: list[ScenarioConduct] = []

    def keep(trace: Trace) -> None:
        conduct = behaviour(trace)
        seen.append(conduct.model_copy(update={"scenario": _name(trace.header.scenario)}))

    def judged(run: RunReport) -> None:
        # Right after its trace, which is the last one.
        seen[-1] = with_verdict(seen[-1], run)
        told(run.scenario)

    suite = SuiteRequest(
        scenarios=scenarios,
        binding=binding,
        subject_spec=entry.id,
        model=request.model,
        seeds=1,
        jobs=request.jobs,
        sweep=False,
        # A census judges nobody: what each client did stands for itself.
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
