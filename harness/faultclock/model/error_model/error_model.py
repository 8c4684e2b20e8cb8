"""ErrorModel: what is asked for, as data: by one source document, or in our own words.

Five documents are carried, and beside them the neutral model `common`; one YAML file each, below
`error_models/`. Checks read this data and know no model by name. What its rules say is in
`signal_rules`, `failure_rules`, `turn_rules` and `role_rules`; that they fit together, in
`error_model_checks`. Where a document contradicts itself or is silent, a Switch names the reading
that the model takes and the others that can be chosen.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from faultclock.model._base import SparseValue, Value
from faultclock.model.error_model.error_model_checks import (
    check_ids,
    check_orders,
    check_pairs,
    check_references,
    check_that_rules_are_judged,
)
from faultclock.model.error_model.event_sets import EventPattern
from faultclock.model.error_model.failure_rules import (
    AmplificationRule,
    BreakerRules,
    ChainRules,
    Consequence,
    JoinRule,
    KeptRule,
    LimitRule,
    TellingRule,
    limits_of,
)
from faultclock.model.error_model.harm import Harm
from faultclock.model.error_model.ordering import OrderingRule, Scope
from faultclock.model.error_model.role_rules import ExtensionRules, ToolRules
from faultclock.model.error_model.signal_rules import (
    Disposition,
    ErrorClass,
    FailureKind,
    SignalKind,
    SignalPattern,
    SignalRule,
)
from faultclock.model.error_model.turn_rules import (
    BudgetRules,
    CancellationRules,
    ExtensionSetRules,
    InteractionRules,
    ResumeRules,
    ToolCallRules,
)
from faultclock.model.retry_policy import RetryPolicy

__all__ = [
    "AudienceRule",
    "Disposition",
    "ErrorClass",
    "ErrorModel",
    "EventPattern",
    "FailureKind",
    "Level",
    "OrderingRule",
    "Requirement",
    "RetryAfterRule",
    "RetryPolicy",
    "Scope",
    "SignalKind",
    "SignalPattern",
    "SignalRule",
    "Source",
    "Switch",
    "SwitchOption",
]

Level = Literal["MUST", "SHOULD", "MAY"]


class Source(Value):
    """The document that the model carries."""

    title: str
    system: str
    document: str
    """Name of the page or file."""
    read_on: str
    """ISO date of the copy that was read."""


class Requirement(SparseValue):
    """One normative sentence or table row of the document."""

    SPARSE: ClassVar[frozenset[str]] = frozenset(
        {"harm", "does", "change", "shown_with", "sources"}
    )

    id: str = Field(pattern=r"^[A-Z]+-[A-Z0-9]+(-[A-Z0-9]+)*$")
    level: Level
    place: str
    """Where in the document: section, then row or sentence."""
    sentence: str
    """The sentence or row, quoted."""
    document: str | None = None
    """Another page of the same system that it stands on; None: the model's own document."""
    wording: Literal["quoted", "paraphrased", "own"] = "quoted"
    """`paraphrased` where the page is known by what cites it, not by its own text; `own` where
    the sentence is the model's, and `sources` say what it rests on."""
    harm: Harm | None = None
    """What breaking it does to the people who run the software; None: the model does not say."""
    does: str = ""
    """That harm in one sentence, to the person who runs the software."""
    change: str = ""
    """What usually mends it, in one sentence."""
    shown_with: str = ""
    """Id of the requirement that has the same cause: where that is broken too, a check shows one
    problem, which is that one's. Empty: none."""
    sources: tuple[str, ...] = ()
    """Public documents and bugs that it rests on, each with its address."""
    checks: tuple[str, ...] = ()
    excluded: str | None = None
    """Why no check can judge it (yet). Exactly one of `checks` and `excluded` is given."""

    @model_validator(mode="after")
    def _checked_or_excluded(self) -> Requirement:
        if bool(self.checks) == (self.excluded is not None):
            raise ValueError(f"{self.id}: give exactly one of checks and excluded")
        return self


class RetryAfterRule(Value):
    """How the forms of the Retry-After header are read."""

    unusable: Literal["schedule", "immediate"] = "schedule"
    """A value that is neither delay-seconds nor an HTTP-date."""
    past_date: Literal["schedule", "immediate"] = "immediate"
    fraction: Literal["exact", "unusable"] = "exact"
    """A value such as `1.5`, which RFC 9110 does not allow and providers send."""
    milliseconds_header: Literal["ignore", "prefer"] = "ignore"
    """The provider's own `retry-after-ms` beside it."""
    advances_schedule: bool = True
    """Whether a failure whose Retry-After was honored also uses up a step of the schedule."""


class SwitchOption(Value):
    """One reading."""

    id: str
    means: str
    set: dict[str, Any] = {}
    """Dotted path into the model (lists by id) to the value it has under this reading."""


class Switch(Value):
    """A point where the document contradicts itself or is silent, and how it is read."""

    id: str
    question: str
    default: str
    because: str
    """The default reading, argued in one sentence."""
    options: tuple[SwitchOption, ...] = Field(min_length=2)

    @model_validator(mode="after")
    def _default_exists(self) -> Switch:
        if self.default not in {option.id for option in self.options}:
            raise ValueError(f"{self.id}: the default {self.default!r} is not among the options")
        return self


class AudienceRule(Value):
    """What one audience must and must never see of a failure."""

    id: Literal["user", "model", "audit", "operator"]
    must_have: tuple[Literal["class", "code", "context", "message", "attempt"], ...] = ()
    never: tuple[Literal["stack", "secret", "path", "class_name"], ...] = ()
    on_every_failure: bool = False
    """Whether this audience must see each call that ends with an error."""
    events: tuple[str, ...] = ()
    """Names of declared events that this audience sees as well: what it must never see is in no
    field of them either."""
    requirement: str


class ErrorModel(SparseValue):
    """One reference error model, whole."""

    SPARSE: ClassVar[frozenset[str]] = frozenset({"told_apart"})

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    title: str
    revision: str
    source: Source
    classes: tuple[ErrorClass, ...] = ()
    signals: tuple[SignalRule, ...] = ()
    policies: tuple[RetryPolicy, ...] = ()
    retry_after: RetryAfterRule = RetryAfterRule.model_construct()
    mixed_failures: Literal["per_policy", "per_call"] = "per_policy"
    """Whether failures of different policies are counted apart or together within one call."""
    declared_policies: Literal["allowed", "refused"] = "refused"
    """Whether an adapter may declare a retry policy of its own."""
    adapter_retries: Literal["allowed", "forbidden"] = "allowed"
    """`forbidden`: a runner owns the retries, and an adapter by itself ends a call with its first
    failure."""
    audiences: tuple[AudienceRule, ...] = ()
    told_apart: tuple[str, ...] = ()
    """Classes whose failures must leave errors that a caller can tell from one another."""
    events: dict[str, EventPattern] = {}
    """The document's own names for events, each as the canonical facts that show it."""
    ordering: tuple[OrderingRule, ...] = ()
    tool_calls: ToolCallRules | None = None
    interactions: InteractionRules | None = None
    cancellation: CancellationRules | None = None
    resume: ResumeRules | None = None
    budgets: BudgetRules | None = None
    consequences: tuple[Consequence, ...] = ()
    """What becomes of the run after a failure; the first one that covers it decides."""
    telling: tuple[TellingRule, ...] = ()
    kept: tuple[KeptRule, ...] = ()
    chain: ChainRules | None = None
    breaker: BreakerRules | None = None
    joins: tuple[JoinRule, ...] = ()
    limits: tuple[LimitRule, ...] = ()
    amplification: AmplificationRule | None = None
    extension_set: ExtensionSetRules | None = None
    rules: dict[str, str] = {}
    """Requirement ids of rules that are not policies, by the check's own name for them."""
    tool_signals: tuple[SignalRule, ...] = ()
    """What a failure of the service behind a tool is, for the tool; like `signals`."""
    tools: ToolRules | None = None
    """None: the document says nothing of tools as such."""
    extensions: ExtensionRules | None = None
    """None: the document says nothing of extensions."""
    switches: tuple[Switch, ...] = ()
    requirements: tuple[Requirement, ...]

    @model_validator(mode="after")
    def _makes_sense(self) -> ErrorModel:
        check_ids(self)
        check_references(self)
        check_pairs(self)
        check_that_rules_are_judged(self)
        check_orders(self)
        return self

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy; what was worked out from the rules is not copied along."""
        copied = super().model_copy(update=update, deep=deep)
        copied.__dict__.pop("rules_below", None)
        copied.__dict__.pop("budget_limits", None)
        return copied

    @property
    def is_of_a_document(self) -> bool:
        """Whether it carries a document; else its requirements are its own, each with sources."""
        return any(requirement.wording != "own" for requirement in self.requirements)

    @cached_property
    def rules_below(self) -> dict[str, tuple[str, ...]]:
        """Requirement ids of `rules`, by each name that a rule has or begins with up to a dot."""
        found: dict[str, tuple[str, ...]] = {}
        for name, requirement in self.rules.items():
            parts = name.split(".")
            for length in range(1, len(parts) + 1):
                prefix = ".".join(parts[:length])
                found[prefix] = (*found.get(prefix, ()), requirement)
        return found

    @cached_property
    def budget_limits(self) -> tuple[LimitRule, ...]:
        """What `budgets` say, as rules for limits; without such a section any error is right."""
        return limits_of(self.budgets or BudgetRules(), self.rules)

    def requirement(self, id_: str) -> Requirement:
        """Return the requirement with this id; a KeyError is our bug."""
        for requirement in self.requirements:
            if requirement.id == id_:
                return requirement
        raise KeyError(id_)

    def policy_for(
        self, class_name: str, code: str, *, layer: str | None = None
    ) -> RetryPolicy | None:
        """Return the retry policy of `class_name`/`code`, in any layer or in that one.

        None: it is not retried.
        """
        policies = (item for item in self.policies if layer in (None, item.layer))
        return next((item for item in policies if item.covers(class_name, code)), None)
