"""The extensions of a runtime: loaded as a set, active before the first turn, gone at the end.

What is missing or in a circle is known before anything is initialised, so nothing of it may have
been touched. A failure of an extension in a phase of its own is in the audit trail, and does not
stop the others. In which order they go is what the model's ordering rules say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.error_model.role_rules import ExtensionRules
from faultclock.model.scenario.session_script import ExtensionScript
from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.check import Verdicts, also, check, otherwise, verdict
from faultclock.oracle.facts.history import History
from faultclock.oracle.facts.stored_state import (
    call_of,
    first_request,
    installed_in,
    opening_of,
    stored_before,
)
from faultclock.oracle.facts.turn_facts import Life
from faultclock.oracle.wire.attempts import Call
from faultclock.oracle.wire.chain import error_of

#: Extension and phase to the first event that shows that it was asked for it.
_Phases = Mapping[tuple[str, str], TraceEvent]
#: What was observed in place of what was expected, empty where it is so, and what shows it.
_Fault = tuple[str, tuple[int, ...]]


def set_faults(history: History, model: ErrorModel, start: Call) -> dict[str, str]:
    """Return each error that is right for the set of a start, with the reason in words."""
    rules, faults = model.extension_set, dict[str, str]()
    if rules is None:
        return faults
    installed = installed_in(history, start.life)
    if any(name in _needs(name, installed) for name in installed):
        faults[rules.cycle] = "extensions need each other in a circle"
    for extension in installed.values():
        for other in extension.conflicts_with:
            if other in installed:
                faults[rules.conflict] = f"{extension.id} conflicts with {other}"
        for other in extension.depends_on:
            if other not in installed:
                faults[rules.missing] = f"{extension.id} needs {other}, which is not there"
    return faults


def _needs(name: str, installed: Mapping[str, ExtensionScript]) -> set[str]:
    """Return what an extension depends on, over as many others as it takes."""
    found: set[str] = set()
    todo = [name]
    while todo:
        extension = installed.get(todo.pop())
        fresh = set() if extension is None else {*extension.depends_on} - found
        found |= fresh
        todo += fresh
    return found


@check(
    "extensions.resolved",
    title="Extensions that cannot be loaded together",
    says="A set of extensions that cannot be loaded stops the session with a typed error.",
    unjudged="no extension depends on, or conflicts with, another one",
    role="runtime",
)
def resolved(history: History, model: ErrorModel) -> Verdicts:
    """Judge each start of extensions that depend on each other."""
    if model.extension_set is None:
        yield otherwise("the error model says nothing of sets of extensions")
        return
    requirements = also(model, "extensions.resolved")
    for start in history.calls:
        installed = installed_in(history, start.life)
        related = any(item.depends_on or item.conflicts_with for item in installed.values())
        if start.do != "start" or start.end is None or start.stop is not None or not related:
            continue
        opening = opening_of(history, start.life) or start
        said = error_of(opening.end)
        if opening.life > 1 and said is not None and said.startswith("Session/"):
            # It was refused for its session: then no extension is looked at any more.
            continue
        faults = set_faults(history, model, start)
        observed, seqs = _fault(history, model, opening, faults)
        wanted = f"the start is refused with {' or '.join(faults)}: {'; '.join(faults.values())}"
        yield verdict(
            requirements,
            observed,
            call=start.id,
            expected=wanted if faults else "the session starts: the set can be loaded",
            events=(start.start.seq, *seqs, start.end.seq),
            hint="Resolve the whole set before the first extension is initialised.",
        )


def _fault(history: History, model: ErrorModel, opening: Call, faults: Mapping[str, str]) -> _Fault:
    rules = model.extension_set
    said = error_of(opening.end)
    if not faults:
        refused = rules is not None and said in (rules.cycle, rules.conflict, rules.missing)
        return f"it was refused: {said}" if refused else "", ()
    if not opening.raised:
        return "the session started", ()
    if said not in faults:
        return f"it was refused with {said or 'an untyped error'}", ()
    for event in history.of("extension.phase"):
        if event.life == opening.life and event.phase == "init":
            return "an extension had been initialised before", (event.seq,)
    return "", ()


# ---------------------------------------------------------------------- the course of a session


@check(
    "extensions.walked",
    title="Extensions go through their phases",
    says="Each extension is active before the first turn and disposed of when the session is"
    " closed. One that fails does not stop the others.",
    unjudged="no extension was initialised",
    role="runtime",
    section="extensions",
)
def walked(history: History, model: ErrorModel) -> Verdicts:
    """Judge each life in which extensions were begun with."""
    requirements = also(model, "extensions.walked.phases")
    for life in history.lives:
        phases = _phases(history, life)
        yield from _judge_start(history, model, life, phases)
        opening = opening_of(history, life.number)
        if model.extensions is None or opening is None or not opening.returned:
            continue
        for expected, (observed, seqs) in _course(history, model.extensions, life, phases):
            yield verdict(
                requirements,
                observed,
                expected=expected,
                events=(life.start.seq, *seqs),
                hint="Start them in `start`, in their order, and dispose of each in `close`.",
            )


def _phases(history: History, life: Life) -> _Phases:
    found: dict[tuple[str, str], TraceEvent] = {}
    for event in history.of("extension.phase"):
        if event.life == life.number:
            found.setdefault((str(event.extension), str(event.phase)), event)
    return found


def _judge_start(history: History, model: ErrorModel, life: Life, phases: _Phases) -> Verdicts:
    """Judge that a session starts without an extension that failed."""
    failed = next((event for event in phases.values() if not event.ok), None)
    start = call_of(history, "start", life.number)
    if start is None or start.end is None or start.stop is not None or failed is None:
        return
    said = error_of(start.end)
    is_its_own = said is None or said.startswith("ExtensionHost/")
    # Otherwise it was refused for its set, or for what was found in the store.
    if not set_faults(history, model, start) and is_its_own:
        who = f"{failed.extension} in {failed.phase}"
        refused = f"the start was refused with {said or 'an untyped error'}"
        yield verdict(
            also(model, "extensions.walked.failed"),
            refused if start.raised else "",
            call=start.id,
            expected=f"the session starts without the failed extension: {who}",
            events=(failed.seq, start.end.seq),
            hint="Disable the extension, say so, and go on with the others.",
        )


def _course(
    history: History, rules: ExtensionRules, life: Life, phases: _Phases
) -> Iterator[tuple[str, _Fault]]:
    """Yield what each sound extension has to go through, and what is wrong with it."""
    request = first_request(history, life=life.number)
    closed = call_of(history, "close", life.number)
    start = next((rule.phase for rule in rules.phases if rule.to == rules.active), "")
    for name in (extension.id for extension in _sound(history, life, phases)):
        if request is not None:
            begun = phases.get((name, start))
            fault: _Fault = ("", ())
            if begun is None:
                fault = "it was never activated", (request.seq,)
            elif begun.seq > request.seq:
                fault = "it became active later", (request.seq, begun.seq)
            yield f"{name} is active before the model is asked", fault
        if closed is not None and closed.end is not None and closed.stop is None:
            done = {what for what, event in phases.items() if event.seq <= closed.end.seq}
            left_out = [phase for phase in _way_out(rules) if (name, phase) not in done]
            fault = ("it was closed without that", (closed.end.seq,)) if left_out else ("", ())
            yield (
                f"{name} goes through {next(iter(left_out), '')} when the session is closed",
                fault,
            )


def _way_out(rules: ExtensionRules) -> Iterator[str]:
    """Yield the phases that lead from the active state to the end, as the model's table says."""
    state = rules.active
    for _ in rules.phases:
        way = (rule for rule in rules.phases if state in rule.accepted and rule.to != state)
        rule = next(way, None)
        if rule is None or state == rules.disposed:
            return
        yield rule.phase
        state = rule.to


def _sound(history: History, life: Life, phases: _Phases) -> Iterator[ExtensionScript]:
    """Yield the extensions that were begun with, and that nothing keeps from any phase."""
    installed = installed_in(history, life.number)
    failed = {name for (name, _), event in phases.items() if not event.ok}
    for extension in installed.values():
        begun = (extension.id, "init") in phases
        needed = {extension.id, *_needs(extension.id, installed)}
        if begun and not extension.hangs_in and not needed & failed:
            yield extension


@check(
    "resume.slots",
    title="State of extensions comes back",
    says="On resume each extension gets the state that it keeps with the session.",
    unjudged="no extension had a stored slot to receive",
    role="runtime",
)
def slots(history: History, model: ErrorModel) -> Verdicts:
    """Judge each slot that is due to an extension of a resumed session."""
    requirements = also(model, "resume.slots")
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
            own = [
                event
                for event in history.of("extension.slot_delivered")
                if (event.extension, event.life) == (extension.id, life.number)
                and event.seq < request.seq
            ][:1]
            got = f"it got version {own[0].version}" if own else "it got none"
            yield verdict(
                requirements,
                "" if own and own[0].version == version else got,
                expected=f"{extension.id} gets its slot, version {version}, before the first"
                f" turn of life {life.number}",
                events=(life.start.seq, *(event.seq for event in own), request.seq),
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
