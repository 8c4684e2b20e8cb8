"""What an error model says must become of a failure of any kind.

`signals` say what a failure is: class, code and disposition. The rules here say what follows
from that: whether the run goes on or how it ends, who sees it in which shape, what is kept, and
what a chain of providers, a circuit breaker or a group of subagents does about it. Every rule
names what it is for by class and code, and no rule knows a model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field, model_validator

from faultclock.model._base import SparseValue, Value
from faultclock.model.duration import SECOND_NS, DurationNs
from faultclock.model.error_model.turn_rules import BudgetRules, Pair

RunState = Literal["completed", "degraded", "failed", "interrupted", "cancelled"]
#: `Class/Code` texts, or `Class/*` for every code of a class.
Pairs = tuple[str, ...]
#: Stands for every class and code.
ANY_PAIR = "*/*"
#: `Class/Code`, or `*/*` for every error that has both.
PairOrAny = Annotated[str, Field(pattern=r"^(\*/\*|[A-Za-z][\w-]*/[A-Za-z][\w-]*)$")]
#: What a rule may make its application depend on; `faultclock.oracle` says what each one is.
SETTINGS = frozenset(
    {
        "policies.llm",
        "policies.tool",
        "policies.subagent",
        "join",
        "node.role",
        "node.idempotent",
        "node.strict",
        "node.do",
        "tool.idempotent",
        "tool.required",
        "tool.agent",
        "chain",
        "workflow",
        "headless",
        "mode",
    }
)


def _known(where: dict[str, str | bool | int | tuple[str, ...]]) -> dict[str, Any]:
    if unknown := sorted(set(where) - SETTINGS):
        raise ValueError(f"there is no setting {unknown[0]!r}, only {', '.join(sorted(SETTINGS))}")
    return where


#: Setting of the run to the value, or the list of values, that it must have for a rule to apply.
Where = Annotated[dict[str, str | bool | int | tuple[str, ...]], AfterValidator(_known)]


class Consequence(Value):
    """What becomes of the run. The first one that covers a failure, and whose `where` holds."""

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    applies_to: Pairs = Field(min_length=1)
    where: Where = {}
    run: Literal["goes_on", "ends", "not_judged"] = "not_judged"
    """`goes_on`: it does not end by this failure. `ends`: it ends by it, at once or when nothing
    is left to be retried or to fall back to."""
    states: tuple[RunState, ...] = ()
    """With `ends`: the states in which it may end; with `goes_on`: in which it may end if
    nothing else ends it. Empty: any."""
    carries: tuple[Pair, ...] = ()
    """With `ends`: class and code that the end carries, any of these. Empty: not judged."""
    then: Literal["", "iterate_to_coder", "skip_dependents", "keep_recoverable"] = ""
    """A further step that must follow."""
    requirement: str


class FieldRule(Value):
    """What one field of a message to an audience must hold. Give exactly one."""

    equals: Any = None
    holds: Literal[
        "", "text", "list", "class", "code", "retryable", "message", "retries", "shown"
    ] = ""
    """`text`: some text, or a number. `list`: at least one text. `class`, `code`: those of the
    failure. `retryable`: whether its disposition is retry, or what the rule's `retryable` says.
    `message`: the text that the failing part gave. `retries`: how often it was done again.
    `shown`, in what is kept: a message that the operator was shown after the failure, whole."""
    never: tuple[str, ...] = ()
    """With `holds`: texts that it must not be, in any case of letters, since they say nothing."""
    differs_by: tuple[Literal["code", "tool"], ...] = ()
    """What the model gets must not be the same for two failures of a run that differ in this:
    in their code, or in their tool."""

    @model_validator(mode="after")
    def _one(self) -> FieldRule:
        if bool(self.holds) == (self.equals is not None):
            raise ValueError("give exactly one of equals and holds")
        if self.never and not self.holds:
            raise ValueError("`never` goes with `holds`: what equals one text is no other")
        return self


class TellingRule(Value):
    """What one audience sees of a failure."""

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    audience: Literal["model", "operator", "user"]
    applies_to: Pairs = Field(min_length=1)
    where: Where = {}
    fields: dict[str, FieldRule] = {}
    """Dotted field to what it must hold: for the model of the JSON result of the tool call, for
    the others of what they are shown (`message`, `actions`, `pill`)."""
    retryable: dict[str, bool] = {}
    """Code to the flag that `retryable` must have; a code that is missing has the flag of its
    disposition."""
    text: str | None = None
    """For operator and user: a text that the message contains, as the document has it. `{target}`
    stands for the name of what failed, `{command}` for its command line, `{stderr}` for the last
    line that it wrote there, `{message}` for the text that it gave."""
    actions: tuple[str, ...] = ()
    """For the operator: actions that are offered with it."""
    pill: str | None = None
    """For the operator: the status that it is shown as."""
    requirement: str

    @model_validator(mode="after")
    def _nothing_shown_before(self) -> TellingRule:
        if any(rule.holds == "shown" for rule in self.fields.values()):
            raise ValueError("`holds: shown` is for what is kept: telling is the showing")
        return self


class KeptRule(Value):
    """What is kept of a failed stage, for a later look.

    Two stages that failed in one turn have a file each: what is kept of one is not overwritten.
    """

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    applies_to: Pairs = Field(min_length=1)
    where: Where = {}
    file: str
    """Pattern of the name of the file, such as `*_raw.md`."""
    fields: dict[str, FieldRule] = {}
    """Where the file is JSON: its fields. `attempts` counts may be given with `holds: text`."""
    text: Literal["", "output", "json_lines"] = ""
    """`output`: what the program wrote last (to stdout, else to stderr) is in the file.
    `json_lines`: it has at least one line, and each is a JSON object."""
    requirement: str


class ChainRules(Value):
    """Fallback to the next provider of a chain."""

    advances_on: Pairs
    """Failures after which the next provider is asked; every other one ends the chain."""
    stops_on: Pairs = ()
    """Failures after which none is asked any more; they go before `advances_on`."""
    after_content: Literal["never", "allowed"] = "never"
    """Whether another provider may be asked once content of an answer was passed on."""
    park: dict[str, DurationNs] = {}
    """`Class/Code` to how long a provider that failed with it is not asked again."""
    order: Literal["as_given"] = "as_given"
    requirements: dict[Literal["advances", "stops", "after_content", "park"], str]


class BreakerRules(Value):
    """A circuit breaker in front of each provider."""

    failures: int = Field(ge=1)
    """Consecutive counted failures that open it."""
    open_for: DurationNs
    half_open_probes: int = Field(default=1, ge=1)
    """How many requests are let through when it has been open for that long."""
    counts: Pairs
    """Failures that count. Every other one, and a cancel, leaves it as it was."""
    refusal: Pair
    """What a request is refused with while it is open."""
    requirements: dict[Literal["opens", "refuses", "half_open", "closes"], str]


class JoinRule(Value):
    """How a group of subagents is joined under one policy."""

    policy: str
    """As the scenario's `session.join` names it."""
    holds: Literal["all", "all_required", "any", "quorum", "always"]
    """When the join holds: every one succeeded, every required one did, at least one did, at
    least the quorum did, or in any case."""
    violation: Pair | None = None
    """What it is where it does not hold; None where it always does."""
    requirement: str


class LimitRule(SparseValue):
    """How a run ends that has used up one of its limits."""

    SPARSE: ClassVar[frozenset[str]] = frozenset({"within"})

    limit: Literal["steps", "tool_calls", "tokens", "cost", "wall_time", "turns"]
    states: tuple[RunState, ...] = ()
    carries: tuple[PairOrAny, ...] = ()
    """Class and code that the end carries, any of these; `*/*` for any typed error. Empty: not
    judged."""
    exact: bool = True
    """Whether nothing at all may happen beyond the limit."""
    within: DurationNs = SECOND_NS
    """Virtual time within which a run ends that has used up its time."""
    requirement: str


def limits_of(budgets: BudgetRules, cited: Mapping[str, str]) -> tuple[LimitRule, ...]:
    """Return what `budgets` say as rules for limits: a turn fails, and never returns its answer.

    `cited` has the requirement ids of the model's `rules`. A limit that none is about has no rule.
    """
    return tuple(
        LimitRule.model_construct(
            limit=limit,
            states=("failed", "interrupted", "cancelled"),
            carries=pairs or (ANY_PAIR,),
            within=budgets.within,
            requirement=cited[name],
        )
        for limit, pairs in budgets.pairs.items()
        if (name := f"budgets.kept.{limit}") in cited
    )


class AmplificationRule(Value):
    """How many requests a single failing thing may cost, over all layers that retry."""

    layers: tuple[Literal["chain", "node", "stage", "request"], ...] = Field(min_length=1)
    """The layers whose attempts are multiplied; nothing else may retry."""
    requirement: str


def covers(pairs: Pairs, pair: tuple[str, str] | None) -> bool:
    """Return whether `pairs` name a class and code, which may be unknown."""
    if pair is None:
        return False
    class_name, code = pair
    return f"{class_name}/{code}" in pairs or f"{class_name}/*" in pairs or "*/*" in pairs
