"""Every rule of the model `common` is killed: by a wrong subject of its table, or by a mutant.

A rule is a requirement with one of its checks. The table of wrong subjects has each requirement;
what it leaves open of the checks stands in `OTHER_RULES`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import pytest

from faultclock.kills.matrix import rules_of
from faultclock.kills.mutant import Mutant
from faultclock.kills.search import SearchRequest, mutants_of
from faultclock.kills.shipped import Shipped
from faultclock.kills.trial import play, try_mutant
from faultclock.load.error_model import load_error_model
from faultclock.load.scenario import find_scenarios
from faultclock.model.report.finding import Verdict
from faultclock.model.report.kill_matrix import Rule
from faultclock.model.scenario.scenario import Scenario
from faultclock.oracle.judge import Judge
from faultclock.run.suite import run_one
from faultclock.subjects.binding import Binding
from faultclock.subjects.registry import load_subject
from tests.run.conftest import ready
from tests.run.kills_of_common import AGENTS, CLIENTS, OTHER_RULES, REFERENCES


@cache
def judge() -> Judge:
    """Return the judge by the model."""
    return Judge(load_error_model("common"))


def kills(reference: str, mutant_id: str, scenario_id: str) -> frozenset[Rule]:
    """Return the rules that a mutant of a reference, or a whole wrong subject, kills."""
    (found,) = find_scenarios((scenario_id,))
    if ".py:" in mutant_id:
        return _broken(ready(mutant_id), found.runnable)
    binding = ready(reference)
    killed: frozenset[Rule] = frozenset()
    for scenario in found.runnable:
        played = play(judge(), binding, scenario)
        request = SearchRequest(
            scenarios=(scenario,), binding=binding, subject_spec=reference, model=judge().model
        )
        if mutant_id.startswith("mini-"):
            mutant = Mutant(
                id=mutant_id,
                family="shipped",
                group="",
                does="",
                change=Shipped(mutant_id),
                binding=load_subject(mutant_id),
            )
        else:
            (mutant,) = (item for item in mutants_of(request, [played]) if item.id == mutant_id)
        killed |= try_mutant(judge(), binding, mutant, played, all_seeds=True).kills
    return killed


def _broken(wrong: Binding, scenarios: Iterable[Scenario]) -> frozenset[Rule]:
    """Return the rules that a wrong subject of a file breaks."""
    traces = (run_one(item, wrong, item.seed, isolate=True) for item in scenarios)
    findings = (item for trace in traces for item in judge().judge(trace).findings)
    bad = (Verdict.FAIL, Verdict.WARN)
    return frozenset((it.check, it.requirement or "") for it in findings if it.verdict in bad)


@cache
def killed_by_the_table() -> frozenset[Rule]:
    """Return the rules that the wrong subjects of the requirements kill."""
    killed: set[Rule] = set()
    for requirement, (wrong, scenario_id) in {**CLIENTS, **AGENTS}.items():
        (found,) = find_scenarios((scenario_id,))
        reference = REFERENCES.get(requirement, REFERENCES[found.scenario.role])
        killed |= kills(reference, wrong, scenario_id)
    return frozenset(killed)


def test_each_rule_is_killed_by_the_table_or_has_a_row_of_its_own() -> None:
    """A new rule cannot be forgotten, and a row that says nothing new is none."""
    rules = {(check, requirement.id) for requirement, check in rules_of(judge().model)}
    assert rules - killed_by_the_table() == OTHER_RULES.keys()


@pytest.mark.parametrize("rule", OTHER_RULES, ids="-".join)
def test_a_row_of_its_own_kills_its_rule(rule: Rule) -> None:
    """The mutant is made of the run that its reference makes of this scenario."""
    assert rule in kills(*OTHER_RULES[rule])
