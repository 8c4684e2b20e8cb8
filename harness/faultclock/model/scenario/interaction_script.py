"""InteractorScript: a fake person behind a user interface, who answers what the runtime asks."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from faultclock.model._base import Value
from faultclock.model.duration import SECOND_NS, DurationNs
from faultclock.model.scenario.rule import EVERY, RangeField, TriggeredRule, When

InteractionKind = Literal["Approve", "Ask", "Select", "Confirm", "Auth.DeviceCode", "Auth.Password"]


class InteractionTrigger(When):
    """Which requests a rule is for. Every condition that is given must hold."""

    requests: RangeField = EVERY
    """1-based, over all requests that this interactor was shown: `2`, `1-3`, `3+` or `every`."""
    kind: InteractionKind | None = None
    tool: str | None = None
    """Only requests about a call of this tool."""


class _Timed(Value):
    after: DurationNs = 2 * SECOND_NS
    """How long after the request was shown."""
    times: int = Field(default=1, ge=1, le=5)
    """How often the same answer is given."""
    again_after: DurationNs = SECOND_NS
    """Time between the repetitions."""
    even_if_dismissed: bool = False
    """Whether the answer still comes when the request was dismissed meanwhile (a late click)."""


class Approve(_Timed):
    """Yes: an Approve or Confirm is accepted."""

    kind: Literal["approve"]


class Deny(_Timed):
    """No."""

    kind: Literal["deny"]
    reason: str = "the user said no"


class Dismiss(_Timed):
    """The dialog is closed without an answer: the user cancels the turn."""

    kind: Literal["dismiss"]


class Give(_Timed):
    """A value: text for Ask and Auth.Password, an option for Select, a token for a device code."""

    kind: Literal["give"]
    value: Any


class Never(Value):
    """No answer ever comes."""

    kind: Literal["never"]


class BreakDown(Value):
    """The interactor itself fails when it is shown the request."""

    kind: Literal["break_down"]
    message: str = "the user interface is gone"


InteractorAnswer = Annotated[
    Approve | Deny | Dismiss | Give | Never | BreakDown, Field(discriminator="kind")
]


class InteractorRule(TriggeredRule):
    """One rule; the first that matches decides."""

    when: InteractionTrigger = InteractionTrigger.model_construct()
    then: InteractorAnswer


class InteractorScript(Value):
    """A fake interactor. Where no rule matches, it approves after two seconds."""

    id: str = Field(default="terminal", pattern=r"^[a-z0-9][a-z0-9-]*$")
    kinds: tuple[InteractionKind, ...] = (
        "Approve",
        "Ask",
        "Select",
        "Confirm",
        "Auth.DeviceCode",
        "Auth.Password",
    )
    """What it can show."""
    rules: tuple[InteractorRule, ...] = ()

    @model_validator(mode="after")
    def _asked_for_something(self) -> InteractorScript:
        if not self.kinds:
            raise ValueError(f"{self.id}: kinds is empty: leave the interactor out instead")
        return self
