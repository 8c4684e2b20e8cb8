"""Failures: all that failed in a run, as the world saw it, and what the error model says of it.

One way for all of them: facts of the world make a Failure (kind, cause, target), the model's
`signals` say its class, code and disposition, and its policies whether it is done again. What a
subject declares is never read here. Which checks follow from that, the modules `failure_*` say.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from faultclock.model.error_model import (
    Disposition,
    ErrorModel,
    FailureKind,
    SignalKind,
)
from faultclock.model.trace import TraceEvent
from faultclock.model.workflow_script import NodeScript
from faultclock.oracle.predict import Ruling
from faultclock.oracle.signals import Classification, Signal

__all__ = ["Failure", "Layer", "Target", "disposition_of", "speaks_of_failures"]

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
#: Layers of a policy whose retries begin the whole node anew.
_NODE_LAYERS = ("node", "stage")
_WIRE_KINDS = frozenset(SignalKind.__args__)  # type: ignore[attr-defined]  # a Literal has them


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What failed.

    Attributes:
        id: of the tool call, the node, the pushed item, the hook, the request and so on.
    """

    layer: Layer
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One failure.

    Attributes:
        cause: which sort of its kind, such as the code that a tool gave; None for none.
        at_ns, seq: when it could be known, and the fact after which everything came later.
        events: `seq` of the facts that show it.
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
    target: Target
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
        return f"{what}{cause} of {self.target.layer} {self.target.id!r}"


def speaks_of_failures(model: ErrorModel) -> bool:
    """Return whether `model` says anything of failures beside those of single requests."""
    if model.consequences or model.telling or model.kept:
        return True
    return any(kind not in _WIRE_KINDS for rule in model.signals for kind in rule.when.kinds)


def disposition_of(model: ErrorModel, pair: tuple[str, str]) -> Disposition | None:
    """Return what `model` says is to be done about a class and code; None for an unknown one."""
    found = next((item for item in model.classes if item.id == pair[0]), None)
    return None if found is None else found.dispositions.get(pair[1], found.disposition)
