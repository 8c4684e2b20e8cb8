"""Rules that are a part of a check: under which id, with which sentences, events and words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from faultclock.model.error_model.error_model import ErrorModel, OrderingRule
from faultclock.model.report.finding import Finding, Verdict
from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.check import Check, Outcome, held
from faultclock.oracle.checks.rules import derived
from faultclock.oracle.checks.rules.ordering import checks
from faultclock.oracle.facts.history import History
from faultclock.oracle.verdicts import findings_of
from tests.oracle.mini_trace import runtime_trace

NO_LS: dict[str, Any] = {
    "id": "no-ls",
    "check": "tools.none",
    "pattern": "absence",
    "event": {"kinds": ["tool.called"], "where": {"tool": "ls"}},
    "per": None,
    "says": "The tool ls is not called.",
    "requirement": ["R-1", "R-2"],
}
NO_RM = NO_LS | {
    "id": "no-rm",
    "event": {"kinds": ["tool.called"], "where": {"tool": "rm"}},
    "expected": "no call of {tool} by {nothing.here}",
    "observed": "{tool_call} was one",
    "requirement": ["R-2"],
}
LS = "tool.called tool=ls tool_call=c1"
RM = "tool.called tool=rm tool_call=c2"


def with_rules(model: ErrorModel, *rules: dict[str, Any]) -> ErrorModel:
    """Return `model` with these ordering rules and no others."""
    return model.model_copy(
        update={
            "ordering": tuple(map(OrderingRule.model_validate, rules)),
            "rules": {"a.b": "R-1", "a.c": "R-2"},
        }
    )


def found(model: ErrorModel, events: str, *code: Check) -> dict[str, Outcome]:
    """Return what each check comes to."""
    history = History(runtime_trace(events))
    return {check.id: check.outcome(history, model) for check in checks(model, code)}


def test_rules_of_one_check_are_one_check(model: ErrorModel) -> None:
    """What one judged counts beside what another one found; the sentence that held passes."""
    outcomes = found(with_rules(model, NO_LS, NO_RM), f"{LS} · {RM}")
    assert set(outcomes) == {"tools.none"}
    assert [violation.events for violation in outcomes["tools.none"].violations] == [(1,), (2,)]
    assert outcomes["tools.none"].violated == {"R-1", "R-2"}


def test_a_rule_exercises_all_its_sentences_and_cites_the_first(model: ErrorModel) -> None:
    """A list of requirements is read in its order."""
    (violation,) = found(with_rules(model, NO_LS), LS)["tools.none"].violations
    assert (violation.requirement, violation.exercised) == ("R-1", ("R-1", "R-2"))
    assert found(with_rules(model, NO_LS), RM)["tools.none"].judged == {"R-1": 1, "R-2": 1}


def test_a_rule_may_leave_its_sentences_to_the_rules_of_the_model(model: ErrorModel) -> None:
    """A name stands for all names below it, as it does for a check in code."""
    outcomes = found(with_rules(model, NO_LS | {"requirement": [], "rules": "a"}), RM)
    assert outcomes["tools.none"].judged == {"R-1": 1, "R-2": 1}


def test_a_part_without_a_sentence_is_judged_by_those_of_its_check(model: ErrorModel) -> None:
    """A model that says nothing of the part says something of the whole."""
    part = NO_LS | {"requirement": [], "rules": "tools.none.part"}
    whole = with_rules(model, part).model_copy(update={"rules": {"tools.none": "R-3"}})
    assert found(whole, RM)["tools.none"].judged == {"R-3": 1}


def test_one_event_that_is_not_as_it_should_be_shows_no_order(model: ErrorModel) -> None:
    """Where the rule has words for it; without them the step is all that says what was wanted."""
    calls = {
        "pattern": "universality",
        "among": {"kinds": ["tool.called"]},
        "event": {"kinds": ["tool.called"], "where": {"tool": "rm"}},
    }
    for words, steps in (({}, 1), ({"observed": "{tool} was called"}, 0)):
        rules = with_rules(model, NO_LS | calls | words)
        (violation,) = found(rules, f"{RM} · {LS}")["tools.none"].violations
        assert len(violation.order) == steps


def test_the_words_of_a_rule_are_filled_from_the_event(model: ErrorModel) -> None:
    """A field that the event does not have reads as none."""
    (violation,) = found(with_rules(model, NO_RM), RM)["tools.none"].violations
    assert violation.expected == "no call of rm by none"
    assert violation.observed == "c2 was one"


def test_rules_stand_beside_the_code_of_a_check(model: ErrorModel) -> None:
    """The title and the sentence are the code's, the verdicts those of both."""
    code = Check(id="tools.none", title="T", says="S.", run=lambda _h, _m: iter((held("R-3"),)))
    both = with_rules(model, NO_LS)
    (check,) = checks(both, (code,))
    assert (check.title, check.says) == ("T", "S.")
    assert set(found(both, RM, code)["tools.none"].judged) == {"R-1", "R-2", "R-3"}


def test_rules_of_a_check_for_another_role_are_not_judged(model: ErrorModel) -> None:
    """The check says for which subjects it is."""
    code = Check(id="tools.none", title="", says="", role="tool", run=lambda _h, _m: iter(()))
    outcome = found(with_rules(model, NO_LS), LS, code)["tools.none"]
    assert not outcome.violations
    assert outcome.reason == "the subject is not a tool"


def test_a_check_of_rules_alone_is_not_applicable_without_an_event(model: ErrorModel) -> None:
    """It gives the reason of the check, and judges nothing."""
    response = NO_LS | {"pattern": "response", "other": {"kinds": ["tool.replied"]}}
    code = Check(id="tools.none", title="", says="", unjudged="None.", run=lambda _h, _m: iter(()))
    rules = with_rules(model, response)
    outcome = found(rules, RM, code)["tools.none"]
    (finding,) = findings_of(rules, "tools.none", outcome)
    assert finding == Finding(check="tools.none", verdict=Verdict.NOT_APPLICABLE, reason="None.")


def test_a_derived_event_is_cited_by_the_events_that_show_it(
    model: ErrorModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the order in which it names them."""
    shown = TraceEvent(1, 0, "oracle", "try.failed", {"shown_by": (2, 1)})
    monkeypatch.setattr(derived, "DERIVED", {"try.failed": lambda _h, _m: (shown,)})
    rule = NO_LS | {"event": {"kinds": ["try.failed"]}}
    (violation,) = found(with_rules(model, rule), f"{LS} · {RM}")["tools.none"].violations
    assert violation.events == (2, 1)


def test_a_part_of_a_check_needs_a_simulated_run(model: ErrorModel) -> None:
    """In real time a bound would be wrong; a rule that is a check by itself says so on its own."""
    trace = runtime_trace(LS)
    header = trace.header.model_copy(update={"time_base": "wall"})
    history = History(replace(trace, header=header))
    (check,) = checks(with_rules(model, NO_LS, NO_RM))
    outcome = check.outcome(history, model)
    assert (outcome.violations, outcome.judged) == ([], {})
    assert outcome.reason == "it needs a simulated run"
    # What is ready for traces in real time is not used for others.
    simulated = check.outcome(History(trace), model)
    (fresh,) = checks(with_rules(model, NO_LS, NO_RM))
    assert simulated == fresh.outcome(History(trace), model)
    assert simulated.violations
