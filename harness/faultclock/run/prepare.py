"""Binds a subject the way every run needs it: under the patches, and warmed.

The patches must be in place before the subject's modules are imported, because module-level
locks and `from time import monotonic` are bound then. Warming does once what each child would
do again: it imports what a first call imports lazily, and for a subject that allows it makes a
few calls, which fill the caches of its libraries.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from pydantic import BaseModel

from faultclock.errors import SubjectError
from faultclock.run.bind_scenario import bind_scenario
from faultclock.run.doctor.healthy import rehearsal
from faultclock.run.doctor.probe import probe
from faultclock.run.execute import simulate
from faultclock.run.folder import name_when_loading
from faultclock.run.notes.output import Spill
from faultclock.run.process.child import limit_children
from faultclock.run.process.hosting import Host, HostedSubject, LostError
from faultclock.run.process.integrity import Untouched
from faultclock.run.process.isolate import run_contained
from faultclock.run.services import services_of
from faultclock.run.variables import settle, silence
from faultclock.sim.host.sqlite_files import loading
from faultclock.sim.patches import install, install_late, starting
from faultclock.subjects.abilities import ALL_ABILITIES, false_claims
from faultclock.subjects.adopt import Adopted, adopt
from faultclock.subjects.binding import Binding

_OPENAI = "faultclock.subjects.clients.openai_sdk"
#: API to the library that asks it, and a client of ours with that library.
_WARMERS = {
    "openai-chat": ("openai", _OPENAI, "openai_async"),
    "openai-compatible": ("openai", _OPENAI, "openai_async"),
    "openai-responses": ("openai", _OPENAI, "openai_responses"),
    "openrouter": ("openai", _OPENAI, "openai_async"),
}
#: Roles of subjects with contracts, or with tools that have one.
_WITH_CONTRACTS = ("runtime", "tool", "extension")
#: Real seconds that a healthy run may take where no person says how long any run may take.
_LIMIT_S = 20.0
#: The part of that for a warm-up call. A subject that hangs on it is not warmed. An import takes
#: seconds on a loaded machine, and one that is cut short is made in the middle of a run, where it
#: has other events each time.
_WARM_SHARE = 2
_BY_ITSELF = "import it by itself first, with python -c"


def hosted(spec: str) -> Binding:
    """Do what `prepare` does, in a process of its own; see `hosted_target`.

    Raises:
        SubjectError: the subject cannot be loaded or bound.
    """
    return hosted_target(spec).binding


def hosted_target(
    spec: str,
    *,
    as_: str | None = None,
    dialect: str | None = None,
    host: Host | None = None,
    wall_limit_s: float | None = None,
    memory_limit_bytes: int | None = None,
) -> Adopted:
    """Do what `prepare_target` does, in a process of its own: no code of the subject runs here.

    Args:
        host: the process; None: one that begins now.
        wall_limit_s: real seconds that a run may take, if a person has said that.
        memory_limit_bytes: see `limit_children`.

    Raises:
        SubjectError: the subject cannot be loaded or bound, or changes Faultclock.
    """
    services_of(spec)
    host = host or Host()
    limit_s = _LIMIT_S if wall_limit_s is None else wall_limit_s
    try:
        subject = host.load(HostedSubject, _load, spec, as_, dialect, limit_s, memory_limit_bytes)
    except LostError as error:
        raise SubjectError(f"{spec}: {error}", hint=_BY_ITSELF) from None
    if subject.changed:
        raise SubjectError(
            f"{spec}: it replaces {subject.changed} when it is loaded",
            hint="a subject that changes Faultclock would be judged by itself",
        )
    return subject.adopted(host)


def _load(
    spec: str,
    as_: str | None,
    dialect: str | None,
    limit_s: float,
    memory_limit_bytes: int | None,
) -> tuple[Binding, HostedSubject]:
    """Load a subject in the process of a host."""
    limit_children(memory_limit_bytes)
    before = Untouched()
    adopted = prepare_target(spec, as_=as_, dialect=dialect, limit_s=limit_s)
    return adopted.binding, HostedSubject.of(adopted, before.changed())


def prepare(spec: str) -> Binding:
    """Install the patches, load the subject that `spec` names, and warm it; see `prepare_target`.

    Raises:
        SubjectError: the subject cannot be loaded or bound.
    """
    return prepare_target(spec).binding


def prepare_target(
    spec: str,
    *,
    as_: str | None = None,
    dialect: str | None = None,
    limit_s: float = _LIMIT_S,
) -> Adopted:
    """Install the patches, load what `spec` names, and warm it.

    Of code that names its own address, a run shows first which API it speaks.

    The environment of this process is settled before: a subject may read it when it is imported.

    Args:
        as_: what it is; see `adopt`.
        dialect: the API that it speaks.
        limit_s: real seconds that a run may take here; a warm-up call gets less.

    Raises:
        SubjectError: the subject cannot be loaded or bound, or declares that it never does
            something that it does.
        SourceError: its services file is wrong.
    """
    services = services_of(spec)
    settle(os.environ)
    silence()
    install()
    with loading(name_when_loading), starting():
        adopted = adopt(spec, as_=as_, dialect=dialect, services=services)
    binding = adopted.binding
    if binding.role in _WITH_CONTRACTS:
        # What checks a contract must not be imported in the middle of a run.
        importlib.import_module("jsonschema")
    warm_limit_s = limit_s / _WARM_SHARE
    warm(binding, warm_limit_s)
    if not binding.dialect_known:
        probed = probe(binding, limit_s)
        if probed.trace is None:
            # What hangs here hangs in every run, each time until the watchdog ends it.
            raise SubjectError(f"{adopted.spec}: {probed.why_not}", hint=probed.what_to_do)
        spoken = probed.binding
        if spoken.dialects != binding.dialects:
            # In another API other parts of its libraries are used.
            warm(spoken, warm_limit_s)
        binding = spoken
        _warm_libraries(binding)
    binding = _check_declared(binding, adopted.spec)
    # Every child would do it again otherwise: it looks at all names of all modules.
    install_late()
    # What is loaded by now stays: no collection has to look at it again.
    gc.freeze()
    return replace(adopted, binding=binding)


def _check_declared(binding: Binding, spec: str) -> Binding:
    """Return `binding` with what it declares that it never does, as far as a run confirms that.

    Where it does not work when nothing goes wrong, nothing is left out: the run that was asked for
    says what is wrong.

    Raises:
        SubjectError: a run shows otherwise, so failures would be left out with it.
    """
    if binding.abilities == ALL_ABILITIES:
        return binding
    # Imported here: what runs several lives of a subject prepares subjects itself.
    from faultclock.run.doctor.abilities import abilities_of

    probed = probe(binding)
    if not probed.healthy:
        return replace(binding, abilities=ALL_ABILITIES)
    if binding.own_tools is not None:
        # A row of a framework says what is usual, and its owner may have chosen otherwise.
        return replace(binding, abilities=replace(binding.abilities, streams=probed.streams))
    for said, seen in false_claims(binding.abilities, abilities_of(probed)):
        raise SubjectError(
            f"{spec}: it declares {said}, and {seen} when nothing goes wrong",
            hint=f"take {said} away: it would wrongly leave out scenarios",
        )
    return binding


def _warm_libraries(binding: Binding) -> None:
    """Fill the caches of the SDK that `binding` uses, by a client of our own.

    The person's client must stay as it is. The SDK builds its types at the first answer of each
    kind, and every child would do that again.
    """
    place = _WARMERS.get(binding.dialect)
    if place is None or place[0] not in sys.modules:
        return
    try:
        ours: Binding = getattr(importlib.import_module(place[1]), place[2])
    except (AttributeError, ImportError):
        # An older version of the library: the runs take longer.
        return
    simulate(bind_scenario(rehearsal(ours.role), ours), ours, 0)


def warm(binding: Binding, limit_s: float = _LIMIT_S) -> tuple[str, ...]:
    """Import here what a call imports lazily, and return the names of those modules.

    The calls themselves are made in a child, so that no client, loop or cache of theirs stays
    behind; only a subject that is bound with `inline` or `warm_in_place` makes them here too.
    """

    if binding.program is not None:
        return ()
    usual = bind_scenario(rehearsal(binding.role), binding)

    def made_by_a_call() -> tuple[list[str], set[str]]:
        before = set(sys.modules)
        simulate(usual, binding, 0)
        finished = {name for name, model in _deferred() if model.__pydantic_complete__}
        return sorted(set(sys.modules) - before), finished

    with Spill() as spill:
        # Importing may run a program, which a run may not.
        outcome = run_contained(
            made_by_a_call,
            wall_limit_s=limit_s,
            output=spill.descriptors,
            confined=False,
        )
    names, finished = outcome if isinstance(outcome, tuple) else ((), ())
    with starting():
        for name in names:
            # A module that only a run can import stays lazy.
            with suppress(Exception):
                importlib.import_module(name)
    for name, model in _deferred():
        if name in finished:
            model.model_rebuild(raise_errors=False)
    if isinstance(outcome, tuple) and (binding.inline or binding.warm_in_place):
        simulate(usual, binding, 0)
    return tuple(names)


def _deferred() -> Iterator[tuple[str, type[BaseModel]]]:
    """Yield the models that pydantic finishes at their first use, which is in every child.

    A library with hundreds of models defers that (`defer_build`), such as google-genai. So do we,
    and a run has its scenario already: it makes no value of ours that has to be checked.
    """
    found: list[type[BaseModel]] = [BaseModel]
    for model in found:
        found += model.__subclasses__()
        if model.model_config.get("defer_build") and not model.__module__.startswith("faultclock."):
            yield f"{model.__module__}.{model.__qualname__}", model
