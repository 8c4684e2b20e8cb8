"""The course of extensions in a runtime: active before the first turn, gone after the last one.

extensions.walked   each goes through its phases in time; one that fails does not stop the others
resume.slots        each gets the state that it keeps with the session, before the first turn

In which order they go is what the model's ordering rules say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from faultclock.model.error_model import ErrorModel
from faultclock.model.session_script import ExtensionScript
from faultclock.model.trace import TraceEvent
from faultclock.oracle.attempts import Call
from faultclock.oracle.chain import chain_of, origin, typed
from faultclock.oracle.check import (
    Check,
    Verdicts,
    also,
    broken,
    held,
    otherwise,
)
from faultclock.oracle.extension_set import installed_in, set_faults
from faultclock.oracle.history import History
from faultclock.oracle.opening import first_request, opening_of, start_of
from faultclock.oracle.stored_state import stored_before
from faultclock.oracle.turn_facts import Life

__all__ = ["CHECKS"]

#: Extension and phase to the first event that shows that it was asked for it.
_Phases = Mapping[tuple[str, str], TraceEvent]
#: What was expected, what was observed, and the events that show it.
_Fault = tuple[str, str, tuple[int, ...]]


def _walked(history: History, model: ErrorModel) -> Verdicts:
    yield otherwise("no extension was initialised")
    requirements = also(model, "extensions.walked.phases")
    for life in history.lives:
        phases = _phases(history, life)
        if not phases:
            continue
        yield from _judge_start(history, model, life, phases)
        opening = opening_of(history, life.number)
        if opening is None or not opening.returned:
            continue
        for faults in _left_out(history, life, phases):
            yield held(*requirements)
            for expected, observed, events in faults:
                yield broken(
                    requirements,
                    expected=expected,
                    observed=observed,
                    events=(life.start.seq, *events),
                    hint="Start them in `start`, in their order, and dispose of each in `close`.",
                )


def _phases(history: History, life: Life) -> _Phases:
    found: dict[tuple[str, str], TraceEvent] = {}
    for event in history.of("extension.phase"):
        if event.life == life.number:
            key = (str(event.extension), str(event.phase))
            found.setdefault(key, event)
    return found


def _judge_start(history: History, model: ErrorModel, life: Life, phases: _Phases) -> Verdicts:
    """Judge that a session starts without an extension that failed."""
    failed = [event for event in phases.values() if not event.ok]
    start = start_of(history, life.number)
    if start is None or start.end is None or start.stop is not None or not failed:
        return
    if set_faults(history, model, start):
        return
    named = typed(origin(chain_of(start.end))) if start.raised else None
    if named is not None and named[0] != "ExtensionHost":
        # It was refused for what was found in the store.
        return
    requirements = also(model, "extensions.walked.failed")
    yield held(*requirements)
    if not start.raised:
        return
    who = f"{failed[0].extension} in {failed[0].phase}"
    said = "an untyped error" if named is None else "/".join(named)
    yield broken(
        requirements,
        call=start.id,
        expected=f"the session starts without the failed extension: {who}",
        observed=f"the start was refused with {said}",
        events=(failed[0].seq, start.end.seq),
        hint="Disable the extension, say so, and go on with the others.",
    )


def _left_out(history: History, life: Life, phases: _Phases) -> Iterator[Iterator[_Fault]]:
    request = first_request(history, life=life.number)
    closed = next(
        (
            call
            for call in history.calls
            if call.do == "close" and call.life == life.number and call.end is not None
        ),
        None,
    )
    for extension in _sound(history, life, phases):
        if request is not None:
            yield _not_started(extension, phases, request)
        if closed is not None and closed.stop is None:
            yield _not_let_go(extension, phases, closed)


def _sound(history: History, life: Life, phases: _Phases) -> Iterator[ExtensionScript]:
    """Yield the extensions that were begun with, and that nothing keeps from any phase."""
    installed = installed_in(history, life.number)
    broken = {name for (name, _), event in phases.items() if not event.ok}
    while True:
        more = {
            item.id
            for item in installed.values()
            if item.id not in broken and broken & {*item.depends_on}
        }
        if not more:
            break
        broken |= more
    for extension in installed.values():
        begun = (extension.id, "init") in phases
        if begun and extension.id not in broken and not extension.hangs_in:
            yield extension


def _not_started(
    extension: ExtensionScript, phases: _Phases, request: TraceEvent
) -> Iterator[_Fault]:
    active = phases.get((extension.id, "activate"))
    expected = f"{extension.id} is active before the model is asked"
    if active is None:
        yield expected, "it was never activated", (request.seq,)
    elif active.seq > request.seq:
        yield expected, "it became active later", (request.seq, active.seq)


def _not_let_go(extension: ExtensionScript, phases: _Phases, closed: Call) -> Iterator[_Fault]:
    if closed.end is None:
        return
    for phase in ("deactivate", "dispose"):
        event = phases.get((extension.id, phase))
        if event is None or event.seq > closed.end.seq:
            expected = f"{extension.id} goes through {phase} when the session is closed"
            yield expected, "it was closed without that", (closed.end.seq,)
            return


def _slots(history: History, model: ErrorModel) -> Verdicts:
    requirements = also(model, "resume.slots")
    yield otherwise("no extension had a stored slot to receive")
    delivered = list(history.of("extension.slot_delivered"))
    for life in history.lives:
        opening = opening_of(history, life.number)
        request = first_request(history, life=life.number)
        if not life.resumes or opening is None or not opening.returned or request is None:
            continue
        stored = stored_before(history, model, life).slots
        for extension in _sound(history, life, _phases(history, life)):
            version = _due(extension, stored)
            if version is None:
                continue
            yield held(*requirements)
            own = [
                event
                for event in delivered
                if event.extension == extension.id
                and event.life == life.number
                and event.seq < request.seq
            ]
            if own and own[0].version == version:
                continue
            yield broken(
                requirements,
                expected=f"{extension.id} gets its slot, version {version}, before the first"
                f" turn of life {life.number}",
                observed=f"it got version {own[0].version}" if own else "it got none",
                events=(life.start.seq, *(event.seq for event in own[:1]), request.seq),
                hint="Read the slots on resume, and deliver each to its owner.",
            )


def _due(extension: ExtensionScript, stored: Mapping[str, int | None]) -> int | None:
    """Return the version that is to be delivered, None where nothing is."""
    version = stored.get(extension.id)
    if version is None or extension.slot_version is None:
        return None
    if version == extension.slot_version or extension.on_drift == "warn":
        return version
    return extension.slot_version if extension.on_drift == "migrate" else None


CHECKS = (
    Check(
        id="extensions.walked",
        title="Extensions go through their phases",
        says="Each extension is active before the first turn and disposed of when the session is"
        " closed. One that fails does not stop the others.",
        run=_walked,
    ),
    Check(
        id="resume.slots",
        title="State of extensions comes back",
        says="On resume each extension gets the state that it keeps with the session.",
        run=_slots,
    ),
)
