"""Numbered rules of the fakes: which one is for this occasion, which were met, which never were.

A tool, an interactor and a store each have rules for the nth execution, request or operation.
The first rule whose number and conditions fit decides; it is met when it *fires*, that is when
it first makes a difference, and a rule that was never met spoils the run.

It knows no fake: what is counted, and what else a rule asks for, comes from the caller.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol, TypeVar

from msgspec import Struct, field

from faultclock.model.scenario.rule import CountedRule, TriggeredRule

#: The rules of everything that counts occasions.
NumberedRule = TriggeredRule | CountedRule


class Records(Protocol):
    """Where facts go: a kernel."""

    def record(self, actor: str, kind: str, /, **payload: Any) -> int:
        """Record a fact and return its number."""
        ...


_RuleT = TypeVar("_RuleT", bound=NumberedRule)


class RulesMet(Struct):
    """Which rules have fired so far, over all lives of the subject. Plain data: it is pickled.

    Attributes:
        ids: of the rules, in the order in which each fired first.
    """

    ids: dict[str, None] = field(default_factory=dict)

    def fire(
        self, kernel: Records, rule: NumberedRule, fault_kind: str, *, actor: str, **payload: Any
    ) -> None:
        """Note that `rule` makes its difference now, and record `fault.fired`.

        Args:
            fault_kind: what it does, such as `hang`.
            actor: of the fact: tool, interactor, store or harness.
            payload: the rest of the fact: `of`, `call`, `life` and what marks the occasion.
        """
        self.ids[rule.id] = None
        kernel.record(actor, "fault.fired", fault=rule.id, fault_kind=fault_kind, **payload)


def first_for(rules: Iterable[_RuleT], number: int, **facts: Any) -> _RuleT | None:
    """Return the first rule that is for this occasion, None if there is none.

    Args:
        number: of the occasion, 1-based.
        facts: what else the trigger of each rule asks of an occasion.

    Example:
        >>> first_for((), 1) is None
        True
    """
    return next((rule for rule in rules if rule.is_for(number, **facts)), None)


def seal(
    kernel: Records, rules: Iterable[NumberedRule], met: RulesMet, *, actor: str, **payload: Any
) -> None:
    """Record `fault.unmet` for each rule that never fired. Call it once, after the last life.

    Args:
        actor: of the facts: tool, interactor, store or harness.
        payload: the rest of each fact: `of`, `call`, `life`.
    """
    for rule in rules:
        if rule.id not in met.ids:
            kernel.record(actor, "fault.unmet", fault=rule.id, optional=rule.optional, **payload)
