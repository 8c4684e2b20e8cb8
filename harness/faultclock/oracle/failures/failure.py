"""Failures: all that failed in a run, as the world saw it, and what the error model says of it.

One way for all of them: facts of the world make a Failure (kind, cause, target), the model's
`signals` say its class, code and disposition, and its policies whether it is done again. What a
subject declares is never read here. Which checks follow from that, the modules `failure_*` say.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from faultclock.model.error_model.error_model import (
    Disposition,
    ErrorModel,
    FailureKind,
    SignalKind,
)
from faultclock.model.error_model.failure_rules import (
    Consequence,
    KeptRule,
    TellingRule,
    Where,
    covers,
)
from faultclock.model.scenario.workflow_script import NodeScript
from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.check import class_requirement
from faultclock.oracle.facts.history import History
from faultclock.oracle.retries.predict import Ruling
from faultclock.oracle.wire.signals import Classification, Signal

Layer = Literal[
    "tool",
    "node",
    "queue",
    "program",
    "command",
    "hook",
    "store",
    "telemetry",
    "request",
    "run",
]
Setting = str | bool | int


class Failure(Struct, frozen=True, kw_only=True):
    """One failure.

    Attributes:
        cause: which sort of its kind, such as the code that a tool gave; None for none.
        at_ns, seq: when it could be known, and the fact after which everything came later.
        events: `seq` of the facts that show it.
        target: the id of what failed, such as that of the tool call, the node or the request.
        names: what else the target may be called.
        acts: the subject's acts at the target within the call, in order.
        node: in whose execution it happened; None outside of a workflow.
        tool, tool_call: of a failed tool call.
        message: the text that the failing part gave; empty for none.
        wire: of a failed attempt at the model.
        number: 1-based attempt at the target within the call.
        classification: None where no rule of the model is about it.
        ruling: the policy by which it is done again; None where none is.
        redone_by: the act that did it again; None: nothing did, so it is what is left in the end.
        retries: how often it had been done again before.
        tries: failures of its series that count against the same policy, this one included.
    """

    kind: SignalKind | FailureKind
    cause: str | None = None
    call: str
    at_ns: int
    seq: int
    events: tuple[int, ...]
    layer: Layer
    target: str
    names: tuple[str, ...] = ()
    acts: tuple[TraceEvent, ...] = ()
    node: NodeScript | None = None
    tool: str | None = None
    tool_call: str | None = None
    message: str = ""
    wire: Signal | None = None
    number: int = 1
    classification: Classification | None = None
    ruling: Ruling | None = None
    redone_by: TraceEvent | None = None
    retries: int = 0
    tries: int = 1

    @property
    def role(self) -> str:
        """The role of its node; empty for none."""
        return "" if self.node is None else self.node.role

    @property
    def pair(self) -> tuple[str, str] | None:
        """Class and code; None where the model has none."""
        return None if self.classification is None else self.classification.pair

    @property
    def disposition(self) -> Disposition | None:
        """What the model says is to be done about it; None where it says nothing."""
        return None if self.classification is None else self.classification.disposition

    def __str__(self) -> str:
        what = self.kind.replace("_", " ")
        cause = f" ({self.cause})" if self.cause else ""
        return f"{what}{cause} of {self.layer} {self.target!r}"


def failure_of(
    kind: FailureKind,
    layer: Layer,
    id_: str,
    begun: TraceEvent,
    shown: TraceEvent,
    *,
    cause: str | None = None,
    names: tuple[str, ...] = (),
    acts: tuple[TraceEvent, ...] = (),
    node: NodeScript | None = None,
    message: str = "",
) -> Failure:
    """Return the failure of what began with one event and was shown to fail by another."""
    return Failure(
        kind=kind,
        cause=cause,
        call=str(begun.call),
        at_ns=shown.at_ns,
        seq=shown.seq,
        events=tuple(dict.fromkeys((begun.seq, shown.seq))),
        layer=layer,
        target=id_,
        names=names,
        acts=acts,
        node=node,
        message=message,
    )


# ---------------------------------------------------------------------- what the model says


def disposition_of(model: ErrorModel, pair: tuple[str, str]) -> Disposition | None:
    """Return what `model` says is to be done about a class and code; None for an unknown one."""
    found = next((item for item in model.classes if item.id == pair[0]), None)
    return None if found is None else found.dispositions.get(pair[1], found.disposition)


def requirements_of(model: ErrorModel, failure: Failure) -> tuple[str, ...]:
    """Return what says of which class a failure is: the rule that matched, and the class's own."""
    seen = failure.classification
    if seen is None:
        return ()
    own = None if seen.pair is None else class_requirement(model, seen.pair[0])
    return tuple(dict.fromkeys(item for item in (seen.requirement, own) if item is not None))


def is_about(
    history: History, rule: Consequence | TellingRule | KeptRule, failure: Failure
) -> bool:
    """Return whether a rule covers a failure, and its settings hold."""
    return covers(rule.applies_to, failure.pair) and setting_holds(
        history, failure.node, failure.tool, rule.where
    )


def consequence_of(history: History, model: ErrorModel, failure: Failure) -> Consequence | None:
    """Return the first consequence that is about a failure; None for none."""
    return next((rule for rule in model.consequences if is_about(history, rule, failure)), None)


def setting_holds(
    history: History, node: NodeScript | None, tool: str | None, where: Where
) -> bool:
    """Return whether every setting has the value, or one of the values, that `where` asks for."""
    for name, wanted in where.items():
        value = _setting(history, node, tool, name)
        if value not in wanted if isinstance(wanted, tuple) else value != wanted:
            return False
    return True


def _setting(history: History, node: NodeScript | None, tool: str | None, name: str) -> Setting:
    """Return a setting: of the session, of the failure's node, or of its tool.

    A policy or a join that the scenario does not set is empty. What has no node counts as one
    without a role, what is no tool as one that is idempotent, required and no agent.
    """
    group, _, key = name.rpartition(".")
    if group == "policies":
        return {str(item): value for item, value in history.session.policies.items()}.get(key, "")
    if group == "node":
        plain: dict[str, Setting] = {"role": "", "do": "", "idempotent": True, "strict": True}
        return plain[key] if node is None else getattr(node, key)
    if group == "tool":
        usual: dict[str, Setting] = {"idempotent": True, "required": True, "agent": False}
        script = history.tool_scripts.get(tool or "")
        return usual[key] if script is None else getattr(script, key)
    scenario = history.trace.header.scenario
    of_the_run: dict[str, Setting] = {
        "chain": bool(scenario.world.fallbacks),
        "workflow": scenario.world.workflow is not None,
        "headless": history.session.headless,
        "mode": history.session.mode,
        "join": history.session.join,
    }
    return of_the_run[name]
