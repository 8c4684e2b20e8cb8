"""Every ordering rule of stud-cli can fail and can pass, and says what was expected beside it."""

from __future__ import annotations

import pytest

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.finding import Verdict
from faultclock.model.trace.events import DERIVED_KINDS
from faultclock.model.trace.trace import Trace
from faultclock.oracle.check import Outcome
from faultclock.oracle.checks.rules.derived import with_derived
from faultclock.oracle.checks.rules.ordering import checks
from faultclock.oracle.facts.history import History
from faultclock.oracle.judge import judge
from tests.oracle.mini_trace import events_of, runtime_trace
from tests.oracle.planted_orders import ORDERS
from tests.oracle.trace_builder import TraceBuilder


def outcomes(model: ErrorModel, trace: Trace) -> dict[str, Outcome]:
    """Return what each ordering rule comes to."""
    history = History(trace)
    return {
        check.id.removeprefix("ordering."): check.outcome(history, model) for check in checks(model)
    }


def broken(found: dict[str, Outcome]) -> set[str]:
    """Return the rules that are violated."""
    return {name for name, outcome in found.items() if outcome.violations}


def test_every_rule_for_a_runtime_is_planted(model: ErrorModel) -> None:
    """A rule that is added needs a trace that breaks it and one that keeps it."""
    assert {rule.id for rule in model.ordering if rule.roles == ("runtime",)} == set(ORDERS)


@pytest.mark.parametrize("rule", sorted(ORDERS))
def test_each_rule_is_broken_by_its_own_defect_alone(model: ErrorModel, rule: str) -> None:
    """One wrong behaviour breaks one rule, and the finding shows where the orders part."""
    found = outcomes(model, runtime_trace(ORDERS[rule][0]))
    assert broken(found) == {rule}
    for violation in found[rule].violations:
        assert violation.events
        assert any(not step.agrees for step in violation.order)
        assert violation.requirement is not None
        assert f"ordering.{rule}" in model.requirement(violation.requirement).checks


@pytest.mark.parametrize("rule", sorted(ORDERS))
def test_each_rule_holds_where_things_are_in_order(model: ErrorModel, rule: str) -> None:
    """The rule has judged something, and no rule is broken."""
    found = outcomes(model, runtime_trace(ORDERS[rule][1]))
    assert broken(found) == set()
    assert sum(found[rule].judged.values()) > 0


def test_rules_for_another_role_do_not_apply(model: ErrorModel) -> None:
    """A provider adapter has no turns; each rule says whom it is for."""
    found = outcomes(model, TraceBuilder().start().good().returns().build())
    for rule in ORDERS:
        assert found[rule].reason == "the rule is for a runtime"
        assert not found[rule].judged


def test_a_rule_about_declarations_needs_them(model: ErrorModel) -> None:
    """Who cannot say it is not blamed for not having said it."""
    trace = runtime_trace(ORDERS["turn-ends-once"][0])
    silent = trace.header.subject.model_copy(update={"declares": ("audit",)})
    header = trace.header.model_copy(update={"subject": silent})
    found = outcomes(model, Trace(header=header, events=trace.events, footer=trace.footer))
    assert found["turn-ends-once"].reason == "the subject's binding does not declare 'events'"


def test_the_order_reaches_the_finding(model: ErrorModel) -> None:
    """What was expected and what was observed stand side by side in the report."""
    trace = runtime_trace(ORDERS["timeout-denies"][0])
    (finding,) = (
        item
        for item in judge(model, trace).findings
        if item.check == "ordering.timeout-denies" and item.verdict is not Verdict.NOT_APPLICABLE
    )
    rows = [(step.expected, step.observed, step.seq, step.agrees) for step in finding.order]
    assert rows == [
        ("InteractionTimedOut", "InteractionTimedOut", 2, True),
        ("ToolCallDenied at most 1s later", "ToolCallDenied", 4, False),
    ]
    assert "order" in finding.model_dump()


def test_a_finding_without_an_order_is_written_without_it(model: ErrorModel) -> None:
    """Reports are full of them; a reader of the older shape sees what it saw."""
    findings = judge(model, TraceBuilder().start().good().returns().build()).findings
    assert all("order" not in finding.model_dump(mode="json") for finding in findings)


def test_executions_of_gated_tools_and_phases_of_dependents_are_derived(model: ErrorModel) -> None:
    """They carry the facts of the event that shows them, and its number."""
    trace = runtime_trace(
        "tool.called tool=rm tool_call=c1 · tool.called tool=ls tool_call=c2 · "
        "extension.phase extension=top phase=init ok=true"
    )
    derived = [
        (event.seq, event.kind, event.payload.get("extension", event.payload.get("mode")))
        for event in with_derived(History(trace), model, DERIVED_KINDS)
        if event.actor == "oracle"
    ]
    derived = [item for item in derived if item[1] in ("gated.called", "dependent.phase")]
    assert derived == [(1, "gated.called", "ask"), (3, "dependent.phase", "base")]


def test_a_crash_ends_a_call_and_is_no_fault_of_it(model: ErrorModel) -> None:
    """What a kill cut off is forgiven; what came before it is not."""
    cut = "call.started · SessionTurnStart turn=t1 · process.crashed · call.crashed"
    assert broken(outcomes(model, runtime_trace(cut))) == set()
    denied = "UserDenied tool_call=c1 · ToolInvocationProposed tool_call=c1 · "
    denied += "ToolInvocationStarted tool_call=c1 · tool.called tool_call=c1 · process.crashed"
    assert broken(outcomes(model, runtime_trace(denied))) == {"denied-never-executed"}


def test_an_answer_right_before_and_right_after_the_first_are_told_apart() -> None:
    """The mini traces keep the order in which they are written, at equal times too."""
    first, second = events_of("UserApproved request=r1 · UserDenied request=r1")
    assert (first.at_ns, first.seq) < (second.at_ns, second.seq)
    assert (first.payload["answer"], second.payload["answer"]) == ("approved", "denied")
