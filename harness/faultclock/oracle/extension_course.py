"""The course of extensions in a runtime: active before the first turn, gone after the last one.

extensions.walked   each goes through its phases in time; one that fails does not stop the others
resume.slots        each gets the state that it keeps with the session, before the first turn

In which order they go is what the model's ordering rules say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from faultclock.model.session_script import ExtensionScript
from faultclock.model.trace import TraceEvent
from faultclock.oracle.attempts import Call
from faultclock.oracle.chain import chain_of, origin, typed
from faultclock.oracle.check import Case, Check, Outcome, Violation, also
from faultclock.oracle.extension_set import installed_in, set_faults
from faultclock.oracle.opening import first_request, opening_of, start_of
from faultclock.oracle.stored_state import stored_before
from faultclock.oracle.turn_facts import Life

__all__ = ["CHECKS"]

#: Extension and phase to the first event that shows that it was asked for it.
_Phases = Mapping[tuple[str, str], TraceEvent]
#: What was expected, what was observed, and the events that show it.
_Fault = tuple[str, str, tuple[int, ...]]


def _walked(case: Case) -> Outcome:
    outcome = Outcome(reason="no extension was initialised")
    requirements = also(case.model, "extensions.walked.phases")
    for life in case.lives:
        phases = _phases(case, life)
        if not phases:
            continue
        _judge_start(case, life, phases, outcome)
        opening = opening_of(case, life.number)
        if opening is None or not opening.returned:
            continue
        for expected, observed, events in _left_out(case, life, phases, outcome, requirements):
            outcome.violate(
                Violation(
                    requirement=next(iter(requirements), None),
                    expected=expected,
                    observed=observed,
                    events=(life.start.seq, *events),
                    hint="Start them in `start`, in their order, and dispose of each in `close`.",
                ),
                *requirements,
            )
    return outcome


def _phases(case: Case, life: Life) -> _Phases:
    found: dict[tuple[str, str], TraceEvent] = {}
    for event in case.trace.of_kind("extension.phase"):
        if int(event.payload.get("life", 1)) == life.number:
            key = (str(event.payload.get("extension")), str(event.payload.get("phase")))
            found.setdefault(key, event)
    return found


def _judge_start(case: Case, life: Life, phases: _Phases, outcome: Outcome) -> None:
    """Judge that a session starts without an extension that failed."""
    failed = [event for event in phases.values() if not event.payload.get("ok")]
    start = start_of(case, life.number)
    if start is None or start.end is None or start.stop is not None or not failed:
        return
    if set_faults(case, start):
        return
    named = typed(origin(chain_of(start.end))) if start.raised else None
    if named is not None and named[0] != "ExtensionHost":
        # It was refused for what was found in the store.
        return
    requirements = also(case.model, "extensions.walked.failed")
    outcome.looked_at(*requirements)
    if not start.raised:
        return
    who = f"{failed[0].payload.get('extension')} in {failed[0].payload.get('phase')}"
    said = "an untyped error" if named is None else "/".join(named)
    outcome.violate(
        Violation(
            requirement=next(iter(requirements), None),
            call=start.id,
            expected=f"the session starts without the failed extension: {who}",
            observed=f"the start was refused with {said}",
            events=(failed[0].seq, start.end.seq),
            hint="Disable the extension, say so, and go on with the others.",
        ),
        *requirements,
    )


def _left_out(
    case: Case, life: Life, phases: _Phases, outcome: Outcome, requirements: tuple[str, ...]
) -> Iterator[_Fault]:
    request = first_request(case, life=life.number)
    closed = next(
        (
            call
            for call in case.calls
            if call.do == "close" and call.life == life.number and call.end is not None
        ),
        None,
    )
    for extension in _sound(case, life, phases):
        if request is not None:
            outcome.looked_at(*requirements)
            yield from _not_started(extension, phases, request)
        if closed is not None and closed.stop is None:
            outcome.looked_at(*requirements)
            yield from _not_let_go(extension, phases, closed)


def _sound(case: Case, life: Life, phases: _Phases) -> Iterator[ExtensionScript]:
    """Yield the extensions that were begun with, and that nothing keeps from any phase."""
    installed = installed_in(case, life.number)
    broken = {name for (name, _), event in phases.items() if not event.payload.get("ok")}
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


def _slots(case: Case) -> Outcome:
    requirements = also(case.model, "resume.slots")
    outcome = Outcome(reason="no extension had a stored slot to receive")
    delivered = list(case.trace.of_kind("extension.slot_delivered"))
    for life in case.lives:
        opening = opening_of(case, life.number)
        request = first_request(case, life=life.number)
        if not life.resumes or opening is None or not opening.returned or request is None:
            continue
        stored = stored_before(case, life).slots
        for extension in _sound(case, life, _phases(case, life)):
            version = _due(extension, stored)
            if version is None:
                continue
            outcome.looked_at(*requirements)
            own = [
                event
                for event in delivered
                if event.payload.get("extension") == extension.id
                and int(event.payload.get("life", 1)) == life.number
                and event.seq < request.seq
            ]
            if own and own[0].payload.get("version") == version:
                continue
            outcome.violate(
                Violation(
                    requirement=next(iter(requirements), None),
                    expected=f"{extension.id} gets its slot, version {version}, before the first"
                    f" turn of life {life.number}",
                    observed=f"it got version {own[0].payload.get('version')}"
                    if own
                    else "it got none",
                    events=(life.start.seq, *(event.seq for event in own[:1]), request.seq),
                    hint="Read the slots on resume, and deliver each to its owner.",
                ),
                *requirements,
            )
    return outcome


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
