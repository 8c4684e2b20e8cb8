"""Extensions: whether an extension under test keeps the rules of its life.

The phases that were asked for are folded over the states of the model's `extensions`: a phase has
to work, or to be refused, or the document does not say. A phase during which the world failed may
fail, too; a phase that was cancelled is judged by that alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from faultclock.model.duration import format_duration
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.error_model.role_rules import ExtensionRules, PhaseRule
from faultclock.model.trace.trace import TraceEvent, seqs
from faultclock.oracle.check import Verdicts, also, check, verdict
from faultclock.oracle.checks.roles.executions import cancels_of_calls, contract_of
from faultclock.oracle.facts.history import History, once
from faultclock.oracle.wire.attempts import Call
from faultclock.oracle.wire.chain import Link, outermost
from faultclock.oracle.wire.stops import NETWORK_ACTS

_check = partial(check, role="extension", section="extensions")
Due = Literal["works", "refused", "bad_config", "may_fail", "cancelled", "open"]


class Step(Struct, frozen=True, kw_only=True):
    """One phase that was asked for, and that ended.

    Attributes:
        end: of the call.
        state: before it.
        due: what had to become of it; `open` where the document does not say.
        again: whether the call before it was the same phase, and the world made that one fail.
        cancel: the first one that it got.
    """

    call: Call
    end: TraceEvent
    rules: ExtensionRules
    state: str
    due: Due
    again: bool = False
    cancel: TraceEvent | None = None

    @property
    def said(self) -> str:
        """How it ended, in words."""
        return "it worked" if self.call.returned else f"it raised {_named(outermost(self.end))}"

    @property
    def asked(self) -> tuple[str, bool]:
        """What had to become of it, in words, and whether that is so."""
        rules, do, worked = self.rules, self.call.do, self.call.returned
        if self.due == "refused":
            wanted = rules.refusal_class
            expected = f"{do} is refused while {self.state}, with {wanted or 'any error'}"
            return expected, not worked and not self.is_other(wanted)
        if self.due == "may_fail":
            wanted = rules.failure_class
            return f"{do} works, or fails with {wanted}", not self.is_other(wanted)
        if self.due == "bad_config":
            pair = rules.invalid_config
            error = outermost(self.end)
            named = f"{error.get('class')}/{error.get('code')}"
            is_other = pair is not None and error.get("class") is not None and named != pair
            expected = f"{pair or 'an error'} before it acts: {self.call.start.config_problem}"
            return expected, not worked and not is_other
        if self.state == rules.disposed:
            return f"{do} works again, and does nothing", worked
        state = f"{self.state}, which a phase that failed left as it was" if self.again else ""
        return f"{do} works while {state or self.state}", worked

    def is_other(self, class_name: str | None) -> bool:
        """Return whether it failed with another class than the one that is asked for.

        An error without a class is spoken of where errors have to be typed.
        """
        return class_name is not None and outermost(self.end).get("class") not in (None, class_name)


def _named(error: Link) -> str:
    pair = f" ({error.get('class')}/{error.get('code')})" if error.get("class") else ""
    return f"{error.get('type')}{pair}"


def is_bare_cancel(call: Call) -> bool:
    """Return whether nothing but the cancel itself left a call."""
    return str(outermost(call.end).get("type")).endswith("CancelledError")


@once
def walked(history: History, model: ErrorModel) -> tuple[Step, ...]:
    """Return the phases that were asked for, in order; those that never ended are left out."""
    rules = model.extensions
    assert rules is not None, "the checks are for models that speak of extensions"
    steps: list[Step] = []
    state, cancelled = rules.initial, cancels_of_calls(history)
    # After one wrong answer its state is not known: what follows from that is no further fault.
    is_lost, failed = False, ""
    for call in history.calls:
        rule = rules.phase(call.do)
        if rule is None or call.end is None:
            continue
        due: Due = "open" if is_lost else _due(rules, rule, state, call)
        due = "cancelled" if call.id in cancelled else due
        step = Step(call=call, end=call.end, rules=rules, state=state, due=due)
        steps.append(replace(step, again=call.do == failed, cancel=cancelled.get(call.id)))
        is_lost |= call.raised if due == "works" else call.returned and due == "refused"
        failed = call.do if due == "may_fail" and call.raised else ""
        if call.returned and due != "refused":
            state = rule.to
    return tuple(steps)


def _due(rules: ExtensionRules, rule: PhaseRule, state: str, call: Call) -> Due:
    if call.start.config_problem is not None:
        return "bad_config" if state == rules.initial and rule.phase == "init" else "open"
    if state in rule.refused:
        return "refused"
    if any(attempt.failed for attempt in call.attempts):
        return "may_fail"
    return "works" if state in rule.accepted else "open"


def _acts(history: History, call: Call, *, since_ns: int = 0) -> tuple[int, ...]:
    """Return `seq` of what a call did toward the network."""
    acts = history.of(*NETWORK_ACTS)
    return tuple(event.seq for event in acts if event.call == call.id and event.at_ns >= since_ns)


def _seen(call: Call, *events: int) -> tuple[int, ...]:
    """Return `seq` of the first events that show something, and of the bounds of their call."""
    return (*events[:3], *call.bounds)


def phases_ended(history: History, model: ErrorModel) -> Iterator[TraceEvent]:
    """Yield `phase.ended` for each phase that was asked for, with what was asked of it."""
    for step in () if model.extensions is None else walked(history, model):
        disposed = step.state == step.rules.disposed
        acts = _acts(history, step.call) if disposed or step.due == "bad_config" else ()
        asked, right = step.asked
        payload = {
            "call": step.call.id,
            "phase": step.call.do,
            "due": step.due,
            "again": step.again,
            "disposed": disposed,
            "asked": asked,
            "right": right,
            "acted": bool(acts),
            "said": f"{step.said}, and it acted" if acts else step.said,
            "shown_by": _seen(step.call, *acts),
        }
        yield TraceEvent(step.end.seq, step.end.at_ns, "oracle", "phase.ended", payload)


# ---------------------------------------------------------------------- what it does


@_check(
    "extension.capabilities",
    title="Declared capabilities",
    says="An active extension offers every capability that it declares.",
    unjudged="nothing was declared, or it was never active",
)
def capabilities(history: History, model: ErrorModel) -> Verdicts:
    """Judge each activation that worked."""
    requirements = also(model, "extension.capabilities")
    declared = contract_of(history).get("capabilities") or ()
    offers = {event.call: event for event in history.of("extension.capabilities")}
    for step in walked(history, model) if declared else ():
        # One that became active out of its order has another fault, and its own finding.
        if step.call.do != "activate" or not step.call.returned or step.due != "works":
            continue
        event = offers.get(step.call.id)
        offered = () if event is None else event.names
        lacks = any(name not in offered for name in declared)
        yield verdict(
            requirements,
            f"it offers {', '.join(offered) or 'nothing'}" if lacks else "",
            call=step.call.id,
            expected=f"once active it offers {', '.join(declared)}",
            events=_seen(step.call, *seqs(event)),
            hint="What it offers is read from its attribute `capabilities`.",
        )


@_check(
    "extension.quiet",
    title="Nothing after dispose",
    says="After dispose an extension does nothing, and none of its tasks is left running.",
    unjudged="it was never disposed of",
)
def quiet(history: History, model: ErrorModel) -> Verdicts:
    """Judge what came after the first dispose that worked."""
    disposed = (s for s in walked(history, model) if s.call.do == "dispose" and s.call.returned)
    done = next(disposed, None)
    if done is None:
        return
    since = done.end.seq
    # What a later call does is that call's own.
    later = {call.id for call in history.calls if call.start.seq > since}
    acts = [
        event
        for event in history.trace.events
        if event.seq > since
        and (event.kind in (*NETWORK_ACTS, "sleep") or event.kind.startswith("declared."))
        and event.call not in later
    ]
    first = [f"{event.kind} at {format_duration(event.at_ns)}" for event in acts[:1]]
    left = [part for event in history.of("extension.residue")[:1] for part in _left(event)]
    yield verdict(
        also(model, "extension.quiet"),
        ", ".join((*first, *left)),
        call=done.call.id,
        expected="nothing of it acts or runs after dispose",
        events=_seen(done.call, *(event.seq for event in acts)),
        hint="End its tasks, threads and timers, and wait until they have ended.",
    )


def _left(residue: TraceEvent) -> list[str]:
    found = (("task", residue.tasks or 0), ("thread", residue.threads or 0))
    return [f"{count} {name}{'s' if count > 1 else ''} left" for name, count in found if count]


@_check(
    "extension.slots",
    title="State of another version",
    says="A state slot of another version is migrated, reported with a warning, or rejected.",
    unjudged="no stored state was shown to it",
)
def slots(history: History, model: ErrorModel) -> Verdicts:
    """Judge each decision on a stored slot."""
    requirements = also(model, "extension.slots")
    for event in history.of("extension.slot_decided"):
        observed = ""
        if event.decision not in ("migrate", "warn", "reject"):
            observed = f"it decided {event.decision!r}"
        elif event.decision == "migrate" and event.migrated_to != event.current:
            observed = f"it migrated to version {event.migrated_to}"
        yield verdict(
            requirements,
            observed and f"{observed}, for a slot of version {event.stored}",
            call=event.call,
            expected=f"migrate to version {event.current}, warn or reject",
            events=(event.seq,),
        )


@_check(
    "extension.typed-errors",
    title="Typed errors of extensions",
    says="Each error that an extension raises has a class of the error model and a code.",
    unjudged="no call raised anything",
)
def typed_errors(history: History, model: ErrorModel) -> Verdicts:
    """Judge each error, also of calls that are no phases."""
    requirements = also(model, "extension.typed-errors")
    classes, cancelled = {item.id for item in model.classes}, cancels_of_calls(history)
    for call in history.calls:
        if not call.raised or (call.id in cancelled and is_bare_cancel(call)):
            continue
        error = outermost(call.end)
        is_typed = error.get("class") in classes and error.get("code")
        yield verdict(
            requirements,
            "" if is_typed else f"it raised {_named(error)}",
            call=call.id,
            expected="an error with a class of the error model and a code",
            events=_seen(call),
        )
