"""Extensions: whether an extension under test keeps the rules of its life.

What was due of each phase is worked out by `extension_walk`; here each rule compares.
"""

from __future__ import annotations

from dataclasses import replace

from faultclock.model.duration import format_duration
from faultclock.model.error_model import ErrorModel
from faultclock.model.trace import TraceEvent
from faultclock.oracle.check import Check, Verdicts, broken, held, otherwise
from faultclock.oracle.extension_walk import (
    ACTS,
    Step,
    acts_of,
    cancels_of,
    outer_of,
    requirement_of,
    said,
    violation,
    walk,
)
from faultclock.oracle.history import History

__all__ = ["CHECKS"]

_DECISIONS = ("migrate", "warn", "reject")


def _accepted(history: History, model: ErrorModel) -> Verdicts:
    yield otherwise("no phase came in its order without a planned failure")
    rules = model.extensions
    requirement = requirement_of(model, "extension.order-accepted")
    for step in walk(history, rules):
        if rules is None or step.due != "works" or step.again or step.state == rules.disposed:
            continue
        yield held(requirement)
        if not step.call.returned:
            expected = f"{step.do} works while {step.state}"
            yield violation(requirement, step, expected, said(step))


def _refused(history: History, model: ErrorModel) -> Verdicts:
    yield otherwise("no phase came out of its order")
    rules = model.extensions
    requirement = requirement_of(model, "extension.order-refused")
    for step in walk(history, rules):
        if rules is None or step.due != "refused":
            continue
        yield held(requirement)
        # An error without a class is spoken of where errors have to be typed.
        if step.call.returned or _is_other(step, rules.refusal_class):
            named = "" if rules.refusal_class is None else f", with {rules.refusal_class}"
            expected = f"{step.do} is refused while {step.state}{named}"
            yield violation(
                requirement,
                step,
                expected,
                said(step),
                hint="Keep the state, and look at it first in each phase.",
            )


def _is_other(step: Step, wanted: str | None) -> bool:
    """Return whether a phase failed with another class; without one, other checks say so."""
    return wanted is not None and step.pair[0] not in (None, wanted)


def _failed_phase(history: History, model: ErrorModel) -> Verdicts:
    yield otherwise("no phase met a planned failure")
    rules = model.extensions
    requirement = requirement_of(model, "extension.failed-phase")
    for step in walk(history, rules):
        if rules is None:
            continue
        if step.due == "may_fail":
            yield held(requirement)
            if step.call.raised and _is_other(step, rules.failure_class):
                expected = f"{rules.failure_class}, or a phase that works without it"
                yield violation(requirement, step, expected, said(step))
        elif step.again and step.due == "works":
            yield held(requirement)
            if not step.call.returned:
                expected = (
                    f"{step.do} works the second time: one that failed leaves the state "
                    f"{step.state}"
                )
                yield violation(requirement, step, expected, said(step))


def _dispose_twice(history: History, model: ErrorModel) -> Verdicts:
    yield otherwise("nothing was disposed of twice")
    rules = model.extensions
    requirement = requirement_of(model, "extension.dispose-twice")
    for step in walk(history, rules):
        if rules is None or step.due != "works" or step.state != rules.disposed:
            continue
        yield held(requirement)
        acts = acts_of(history, step.call.id)
        if not step.call.returned or acts:
            observed = said(step) if not acts else "it acted again"
            yield violation(
                requirement, step, "the second time does nothing", observed, events=acts
            )


def _config(history: History, model: ErrorModel) -> Verdicts:
    yield otherwise("no configuration was wrong")
    rules = model.extensions
    requirement = requirement_of(model, "extension.config")
    for step in walk(history, rules):
        if rules is None or step.due != "bad_config":
            continue
        yield held(requirement)
        acts = acts_of(history, step.call.id)
        observed = ""
        other = rules.invalid_config is not None and step.pair[0] is not None
        if step.call.returned or (other and "/".join(map(str, step.pair)) != rules.invalid_config):
            observed = said(step)
        elif acts:
            observed = "it had already acted when it was refused"
        if observed:
            problem = step.call.start.config_problem
            yield violation(
                requirement,
                step,
                f"{rules.invalid_config or 'an error'} before anything is done: {problem}",
                observed,
                events=acts,
            )


def _typed_errors(history: History, model: ErrorModel) -> Verdicts:
    yield otherwise("no call raised anything")
    requirement = requirement_of(model, "extension.typed-errors")
    classes = {item.id for item in model.classes}
    cancelled = cancels_of(history)
    for call in history.calls:
        if not call.raised:
            continue
        outer = outer_of(call)
        if call.id in cancelled and str(outer.get("type")).endswith("CancelledError"):
            continue
        yield held(requirement)
        if outer.get("class") not in classes or not outer.get("code"):
            step = Step(call=call, do=call.do, state="", due="open")
            yield violation(
                requirement,
                step,
                "an error with a class of the error model and a code",
                said(step),
            )


def _capabilities(history: History, model: ErrorModel) -> Verdicts:
    yield otherwise("nothing was declared, or it was never active")
    rules = model.extensions
    requirement = requirement_of(model, "extension.capabilities")
    contract = next(iter(history.of("contract.declared")), None)
    declared = () if contract is None else contract.contract.get("capabilities") or ()
    told = {str(e.call): e for e in history.of("extension.capabilities")}
    for step in walk(history, rules) if declared else ():
        # One that became active out of its order has another fault, and its own finding.
        if step.do != "activate" or not step.call.returned or step.due != "works":
            continue
        yield held(requirement)
        event = told.get(step.call.id)
        offered = () if event is None else event.names or ()
        if any(name not in offered for name in declared):
            yield violation(
                requirement,
                step,
                f"once active it offers {', '.join(declared)}",
                f"it offers {', '.join(offered) or 'nothing'}",
                events=() if event is None else (event.seq,),
                hint="What it offers is read from its attribute `capabilities`.",
            )


def _quiet(history: History, model: ErrorModel) -> Verdicts:
    yield otherwise("it was never disposed of")
    rules = model.extensions
    requirement = requirement_of(model, "extension.quiet")
    done = None
    for step in walk(history, rules):
        if done is None and step.do == "dispose" and step.call.returned:
            done = step
    if done is None or done.call.end is None:
        return
    yield held(requirement)
    since = done.call.end.seq
    # What a later call does is that call's own.
    later = {call.id for call in history.calls if call.start.seq > since}
    acts = [
        event
        for event in history.trace.events
        if event.seq > since
        and (event.kind in (*ACTS, "sleep") or event.kind.startswith("declared."))
        and event.call not in later
    ]
    residue = next(iter(history.of("extension.residue")), None)
    left = [] if residue is None else _left(residue)
    if acts or left:
        first = f"{acts[0].kind} at {format_duration(acts[0].at_ns)}" if acts else ""
        observed = ", ".join(part for part in (first, *left) if part)
        events = tuple(event.seq for event in acts[:3])
        yield violation(
            requirement,
            done,
            "nothing of it acts or runs after dispose",
            observed,
            events=events,
            hint="End its tasks, threads and timers, and wait until they have ended.",
        )


def _left(residue: TraceEvent) -> list[str]:
    names = {"tasks": "task", "threads": "thread"}
    found = ((name, int(residue.payload.get(key) or 0)) for key, name in names.items())
    return [f"{count} {name}{'s' if count > 1 else ''} left" for name, count in found if count]


def _slots(history: History, model: ErrorModel) -> Verdicts:
    yield otherwise("no stored state was shown to it")
    requirement = requirement_of(model, "extension.slots")
    for event in history.of("extension.slot_decided"):
        yield held(requirement)
        payload = event.payload
        current, decision = payload.get("current"), payload.get("decision")
        observed = ""
        if decision not in _DECISIONS:
            observed = f"it decided {decision!r}"
        elif decision == "migrate" and payload.get("migrated_to") != current:
            observed = f"it migrated to version {payload.get('migrated_to')}"
        if observed:
            yield broken(
                (requirement,),
                call=str(payload.get("call")),
                expected=f"migrate to version {current}, warn or reject",
                observed=f"{observed}, for a slot of version {payload.get('stored')}",
                events=(event.seq,),
            )


def _cancel(history: History, model: ErrorModel) -> Verdicts:
    yield otherwise("no phase was cancelled")
    rules = model.extensions
    requirement = requirement_of(model, "extension.cancel")
    cancels = cancels_of(history)
    for step in walk(history, rules):
        if rules is None or step.due != "cancelled" or step.call.end is None:
            continue
        yield held(requirement)
        cancel = cancels[step.call.id]
        since_ns = cancel.at_ns + (rules.stops_within if rules.cancelled_class is None else 0)
        acts = tuple(
            event.seq
            for event in history.of(*ACTS)
            if event.call == step.call.id and event.seq > cancel.seq and event.at_ns >= since_ns
        )
        took_ns = step.call.end.at_ns - cancel.at_ns
        bare = str(outer_of(step.call).get("type")).endswith("CancelledError")
        observed = ""
        if acts:
            observed = "it acted after the cancel"
        elif took_ns > rules.stops_within:
            observed = f"it went on for {format_duration(took_ns)}"
        elif rules.cancelled_class is not None and (
            step.call.returned or (not bare and _is_other(step, rules.cancelled_class))
        ):
            observed = said(step)
        if observed:
            within = format_duration(rules.stops_within)
            yield violation(
                requirement,
                step,
                f"{rules.cancelled_class or 'an end'} within {within}, and nothing more is sent",
                observed,
                events=(cancel.seq, *acts),
            )


CHECKS: tuple[Check, ...] = tuple(
    replace(check, role="extension", section="extensions")
    for check in (
        Check(
            id="extension.order-accepted",
            title="The order of the phases",
            says="Each phase works when the phases come in their order.",
            run=_accepted,
        ),
        Check(
            id="extension.order-refused",
            title="Another order is refused",
            says="A phase out of order is refused with a typed error of the host.",
            run=_refused,
        ),
        Check(
            id="extension.failed-phase",
            title="A phase that fails",
            says="A phase that fails raises the host's error, and can be called again.",
            run=_failed_phase,
        ),
        Check(
            id="extension.dispose-twice",
            title="dispose can be called twice",
            says="A second dispose does nothing, and raises no error.",
            run=_dispose_twice,
        ),
        Check(
            id="extension.config",
            title="A wrong configuration",
            says="An extension refuses a configuration that its schema refuses, before it acts.",
            run=_config,
        ),
        Check(
            id="extension.capabilities",
            title="Declared capabilities",
            says="An active extension offers every capability that it declares.",
            run=_capabilities,
        ),
        Check(
            id="extension.quiet",
            title="Nothing after dispose",
            says="After dispose an extension does nothing, and none of its tasks is left running.",
            run=_quiet,
        ),
        Check(
            id="extension.slots",
            title="State of another version",
            says="A state slot of another version is migrated, reported with a warning, or"
            " rejected.",
            run=_slots,
        ),
        Check(
            id="extension.cancel",
            title="A cancelled phase",
            says="A phase that is cancelled ends promptly, as cancelled, and sends nothing more.",
            run=_cancel,
        ),
        Check(
            id="extension.typed-errors",
            title="Typed errors of extensions",
            says="Each error that an extension raises has a class of the error model and a code.",
            run=_typed_errors,
        ),
    )
)
