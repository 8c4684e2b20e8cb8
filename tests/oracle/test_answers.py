"""A failure never turns into a good answer, and a good answer stays whole."""

from __future__ import annotations

import pytest

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.finding import Finding, Verdict
from faultclock.oracle.judge import judge
from tests.oracle.trace_builder import REPLY, TraceBuilder
from tests.oracle.turn_builder import TurnBuilder

TOOLS = [{"id": "call_1", "name": "add", "arguments": '{"a": 1, "b": 2}'}]


def found(model: ErrorModel, built: TraceBuilder) -> Finding:
    """Return the one finding of the check."""
    findings = judge(model, built.build()).findings
    (finding,) = (item for item in findings if item.check == "swallow.silent")
    return finding


def test_half_a_stream_is_no_answer(model: ErrorModel) -> None:
    """The stream was cut, and the call returned what it had."""
    built = TraceBuilder(stream=True).start().cut_stream("net.delivered").returns(REPLY[:10])
    finding = found(model, built)
    assert finding.verdict is Verdict.FAIL
    assert finding.observed == (
        "attempt 1 failed (the stream was cut off), and the call returned "
        "10 characters of text: 'Hello from'"
    )


@pytest.mark.parametrize("text", ["", None, REPLY + REPLY, REPLY[:-1]])
def test_another_text_than_the_providers_fails(model: ErrorModel, text: str | None) -> None:
    """Nothing, twice, or all but one character."""
    finding = found(model, TraceBuilder().start().good().returns(text))
    assert (finding.verdict, finding.requirement) == (Verdict.FAIL, "STUD-RULE-04")


@pytest.mark.parametrize(("reason", "verdict"), [("no answer needed", "PASS"), ("", "FAIL")])
def test_an_announced_swallow_needs_its_reason(
    model: ErrorModel, reason: str, verdict: str
) -> None:
    """A SuppressedError event with a reason is what the document allows."""
    built = TraceBuilder().start().fails(401)
    built.event(
        "subject", "declared.event", call="ask/1", name="SuppressedError", fields={"reason": reason}
    )
    assert found(model, built.returns("")).verdict.value == verdict


def test_a_reply_without_any_attempt_is_not_judged(model: ErrorModel) -> None:
    """No failure was there to swallow; that no fault was met is another check's finding."""
    assert found(model, TraceBuilder().start().returns("")).verdict is Verdict.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("given", "verdict"),
    [
        ([{"name": "add", "arguments": '{"a": 1, "b": 2}'}], Verdict.PASS),
        ([{"name": "add", "arguments": '{"b":2,"a":1}'}], Verdict.PASS),
        ([{"name": "add", "arguments": '{"a": 1}'}], Verdict.FAIL),
        ([{"name": "add", "arguments": '{"a": 1, '}], Verdict.FAIL),
        ([], Verdict.FAIL),
    ],
)
def test_tool_calls_are_returned_as_they_were_sent(
    model: ErrorModel, given: list[dict[str, str]], verdict: Verdict
) -> None:
    """Equal JSON is equal; a call that is dropped or cut is not."""
    built = TraceBuilder().start().good("", finish_reason="tool_calls", tool_calls=TOOLS)
    assert found(model, built.returns(None, tool_calls=tuple(given))).verdict is verdict


def test_tools_that_the_trace_does_not_name_are_compared_with_nothing(
    model: ErrorModel,
) -> None:
    """Any form of them is passed on."""
    built = TraceBuilder().start().good("", finish_reason="tool_calls")
    built.returns(None, tool_calls=({"name": "add", "arguments": "{}"},))
    assert found(model, built).verdict is Verdict.PASS


def test_a_finding_shows_the_tool_calls_on_both_sides(model: ErrorModel) -> None:
    """A count would not tell a dropped call from one without its name."""
    built = TraceBuilder().start().good("", finish_reason="tool_calls", tool_calls=TOOLS)
    nameless = {"name": "None", "arguments": "None"}
    finding = found(model, built.returns("", tool_calls=(nameless,)))
    assert finding.expected == """the provider's tool calls: add({"a": 1, "b": 2})"""
    assert finding.observed == "the call returned None(None)"
    assert "ToolCall" in finding.hint


def announce(built: TraceBuilder) -> TraceBuilder:
    """Declare that an error is ignored on purpose."""
    fields = {"reason": "on purpose"}
    built.event("subject", "declared.event", call="ask/1", name="SuppressedError", fields=fields)
    return built


def test_an_announcement_does_not_excuse_a_changed_answer(model: ErrorModel) -> None:
    """What may be ignored is an error; the provider's good text is none."""
    finding = found(model, announce(TraceBuilder().start().good()).returns("whatever"))
    assert (finding.verdict, finding.expected) == (Verdict.FAIL, "the provider's whole text")


def test_an_announced_swallow_still_retries_what_must_be_retried(model: ErrorModel) -> None:
    """Six attempts come before a rate limit may be ignored; a 401 may be ignored at once."""
    for status, verdict in ((429, Verdict.FAIL), (401, Verdict.PASS)):
        built = announce(TraceBuilder().start().fails(status)).returns("")
        findings = judge(model, built.build()).findings
        said = {item.verdict for item in findings if item.check == "classification.disposition"}
        assert said == {verdict}


def test_an_announced_swallow_that_has_not_ended_is_not_blamed(model: ErrorModel) -> None:
    """The call still waits for its retry: that it gave up is not known."""
    built = announce(TraceBuilder().start().fails(429)).wait("1s")
    findings = judge(model, built.build()).findings
    said = {item.verdict for item in findings if item.check == "classification.disposition"}
    assert said == {Verdict.NOT_APPLICABLE}


@pytest.mark.parametrize(
    ("nodes", "text", "verdict"),
    [
        (("model", "rate"), '{"done": true}', "NOT_APPLICABLE"),
        (("rate", "model"), '{"done": true}', "FAIL"),
        (("rate", "model"), REPLY, "PASS"),
    ],
)
def test_a_workflow_returns_what_its_last_node_gave(
    model: ErrorModel, nodes: tuple[str, ...], text: str, verdict: str
) -> None:
    """Where that is the model, its text is what is compared; an expression has one of its own."""
    script = [{"id": "write", "do": "agent"}, {"id": "rate", "do": "expression"}]
    built = TurnBuilder(workflow={"nodes": script}).turn()
    for node in nodes:
        if node == "model":
            built.says()
        else:
            fact = {"node": node, "n": 1, "do": "expression", "call": "ask/1", "life": 1}
            built.event("harness", "node.called", **fact)
    assert found(model, built.ends(text=text)).verdict.value == verdict
