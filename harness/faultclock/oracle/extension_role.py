"""Extensions: whether an extension under test keeps the rules of its life.

What was due of each phase is worked out by `extension_walk`; here each rule compares.
"""

from __future__ import annotations

from faultclock.model.duration import format_duration
from faultclock.model.trace import TraceEvent
from faultclock.oracle.check import Case, Check, Outcome, Violation
from faultclock.oracle.extension_walk import (
    ACTS,
    Step,
    acts_of,
    cancels_of,
    outer_of,
    requirement_of,
    rules_of,
    said,
    violation,
    walk,
)

__all__ = ["CHECKS"]

_DECISIONS = ("migrate", "warn", "reject")


def _accepted(case: Case) -> Outcome:
    outcome = Outcome(reason="no phase came in its order without a planned failure")
    rules = rules_of(case, outcome)
    requirement = requirement_of(case, "extension.order-accepted")
    for step in walk(case, rules):
        if rules is None or step.due != "works" or step.again or step.state == rules.disposed:
            continue
        outcome.looked_at(requirement)
        if not step.call.returned:
            expected = f"{step.do} works while {step.state}"
            outcome.violate(violation(requirement, step, expected, said(step)))
    return outcome


def _refused(case: Case) -> Outcome:
    outcome = Outcome(reason="no phase came out of its order")
    rules = rules_of(case, outcome)
    requirement = requirement_of(case, "extension.order-refused")
    for step in walk(case, rules):
        if rules is None or step.due != "refused":
            continue
        outcome.looked_at(requirement)
        # An error without a class is spoken of where errors have to be typed.
        if step.call.returned or _is_other(step, rules.refusal_class):
            named = "" if rules.refusal_class is None else f", with {rules.refusal_class}"
            expected = f"{step.do} is refused while {step.state}{named}"
            outcome.violate(
                violation(
                    requirement,
                    step,
                    expected,
                    said(step),
                    hint="Keep the state, and look at it first in each phase.",
                )
            )
    return outcome


def _is_other(step: Step, wanted: str | None) -> bool:
    """Return whether a phase failed with another class; without one, other checks say so."""
    return wanted is not None and step.pair[0] not in (None, wanted)


def _failed_phase(case: Case) -> Outcome:
    outcome = Outcome(reason="no phase met a planned failure")
    rules = rules_of(case, outcome)
    requirement = requirement_of(case, "extension.failed-phase")
    for step in walk(case, rules):
        if rules is None:
            continue
        if step.due == "may_fail":
            outcome.looked_at(requirement)
            if step.call.raised and _is_other(step, rules.failure_class):
                expected = f"{rules.failure_class}, or a phase that works without it"
                outcome.violate(violation(requirement, step, expected, said(step)))
        elif step.again and step.due == "works":
            outcome.looked_at(requirement)
            if not step.call.returned:
                expected = (
                    f"{step.do} works the second time: one that failed leaves the state "
                    f"{step.state}"
                )
                outcome.violate(violation(requirement, step, expected, said(step)))
    return outcome


def _dispose_twice(case: Case) -> Outcome:
    outcome = Outcome(reason="nothing was disposed of twice")
    rules = rules_of(case, outcome)
    requirement = requirement_of(case, "extension.dispose-twice")
    for step in walk(case, rules):
        if rules is None or step.due != "works" or step.state != rules.disposed:
            continue
        outcome.looked_at(requirement)
        acts = acts_of(case, step.call.id)
        if not step.call.returned or acts:
            observed = said(step) if not acts else "it acted again"
            outcome.violate(
                violation(requirement, step, "the second time does nothing", observed, events=acts)
            )
    return outcome


def _config(case: Case) -> Outcome:
    outcome = Outcome(reason="no configuration was wrong")
    rules = rules_of(case, outcome)
    requirement = requirement_of(case, "extension.config")
    for step in walk(case, rules):
        if rules is None or step.due != "bad_config":
            continue
        outcome.looked_at(requirement)
        acts = acts_of(case, step.call.id)
        observed = ""
        other = rules.invalid_config is not None and step.pair[0] is not None
        if step.call.returned or (other and "/".join(map(str, step.pair)) != rules.invalid_config):
            observed = said(step)
        elif acts:
            observed = "it had already acted when it was refused"
        if observed:
            problem = step.call.start.payload.get("config_problem")
            outcome.violate(
                violation(
                    requirement,
                    step,
                    f"{rules.invalid_config or 'an error'} before anything is done: {problem}",
                    observed,
                    events=acts,
                )
            )
    return outcome


def _typed_errors(case: Case) -> Outcome:
    outcome = Outcome(reason="no call raised anything")
    if rules_of(case, outcome) is None:
        return outcome
    requirement = requirement_of(case, "extension.typed-errors")
    classes = {item.id for item in case.model.classes}
    cancelled = cancels_of(case)
    for call in case.calls:
        if not call.raised:
            continue
        outer = outer_of(call)
        if call.id in cancelled and str(outer.get("type")).endswith("CancelledError"):
            continue
        outcome.looked_at(requirement)
        if outer.get("class") not in classes or not outer.get("code"):
            step = Step(call=call, do=call.do, state="", due="open")
            outcome.violate(
                violation(
                    requirement,
                    step,
                    "an error with a class of the error model and a code",
                    said(step),
                )
            )
    return outcome


def _capabilities(case: Case) -> Outcome:
    outcome = Outcome(reason="nothing was declared, or it was never active")
    rules = rules_of(case, outcome)
    requirement = requirement_of(case, "extension.capabilities")
    contract = next(iter(case.trace.of_kind("contract.declared")), None)
    declared = () if contract is None else contract.payload["contract"].get("capabilities") or ()
    told = {str(e.payload.get("call")): e for e in case.trace.of_kind("extension.capabilities")}
    for step in walk(case, rules) if declared else ():
        # One that became active out of its order has another fault, and its own finding.
        if step.do != "activate" or not step.call.returned or step.due != "works":
            continue
        outcome.looked_at(requirement)
        event = told.get(step.call.id)
        offered = () if event is None else event.payload.get("names") or ()
        if any(name not in offered for name in declared):
            outcome.violate(
                violation(
                    requirement,
                    step,
                    f"once active it offers {', '.join(declared)}",
                    f"it offers {', '.join(offered) or 'nothing'}",
                    events=() if event is None else (event.seq,),
                    hint="What it offers is read from its attribute `capabilities`.",
                )
            )
    return outcome


def _quiet(case: Case) -> Outcome:
    outcome = Outcome(reason="it was never disposed of")
    rules = rules_of(case, outcome)
    requirement = requirement_of(case, "extension.quiet")
    done = None
    for step in walk(case, rules):
        if done is None and step.do == "dispose" and step.call.returned:
            done = step
    if done is None or done.call.end is None:
        return outcome
    outcome.looked_at(requirement)
    since = done.call.end.seq
    # What a later call does is that call's own.
    later = {call.id for call in case.calls if call.start.seq > since}
    acts = [
        event
        for event in case.trace.events
        if event.seq > since
        and (event.kind in (*ACTS, "sleep") or event.kind.startswith("declared."))
        and event.payload.get("call") not in later
    ]
    residue = next(iter(case.trace.of_kind("extension.residue")), None)
    left = [] if residue is None else _left(residue)
    if acts or left:
        first = f"{acts[0].kind} at {format_duration(acts[0].at_ns)}" if acts else ""
        observed = ", ".join(part for part in (first, *left) if part)
        events = tuple(event.seq for event in acts[:3])
        outcome.violate(
            violation(
                requirement,
                done,
                "nothing of it acts or runs after dispose",
                observed,
                events=events,
                hint="End its tasks, threads and timers, and wait until they have ended.",
            )
        )
    return outcome


def _left(residue: TraceEvent) -> list[str]:
    names = {"tasks": "task", "threads": "thread"}
    found = ((name, int(residue.payload.get(key) or 0)) for key, name in names.items())
    return [f"{count} {name}{'s' if count > 1 else ''} left" for name, count in found if count]


def _slots(case: Case) -> Outcome:
    outcome = Outcome(reason="no stored state was shown to it")
    if rules_of(case, outcome) is None:
        return outcome
    requirement = requirement_of(case, "extension.slots")
    for event in case.trace.of_kind("extension.slot_decided"):
        outcome.looked_at(requirement)
        payload = event.payload
        current, decision = payload.get("current"), payload.get("decision")
        observed = ""
        if decision not in _DECISIONS:
            observed = f"it decided {decision!r}"
        elif decision == "migrate" and payload.get("migrated_to") != current:
            observed = f"it migrated to version {payload.get('migrated_to')}"
        if observed:
            outcome.violate(
                Violation(
                    requirement=requirement,
                    call=str(payload.get("call")),
                    expected=f"migrate to version {current}, warn or reject",
                    observed=f"{observed}, for a slot of version {payload.get('stored')}",
                    events=(event.seq,),
                )
            )
    return outcome


def _cancel(case: Case) -> Outcome:
    outcome = Outcome(reason="no phase was cancelled")
    rules = rules_of(case, outcome)
    requirement = requirement_of(case, "extension.cancel")
    cancels = cancels_of(case)
    for step in walk(case, rules):
        if rules is None or step.due != "cancelled" or step.call.end is None:
            continue
        outcome.looked_at(requirement)
        cancel = cancels[step.call.id]
        since_ns = cancel.at_ns + (rules.stops_within if rules.cancelled_class is None else 0)
        acts = tuple(
            event.seq
            for event in case.trace.of_kind(*ACTS)
            if event.payload.get("call") == step.call.id
            and event.seq > cancel.seq
            and event.at_ns >= since_ns
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
            outcome.violate(
                violation(
                    requirement,
                    step,
                    f"{rules.cancelled_class or 'an end'} within {within}, and nothing more is"
                    " sent",
                    observed,
                    events=(cancel.seq, *acts),
                )
            )
    return outcome


CHECKS: tuple[Check, ...] = (
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
        says="A state slot of another version is migrated, reported with a warning, or rejected.",
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
