"""What has to hold between the parts of an error model, beyond what each part can say by itself.

Each rule leads to a sentence of the document, and each sentence to the check that judges it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.model.ordering import unknown_event

if TYPE_CHECKING:
    from harness.model.error_model import ErrorModel

__all__ = ["check_orders", "check_references", "check_that_rules_are_judged"]


def check_references(model: ErrorModel) -> None:
    """Check that every requirement that a rule cites is there, and every class and code.

    Raises:
        ValueError: one is not.
    """
    known = {requirement.id for requirement in model.requirements}
    if len(known) != len(model.requirements):
        raise ValueError("two requirements have the same id")
    cited: list[tuple[str, str]] = [
        *((rule.id, rule.requirement) for rule in model.classes),
        *((rule.id, rule.requirement) for rule in model.signals),
        *((rule.id, rule.requirement) for rule in model.tool_signals),
        *((rule.id, rule.requirement) for rule in model.audiences),
        *((rule.id, rule.requirement) for rule in model.ordering),
        *_cited_by_failure_rules(model),
        *_cited_by_turn_rules(model),
        *model.rules.items(),
    ]
    for policy in model.policies:
        if policy.requirements is None:
            raise ValueError(f"policy {policy.id}: its requirements are missing")
        cited += [
            (policy.id, id_) for id_ in policy.requirements.model_dump().values() if id_ is not None
        ]
    for where, requirement in cited:
        if requirement not in known:
            raise ValueError(f"{where}: there is no requirement {requirement!r}")
    codes = {item.id: item.codes for item in model.classes}
    for rule in (*model.signals, *model.tool_signals):
        if rule.error_class is not None and rule.code not in codes.get(rule.error_class, ()):
            raise ValueError(f"{rule.id}: {rule.error_class}/{rule.code} is not in classes")


def check_that_rules_are_judged(model: ErrorModel) -> None:
    """Check that the sentence of each rule names the check that judges it.

    Raises:
        ValueError: one does not, so that nothing would.
    """
    by_id = {requirement.id: requirement for requirement in model.requirements}
    rules = [
        *(
            (f"ordering {item.id}", item.requirement, f"ordering.{item.id}")
            for item in model.ordering
        ),
        *(
            (f"audiences {item.id}", item.requirement, f"audience.{item.id}")
            for item in model.audiences
        ),
        *(
            (f"consequences {item.id}", item.requirement, "failures.outcome")
            for item in model.consequences
            if item.run != "not_judged"
        ),
        *(
            (f"telling {item.id}", item.requirement, f"failures.told-{item.audience}")
            for item in model.telling
        ),
        *((f"kept {item.id}", item.requirement, "failures.kept") for item in model.kept),
        *((f"joins {item.policy}", item.requirement, "joins.held") for item in model.joins),
        *((f"limits {item.limit}", item.requirement, "limits.ends") for item in model.limits),
    ]
    for rule, cited, check in rules:
        requirement = by_id.get(cited)
        if requirement is not None and check not in requirement.checks:
            raise ValueError(
                f"{rule}: {cited} does not name {check} among its checks, so nothing would"
                " judge the rule"
            )


def check_orders(model: ErrorModel) -> None:
    """Check that ordering rules have ids of their own, and name events that there are.

    Raises:
        ValueError: one does not.
    """
    for name, pattern in model.events.items():
        if pattern.event is not None:
            raise ValueError(f"{name}: an event is made of kinds, not of another name")
    seen: set[str] = set()
    for rule in model.ordering:
        if rule.id in seen:
            raise ValueError(f"two ordering rules have the id '{rule.id}'")
        seen.add(rule.id)
        if problem := unknown_event(rule, model.events):
            raise ValueError(problem)


def _cited_by_failure_rules(model: ErrorModel) -> list[tuple[str, str]]:
    cited = [
        *((rule.id, rule.requirement) for rule in model.consequences),
        *((rule.id, rule.requirement) for rule in model.telling),
        *((rule.id, rule.requirement) for rule in model.kept),
        *((f"joins: {rule.policy}", rule.requirement) for rule in model.joins),
        *((f"limits: {rule.limit}", rule.requirement) for rule in model.limits),
    ]
    if model.chain is not None:
        cited += [(f"chain: {key}", id_) for key, id_ in model.chain.requirements.items()]
    if model.breaker is not None:
        cited += [(f"breaker: {key}", id_) for key, id_ in model.breaker.requirements.items()]
    if model.amplification is not None:
        cited.append(("amplification", model.amplification.requirement))
    return cited


def _cited_by_turn_rules(model: ErrorModel) -> list[tuple[str, str]]:
    deadlines = () if model.interactions is None else model.interactions.deadlines
    rows = () if model.resume is None else model.resume.table
    return [
        *((row.kind, row.requirement) for row in deadlines),
        *((row.condition, row.requirement) for row in rows),
    ]
