"""How a turn ended: in which state, and with which class and code. Judges nothing.

A runtime says it with a RunResult, or raises an error. An error is a failed run, or a cancelled
one where its class and code are those that the model has for a cancel.
"""

from __future__ import annotations

from typing import get_args

from msgspec import Struct

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.error_model.failure_rules import RunState
from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.facts.history import History
from faultclock.oracle.wire.attempts import Call
from faultclock.oracle.wire.chain import error_of


class RunEnd(Struct, frozen=True, kw_only=True):
    """The end of a turn.

    Attributes:
        pair: `Class/Code` that it carries; None for none.
    """

    event: TraceEvent
    state: RunState
    pair: str | None

    def __str__(self) -> str:
        carried = "" if self.pair is None else f" with {self.pair}"
        return f"it ended {self.state}{carried}"


def end_of(model: ErrorModel, call: Call) -> RunEnd | None:
    """Return how `call` ended; None when it did not."""
    event = call.end
    if event is None:
        return None
    if event.kind == "call.raised":
        pair = error_of(event)
        cancelled = pair is not None and pair in _of_cancels(model)
        return RunEnd(event=event, state="cancelled" if cancelled else "failed", pair=pair)
    if event.result is None:
        return RunEnd(event=event, state="completed", pair=None)
    result, states = event.result, get_args(RunState)
    # A state that no document has is a failed run.
    state: RunState = next((item for item in states if item == result.get("state")), "failed")
    class_name, code = result.get("class"), result.get("code")
    pair = None if class_name is None or code is None else f"{class_name}/{code}"
    return RunEnd(event=event, state=state, pair=pair)


def told_pairs(history: History, model: ErrorModel, call: Call) -> frozenset[str]:
    """Return each `Class/Code` that the subject named in `call`: at its end, or for the audit."""
    end = end_of(model, call)
    audited = {
        f"{event.record.get('class')}/{event.record.get('code')}"
        for event in history.of("declared.audit")
        if event.call == call.id
    }
    return frozenset(audited if end is None or end.pair is None else audited | {end.pair})


def _of_cancels(model: ErrorModel) -> frozenset[str]:
    rules = model.cancellation
    pairs = set() if rules is None else {rules.session, rules.turn, rules.stage, rules.tool}
    for rule in model.signals:
        if "cancelled" in rule.when.kinds and rule.error_class is not None:
            pairs.add(f"{rule.error_class}/{rule.code}")
    return frozenset(pair for pair in pairs if pair is not None)
