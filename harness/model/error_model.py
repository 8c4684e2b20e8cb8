"""ErrorModel: what one source document asks for, as data.

Five documents are carried; one YAML file each, below `harness/error_models/`. Checks read this
data and know no model by name. Where a document contradicts itself or is silent, a Switch names
the reading that the model takes and the others that can be chosen.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from harness.model._base import Value
from harness.model.failure_rules import (
    AmplificationRule,
    BreakerRules,
    ChainRules,
    Consequence,
    JoinRule,
    KeptRule,
    LimitRule,
    TellingRule,
    Where,
)
from harness.model.ordering import EventPattern, OrderingRule, Scope, unknown_event
from harness.model.retry_policy import RetryPolicy
from harness.model.role_rules import ExtensionRules, ToolRules
from harness.model.turn_rules import (
    BudgetRules,
    CancellationRules,
    ExtensionSetRules,
    InteractionRules,
    ResumeRules,
    ToolCallRules,
)

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
    "SignalPattern",
    "SignalRule",
    "Source",
    "Switch",
    "SwitchOption",
]

Level = Literal["MUST", "SHOULD", "MAY"]
Disposition = Literal[
    "retry",
    "terminal",
    "surface_to_model",
    "degrade",
    "regenerate_once",
    "owner_decides",
    "not_an_error",
]
SignalKind = Literal[
    "http_error",
    "error_body",
    "stream_error",
    "stream_cut",
    "body_cut",
    "malformed_body",
    "dns_failure",
    "connect_refused",
    "connect_timeout",
    "connection_reset",
    "connection_closed",
    "deadline",
]
#: Failures of anything but a request to the model, as the world can see them.
FailureKind = Literal[
    "tool_input_invalid",
    "tool_exception",
    "tool_timeout",
    "tool_failed",
    "tool_partial",
    "tool_output_malformed",
    "tool_denied_by_policy",
    "tool_denied_by_user",
    "tool_denial_loop",
    "tool_unknown",
    "tool_unavailable",
    "tool_cancelled",
    "approval_timed_out",
    "subagent_failed",
    "subagent_timeout",
    "subagent_denied",
    "join_violated",
    "hook_failed",
    "memory_unavailable",
    "telemetry_failed",
    "queue_refused",
    "program_missing",
    "program_exit",
    "program_cut",
    "program_refused",
    "program_timeout",
    "program_denial_loop",
    "command_failed",
    "output_not_json",
    "output_schema_invalid",
    "content_filtered",
    "sandbox_failed",
    "handler_failed",
    "breaker_open",
    "limit_reached",
    "cancelled",
]


class Source(Value):
    """The document that the model carries."""

    title: str
    system: str
    document: str
    """Name of the page or file."""
    read_on: str
    """ISO date of the copy that was read."""


class Requirement(Value):
    """One normative sentence or table row of the document."""

    id: str = Field(pattern=r"^[A-Z]+-[A-Z0-9]+(-[A-Z0-9]+)*$")
    level: Level
    place: str
    """Where in the document: section, then row or sentence."""
    sentence: str
    """The sentence or row, quoted."""
    document: str | None = None
    """Another page of the same system that it stands on; None: the model's own document."""
    wording: Literal["quoted", "paraphrased"] = "quoted"
    """`paraphrased` where the page is known by what cites it, not by its own text."""
    checks: tuple[str, ...] = ()
    excluded: str | None = None
    """Why no check can judge it (yet). Exactly one of `checks` and `excluded` is given."""

    @model_validator(mode="after")
    def _checked_or_excluded(self) -> Requirement:
        if bool(self.checks) == (self.excluded is not None):
            raise ValueError(f"{self.id}: give exactly one of checks and excluded")
        return self


class ErrorClass(Value):
    """A class of failures with its codes."""

    id: str
    recoverable: str
    """As the document words it."""
    handler: str
    """Who owns the next move, as the document words it."""
    disposition: Disposition
    codes: tuple[str, ...] = ()
    dispositions: dict[str, Disposition] = {}
    """Code to a disposition other than that of the class."""
    requirement: str


class SignalPattern(Value):
    """Conditions on a Signal; every one that is given must hold."""

    kinds: tuple[SignalKind | FailureKind, ...] = ()
    statuses: tuple[str, ...] = Field(
        default=(), json_schema_extra={"items": {"type": ["integer", "string"]}}
    )
    """`429` or `500-599`."""
    error_codes: tuple[str, ...] = ()
    """The provider's own `error.code` values."""
    error_types: tuple[str, ...] = ()
    """The provider's own `error.type` values."""
    causes: tuple[str, ...] = ()
    """Which sort of its kind: the code that a tool gave, the fault of a sandbox (`syntax`...), the
    limit (`steps`...), what a program said (`auth`, `network`...)."""
    roles: tuple[str, ...] = ()
    """The role of the node of a workflow in which it happened, such as `reviewer`."""
    where: Where = {}
    """Settings of the run, such as `node.idempotent: false`."""

    @field_validator("statuses", mode="before")
    @classmethod
    def _as_text(cls, statuses: object) -> object:
        if isinstance(statuses, (list, tuple)):
            return tuple(str(item) if isinstance(item, int) else item for item in statuses)
        return statuses


class SignalRule(Value):
    """Signal to classification; the first rule that matches decides."""

    id: str
    when: SignalPattern
    error_class: str | None = Field(default=None, alias="class")
    code: str | None = None
    unmapped: str | None = None
    """Why the document has no class for it; then class and code are absent."""
    disposition: Disposition | None = None
    """None: the document does not say, so what the subject does is not judged."""
    requirement: str

    @model_validator(mode="after")
    def _mapped_or_not(self) -> SignalRule:
        mapped = self.error_class is not None and self.code is not None
        if mapped == (self.unmapped is not None):
            raise ValueError(f"{self.id}: give class and code, or unmapped with the reason")
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
    """Whether this audience must be told of each call that ends with an error."""
    requirement: str


class ErrorModel(Value):
    """One reference error model, whole."""

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    title: str
    revision: str
    source: Source
    classes: tuple[ErrorClass, ...]
    signals: tuple[SignalRule, ...]
    policies: tuple[RetryPolicy, ...]
    retry_after: RetryAfterRule = RetryAfterRule()
    mixed_failures: Literal["per_policy", "per_call"] = "per_policy"
    """Whether failures of different policies are counted apart or together within one call."""
    declared_policies: Literal["allowed", "refused"] = "refused"
    """Whether an adapter may declare a retry policy of its own."""
    adapter_retries: Literal["allowed", "forbidden"] = "allowed"
    """`forbidden`: a runner owns the retries, and an adapter by itself ends a call with its first
    failure."""
    audiences: tuple[AudienceRule, ...] = ()
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
    def _references_exist(self) -> ErrorModel:
        known = {requirement.id for requirement in self.requirements}
        if len(known) != len(self.requirements):
            raise ValueError("two requirements have the same id")
        cited: list[tuple[str, str]] = [
            *((rule.id, rule.requirement) for rule in self.classes),
            *((rule.id, rule.requirement) for rule in self.signals),
            *((rule.id, rule.requirement) for rule in self.tool_signals),
            *((rule.id, rule.requirement) for rule in self.audiences),
            *((rule.id, rule.requirement) for rule in self.ordering),
            *self._cited_by_failure_rules(),
            *self._cited_by_turn_rules(),
            *self.rules.items(),
        ]
        for policy in self.policies:
            if policy.requirements is None:
                raise ValueError(f"policy {policy.id}: its requirements are missing")
            cited += [
                (policy.id, id_)
                for id_ in policy.requirements.model_dump().values()
                if id_ is not None
            ]
        for where, requirement in cited:
            if requirement not in known:
                raise ValueError(f"{where}: there is no requirement {requirement!r}")
        codes = {item.id: item.codes for item in self.classes}
        for rule in (*self.signals, *self.tool_signals):
            if rule.error_class is not None and rule.code not in codes.get(rule.error_class, ()):
                raise ValueError(f"{rule.id}: {rule.error_class}/{rule.code} is not in classes")
        return self

    @model_validator(mode="after")
    def _rules_are_judged(self) -> ErrorModel:
        """Refuse a rule whose sentence does not name the check that would judge it."""
        by_id = {requirement.id: requirement for requirement in self.requirements}
        rules = [
            *(
                (f"ordering {item.id}", item.requirement, f"ordering.{item.id}")
                for item in self.ordering
            ),
            *(
                (f"audiences {item.id}", item.requirement, f"audience.{item.id}")
                for item in self.audiences
            ),
            *(
                (f"consequences {item.id}", item.requirement, "failures.outcome")
                for item in self.consequences
                if item.run != "not_judged"
            ),
            *(
                (f"telling {item.id}", item.requirement, f"failures.told-{item.audience}")
                for item in self.telling
            ),
            *((f"kept {item.id}", item.requirement, "failures.kept") for item in self.kept),
            *((f"joins {item.policy}", item.requirement, "joins.held") for item in self.joins),
            *((f"limits {item.limit}", item.requirement, "limits.ends") for item in self.limits),
        ]
        for rule, cited, check in rules:
            requirement = by_id.get(cited)
            if requirement is not None and check not in requirement.checks:
                raise ValueError(
                    f"{rule}: {cited} does not name {check} among its checks, so nothing would"
                    " judge the rule"
                )
        return self

    def _cited_by_failure_rules(self) -> list[tuple[str, str]]:
        cited = [
            *((rule.id, rule.requirement) for rule in self.consequences),
            *((rule.id, rule.requirement) for rule in self.telling),
            *((rule.id, rule.requirement) for rule in self.kept),
            *((f"joins: {rule.policy}", rule.requirement) for rule in self.joins),
            *((f"limits: {rule.limit}", rule.requirement) for rule in self.limits),
        ]
        if self.chain is not None:
            cited += [(f"chain: {key}", id_) for key, id_ in self.chain.requirements.items()]
        if self.breaker is not None:
            cited += [(f"breaker: {key}", id_) for key, id_ in self.breaker.requirements.items()]
        if self.amplification is not None:
            cited.append(("amplification", self.amplification.requirement))
        return cited

    def _cited_by_turn_rules(self) -> list[tuple[str, str]]:
        deadlines = () if self.interactions is None else self.interactions.deadlines
        rows = () if self.resume is None else self.resume.table
        return [
            *((row.kind, row.requirement) for row in deadlines),
            *((row.condition, row.requirement) for row in rows),
        ]

    @model_validator(mode="after")
    def _orders_make_sense(self) -> ErrorModel:
        for name, pattern in self.events.items():
            if pattern.event is not None:
                raise ValueError(f"{name}: an event is made of kinds, not of another name")
        seen: set[str] = set()
        for rule in self.ordering:
            if rule.id in seen:
                raise ValueError(f"two ordering rules have the id '{rule.id}'")
            seen.add(rule.id)
            if problem := unknown_event(rule, self.events):
                raise ValueError(problem)
        return self

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
