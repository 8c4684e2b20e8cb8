"""Tools: what is tried again, given up in time and run side by side, and what excuses it."""

from __future__ import annotations

from typing import Any

import pytest

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.finding import Finding
from faultclock.model.trace.trace import EndingReason
from faultclock.oracle.judge import judge
from tests.oracle.planted_turns import BUSY, CANCELLED, RETRYING
from tests.oracle.turn_builder import TurnBuilder, error, value

SLOW = "ToolTransient/ExecutionTimeout"
TIMED = ({"name": "ls", "timeout": "10s"},)


def found(
    model: ErrorModel, built: TurnBuilder, check: str, ending: EndingReason = "completed"
) -> Finding:
    """Return the first finding of a check."""
    findings = judge(model, built.build(ending)).findings
    return next(item for item in findings if item.check == check)


def verdict(
    model: ErrorModel, built: TurnBuilder, check: str, ending: EndingReason = "completed"
) -> str:
    """Return the verdict of a check."""
    return found(model, built, check, ending).verdict.value


# ------------------------------------------------------------------------- tried again or not


def failed_once(**options: Any) -> TurnBuilder:
    """Return a turn in which a tool has failed once with what its contract lets be tried again."""
    options = {"tools": RETRYING, **options}
    return TurnBuilder(**options).turn().wants("c1 ls").runs("c1", BUSY)


def test_a_tool_that_may_be_tried_again_is(model: ErrorModel) -> None:
    """A result that is passed on without another execution shows that it was given up."""
    given_up = failed_once().tells("c1", error(BUSY)).says().ends()
    assert verdict(model, given_up, "tools.disposition") == "FAIL"
    asked = failed_once().tells("c1", error(BUSY)).says()
    finding = found(model, asked, "tools.disposition", "virtual_time_limit")
    assert finding.verdict.value == "FAIL"
    request = [event.seq for event in asked.events if event.kind == "http.request"][-1]
    assert request in finding.events


def test_a_turn_that_is_still_at_work_may_try_again(model: ErrorModel) -> None:
    """Nothing shows that it has given up."""
    for ending in ("virtual_time_limit", "deadlock"):
        built = failed_once().after("1s")
        assert verdict(model, built, "tools.disposition", ending) == "NOT_APPLICABLE"


@pytest.mark.parametrize(
    ("scope", "target", "seen"),
    [
        ("tool", "c1", "NOT_APPLICABLE"),
        ("tool", "ls", "NOT_APPLICABLE"),
        ("tool", None, "NOT_APPLICABLE"),
        ("tool", "c2", "FAIL"),
        ("turn", None, "NOT_APPLICABLE"),
    ],
)
def test_a_cancel_of_the_tool_or_of_its_turn_ends_the_tries(
    model: ErrorModel, scope: str, target: str | None, seen: str
) -> None:
    """A cancel of another tool does not."""
    built = failed_once().cancels(scope, target).tells("c1", error(BUSY))
    built = built.says().ends() if scope == "tool" else built.ends(CANCELLED)
    assert verdict(model, built, "tools.disposition") == seen


def test_a_cancel_before_the_execution_or_after_the_end_excuses_nothing(model: ErrorModel) -> None:
    """It did not keep the tool from being tried again."""
    before = TurnBuilder(tools=RETRYING).turn().wants("c1 ls").cancels("tool", "c1")
    before.runs("c1", BUSY).tells("c1", error(BUSY)).says().ends()
    assert verdict(model, before, "tools.disposition") == "FAIL"
    after = failed_once().tells("c1", error(BUSY)).says().ends().cancels("tool", "c1")
    assert verdict(model, after, "tools.disposition") == "FAIL"


@pytest.mark.parametrize(("limit", "seen"), [(1, "NOT_APPLICABLE"), (2, "FAIL")])
def test_the_budget_of_tool_calls_ends_the_tries(model: ErrorModel, limit: int, seen: str) -> None:
    """A tool that has used up the last one cannot be tried again."""
    built = failed_once(session={"budgets": {"tool_calls_max": limit}})
    built.tells("c1", error(BUSY)).says().ends()
    assert verdict(model, built, "tools.disposition") == seen


def test_a_crash_ends_the_tries(model: ErrorModel) -> None:
    """The process that would have tried again is gone."""
    built = failed_once().crashes()
    assert verdict(model, built, "tools.disposition") == "NOT_APPLICABLE"


def test_a_tool_without_a_policy_is_tried_once(model: ErrorModel) -> None:
    """A second execution is one too many, whatever the first came to."""
    built = TurnBuilder(tools=TIMED).turn().wants("c1 ls").runs("c1", BUSY).runs("c1")
    built.tells("c1", value()).says().ends()
    finding = found(model, built, "tools.disposition")
    assert finding.verdict.value == "FAIL"
    assert "which has no retry" in finding.expected


def test_an_execution_that_repeats_an_effect_is_another_checks_matter(model: ErrorModel) -> None:
    """It is blamed once."""
    built = TurnBuilder(tools=RETRYING).turn().wants("c1 ls")
    for _ in range(2):
        execution = built.calls("c1")
        built.happens(execution, "c1")
        built.replies(execution, "c1")
    built.tells("c1", value()).says().ends()
    assert verdict(model, built, "tools.effects") == "FAIL"
    assert verdict(model, built, "tools.disposition") != "FAIL"


# ----------------------------------------------------------------------------- given up in time


@pytest.mark.parametrize(
    ("after", "seen"),
    [
        ("9.999999s", "PASS"),
        ("9.999998s", "FAIL"),
        ("10s", "PASS"),
        ("10.000001s", "PASS"),
        ("10.000002s", "FAIL"),
    ],
)
def test_an_execution_is_stopped_when_its_time_is_over(
    model: ErrorModel, after: str, seen: str
) -> None:
    """To the microsecond."""
    built = TurnBuilder(tools=TIMED).after("1m").turn().wants("c1 ls")
    execution = built.calls("c1")
    built.after(after).stops(execution, "c1")
    built.tells("c1", error(SLOW)).says().ends()
    finding = found(model, built, "tools.deadline")
    assert finding.verdict.value == seen
    if seen == "FAIL":
        assert finding.observed == f"it was stopped {after} after its start"


@pytest.mark.parametrize(
    ("after", "observed"),
    [("10.000001s", None), ("11s", "it was still waited for 11s after its start")],
)
def test_a_reply_after_the_time_is_over_comes_too_late(
    model: ErrorModel, after: str, observed: str | None
) -> None:
    """One that comes in time shows nothing of the limit."""
    built = TurnBuilder(tools=TIMED).turn().wants("c1 ls").runs("c1", takes=after)
    finding = found(model, built.tells("c1", value()).says().ends(), "tools.deadline")
    assert finding.verdict.value == ("NOT_APPLICABLE" if observed is None else "FAIL")
    if observed is not None:
        assert finding.observed == observed


def test_a_late_reply_that_the_runtime_did_not_see_is_none(model: ErrorModel) -> None:
    """The tool went on for itself after the runtime had turned away."""
    built = TurnBuilder(tools=TIMED).turn().wants("c1 ls").runs("c1", takes="11s")
    built.events[-1].payload["seen"] = False  # type: ignore[index]
    built.tells("c1", error(SLOW)).says().ends()
    assert verdict(model, built, "tools.deadline") == "NOT_APPLICABLE"


@pytest.mark.parametrize(("after", "seen"), [("9s", "NOT_APPLICABLE"), ("10s", "FAIL")])
def test_an_execution_without_an_end_was_never_given_up(
    model: ErrorModel, after: str, seen: str
) -> None:
    """It counts from the end of its time on."""
    built = TurnBuilder(tools=TIMED).turn().wants("c1 ls")
    built.calls("c1")
    finding = found(model, built.after(after), "tools.deadline", "deadlock")
    assert finding.verdict.value == seen
    if seen == "FAIL":
        assert finding.observed == "it was never given up"


def test_an_execution_of_a_process_that_died_ran_until_then(model: ErrorModel) -> None:
    """What would have become of it later is not known."""
    built = TurnBuilder(tools=TIMED).turn().wants("c1 ls")
    built.calls("c1")
    built.after("9s").crashes(after="1m").opens(resume=True)
    assert verdict(model, built, "tools.deadline") == "NOT_APPLICABLE"


def test_an_execution_that_was_cancelled_need_not_wait_for_its_limit(model: ErrorModel) -> None:
    """Its stop has another cause."""
    built = TurnBuilder(tools=TIMED).turn().wants("c1 ls")
    execution = built.calls("c1")
    built.after("5s").cancels("tool", "c1").stops(execution, "c1")
    built.tells("c1", error("Cancellation/ToolCancelled")).says().ends()
    assert verdict(model, built, "tools.deadline") == "NOT_APPLICABLE"


# -------------------------------------------------------------------------------- side by side


def two(second_begins: str, *, first_takes: str = "1s") -> TurnBuilder:
    """Return a turn with two tools, of which the second begins after a time of its own."""
    built = TurnBuilder().turn().wants("c1 ls", "c2 ls")
    began_ns = built.now_ns
    first = built.calls("c1")
    built.after(first_takes)
    ended_ns, built.now_ns = built.now_ns, began_ns
    built.after(second_begins)
    if built.now_ns < ended_ns:
        second = built.calls("c2")
        built.now_ns = ended_ns
        built.replies(first, "c1")
    else:
        begins_ns, built.now_ns = built.now_ns, ended_ns
        built.replies(first, "c1")
        built.now_ns = begins_ns
        second = built.calls("c2")
    built.after("1s").replies(second, "c2")
    return built.tells("c1", value()).tells("c2", value()).says().ends()


@pytest.mark.parametrize(("begins", "seen"), [("999ms", "PASS"), ("1s", "FAIL"), ("2s", "FAIL")])
def test_a_tool_that_begins_when_another_has_ended_has_waited(
    model: ErrorModel, begins: str, seen: str
) -> None:
    """Before that the two ran side by side."""
    assert verdict(model, two(begins), "tools.concurrent") == seen


def test_a_tool_that_takes_no_time_keeps_no_other_waiting(model: ErrorModel) -> None:
    """It was over when it began."""
    assert verdict(model, two("0s", first_takes="0s"), "tools.concurrent") == "PASS"
    assert verdict(model, two("1s", first_takes="0s"), "tools.concurrent") == "PASS"


def test_one_tool_that_ran_shows_nothing(model: ErrorModel) -> None:
    """The other one was refused."""
    built = TurnBuilder().turn().wants("c1 ls", "c2 lsx").runs("c1")
    built.tells("c1", value()).tells("c2", error("ToolTerminal/NotFound")).says().ends()
    assert verdict(model, built, "tools.concurrent") == "NOT_APPLICABLE"


def gated(
    *, answered: str, begins: str, shown_first: bool = True, third: str | None = None
) -> TurnBuilder:
    """Return a turn in which `ls` takes 3 s, beside tools that need an approval.

    Args:
        answered: when the approval of the second tool is answered, from the start of `ls`.
        begins: when the second tool begins.
        shown_first: whether the approval is asked for before `ls` runs, or at its end.
        third: when the approval of a third tool is answered; None for no third tool, empty for
            an approval that nobody answers.
    """
    wanted = ["c1 ls", "c2 rm"] + ([] if third is None else ["c3 rm"])
    built = TurnBuilder().turn().wants(*wanted)
    start_ns = built.now_ns

    def at(time: str) -> TurnBuilder:
        built.now_ns = start_ns
        return built.after(time)

    acts: list[tuple[str, Any]] = []
    if shown_first:
        acts.append(("0s", lambda: built.shows("r2", "c2")))
    else:
        acts.append(("3s", lambda: built.shows("r2", "c2")))
    if third is not None:
        acts.append(("0s", lambda: built.shows("r3", "c3")))
    first = built.calls("c1")
    acts.append(("3s", lambda: built.replies(first, "c1")))
    acts.append((answered, lambda: built.answers("r2", tool_call="c2")))
    if third:
        acts.append((third, lambda: built.answers("r3", tool_call="c3")))
    acts.append((begins, lambda: built.runs("c2", tool="rm")))
    order = ["0s", "1s", "2s", "3s", "4s", "5s", "6s"]
    for time in order:
        for own, act in acts:
            if own == time:
                at(time)
                act()
    built.tells("c1", value()).tells("c2", value())
    if third is not None:
        built.tells("c3", error("ToolTerminal/Forbidden"))
    return built.says().ends()


@pytest.mark.parametrize(
    ("options", "seen"),
    [
        # Its approval came at the end of `ls`, or after it: it waited for that.
        ({"answered": "4s", "begins": "4s"}, "PASS"),
        # Its approval had come before, so it waited for `ls`.
        ({"answered": "2s", "begins": "3s"}, "FAIL"),
        # All approvals may be asked for before any tool begins.
        ({"answered": "1s", "begins": "5s", "third": "5s"}, "PASS"),
        ({"answered": "1s", "begins": "5s", "third": "2s"}, "FAIL"),
        # An approval that is never answered keeps nothing waiting.
        ({"answered": "1s", "begins": "3s", "third": ""}, "FAIL"),
    ],
)
def test_an_approval_that_comes_late_is_no_waiting_for_a_tool(
    model: ErrorModel, options: dict[str, Any], seen: str
) -> None:
    """The last approval of the answer counts."""
    assert verdict(model, gated(**options), "tools.concurrent") == seen


def test_an_approval_that_is_asked_for_when_another_tool_has_ended_has_waited(
    model: ErrorModel,
) -> None:
    """All approvals of an answer are asked for at once."""
    built = gated(answered="4s", begins="5s", shown_first=False)
    finding = found(model, built, "tools.concurrent")
    assert finding.observed == "the approval of c2 was asked for only when ls (c1) had ended"


def test_the_approvals_of_another_answer_are_none_of_this_one(model: ErrorModel) -> None:
    """They are asked for when the tools of this one have ended."""
    built = TurnBuilder().turn().wants("c1 ls", "c2 ls")
    one, other = built.calls("c1"), built.calls("c2")
    built.after("1s").replies(one, "c1")
    built.replies(other, "c2")
    built.tells("c1", value()).tells("c2", value()).wants("c3 rm").shows("r3", "c3")
    built.after("1s").answers("r3", tool_call="c3").runs("c3", tool="rm").tells("c3", value())
    assert verdict(model, built.says().ends(), "tools.concurrent") == "PASS"


# ----------------------------------------------------------------------- what an execution came to


def test_a_tool_that_ran_out_of_time_is_tried_again_by_its_contract(model: ErrorModel) -> None:
    """That it was stopped is a timeout, which has a class and a code of its own."""
    retry = {**RETRYING[0]["retry"], "retryable": ["ExecutionTimeout"]}
    built = TurnBuilder(tools=({**RETRYING[0], "retry": retry},)).turn().wants("c1 ls")
    execution = built.calls("c1")
    built.after("10s").stops(execution, "c1")
    built.tells("c1", error(SLOW)).says().ends()
    finding = found(model, built, "tools.disposition")
    assert finding.verdict.value == "FAIL"
    assert f"is tried again after {SLOW}, up to 3 times in all, by its contract" in finding.expected


def test_a_tool_that_raised_has_no_code_to_be_tried_again_for(model: ErrorModel) -> None:
    """The exception is named in its place."""
    built = TurnBuilder(tools=RETRYING).turn().wants("c1 ls")
    execution = built.calls("c1")
    facts = {"execution": execution, "tool": "ls", "tool_call": "c1", "call": built.call}
    built.after("1s").event("tool", "tool.raised", type="ValueError", message="m", **facts)
    built.runs("c1").tells("c1", value()).says().ends()
    finding = found(model, built, "tools.disposition")
    assert "an exception (ValueError) is not worth a retry" in finding.expected


def test_each_execution_has_its_own_limit(model: ErrorModel) -> None:
    """One that the runtime did not see the end of says nothing of the next."""
    built = TurnBuilder(tools=TIMED).turn().wants("c1 ls", "c2 ls")
    one, other = built.calls("c1"), built.calls("c2")
    built.after("11s").replies(one, "c1")
    built.events[-1].payload["seen"] = False  # type: ignore[index]
    built.replies(other, "c2")
    built.tells("c1", error(SLOW)).tells("c2", value()).says().ends()
    assert verdict(model, built, "tools.deadline") == "FAIL"


def test_a_tool_that_never_ends_keeps_no_other_waiting(model: ErrorModel) -> None:
    """The other one began without its end."""
    built = TurnBuilder().turn().wants("c1 ls", "c2 ls")
    built.calls("c1")
    built.after("1s").runs("c2").tells("c1", error(SLOW)).tells("c2", value()).says().ends()
    assert verdict(model, built, "tools.concurrent") == "PASS"


@pytest.mark.parametrize("first", ["unknown", "cancelled", "quick", "stopped in time"])
def test_an_execution_that_kept_its_limit_says_nothing_of_the_next(
    model: ErrorModel, first: str
) -> None:
    """Whether it was no tool of the scenario, was cancelled, replied or was stopped when due."""
    built = TurnBuilder(tools=TIMED).turn().wants("c1 ls", "c2 ls")
    tool = "other" if first == "unknown" else "ls"
    one, other = built.calls("c1", tool), built.calls("c2")
    built.after("1s")
    if first == "cancelled":
        built.cancels("tool", "c1").stops(one, "c1")
    elif first != "stopped in time":
        built.replies(one, "c1", tool=tool)
    built.after("9s")
    if first == "stopped in time":
        built.stops(one, "c1")
    built.after("1s").replies(other, "c2")
    built.tells("c1", value()).tells("c2", value()).says().ends()
    judged = [
        item for item in judge(model, built.build()).findings if item.check == "tools.deadline"
    ]
    assert "FAIL" in [item.verdict.value for item in judged]
