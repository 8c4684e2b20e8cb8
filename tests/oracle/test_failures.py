"""What failed: each kind, seen from the world's facts alone, and what the model says of it."""

from __future__ import annotations

from typing import Any

import pytest

from faultclock.oracle.checks.rules.derived import with_derived
from faultclock.oracle.failures.engine import failures_of
from faultclock.oracle.failures.failure import Failure, disposition_of
from tests.oracle.failure_builder import FailureBuilder, called, model_of, paired

MODEL = model_of()

WORKFLOW: dict[str, Any] = {
    "nodes": [
        {"id": "code", "do": "program", "role": "coder", "argv": ["claude", "-p"]},
        {
            "id": "review",
            "do": "program",
            "role": "reviewer",
            "argv": ["codex"],
            "timeout": "10s",
            "output_schema": {"type": "object", "required": ["ok"]},
        },
        {"id": "test", "do": "command", "argv": ["pytest", "-q"]},
        {"id": "sum", "do": "expression"},
        {"id": "hand", "do": "handler"},
        {
            "id": "ask",
            "do": "agent",
            "prompt": "Give me JSON.",
            "output_schema": {"type": "object"},
        },
        {"id": "list", "do": "tool", "tool": "ls"},
    ]
}


def failures(builder: FailureBuilder, **sections: Any) -> tuple[Failure, ...]:
    """Return what failed in a trace that is still being written."""
    return failures_of(paired(builder.ends()), model_of(**sections) if sections else MODEL)


def the(builder: FailureBuilder) -> Failure:
    """Return the one thing that failed."""
    (failure,) = failures(builder)
    return failure


def test_a_good_turn_has_no_failure() -> None:
    """Nothing that is good is a failure."""
    builder = FailureBuilder().turn().wants("c1 ls").runs("c1").tells("c1", "1").says()
    assert failures(builder.hook().exports().pushes().stores("append")) == ()


def test_a_failed_attempt_is_a_failure_of_its_request() -> None:
    """Each attempt counts, and the next one does the first one again."""
    builder = FailureBuilder().turn()
    builder.fails(429)
    builder.says()
    failure = the(builder)
    assert (failure.kind, failure.layer, failure.number) == ("http_error", "request", 1)
    assert failure.pair == ("Again", "Limit")
    assert failure.redone_by is not None
    assert failure.wire is not None


@pytest.mark.parametrize(
    ("pair", "kind", "cause", "class_and_code"),
    [
        ("ToolTransient/ResourceBusy", "tool_failed", "ResourceBusy", ("Again", "Busy")),
        ("Tool/Logical", "tool_failed", "Logical", ("Told", "Logical")),
        (
            "ToolTransient/ExecutionTimeout",
            "tool_timeout",
            "ExecutionTimeout",
            ("Never", "Timeout"),
        ),
        ("Tool/CapabilityAbsent", "tool_unavailable", "CapabilityAbsent", None),
    ],
)
def test_what_a_tool_replies_is_told_by_its_code(
    pair: str, kind: str, cause: str, class_and_code: tuple[str, str] | None
) -> None:
    """The code decides which kind it is, and is the cause."""
    failure = the(FailureBuilder().turn().wants("c1 ls").runs("c1", pair))
    assert (failure.kind, failure.cause, failure.pair) == (kind, cause, class_and_code)
    assert (failure.layer, failure.target) == ("tool", "c1")


def test_a_tool_that_a_later_process_has_not_got_is_unknown_there() -> None:
    """What is installed in other processes is no tool of this one."""
    built = FailureBuilder(tools=({"name": "ls", "lives": [2]},)).turn().wants("c1 ls")
    assert the(built).kind == "tool_unknown"


def test_an_exception_of_a_tool_is_one_failure() -> None:
    """What leaves a tool is its own kind."""
    assert the(FailureBuilder().turn().wants("c1 ls").raises_in("c1")).kind == "tool_exception"


def test_a_tool_that_is_stopped_when_its_time_is_up_has_timed_out() -> None:
    """Only at the end of its time, not before."""
    builder = FailureBuilder().turn().wants("c1 ls")
    execution = builder.calls("c1")
    builder.after("30s").stops(execution, "c1")
    assert the(builder).kind == "tool_timeout"


def test_a_tool_that_is_stopped_early_is_no_failure() -> None:
    """Its turn may have ended for another reason."""
    builder = FailureBuilder().turn().wants("c1 ls")
    execution = builder.calls("c1")
    builder.after("3s").stops(execution, "c1")
    assert failures(builder) == ()


def test_a_tool_that_never_ends_has_timed_out_by_its_contract() -> None:
    """It need not be stopped for that, and what follows at that instant follows from it."""
    builder = FailureBuilder().turn().wants("c1 ls")
    builder.calls("c1")
    builder.after("30s").notes("Never/Timeout")
    failure = the(builder)
    assert failure.kind == "tool_timeout"
    assert failure.seq < max(event.seq for event in builder.events)


def test_a_failed_tool_that_is_an_agent_is_a_failed_subagent() -> None:
    """Subagents are called like tools, and have kinds of their own."""
    builder = FailureBuilder(tools=({"name": "ls", "agent": True},)).turn().wants("c1 ls")
    failure = the(builder.raises_in("c1"))
    assert (failure.kind, failure.cause) == ("subagent_failed", "exception")


@pytest.mark.parametrize(
    ("asked", "kind"),
    [
        ('c1 ls {"path": 1}', "tool_input_invalid"),
        ("c1 ls [1]", "tool_input_invalid"),
        ("c1 nothing", "tool_unknown"),
    ],
)
def test_a_call_that_cannot_be_executed_fails_when_it_is_asked_for(asked: str, kind: str) -> None:
    """The model's answer shows it."""
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    builder = FailureBuilder(tools=({"name": "ls", "input_schema": schema},))
    assert the(builder.turn().wants(asked)).kind == kind


def test_a_denial_by_policy_is_a_failure_of_the_call() -> None:
    """The engine's decision shows it."""
    failure = the(FailureBuilder().turn().wants("c1 ls").decides("c1"))
    assert (failure.kind, failure.tool) == ("tool_denied_by_policy", "ls")


def test_a_denial_by_the_person_is_a_failure_of_the_call() -> None:
    """The accepted answer shows it."""
    builder = FailureBuilder().turn().wants("c1 rm").shows("r1").answers("r1", "denied")
    assert the(builder).kind == "tool_denied_by_user"


def test_an_approval_that_nobody_gives_in_time_is_a_failure_of_the_call() -> None:
    """The deadline shows it."""
    builder = FailureBuilder().turn().wants("c1 rm").shows("r1", deadline="5s").after("5s")
    failure = the(builder.dismisses("r1"))
    assert (failure.kind, failure.at_ns) == ("approval_timed_out", builder.now_ns)


def test_the_last_denial_that_is_allowed_is_a_loop() -> None:
    """It is a loop in place of a denial, and an execution breaks the row."""
    builder = FailureBuilder(session={"denials_max": 2}).turn()
    for number in range(1, 4):
        builder.wants(f"c{number} ls")
        builder.decides(f"c{number}")
    kinds = [failure.kind for failure in failures(builder)]
    assert kinds == ["tool_denied_by_policy", "tool_denial_loop", "tool_denied_by_policy"]


def test_a_good_call_breaks_the_row_of_denials() -> None:
    """Only denials in a row make a loop."""
    builder = FailureBuilder(session={"denials_max": 2}).turn()
    builder.wants("c1 ls").decides("c1").wants("c2 ls").runs("c2")
    builder.wants("c3 ls").decides("c3")
    assert {failure.kind for failure in failures(builder)} == {"tool_denied_by_policy"}


def test_services_fail_with_their_own_kinds() -> None:
    """Hook, telemetry, store and queue."""
    builder = FailureBuilder().turn().hook("no").exports("no").stores("append", "Session/Gone")
    found = failures(builder.pushes("no"))
    assert [failure.kind for failure in found] == [
        "hook_failed",
        "telemetry_failed",
        "memory_unavailable",
        "queue_refused",
    ]
    assert [failure.cause for failure in found] == ["pre_tool", None, "Gone", None]


def test_a_hook_that_hangs_fails_when_it_meets_its_fault() -> None:
    """A use without an end is a failure only where the world knows that it hangs."""
    builder = FailureBuilder().turn()
    facts = {"n": 1, "call": builder.call}
    builder.event("hook", "hook.called", hook="audit", slot="pre_tool", **facts)
    assert failures(builder) == ()
    builder = FailureBuilder().turn()
    builder.event("hook", "hook.called", hook="audit", slot="pre_tool", **facts)
    builder.event("hook", "fault.fired", fault="f", fault_kind="hangs", of="hook audit", **facts)
    assert the(builder).kind == "hook_failed"


def test_a_node_fails_by_what_the_host_replies() -> None:
    """The fault of the sandbox is the cause."""
    builder = FailureBuilder(workflow=WORKFLOW).turn()
    builder.node("sum", {"kind": "sandbox", "cause": "wall_clock", "message": "too long"})
    builder.node("hand", {"kind": "exception", "cause": None, "message": "boom"})
    first, second = failures(builder)
    assert (first.kind, first.cause, first.pair) == (
        "sandbox_failed",
        "wall_clock",
        ("Again", "Sandbox"),
    )
    assert (second.kind, second.node and second.node.id) == ("handler_failed", "hand")


@pytest.mark.parametrize(
    ("ended", "kind", "cause"),
    [
        ({"status": 1, "means": "cut"}, "program_cut", "cut"),
        ({"status": 1, "means": "auth"}, "program_refused", "auth"),
        ({"status": 1, "means": "quota"}, "program_refused", "quota"),
        ({"status": 1, "means": "network"}, "program_exit", "network"),
        ({"status": 1}, "program_exit", "status"),
        ({"means": "denial_loop", "killed": True}, "program_denial_loop", "denial_loop"),
        ({"killed": True, "takes": "60s"}, "program_timeout", None),
    ],
)
def test_a_program_fails_by_what_its_end_means(
    ended: dict[str, Any], kind: str, cause: str | None
) -> None:
    """What its lines amount to goes before how it ended."""
    builder = FailureBuilder(workflow=WORKFLOW).turn().program("claude", "-p", "Go.", **ended)
    failure = the(builder)
    assert (failure.kind, failure.cause, failure.role) == (kind, cause, "coder")


def test_a_program_that_is_killed_early_is_no_failure() -> None:
    """The subject may have stopped it because of a cancel."""
    builder = FailureBuilder(workflow=WORKFLOW).turn().program("claude", "-p", killed=True)
    assert failures(builder) == ()


def test_a_missing_program_is_known_by_its_name() -> None:
    """It was asked for, and is not there; a look for it by name alone counts as well."""
    builder = FailureBuilder(workflow=WORKFLOW).turn().misses("claude")
    failure = the(builder)
    assert (failure.kind, failure.target, failure.names) == (
        "program_missing",
        "code",
        ("claude",),
    )


def test_a_command_fails_by_its_status_with_its_last_words() -> None:
    """Its message is the last line that it wrote."""
    builder = FailureBuilder(workflow=WORKFLOW).turn()
    failure = the(builder.program("pytest", "-q", status=1, stderr="E1\n2 failed"))
    assert (failure.kind, failure.layer) == ("command_failed", "command")
    assert failure.message == "2 failed"


@pytest.mark.parametrize(
    ("answer", "kind"),
    [("fine", "output_not_json"), ('{"no": 1}', "output_schema_invalid")],
)
def test_an_answer_that_is_not_in_its_form_is_a_failure(answer: str, kind: str) -> None:
    """It is read from what the program wrote."""
    builder = FailureBuilder(workflow=WORKFLOW).turn().program("codex", writes=answer)
    assert the(builder).kind == kind


@pytest.mark.parametrize("answer", ['{"ok": true}', 'thinking\n{"ok": true}'])
def test_an_answer_may_be_the_last_line(answer: str) -> None:
    """Programs talk before they answer."""
    builder = FailureBuilder(workflow=WORKFLOW).turn().program("codex", writes=answer)
    assert failures(builder) == ()


def test_what_broke_is_not_called_an_answer_in_a_wrong_form() -> None:
    """A program that failed owes no answer."""
    builder = FailureBuilder(workflow=WORKFLOW).turn()
    builder.program("codex", writes="oops", status=1, means="network")
    assert the(builder).kind == "program_exit"


def test_an_answer_of_the_model_is_judged_by_its_text() -> None:
    """The text is the scenario's."""
    replies = [{"text": "no JSON at all"}]
    builder = FailureBuilder(workflow=WORKFLOW, provider={"replies": replies}).turn()
    failure = the(builder.asks("Give me JSON.", "no JSON at all"))
    assert (failure.kind, failure.target) == ("output_not_json", "ask")


def test_an_answer_that_is_asked_for_again_is_a_failure_that_was_redone() -> None:
    """The very same request after a good answer, which was not in its form."""
    replies = [{"text": "no JSON at all"}]
    builder = FailureBuilder(workflow=WORKFLOW, provider={"replies": replies}).turn()
    builder.asks("Give me JSON.", "no JSON at all").asks("Give me JSON.", "no JSON at all")
    first, second = failures(builder)
    assert (first.redone_by is None, second.retries, second.redone_by) == (False, 1, None)


def test_a_cancel_fails_the_turn_that_runs() -> None:
    """Its scope is the cause; that of one tool is the tool's affair."""
    failure = the(FailureBuilder().turn().cancels("tool", "ls").cancels("turn"))
    assert (failure.kind, failure.cause, failure.pair) == (
        "cancelled",
        "turn",
        ("Stopped", "Cancelled"),
    )


def test_what_fails_after_the_end_of_its_call_is_left_out() -> None:
    """It fails nobody any more."""
    builder = FailureBuilder().turn().wants("c1 ls").says().ends()
    builder.runs("c1", "Tool/Logical")
    assert failures_of(paired(builder), MODEL) == ()


# ---------------------------------------------------------------------- what the model says


def test_the_role_of_the_node_chooses_the_rule() -> None:
    """Rules with roles are for those roles."""
    nodes = [
        {
            "id": "talk",
            "do": "program",
            "argv": ["codex"],
            "role": "discussion",
            "output_schema": {},
        }
    ]
    builder = FailureBuilder(workflow={"nodes": nodes}).turn().program("codex", writes="well")
    assert the(builder).pair == ("Mild", "Hook")


def test_a_setting_chooses_the_rule() -> None:
    """A node that is not idempotent is another thing."""
    nodes = [{"id": "a", "do": "program", "argv": ["codex"], "idempotent": False}]
    builder = FailureBuilder(workflow={"nodes": nodes}).turn()
    assert the(builder.program("codex", status=1, means="cut")).pair == ("Never", "Broken")


def test_the_disposition_is_the_rules_then_the_codes_then_the_class() -> None:
    """The closest one counts."""
    assert disposition_of(MODEL, ("Told", "Denied")) == "surface_to_model"
    assert disposition_of(MODEL, ("Nobody", "Denied")) is None
    failure = the(FailureBuilder().turn().wants("c1 ls").raises_in("c1"))
    assert failure.disposition == "terminal"


def test_a_retry_at_the_same_target_is_what_did_it_again() -> None:
    """The series counts how often."""
    busy = "ToolTransient/ResourceBusy"
    builder = FailureBuilder().turn().wants("c1 ls").runs("c1", busy).after("1s").runs("c1", busy)
    first, second = failures(builder)
    assert first.redone_by is not None
    assert first.redone_by.seq == second.events[0]
    assert (first.retries, second.retries, second.tries) == (0, 1, 2)
    assert (second.number, second.redone_by) == (2, None)


def test_another_call_of_the_same_tool_does_nothing_again() -> None:
    """What the model asks for anew is its own affair."""
    builder = FailureBuilder().turn().wants("c1 ls").runs("c1", "Tool/Logical")
    builder.tells("c1", "no").wants("c2 ls").runs("c2")
    assert the(builder).redone_by is None


def test_a_new_round_of_the_work_is_no_retry() -> None:
    """Another node acted in between."""
    builder = FailureBuilder(workflow=WORKFLOW).turn()
    builder.program("claude", "-p").program("pytest", "-q", status=1)
    builder.program("claude", "-p").program("pytest", "-q", status=1)
    first, second = failures(builder)
    assert (first.redone_by, second.number, second.retries) == (None, 2, 0)


def test_the_numbers_of_a_node_count_where_the_policy_says_so() -> None:
    """A node without any has one attempt."""
    wall_clock = {"kind": "sandbox", "cause": "wall_clock", "message": "too long"}
    retry = {"attempts_max": 5, "backoff": {"kind": "fixed", "base": "2s"}}
    limits = []
    for more in ({}, {"retry": retry}, {"retry": retry | {"retry_on": ["Other"]}}):
        nodes = [{"id": "sum", "do": "expression", **more}]
        builder = FailureBuilder(workflow={"nodes": nodes}).turn().node("sum", wall_clock)
        ruling = the(builder).ruling
        limits.append(None if ruling is None else ruling.policy.attempts_max)
    assert limits == [1, 5, 1]


def test_an_answer_that_was_filtered_is_a_failure_of_its_request() -> None:
    """The wire was good, the finish reason says it."""
    builder = FailureBuilder().turn()
    builder.good(finish_reason="content_filter")
    failure = the(builder)
    assert (failure.kind, failure.pair) == ("content_filtered", ("Never", "Filtered"))


def test_an_ordering_rule_may_speak_of_any_failure_where_it_could_be_known() -> None:
    """As `failure.seen`, right behind the fact that shows it, in the words of the model."""
    found = paired(called().raises_in("c1").ends())
    events = with_derived(found, model_of(), frozenset({"failure.seen"}))
    (place,) = (index for index, event in enumerate(events) if event.kind == "failure.seen")
    shown, seen = events[place - 1], events[place]
    assert (shown.kind, shown.seq, shown.at_ns) == ("tool.raised", seen.seq, seen.at_ns)
    assert seen.payload == {
        "kind": "tool_exception",
        "cause": None,
        "class": "Never",
        "code": "Broken",
        "role": "",
        "layer": "tool",
        "target": "c1",
        "tool": "ls",
        "tool_call": "c1",
        "node": None,
        "call": "ask/1",
        "number": 1,
    }
