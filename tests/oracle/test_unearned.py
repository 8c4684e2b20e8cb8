"""Greens that were not earned: for each, a trace that must not pass, and its good neighbour.

Each of them was found by a runtime that was wrong in a way an author could be, and passed.
"""

from __future__ import annotations

from typing import Any

import pytest

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.finding import Finding, Verdict
from faultclock.model.trace.trace import Trace
from faultclock.oracle.judge import judge
from tests.oracle.turn_builder import TurnBuilder, error, value

FORBIDDEN = "ToolTerminal/Forbidden"
STORED: dict[str, Any] = {"sessionId": "s1", "storeId": "local", "mode": "ask", "messages": []}
STORED |= {"createdAt": 1, "updatedAt": 1}
STAGED = {"entry_stage": "a", "stages": [{"id": "a", "retry": {"attempts_max": 2}}]}


def bad(model: ErrorModel, trace: Trace, check: str) -> list[Finding]:
    """Return what a check has against the subject, or against the run."""
    found = judge(model, trace).findings
    good = (Verdict.PASS, Verdict.NOT_APPLICABLE)
    return [item for item in found if item.check == check and item.verdict not in good]


def begun(built: TurnBuilder, *, resume: bool = False) -> TurnBuilder:
    """Begin a process and its start."""
    built.event("harness", "process.started", resume=resume, call=None)
    return built.begins(f"start/{built.life}", "start")


# What was never asked.


@pytest.mark.parametrize("asked", [True, False])
def test_extensions_that_no_phase_was_asked_of_show_nothing(model: ErrorModel, asked: bool) -> None:
    """A runtime that knows no extensions does nothing wrong with them."""
    built = begun(TurnBuilder(session={"extensions": [{"id": "a"}]}))
    if asked:
        built.phase("a", "init", "activate")
    trace = built.ends().begins("ask/1").says().ends().build()
    found = bad(model, trace, "evidence.exercised")
    assert [item.verdict for item in found] == ([] if asked else [Verdict.INCONCLUSIVE])


def test_a_phase_that_was_to_fail_and_never_came_shows_nothing(model: ErrorModel) -> None:
    """A runtime that is never closed disposes of nothing, so nothing fails in it."""
    extension = {"id": "a", "fails_in": ["dispose"]}
    built = begun(TurnBuilder(session={"extensions": [extension]})).phase("a", "init", "activate")
    trace = built.ends().begins("ask/1").says().ends().build()
    (finding,) = bad(model, trace, "evidence.exercised")
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "a fails in dispose" in finding.expected


@pytest.mark.parametrize("asked", [True, False])
def test_a_state_machine_that_was_never_asked_shows_nothing(model: ErrorModel, asked: bool) -> None:
    """The turn was a plain one."""
    built = TurnBuilder(session=STAGED).turn()
    if asked:
        built.staged("check_gate", "proceed").says().staged("assess", "ok").staged("next", "end")
    else:
        built.says()
    found = bad(model, built.ends().build(), "evidence.exercised")
    assert [item.verdict for item in found] == ([] if asked else [Verdict.INCONCLUSIVE])


# How turns and sessions begin and end.


def test_a_turn_that_fails_for_no_reason_is_a_failure(model: ErrorModel) -> None:
    """Everything was good, and the person got an error."""
    trace = TurnBuilder().turn().says().ends("ExtensionHost/Odd").build()
    (finding,) = bad(model, trace, "turns.go-on")
    assert finding.observed == "it ended with ExtensionHost/Odd"


def test_a_turn_that_is_refused_for_no_reason_is_a_failure(model: ErrorModel) -> None:
    """A typed error before the first request looks like a decision."""
    trace = TurnBuilder().turn().ends("Validation/InputInvalid").build()
    (finding,) = bad(model, trace, "turns.go-on")
    assert "nothing had failed" in finding.expected


def test_a_phase_that_failed_is_no_reason_to_refuse_a_turn(model: ErrorModel) -> None:
    """A phase is a part of a start or a close, and of no turn."""
    built = TurnBuilder().turn().phase("logger", "init", ok=False)
    (finding,) = bad(model, built.ends("Validation/InputInvalid").build(), "turns.go-on")
    assert "nothing had failed" in finding.expected


def test_a_turn_may_be_refused_in_a_session_that_was_closed(model: ErrorModel) -> None:
    """Then something was in its way."""
    tasks = ({"id": "bye", "do": "close"}, {"id": "ask"})
    built = TurnBuilder(tasks=tasks).opens().begins("bye/1", "close").ends()
    trace = built.begins("ask/1").ends("Session/SessionClosed").build()
    assert bad(model, trace, "turns.go-on") == []


def test_a_turn_that_leaves_the_model_waiting_is_a_failure(model: ErrorModel) -> None:
    """It wanted the result of its tool."""
    trace = TurnBuilder().turn().wants("c1 ls").runs("c1").ends(text="").build()
    (finding,) = bad(model, trace, "turns.go-on")
    assert finding.observed == "the turn returned without asking it again"
    assert bad(model, trace, "evidence.exercised") == [], "it failed, which says more than that"


def test_a_new_session_that_does_not_open_is_a_failure(model: ErrorModel) -> None:
    """Nothing else would be shown in the whole run."""
    built = TurnBuilder().opens("Validation/ShapeInvalid")
    built.event("harness", "call.skipped", call="ask/1", task="ask", why="start/1 raised")
    (finding,) = bad(model, built.build(), "turns.go-on")
    assert finding.expected == "a new session opens: nothing had failed"


def test_a_session_starts_without_an_extension_that_failed(model: ErrorModel) -> None:
    """One broken logger is no reason to refuse work."""
    extension = {"id": "a", "fails_in": ["init"]}
    built = begun(TurnBuilder(session={"extensions": [extension]}))
    built.event("extension", "extension.phase", extension="a", phase="init", ok=False, how="failed")
    built.ends("ExtensionHost/LifecycleFailure")
    built.event("harness", "call.skipped", call="ask/1", task="ask", why="start/1 raised")
    (finding,) = bad(model, built.build(), "extensions.walked")
    assert "without the failed extension: a in init" in finding.expected


@pytest.mark.parametrize("early", [True, False])
def test_an_extension_is_active_before_the_first_request(model: ErrorModel, early: bool) -> None:
    """A start that goes on behind the first turn is none."""
    built = begun(TurnBuilder(session={"extensions": [{"id": "a"}]})).phase("a", "init")
    if early:
        built.phase("a", "activate")
    built.ends().begins("ask/1").says()
    if not early:
        built.phase("a", "activate")
    assert (bad(model, built.ends().build(), "extensions.walked") == []) is early


# Refusals in the first turn.


@pytest.mark.parametrize(
    ("chain", "good"), [("Session/ResumeMismatch", True), ("Session/Odd", False), ("", False)]
)
def test_a_session_may_be_refused_in_its_first_turn(
    model: ErrorModel, chain: str, good: bool
) -> None:
    """A runtime without a start has no other place to do it."""
    stored = {**STORED, "storeId": "elsewhere"}
    built = begun(TurnBuilder(session={"resume": True}, store={"initial": stored}), resume=True)
    built.ends().begins("ask/1").stores("read")
    trace = (built.ends(chain) if chain else built.says().ends()).build()
    assert (bad(model, trace, "resume.decision") == []) is good


@pytest.mark.parametrize("keeps", [True, False])
def test_the_history_of_a_resumed_session_has_its_tool_results(
    model: ErrorModel, keeps: bool
) -> None:
    """A history of texts alone forgets what was found out."""
    tasks = ({"id": "ask"}, {"id": "again", "do": "restart"}, {"id": "next"})
    built = TurnBuilder(tasks=tasks).turn().wants("c1 ls").runs("c1").tells("c1", value()).says()
    built.stores().ends().begins("again/1", "restart").ends()
    built.life = 2
    begun(built, resume=True).stores("read").ends()
    if not keeps:
        built.messages = [item for item in built.messages if item["role"] == "user"]
    trace = built.begins("next/1", prompt="And?").says("Well.").stores().ends(text="Well.").build()
    assert (bad(model, trace, "resume.history") == []) is keeps


# What the model is told.


def test_the_model_is_told_no_value_of_a_tool_that_never_ran(model: ErrorModel) -> None:
    """A result from a cache, or from nowhere, is none of this call."""
    trace = TurnBuilder().turn().wants("c1 ls").tells("c1", value()).says().ends().build()
    (finding,) = bad(model, trace, "tools.told")
    assert "never executed" in finding.observed


def test_the_model_is_told_no_value_before_the_tool_has_replied(model: ErrorModel) -> None:
    """What is answered first and done afterwards may still fail."""
    built = TurnBuilder().turn().wants("c1 ls")
    execution = built.calls("c1")
    built.tells("c1", value()).says().replies(execution, "c1")
    (finding,) = bad(model, built.ends().build(), "tools.told")
    assert "had not replied" in finding.observed


def test_a_next_request_holds_the_calls_it_answers(model: ErrorModel) -> None:
    """Calls that are left out of the conversation are as good as never asked for."""
    built = TurnBuilder().turn().wants("c1 ls").runs("c1", FORBIDDEN)
    built.messages[-1:] = [{"role": "user", "content_sha256": "ab"}]
    (finding,) = bad(model, built.says().ends().build(), "tools.paired")
    assert finding.observed == "nothing of the call of ls is in it"


def test_a_further_request_of_a_turn_forgets_nothing(model: ErrorModel) -> None:
    """A retry that leaves the results out has the tools run again."""
    built = TurnBuilder().turn().wants("c1 ls").runs("c1", FORBIDDEN).tells("c1", error(FORBIDDEN))
    built.wants("c2 ls").runs("c2")
    built.messages = [item for item in built.messages if item.get("tool_call_id") != "c1"]
    trace = built.tells("c2", value()).says().ends().build()
    (finding,) = bad(model, trace, "turns.history")
    assert "of the tool, is missing" in finding.observed


# Nobody there, dialogs that are closed, stages, late work, leaks.


@pytest.mark.parametrize("halts", [True, False])
def test_a_turn_halts_where_nobody_can_be_asked(model: ErrorModel, halts: bool) -> None:
    """That nobody is there is no denial that the model could go on with."""
    built = TurnBuilder(session={"headless": True}).turn().wants("c1 rm")
    if not halts:
        built.tells("c1", error("ToolTerminal/ApprovalDenied")).says()
    assert (bad(model, built.ends().build(), "approvals.respected") == []) is halts


@pytest.mark.parametrize("ends", [True, False])
def test_a_dialog_that_is_closed_cancels_the_turn(model: ErrorModel, ends: bool) -> None:
    """It is no denial."""
    built = TurnBuilder().turn().wants("c1 rm").shows("r1").after("2s").answers("r1", "dismissed")
    if ends:
        built.ends("Cancellation/TurnCancelled")
    else:
        built.tells("c1", error("ToolTerminal/ApprovalDenied")).says().ends()
    assert (bad(model, built.build(), "cancel.outcome") == []) is ends


def test_a_stage_that_came_to_an_end_was_judged(model: ErrorModel) -> None:
    """A gate that is asked alone is no workflow."""
    trace = TurnBuilder(session=STAGED).turn().staged("check_gate", "proceed").says().ends().build()
    (finding,) = bad(model, trace, "stages.next")
    assert finding.observed == "it was not asked"


def test_a_further_attempt_of_a_stage_begins_at_its_gate(model: ErrorModel) -> None:
    """Otherwise a gate that has closed meanwhile is not heeded."""
    built = TurnBuilder(session=STAGED).turn().staged("check_gate", "proceed").says()
    built.staged("assess", "retry").says().staged("assess", "ok", 2).staged("next", "end", 2)
    found = bad(model, built.ends().build(), "stages.attempts")
    assert found[0].observed == "the model was asked again without it"


def test_no_tool_is_executed_for_a_call_that_has_ended(model: ErrorModel) -> None:
    """Nobody waits for it, and nobody is told."""
    built = TurnBuilder().turn().says().ends().after("1s")
    built.calls("c9")
    trace = built.build()
    (finding,) = bad(model, trace, "ordering.nothing-after-the-end")
    assert finding.observed == "a tool was run 1s after the call ended"
    assert (
        "no answer of the model has a call c9" in bad(model, trace, "tools.asked-for")[0].observed
    )


def test_a_leak_counts_where_the_audience_is_not_declared(model: ErrorModel) -> None:
    """Nobody has to tell it, and whoever does must not tell that."""
    built = TurnBuilder().turn().says()
    path = "/etc/stud/sessions"
    built.event("subject", "declared.user_message", call="ask/1", message=f"see {path}")
    found = bad(model, built.ends().build(), "audience.user")
    assert [item.verdict for item in found] == [Verdict.FAIL]


# What ends a call.


@pytest.mark.parametrize(("after", "ends"), [("100ms", True), ("50s", False)])
def test_a_turn_with_its_last_answer_may_finish_and_may_not_go_on(
    model: ErrorModel, after: str, ends: bool
) -> None:
    """A cancel that comes after the last answer leaves time for saving it, and for nothing else."""
    built = TurnBuilder(cancels=[{"id": "stop", "scope": "turn", "when": {"at": "1s"}}]).turn()
    trace = built.says().after("1s").cancels("turn").after(after).ends().build()
    found = bad(model, trace, "cancel.outcome")
    assert [item.observed for item in found] == (
        [] if ends else ["it returned, as if nothing had been said"]
    )


@pytest.mark.parametrize("chain", [(), ("ExtensionHost/LifecycleFailure",)])
def test_a_session_is_closed_without_an_error(model: ErrorModel, chain: tuple[str, ...]) -> None:
    """Nothing had failed, so nothing is in the way of closing."""
    trace = TurnBuilder().turn().says().ends().begins("close/1", "close").ends(*chain).build()
    found = bad(model, trace, "turns.go-on")
    assert [item.call for item in found] == (["close/1"] if chain else [])


def test_a_question_that_the_runtime_cannot_be_asked_shows_nothing(model: ErrorModel) -> None:
    """A runtime without `ask` is never asked, which is no way to pass."""
    tasks = ({"id": "which", "do": "ask", "question": {"kind": "Ask"}},)
    built = TurnBuilder(tasks=tasks).opens()
    built.event(
        "harness", "call.skipped", call="which/1", task="which", why="the runtime has no ask"
    )
    (finding,) = bad(model, built.build(), "evidence.exercised")
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "has no method `ask`" in finding.observed


@pytest.mark.parametrize("asleep", [True, False])
def test_a_closed_session_leaves_nothing_running(model: ErrorModel, asleep: bool) -> None:
    """A thread that sleeps on for ever keeps the process alive, and may act at any time."""
    built = TurnBuilder().turn().says().ends().begins("close/1", "close").ends()
    if asleep:
        built.after("1s").event("subject", "sleep", delay_ns=1_000_000_000, call="ask/1")
    found = bad(model, built.build(), "evidence.exercised")
    assert [item.verdict for item in found] == ([Verdict.INCONCLUSIVE] if asleep else [])
