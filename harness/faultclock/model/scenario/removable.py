"""Removable: the rules of a scenario that a run may go without, and the scenario without them.

A rule has an id and makes something happen: a fault, an answer of a person, a cancel, a
crash, a limit that refuses. Their ids are unique in a scenario, so an id says which one is meant.
What is worked on here is the scenario as a file holds it.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import Any

from faultclock.model.scenario.scenario import Scenario

#: Sections that are lists of rules themselves.
_OF_A_RUN = ("cancels", "crashes")
#: Sections that hold a list of rules, or each item of them does.
_HOLDERS = (
    "provider",
    "fallbacks",
    "tools",
    "interactors",
    "store",
    "disk",
    "programs",
    "hooks",
    "telemetry",
    "queue",
)
#: What such a list is called there.
_LISTS = ("faults", "rules")
#: What a provider's limits consist of.
_LIMITS = ("requests", "tokens", "quota")


def rules_of(scenario: Scenario) -> tuple[str, ...]:
    """Return the ids of all rules that a run may go without."""
    return _ids_in(scenario.model_dump(mode="json", by_alias=True))


def without_rules(data: dict[str, Any], lacking: Set[str]) -> None:
    """Take the rules `lacking` out of the plain data of a scenario.

    Raises:
        ValueError: one of them is no rule of it.
    """
    missing = sorted(lacking - set(_ids_in(data)))
    if missing:
        raise ValueError(f"there is no rule {missing[0]!r} to go without")
    for holder, name in _lists(data):
        holder[name] = [rule for rule in holder[name] if rule["id"] not in lacking]
    for holder, name in _refusals(data):
        if holder[name]["id"] in lacking:
            holder[name] = None
    for provider in _providers(data):
        limits = provider.get("limits")
        if limits and not any(limits.get(name) for name in _LIMITS):
            # Limits that limit nothing are none.
            provider["limits"] = None


def _ids_in(data: dict[str, Any]) -> tuple[str, ...]:
    listed = [rule["id"] for holder, name in _lists(data) for rule in holder[name]]
    return (*listed, *(holder[name]["id"] for holder, name in _refusals(data)))


def _lists(data: dict[str, Any]) -> list[tuple[dict[str, Any], str]]:
    """Return each list of rules, as what holds it and its name there."""
    of_a_run = [(data, name) for name in _OF_A_RUN if data.get(name)]
    return [
        *((holder, name) for holder in _holders(data) for name in _LISTS if holder.get(name)),
        *of_a_run,
    ]


def _holders(data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for section in _HOLDERS:
        held = data.get(section)
        if isinstance(held, list):
            yield from held
        elif held:
            yield held
    if data.get("workflow"):
        yield from data["workflow"]["nodes"]


def _refusals(data: dict[str, Any]) -> list[tuple[dict[str, Any], str]]:
    """Return each rule of which a provider has one at most, as what holds it and its name there."""
    found: list[tuple[dict[str, Any], str]] = []
    for provider in _providers(data):
        limits = provider.get("limits") or {}
        found += [(limits, name) for name in _LIMITS if limits.get(name)]
        found += [(provider, "overload")] if provider.get("overload") else []
    return found


def _providers(data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield data["provider"]
    yield from data.get("fallbacks") or ()
