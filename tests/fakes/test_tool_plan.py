"""The fold over a tool's plan: what is counted, which rule decides, what the tool says."""

from __future__ import annotations

import pickle
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.fakes.ports.tool_plan import (
    ToolCounts,
    ToolPlan,
    commit,
    decide,
    effect_key,
    reply_of,
)
from faultclock.model.scenario.port_values import ToolResult
from faultclock.model.scenario.tool_script import ToolFault, ToolScript

MS = 1_000_000
KINDS = (
    "partial",
    "timeout",
    "resource_busy",
    "input_rejected",
    "output_malformed",
    "forbidden",
    "not_found",
    "exception",
    "hang",
    "logical",
    "capability_absent",
)
EXTRA: dict[str, dict[str, Any]] = {
    "partial": {"value": [1, 2], "errors": [{"item": "c", "class": "ToolTerminal", "code": "Bad"}]}
}


def script(*rules: dict[str, Any], **fields: Any) -> ToolScript:
    """Return a tool named `send` as a file says it."""
    named = [{"id": f"r{number}", **rule} for number, rule in enumerate(rules, 1)]
    return ToolScript.model_validate({"name": "send", "rules": named, **fields})


def fault(kind: str, **outcome: Any) -> dict[str, Any]:
    """Return the outcome with a fault of one kind."""
    return {"fault": {"kind": kind, **EXTRA.get(kind, {})}, **outcome}


def plans(tool: ToolScript, *arguments: dict[str, Any]) -> list[ToolPlan]:
    """Return what becomes of one execution after the other."""
    counts, found = ToolCounts(), []
    for given_arguments in arguments:
        counts, plan = decide(tool, counts, given_arguments)
        found.append(plan)
    return found


def test_a_good_execution_has_its_effect_at_the_end_of_its_work() -> None:
    """It replies then, with the value of the script."""
    plan = plans(script(takes="70ms", value={"sent": 1}), {})[0]
    assert (plan.execution, plan.number, plan.rule) == ("t1", 1, None)
    assert (plan.takes_ns, plan.effect_ns, plan.late, plan.replies) == (
        70 * MS,
        70 * MS,
        False,
        True,
    )
    assert reply_of(script(value={"sent": 1}), None) == ToolResult(value={"sent": 1})


@pytest.mark.parametrize(
    ("effect", "effect_ns", "late"),
    [("none", None, False), ("committed", 30 * MS, False), ("late", 35 * MS, True)],
)
def test_the_effect_is_planned_apart_from_the_reply(
    effect: str, effect_ns: int | None, late: bool
) -> None:
    """It is there before a bad reply, comes after it, or never comes."""
    then = fault("resource_busy", effect=effect, effect_after="5ms", takes="30ms")
    plan = plans(script({"then": then}), {})[0]
    assert (plan.takes_ns, plan.effect_ns, plan.late) == (30 * MS, effect_ns, late)


def test_an_effect_right_after_the_reply_is_a_late_one() -> None:
    """Even where no time lies between them."""
    plan = plans(script({"then": fault("timeout", effect="late", effect_after="0s")}), {})[0]
    assert plan.late
    assert plan.effect_ns == plan.takes_ns


def test_rules_count_the_executions_of_their_own_tool() -> None:
    """Executions are numbered over all tools, and counted for each."""
    send = script({"when": {"executions": 2}, "then": fault("forbidden")})
    other = ToolScript(name="look")
    counts, first = decide(send, ToolCounts(), {})
    counts, between = decide(other, counts, {})
    counts, second = decide(send, counts, {})
    assert [plan.execution for plan in (first, between, second)] == ["t1", "t2", "t3"]
    assert [plan.number for plan in (first, between, second)] == [1, 1, 2]
    assert (first.rule, between.rule) == (None, None)
    assert second.rule is not None


def test_a_rule_may_ask_for_arguments() -> None:
    """Others do not matter; a missing one and a boolean for a number do not fit."""
    tool = script({"when": {"arguments": {"n": 1, "deep": {"a": [1]}}}, "then": fault("hang")})
    fits = {"n": 1, "deep": {"a": [1]}, "more": 2}
    found = plans(tool, fits, {"n": 1}, {**fits, "n": True}, {**fits, "n": 2}, {})
    assert [plan.rule is not None for plan in found] == [True, False, False, False, False]


@pytest.mark.parametrize(
    ("kind", "error_class", "code"),
    [
        ("timeout", "ToolTransient", "ExecutionTimeout"),
        ("resource_busy", "ToolTransient", "ResourceBusy"),
        ("input_rejected", "ToolTerminal", "InputInvalid"),
        ("forbidden", "ToolTerminal", "Forbidden"),
        ("not_found", "ToolTerminal", "NotFound"),
        ("logical", "Tool", "Logical"),
        ("capability_absent", "Tool", "CapabilityAbsent"),
    ],
)
def test_a_failure_is_typed(kind: str, error_class: str, code: str) -> None:
    """Class and code are those of the documents, and there is no value."""
    tool = script({"then": fault(kind)})
    reply = reply_of(tool, tool.rules[0])
    assert isinstance(reply, ToolResult)
    assert reply.problem is not None
    assert (reply.problem.error_class, reply.problem.code) == (error_class, code)
    assert (reply.ok, reply.value, reply.errors) == (False, None, ())


def test_every_kind_of_fault_is_tried_here() -> None:
    """A new one must not be forgotten."""
    (union, *_) = get_args(ToolFault)
    known = {get_args(fault.model_fields["kind"].annotation)[0] for fault in get_args(union)}
    assert known == set(KINDS)


@pytest.mark.parametrize("kind", ["logical", "capability_absent"])
def test_a_tool_says_in_its_own_words_why_it_did_not_work(kind: str) -> None:
    """The message is the script's."""
    told = {"fault": {"kind": kind, "message": "File not found: a.txt"}}
    tool = script({"then": told})
    reply = reply_of(tool, tool.rules[0])
    assert isinstance(reply, ToolResult)
    assert reply.problem is not None
    assert reply.problem.message == "File not found: a.txt"


def test_a_partial_result_has_a_value_and_names_what_failed() -> None:
    """It is no failure as a whole."""
    tool = script({"then": fault("partial")})
    reply = reply_of(tool, tool.rules[0])
    assert isinstance(reply, ToolResult)
    assert reply.ok
    assert reply.value == [1, 2]
    assert [(error.item, error.code) for error in reply.errors] == [("c", "Bad")]


def test_a_malformed_output_looks_good() -> None:
    """Only its value does not fit; to find that out is the runtime's duty."""
    tool = script({"then": fault("output_malformed")}, output_schema={"type": "object"})
    reply = reply_of(tool, tool.rules[0])
    assert reply == ToolResult(value="not what the schema says")


def test_an_exception_leaves_with_its_text() -> None:
    """A plain one, with the path and the key that nobody may pass on."""
    tool = script({"then": fault("exception")})
    reply = reply_of(tool, tool.rules[0])
    assert type(reply) is RuntimeError
    assert "/srv/agent" in str(reply)


def test_a_hanging_tool_has_no_reply() -> None:
    """So nobody may ask for one."""
    tool = script({"then": fault("hang")})
    assert not plans(tool, {})[0].replies
    with pytest.raises(ValueError, match="no reply"):
        reply_of(tool, tool.rules[0])


def test_a_reply_is_nobody_elses() -> None:
    """A subject that changes what it got does not change the next reply."""
    tool = script(value={"list": []})
    first = reply_of(tool, None)
    assert isinstance(first, ToolResult)
    first.value["list"].append("mine")
    assert reply_of(tool, None) == ToolResult(value={"list": []})


def test_equal_calls_of_a_tool_have_equal_effects() -> None:
    """The key does not depend on the order of the arguments, and differs between tools."""
    key = effect_key("send", {"a": 1, "b": 2})
    assert key == effect_key("send", {"b": 2, "a": 1})
    assert len(key) == 16
    assert len({key, effect_key("look", {"a": 1, "b": 2}), effect_key("send", {"a": 1})}) == 3


ARGUMENTS = st.dictionaries(st.sampled_from("ab"), st.integers(0, 2), max_size=2)
RULES = st.lists(
    st.builds(
        lambda kind, first, last, arguments: {
            "when": {"executions": f"{first}-{first + last}", "arguments": arguments},
            "then": fault(kind, effect="committed"),
        },
        st.sampled_from(KINDS),
        st.integers(1, 4),
        st.integers(0, 3),
        ARGUMENTS,
    ),
    max_size=3,
)


@given(RULES, st.lists(ARGUMENTS, max_size=8))
def test_the_fold_is_the_same_each_time(
    rules: list[dict[str, Any]], asked: list[dict[str, Any]]
) -> None:
    """Equal plans and equal calls have equal fates, wherever the state was kept between them."""
    tool = script(*rules)
    counts, found = ToolCounts(), []
    for arguments in asked:
        counts, plan = decide(tool, pickle.loads(pickle.dumps(counts)), arguments)
        found.append(plan)
    assert found == plans(tool, *asked)
    assert [plan.number for plan in found] == list(range(1, len(asked) + 1))
    assert counts.total == len(asked)


@given(RULES, st.lists(ARGUMENTS, max_size=8))
def test_the_first_rule_that_fits_decides(
    rules: list[dict[str, Any]], asked: list[dict[str, Any]]
) -> None:
    """Worked out the long way round for each execution."""
    tool = script(*rules)
    for number, (plan, arguments) in enumerate(zip(plans(tool, *asked), asked, strict=True), 1):
        fitting = [
            rule.id
            for rule in tool.rules
            if rule.when.executions.first <= number <= (rule.when.executions.last or number)
            and set(rule.when.arguments.items()) <= set(arguments.items())
        ]
        assert (plan.rule.id if plan.rule else None) == (fitting[0] if fitting else None)


@given(st.lists(st.sampled_from(("k1", "k2", "k3")), max_size=20))
def test_effects_are_counted_by_their_key(keys: list[str]) -> None:
    """Each commit says how often that effect has happened by then."""
    counts, seen = ToolCounts(), []
    for key in keys:
        counts, count = commit(counts, key)
        seen.append(count)
    assert seen == [keys[: index + 1].count(key) for index, key in enumerate(keys)]
    assert counts.effects == {key: keys.count(key) for key in keys}
