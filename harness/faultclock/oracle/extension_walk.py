"""The walk of an extension under test through its life: which phase came when, and what was due.

The phases that were asked for are folded over the states of the model's `extensions`: a phase has
to work, or to be refused, or the document does not say. A phase during which the world failed may
fail, too; a phase that was cancelled is judged by that alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from faultclock.model.error_model import ErrorModel
from faultclock.model.role_rules import ExtensionRules
from faultclock.model.trace import TraceEvent
from faultclock.oracle.attempts import Call
from faultclock.oracle.check import Violation, also
from faultclock.oracle.history import History

__all__ = [
    "ACTS",
    "Step",
    "acts_of",
    "cancels_of",
    "outer_of",
    "requirement_of",
    "said",
    "violation",
    "walk",
]

#: What a subject does toward the network.
ACTS = ("net.resolving", "net.resolve", "net.connect", "net.sent")
Due = Literal["works", "refused", "bad_config", "may_fail", "cancelled", "open"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One phase that was asked for.

    Attributes:
        do: the phase.
        state: before it.
        due: what had to become of it; `open` where the document does not say.
        again: whether the call before it was the same phase, and the world made that one fail.
    """

    call: Call
    do: str
    state: str
    due: Due
    again: bool = False

    @property
    def pair(self) -> tuple[str | None, str | None]:
        """Class and code of what it raised."""
        outer = outer_of(self.call)
        return outer.get("class"), outer.get("code")

    @property
    def seen(self) -> tuple[int, ...]:
        """`seq` of its beginning and of its end."""
        end = self.call.end
        return (self.call.start.seq, *(() if end is None else (end.seq,)))


def outer_of(call: Call) -> Mapping[str, Any]:
    """Return the outermost error that a call raised; empty for none."""
    chain = () if call.end is None else call.end.chain or ()
    return chain[0] if chain else {}


def requirement_of(model: ErrorModel, check: str) -> str | None:
    """Return the requirement that the model gives a check."""
    return next(iter(also(model, check)), None)


def walk(history: History, rules: ExtensionRules | None) -> Iterator[Step]:
    """Yield the phases that were asked for, in order; those that never ended are left out."""
    if rules is None:
        return
    state = rules.initial
    cancelled = cancels_of(history)
    before: Step | None = None
    # After one wrong answer its state is not known: what follows from that is no further fault.
    lost = False
    for call in history.calls:
        rule = rules.phase(call.do)
        if rule is None or call.end is None:
            continue
        due: Due = "open"
        if call.id in cancelled:
            due = "cancelled"
        elif lost:
            due = "open"
        elif call.start.config_problem is not None:
            due = "bad_config" if state == rules.initial and rule.phase == "init" else "open"
        elif state in rule.refused:
            due = "refused"
        elif any(attempt.failed for attempt in call.attempts):
            due = "may_fail"
        elif state in rule.accepted:
            due = "works"
        failed_before = before is not None and before.due == "may_fail" and before.call.raised
        again = failed_before and before is not None and before.do == call.do
        before = Step(call=call, do=call.do, state=state, due=due, again=again)
        yield before
        lost = lost or (due == "works" and call.raised) or (due == "refused" and call.returned)
        if call.returned and due != "refused":
            state = rule.to


def cancels_of(history: History) -> dict[str, TraceEvent]:
    """Return the first cancel of each call that was cancelled."""
    found: dict[str, TraceEvent] = {}
    for event in history.of("cancel.requested"):
        for call in event.calls or ():
            found.setdefault(str(call), event)
    return found


def acts_of(history: History, call: str) -> tuple[int, ...]:
    """Return `seq` of what a call did toward the network."""
    return tuple(e.seq for e in history.of(*ACTS) if e.call == call)


def said(step: Step) -> str:
    """Return in words how a phase ended."""
    if step.call.returned:
        return "it worked"
    class_name, code = step.pair
    typed = f" ({class_name}/{code})" if class_name else ""
    return f"it raised {outer_of(step.call).get('type')}{typed}"


def violation(
    requirement: str | None,
    step: Step,
    expected: str,
    observed: str,
    *,
    events: tuple[int, ...] = (),
    hint: str = "",
) -> Violation:
    """Return a violation of one phase."""
    return Violation(
        requirement=requirement,
        call=step.call.id,
        expected=expected,
        observed=observed,
        events=(*events[:3], *step.seen),
        hint=hint,
    )
