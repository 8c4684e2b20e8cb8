"""What a source document asks of a tool and of an extension, where signals do not say it.

Pairs are written `Class/Code`. Which sentence each stands on is in the model's `rules`, by the id
of the check that judges it.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from faultclock.model._base import Value
from faultclock.model.duration import SECOND_NS, DurationNs

Phase = Literal["init", "activate", "deactivate", "dispose"]
_PAIR = r"^[A-Za-z0-9]+/[A-Za-z0-9]+$"


class ToolRules(Value):
    """What a tool replies where no signal of its service says it.

    Without a pair any error is right.
    """

    classes: tuple[str, ...] = ()
    """The classes that a failure of a tool, or of one item, may have; empty: any."""
    invalid_input: str | None = Field(default=None, pattern=_PAIR)
    """Of arguments that do not fit the tool's input schema."""
    malformed_output: str | None = Field(default=None, pattern=_PAIR)
    """Of a value that does not fit its output schema."""
    deadline: str | None = Field(default=None, pattern=_PAIR)
    """Of an execution that took as long as it may."""
    cancelled: str | None = Field(default=None, pattern=_PAIR)
    """Of an execution that got a cancel; without it, a value in time is right as well."""
    stops_within: DurationNs = SECOND_NS
    """How long after a cancel it may still run; blocking code has to look now and then."""


class PhaseRule(Value):
    """From which states a phase has to work, and from which it has to be refused.

    A state in neither list is one of which the document says nothing: it is not judged.
    """

    phase: Phase
    accepted: tuple[str, ...]
    refused: tuple[str, ...] = ()
    to: str
    """The state after it worked; one that fails leaves the state as it was."""

    @model_validator(mode="after")
    def _decided(self) -> PhaseRule:
        if both := set(self.accepted) & set(self.refused):
            raise ValueError(f"{self.phase}: {sorted(both)[0]!r} is both accepted and refused")
        return self


class ExtensionRules(Value):
    """The life of an extension."""

    initial: str
    """The state before the first phase."""
    disposed: str
    """The state after which nothing of it may act."""
    active: str
    """The state in which it offers what it declares."""
    phases: tuple[PhaseRule, ...] = Field(min_length=1)
    invalid_config: str | None = Field(default=None, pattern=_PAIR)
    """Of a configuration that does not fit its schema; None: any error is right."""
    refusal_class: str | None = None
    """Of a phase that comes at the wrong time; None: any error is right."""
    failure_class: str | None = None
    """Of a phase that cannot do its work; None: any error is right."""
    cancelled_class: str | None = None
    """Of a phase that got a cancel; None: any end in time is right."""
    stops_within: DurationNs = SECOND_NS

    @model_validator(mode="after")
    def _states_exist(self) -> ExtensionRules:
        known = {self.initial, *(rule.to for rule in self.phases)}
        named = {self.disposed, self.active}
        for rule in self.phases:
            named |= {*rule.accepted, *rule.refused}
        if unknown := named - known:
            raise ValueError(f"no phase leads to the state {sorted(unknown)[0]!r}")
        return self

    def phase(self, name: str) -> PhaseRule | None:
        """Return the rule of a phase, None if there is none."""
        return next((rule for rule in self.phases if rule.phase == name), None)
