"""What has to hold between the parts of an error model, beyond what each part can say by itself.

Each rule leads to a sentence of the document, and each sentence to the check that judges it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Literal

from faultclock.model.error_model.event_paths import unknown_field, unknown_pattern_field
from faultclock.model.error_model.event_sets import near_to
from faultclock.model.error_model.ordering import unknown_event

if TYPE_CHECKING:
    from faultclock.model.error_model.error_model import ErrorModel, Requirement

#: What judges the figures of a policy: at a provider, at a store, or of anything else.
_JUDGES = {
    "attempts": ("backoff.attempts", "store.attempts", "failures.redone"),
    "wait": ("backoff.wait", "store.wait", "failures.wait"),
}


def check_ids(model: ErrorModel) -> None:
    """Check that no two entries of one section have the same id: findings name them by it.

    Raises:
        ValueError: two have.
    """
    sections: dict[str, tuple[str, ...]] = {
        "requirements": tuple(item.id for item in model.requirements),
        "classes": tuple(item.id for item in model.classes),
        "signals": tuple(item.id for item in model.signals),
        "tool_signals": tuple(item.id for item in model.tool_signals),
        "policies": tuple(item.id for item in model.policies),
        "consequences": tuple(item.id for item in model.consequences),
        "telling": tuple(item.id for item in model.telling),
        "kept": tuple(item.id for item in model.kept),
        "audiences": tuple(item.id for item in model.audiences),
        "switches": tuple(item.id for item in model.switches),
        **{
            f"the options of {switch.id}": tuple(item.id for item in switch.options)
            for switch in model.switches
        },
    }
    for section, ids in sections.items():
        twice = next((id_ for index, id_ in enumerate(ids) if id_ in ids[:index]), None)
        if twice is not None:
            raise ValueError(f"two of {section} have the id '{twice}'")


def check_pairs(model: ErrorModel) -> None:
    """Check that each class and code that a rule speaks of is among the classes.

    Of what is misspelt no failure could ever be, and the rule would hold for nothing.

    Raises:
        ValueError: one is not.
    """
    codes = {item.id: item.codes for item in model.classes}
    for signal in (*model.signals, *model.tool_signals):
        class_name, code = signal.error_class, signal.code
        if class_name is None or code is None:
            continue
        if class_name not in codes:
            raise ValueError(
                f"signal {signal.id}: there is no class {class_name!r}{near_to(class_name, codes)}"
            )
        if code not in codes[class_name]:
            raise ValueError(
                f"signal {signal.id}: the class {class_name} has no code {code!r}"
                f"{near_to(code, codes[class_name])}"
            )
    known = {f"{class_name}/{code}" for class_name, names in codes.items() for code in names}
    known |= {"*/*", *(f"{class_name}/*" for class_name in codes)}
    for rule, pair in _pairs_named(model):
        if pair not in known:
            raise ValueError(f"{rule}: the classes have no {pair!r}{near_to(pair, sorted(known))}")


def check_references(model: ErrorModel) -> None:
    """Check that every requirement that a rule cites is there, and every class and code.

    Raises:
        ValueError: one is not.
    """
    known = {requirement.id for requirement in model.requirements}
    cited: list[tuple[str, str]] = [
        *((rule.id, rule.requirement) for rule in model.classes),
        *((rule.id, rule.requirement) for rule in model.signals),
        *((rule.id, rule.requirement) for rule in model.tool_signals),
        *((rule.id, rule.requirement) for rule in model.audiences),
        *((rule.id, cited) for rule in model.ordering for cited in rule.requirements),
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
    shown = {item.id: item.shown_with for item in model.requirements if item.shown_with}
    cited += [(f"shown_with of {id_}", other) for id_, other in shown.items()]
    for id_, other in shown.items():
        if other in shown:
            raise ValueError(f"shown_with of {id_}: {other!r} is shown with another one itself")
    for where, requirement in cited:
        if requirement not in known:
            raise ValueError(f"{where}: there is no requirement {requirement!r}")


def check_that_rules_are_judged(model: ErrorModel) -> None:
    """Check that the sentence of each rule names the check that judges it.

    Raises:
        ValueError: one does not, so that nothing would.
    """
    by_id = {requirement.id: requirement for requirement in model.requirements}
    rules = [
        *(
            (f"ordering {item.id}", cited, item.check_id)
            for item in model.ordering
            for cited in item.requirements or model.rules_below.get(item.rules, ())
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
    for policy in model.policies:
        if policy.requirements is not None:
            _check_figures(by_id, policy.id, "attempts", policy.requirements.attempts)
            _check_figures(by_id, policy.id, "wait", policy.requirements.wait)


def _check_figures(
    by_id: Mapping[str, Requirement], policy: str, what: Literal["attempts", "wait"], cited: str
) -> None:
    requirement = by_id.get(cited)
    if requirement is None or any(
        check in _JUDGES[what] or check.startswith("ordering.") for check in requirement.checks
    ):
        return
    raise ValueError(
        f"policies {policy}: {cited} names none of {', '.join(_JUDGES[what])} among its checks, so"
        f" nothing would judge its {what}"
    )


def check_orders(model: ErrorModel) -> None:
    """Check that ordering rules have ids of their own, and name events that there are.

    Raises:
        ValueError: one does not.
    """
    for name, pattern in model.events.items():
        if pattern.event is not None:
            raise ValueError(f"{name}: an event is made of kinds, not of another name")
        if problem := unknown_pattern_field(name, pattern):
            raise ValueError(problem)
    seen: set[str] = set()
    for rule in model.ordering:
        if rule.id in seen:
            raise ValueError(f"two ordering rules have the id '{rule.id}'")
        seen.add(rule.id)
        if rule.rules and rule.rules not in model.rules_below:
            near = near_to(rule.rules, model.rules_below)
            raise ValueError(f"{rule.id}: `rules` has nothing named '{rule.rules}'{near}")
        if problem := unknown_event(rule, model.events) or unknown_field(rule, model.events):
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


def _pairs_named(model: ErrorModel) -> Iterator[tuple[str, str]]:
    """Yield each rule that says what it is for as `Class/Code`, with that."""
    for policy in model.policies:
        yield from ((f"policy {policy.id}", pair) for pair in policy.applies_to)
    for consequence in model.consequences:
        pairs = (*consequence.applies_to, *consequence.carries)
        yield from ((f"consequence {consequence.id}", pair) for pair in pairs)
    for telling in model.telling:
        yield from ((f"telling {telling.id}", pair) for pair in telling.applies_to)
    for kept in model.kept:
        yield from ((f"kept {kept.id}", pair) for pair in kept.applies_to)
