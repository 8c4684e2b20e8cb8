"""The extensions of a runtime: a set that cannot be loaded keeps the session shut, by name.

What is missing or in a circle is known before anything is initialised, so nothing of it may have
been touched. A failure of an extension in a phase of its own is in the audit trail.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from faultclock.model.error_model import ErrorModel
from faultclock.model.session_script import ExtensionScript
from faultclock.model.turn_rules import ExtensionSetRules, split
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
from faultclock.oracle.history import History
from faultclock.oracle.opening import opening_of

__all__ = ["CHECKS", "installed_in", "set_faults"]


def installed_in(history: History, life: int) -> dict[str, ExtensionScript]:
    """Return the extensions that are installed in a life, by name."""
    return {
        item.id: item for item in history.session.extensions if not item.lives or life in item.lives
    }


def set_faults(history: History, model: ErrorModel, start: Call) -> dict[str, str]:
    """Return each error that is right for the set of a start, with the reason in words."""
    rules = model.extension_set
    if rules is None:
        return {}
    return dict(_faults(installed_in(history, start.life), rules))


def _resolved(history: History, model: ErrorModel) -> Verdicts:
    yield otherwise("no extension depends on, or conflicts with, another one")
    rules = model.extension_set
    if rules is None:
        yield otherwise("the error model says nothing of sets of extensions")
        return
    for start in history.calls:
        installed = installed_in(history, start.life)
        related = any(item.depends_on or item.conflicts_with for item in installed.values())
        if start.do != "start" or start.end is None or start.stop is not None or not related:
            continue
        requirements = also(model, "extensions.resolved")
        opening = opening_of(history, start.life) or start
        if _not_resumable(opening):
            continue
        yield held(*requirements)
        fault = _fault(history, rules, opening, set_faults(history, model, start))
        if fault is not None:
            yield broken(
                requirements,
                call=start.id,
                expected=fault[0],
                observed=fault[1],
                events=(start.start.seq, *fault[2], start.end.seq),
                hint="Resolve the whole set before the first extension is initialised.",
            )


def _not_resumable(opening: Call) -> bool:
    """Whether a later life was refused for its session: then no extension is looked at any more."""
    if opening.life == 1 or not opening.raised or opening.end is None:
        return False
    named = typed(origin(chain_of(opening.end)))
    return named is not None and named[0] == "Session"


def _faults(
    installed: Mapping[str, ExtensionScript], rules: ExtensionSetRules
) -> Iterator[tuple[str, str]]:
    """Yield each error that is right, with the reason in words."""
    if any(_needs(name, name, installed) for name in installed):
        yield rules.cycle, "extensions need each other in a circle"
    for extension in installed.values():
        for other in extension.conflicts_with:
            if other in installed:
                yield rules.conflict, f"{extension.id} conflicts with {other}"
        for other in extension.depends_on:
            if other not in installed:
                yield rules.missing, f"{extension.id} needs {other}, which is not there"


def _needs(name: str, wanted: str, installed: Mapping[str, ExtensionScript]) -> bool:
    """Return whether `name` depends on `wanted`, over as many others as it takes."""
    seen: set[str] = set()
    todo = list(installed[name].depends_on)
    while todo:
        other = todo.pop()
        if other == wanted:
            return True
        if other in installed and other not in seen:
            seen.add(other)
            todo += installed[other].depends_on
    return False


def _fault(
    history: History, rules: ExtensionSetRules, start: Call, faults: Mapping[str, str]
) -> tuple[str, str, tuple[int, ...]] | None:
    named = None
    if start.raised and start.end is not None:
        named = typed(origin(chain_of(start.end)))
    said = "an untyped error" if named is None else "/".join(named)
    if not faults:
        if said in {rules.cycle, rules.conflict, rules.missing}:
            return "the session starts: the set can be loaded", f"it was refused: {said}", ()
        return None
    why = "; ".join(faults.values())
    expected = f"the start is refused with {' or '.join(faults)}: {why}"
    if not start.raised:
        return expected, "the session started", ()
    if said not in faults:
        return expected, f"it was refused with {said}", ()
    touched = [
        event.seq
        for event in history.of("extension.phase")
        if event.life == start.life and event.phase == "init"
    ]
    if touched:
        return expected, "an extension had been initialised before", tuple(touched[:1])
    return None


def _failure(history: History, model: ErrorModel) -> Verdicts:
    requirements = also(model, "extensions.failure")
    yield otherwise("no phase of an extension failed")
    rules = model.extension_set
    if rules is None or "audit" not in history.trace.header.subject.declares:
        yield otherwise("the subject's binding does not declare 'audit'")
        return
    for event in history.of("extension.phase"):
        if event.ok or event.payload.get("how", "failed") != "failed":
            continue
        life = next((item for item in history.lives if item.number == event.life), None)
        if life is None or (life.crash is not None and life.crash.at_ns == event.at_ns):
            continue
        yield held(*requirements)
        records = [
            record.record or {}
            for record in history.of("declared.audit")
            if record.seq > event.seq and record.at_ns <= event.at_ns + rules.within
        ]
        if any((item.get("class"), item.get("code")) == split(rules.failure) for item in records):
            continue
        said = ", ".join(f"{item.get('class')}/{item.get('code')}" for item in records)
        name = f"{event.extension} in {event.phase}"
        yield broken(
            requirements,
            call=None if event.call is None else str(event.call),
            expected=f"the audit trail has the failure of {name} as {rules.failure}",
            observed=f"it has {said}" if said else "it has no such record",
            events=(event.seq,),
            hint="Record each error that an extension raises, and go on with the session.",
        )


CHECKS = (
    Check(
        id="extensions.resolved",
        title="Extensions that cannot be loaded together",
        says="A set of extensions that cannot be loaded stops the session with a typed error.",
        run=_resolved,
    ),
    Check(
        id="extensions.failure",
        title="An extension that fails",
        says="A phase that fails is in the audit trail, under the name that the document gives.",
        run=_failure,
    ),
)
