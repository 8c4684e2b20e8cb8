"""A search kills what can be killed, names what cannot, and is the same with any number of jobs."""

from __future__ import annotations

import os
from collections import Counter

import pytest
from msgspec.structs import replace

from faultclock.kills.matrix import kill_matrix, rules_of
from faultclock.kills.mutant import Mutant
from faultclock.kills.search import SearchRequest, Tried, drawn, mutants_of, play_all, search
from faultclock.kills.trial import Played, Trial
from faultclock.load.error_model import load_error_model
from faultclock.load.scenario import find_scenarios
from faultclock.model.report.kill_matrix import KillMatrix, Rule, RuleKills
from faultclock.subjects.binding import Binding, provider_adapter
from faultclock.subjects.ports import ProviderRequest
from tests.run.conftest import ready


def matrix_of(request: SearchRequest, limit: int | None = None) -> KillMatrix:
    """Search, and return the matrix."""
    played = play_all(request)
    every = mutants_of(request, played)
    mutants = drawn(every, limit)
    tried = search(request, played, mutants)
    return kill_matrix(request, played, tried, left_out=len(every) - len(mutants))


def row(matrix: KillMatrix, check: str) -> RuleKills:
    """Return the row of a check."""
    (found,) = (rule for rule in matrix.rules if rule.check == check)
    return found


def test_every_rule_of_a_model_that_can_fail_is_killed(request_: SearchRequest) -> None:
    """Each row names a mutant and a scenario in which the subject keeps the rule."""
    matrix = matrix_of(request_)
    assert matrix.unkilled == ()
    known = {item.id: item for item in matrix.mutants}
    for rule in matrix.rules:
        assert rule.killed_by >= len({kill.mutant for kill in rule.kills}) > 0
        for kill in rule.kills:
            assert known[kill.mutant].fate == "killed"
            assert kill.scenario in matrix.scenarios


def test_a_rule_that_cannot_fail_survives(unmended: SearchRequest) -> None:
    """Mutants were tried where it is judged, among them some that break its sentence."""
    one = replace(unmended, scenarios=unmended.scenarios[-1:])
    assert [item.id for item in one.scenarios] == ["courier/busy-once"]
    matrix = matrix_of(one)
    survivor = row(matrix, "ordering.announced-after-a-failure")
    assert (survivor.status, survivor.killed_by, survivor.judged_in) == ("survives", 0, 1)
    assert survivor.tried > 5
    assert "may be unable to fail" in survivor.hint
    silent = row(matrix, "backoff.attempts")
    assert (silent.status, silent.judged_in) == ("not judged", 0)
    assert silent.hint == "no call that retried came to the end of its attempts"
    assert [rule.check for rule in matrix.unkilled] == [silent.check, survivor.check]


def test_two_jobs_find_what_one_finds(request_: SearchRequest) -> None:
    """Byte for byte."""
    one, two = (matrix_of(replace(request_, jobs=jobs), limit=20) for jobs in (1, 2))
    assert one.model_dump_json() == two.model_dump_json()


def test_what_the_binding_does_not_declare_is_not_for_the_subject(
    request_: SearchRequest,
) -> None:
    """A rule about events needs a subject that declares them."""

    @provider_adapter(id="silent", inline=True)
    def silent(request: ProviderRequest) -> str:
        return str(request.model)

    matrix = matrix_of(replace(request_, binding=silent, subject_spec="silent"))
    statuses = {rule.check: rule.status for rule in matrix.rules}
    assert statuses["ordering.every-retry-is-announced"] == "not for this subject"
    assert statuses["backoff.wait"] == "not judged"


@pytest.mark.parametrize("spec", ["reference-common", "reference-store"])
def test_a_sentence_about_another_role_is_not_for_the_subject(spec: str) -> None:
    """One check judges that every call ends; what a call may wait for depends on the role."""
    request = SearchRequest(
        scenarios=(), binding=ready(spec), subject_spec=spec, model=load_error_model("common")
    )
    rules = [rule for rule in kill_matrix(request, (), ()).rules if rule.check == "calls.end"]
    assert {rule.requirement: rule.hint for rule in rules if rule.status != "not judged"} == (
        dict.fromkeys(
            ("COMMON-END-03", "COMMON-END-04", "COMMON-END-05"), "the subject is not a runtime"
        )
    )


def mutants(request: SearchRequest) -> tuple[Mutant, ...]:
    """Return all mutants of a subject."""
    return mutants_of(request, play_all(request))


def test_a_draw_is_even_fixed_and_in_order(request_: SearchRequest) -> None:
    """One of each group comes before two of any."""
    every = mutants(request_)
    groups = {(item.family, item.group) for item in every}
    some = drawn(every, len(groups))
    assert Counter((item.family, item.group) for item in some) == Counter(groups)
    assert some == drawn(every, len(groups)) == tuple(item for item in every if item in some)
    more = drawn(every, len(groups) + 3)
    assert {item.id for item in some} < {item.id for item in more}
    assert drawn(every, None) == drawn(every, 10_000) == every


def test_a_mutant_that_proves_nothing_kills_nothing(request_: SearchRequest) -> None:
    """A process that ends takes its run along."""

    def ends(_: Binding) -> Binding:
        return ended

    @provider_adapter(id="ended")
    def ended(_: ProviderRequest) -> str:
        os._exit(3)

    played = play_all(request_)
    mutant = Mutant(id="ends", family="call", group="call", does="ends", change=ends)
    (tried,) = search(request_, played, (mutant,))
    assert tried.trials
    assert all(trial.kills == frozenset() and not trial.is_proof for trial in tried.trials)
    matrix = kill_matrix(request_, played, (tried,))
    assert matrix.mutants[0].fate == "unproven"
    assert {rule.killed_by for rule in matrix.rules} == {0}


def test_a_mutant_on_a_busy_machine_gets_a_second_chance(
    request_: SearchRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How long a run takes in real time is no property of the mutant."""
    limits_s: list[float | None] = []

    def lost_at_first(*_: object, wall_limit_s: float | None, **__: object) -> Trial:
        limits_s.append(wall_limit_s)
        return Trial(scenario="a/b", variant=None, is_changed=True, is_lost=len(limits_s) == 1)

    played = play_all(request_)[:1]
    monkeypatch.setattr("faultclock.kills.search.try_mutant", lost_at_first)
    mutant = Mutant(id="slow", family="call", group="call", does="is slow", change=_unchanged)
    (tried,) = search(request_, played, (mutant,))
    first, second = limits_s[:2]
    assert first is not None
    assert second is not None
    assert second > first
    assert not any(trial.is_lost for trial in tried.trials)


def _unchanged(binding: Binding) -> Binding:
    return binding


def test_a_mutant_that_cannot_differ_anywhere_was_not_tried(request_: SearchRequest) -> None:
    """It is not one without effect."""
    played = play_all(request_)
    mutant = Mutant(
        id="elsewhere",
        family="call",
        group="call",
        does="differs elsewhere",
        change=_unchanged,
        scenarios=frozenset({"no/such"}),
    )
    tried = search(request_, played, (mutant,))
    assert kill_matrix(request_, played, tried).mutants[0].fate == "untried"


def test_a_rule_is_killed_by_no_more_mutants_than_were_tried(request_: SearchRequest) -> None:
    """Also one that the subject itself gives no occasion to judge."""
    played = play_all(request_)
    one = Played(
        scenario=played[0].scenario,
        traces=played[0].traces,
        broken=frozenset(),
        by_run=frozenset(),
        by_seeds=frozenset(),
        why_not="",
        idle={},
    )
    rule = ("backoff.wait", "COURIER-1")
    trial = Trial(scenario=one.scenario.id, variant=None, kills=frozenset({rule}), is_changed=True)
    mutant = Mutant(id="a", family="call", group="call", does="a", change=_unchanged)
    found = row(kill_matrix(request_, (one,), (Tried(mutant=mutant, trials=(trial,)),)), rule[0])
    assert (found.status, found.judged_in) == ("killed", 0)
    assert found.tried == found.killed_by == 1


def test_the_rules_of_a_model_are_its_sentences_with_their_checks() -> None:
    """A sentence that no run can show is none, and each pair is there once."""
    model = load_error_model("common")
    rules: list[Rule] = [(check, requirement.id) for requirement, check in rules_of(model)]
    assert len(rules) == len(set(rules))
    assert {requirement for _, requirement in rules} == {item.id for item in model.requirements}


@pytest.mark.parametrize("spec", ["reference-common", "reference"])
def test_a_shipped_reference_has_its_steps_and_its_wrong_subjects_as_mutants(spec: str) -> None:
    """Each under an id of its own."""
    only = "rate-limits/retry-after-integer"
    model = load_error_model("common" if spec.endswith("common") else "stud-cli")
    request = SearchRequest(
        scenarios=tuple(item.scenario for item in find_scenarios((only,))),
        binding=ready(spec),
        subject_spec=spec,
        model=model,
    )
    found = mutants(request)
    assert {item.family for item in found} == {"event", "call", "wait", "shipped", "step"}
    assert len({item.id for item in found}) == len(found)
    steps = [item for item in found if item.family == "step" and item.scenarios is not None]
    assert all(item.scenarios == {only} for item in steps)
