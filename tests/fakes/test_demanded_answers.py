"""A model that has to answer by a tool, one that is offered none, and a count of tokens."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest

from faultclock.fakes.provider.provider import FakeProvider
from faultclock.fakes.wire.offered import demand_of
from faultclock.model.scenario.provider_script import ProviderReply, ProviderScript, ToolCallReply

CALL = ToolCallReply(name="write_file", arguments="{}")
SCRIPT = ProviderScript(replies=(ProviderReply(tool_calls=(CALL,)), ProviderReply(text="Done.")))
USER = {"role": "user", "content": "Write it."}


def _tool(name: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"answer": {"type": "string"}}}
    function = {"name": name, "parameters": {**schema, "required": ["answer"]}}
    return {"type": "function", "function": function}


def test_an_answer_comes_by_the_tool_that_has_to_be_called(
    payloads: Any, make_rig: Callable[..., Any]
) -> None:
    """It is no call of a tool that does something, and the trace has its text."""
    rig = type(make_rig())(FakeProvider(SCRIPT, payloads, observant=True, tools=["write_file"]))
    more = {"tools": [_tool("write_file"), _tool("final_answer")], "tool_choice": "required"}
    told = {"role": "user", "content": "write_file failed"}
    rig.exchange(messages=[USER], **more)
    rig.exchange(messages=[USER, told], **more)
    first, second = rig.of_kind("http.exchange_ended")
    assert [call["name"] for call in first["tool_calls"]] == ["write_file"]
    assert "tool_calls" not in second
    assert (second["by_tool"], second["finish_reason"]) == ("final_answer", "stop")
    assert second["text_sha256"] == hashlib.sha256(b"Done.").hexdigest()


@pytest.mark.parametrize(
    ("how", "reason", "arguments"),
    [("length", "length", '{"answer": "'), ("empty", "stop", None)],
)
def test_an_answer_by_a_tool_is_cut_in_its_arguments(
    how: str, reason: str, arguments: str | None, make_rig: Callable[..., Any], wire: Any
) -> None:
    """A provider hands on what there is of the call; of an empty answer there is none."""
    rig = make_rig({"kind": "answer_ends", "how": how})
    more = {"tools": [_tool("final_answer")], "tool_choice": "required"}
    answer = wire.parse(wire.received(rig.exchange(messages=[USER], **more)))
    (ended,) = rig.of_kind("http.exchange_ended")
    assert (ended["ends"], ended["finish_reason"]) == (how, reason)
    (choice,) = json.loads(answer.body)["choices"]
    calls = choice["message"].get("tool_calls") or []
    cut = [call["function"]["arguments"] for call in calls]
    assert [text[: len(arguments or "")] for text in cut] == ([arguments] if arguments else [])
    assert not any(text.endswith("}") for text in cut)


def test_a_tool_of_the_subjects_own_that_has_to_be_called_is_called(
    payloads: Any, make_rig: Callable[..., Any]
) -> None:
    """Where a request offers no other, its call is one, and stands for no answer."""
    rig = type(make_rig())(FakeProvider(SCRIPT, payloads, observant=True, tools=["write_file"]))
    rig.exchange(
        messages=[USER, {"role": "assistant", "content": "Done."}, USER],
        tools=[_tool("write_file")],
        tool_choice="required",
    )
    (ended,) = rig.of_kind("http.exchange_ended")
    assert [call["name"] for call in ended["tool_calls"]] == ["write_file"]


def test_a_model_that_is_offered_no_more_tools_calls_none(
    payloads: Any, make_rig: Callable[..., Any]
) -> None:
    """An agent at its last step asks for a text."""
    rig = type(make_rig())(FakeProvider(SCRIPT, payloads, observant=True))
    rig.exchange(messages=[USER], tools=[_tool("write_file")])
    rig.exchange(messages=[USER])
    assert [bool(it.get("tool_calls")) for it in rig.of_kind("http.exchange_ended")] == [
        True,
        False,
    ]


def test_a_subject_that_offers_its_tools_is_not_asked_for_one_before(
    payloads: Any, make_rig: Callable[..., Any]
) -> None:
    """A planner asks for a plan first: the model says what comes next, and calls it then."""
    provider = FakeProvider(SCRIPT, payloads, observant=True, tools=["write_file"], offers=True)
    rig = type(make_rig())(provider)
    offered = {"tools": [_tool("write_file")]}
    plan = {"role": "assistant", "content": "The plan: Next I would call write_file."}
    rig.exchange(messages=[USER])
    rig.exchange(messages=[USER, plan], **offered)
    rig.exchange(messages=[USER, plan, {"role": "assistant", "content": "Done."}], **offered)
    planned, called, done = rig.of_kind("http.exchange_ended")
    said = b"Next I would call write_file."
    assert planned["text_sha256"] == hashlib.sha256(said).hexdigest()
    assert [call["name"] for call in called["tool_calls"]] == ["write_file"]
    assert done["text_sha256"] == hashlib.sha256(b"Done.").hexdigest()


def test_a_way_to_a_tool_is_called_with_its_arguments(
    payloads: Any, make_rig: Callable[..., Any]
) -> None:
    """As long as the tool itself is not offered; the transfer counts as nothing that was said."""
    way = 'transfer_to_agent {"agent_name": "clerk"}'
    call = CALL.model_copy(update={"through": (way,)})
    script = SCRIPT.model_copy(
        update={"replies": (ProviderReply(tool_calls=(call,)), SCRIPT.replies[1])}
    )
    rig = type(make_rig())(FakeProvider(script, payloads, observant=True))
    rig.exchange(messages=[USER], tools=[_tool("transfer_to_agent")])
    (first,) = rig.of_kind("http.exchange_ended")
    (transfer,) = first["tool_calls"]
    assert (transfer["name"], transfer["arguments"]) == ("transfer_to_agent", way.partition(" ")[2])
    told = {"role": "user", "content": "[desk] called transfer_to_agent"}
    rig.exchange(messages=[USER, told], tools=[_tool("write_file")])
    second = rig.of_kind("http.exchange_ended")[1]
    assert [call["name"] for call in second["tool_calls"]] == ["write_file"]


@pytest.mark.parametrize("key", ["parameters", "parametersJsonSchema", "parameters_json_schema"])
def test_a_tool_is_called_with_one_of_the_values_that_it_allows(key: str) -> None:
    """Whichever way an SDK spells where its schema stands."""
    schema = {"type": "object", "properties": {"to": {"type": "string", "enum": ["a", "b"]}}}
    function = {"name": "transfer", key: schema}
    demand = demand_of({"tools": [{"functionDeclarations": [function]}]})
    assert demand.takes("transfer", '{"to": "b"}')
    assert not demand.takes("transfer", '{"to": "c"}')
    assert demand.takes("transfer", "")


def test_one_way_to_two_tools_is_taken_once(payloads: Any, make_rig: Callable[..., Any]) -> None:
    """Else the agent behind it would have the same conversation twice."""
    calls = tuple(
        ToolCallReply(name=name, arguments="{}", through=("worker",)) for name in ("one", "two")
    )
    script = SCRIPT.model_copy(update={"replies": (ProviderReply(tool_calls=calls),)})
    rig = type(make_rig())(FakeProvider(script, payloads, observant=True))
    rig.exchange(messages=[USER], tools=[_tool("worker")])
    rig.exchange(messages=[USER], tools=[_tool("one"), _tool("two")])
    asked = [it["tool_calls"] for it in rig.of_kind("http.exchange_ended")]
    assert [[call["name"] for call in calls] for calls in asked] == [["worker"], ["one", "two"]]


def test_a_model_that_was_led_is_led_on(payloads: Any, make_rig: Callable[..., Any]) -> None:
    """By the next handoff, where the first one leads to an agent that has another."""
    call = CALL.model_copy(update={"through": ("to_middle", "to_last")})
    texts = (ProviderReply(text=text) for text in ("Done.", "And?", "Too late."))
    replies = (ProviderReply(tool_calls=(call,)), *texts)
    script = SCRIPT.model_copy(update={"replies": replies})
    rig = type(make_rig())(FakeProvider(script, payloads, observant=True))
    chat = [USER]
    for name in ("to_middle", "to_last", "write_file"):
        rig.exchange(messages=chat, tools=[_tool(name)])
        (asked,) = rig.of_kind("http.exchange_ended")[-1]["tool_calls"]
        assert asked["name"] == name
        made = {"id": asked["id"], "type": "function"}
        made["function"] = {"name": name, "arguments": asked["arguments"]}
        chat = [
            *chat,
            {"role": "assistant", "content": None, "tool_calls": [made]},
            {"role": "tool", "tool_call_id": asked["id"], "content": "done"},
        ]
    rig.exchange(messages=chat, tools=[_tool("write_file")])
    assert "tool_calls" not in rig.of_kind("http.exchange_ended")[-1]
    # The next turn begins with the first agent again, and neither handoff was an answer.
    chat = [*chat, {"role": "assistant", "content": "Done."}, USER]
    rig.exchange(messages=chat, tools=[_tool("to_middle")])
    assert (
        rig.of_kind("http.exchange_ended")[-1]["text_sha256"] == hashlib.sha256(b"And?").hexdigest()
    )


def test_a_count_of_tokens_meets_no_fault(payloads: Any, make_rig: Callable[..., Any]) -> None:
    """It is asked beside chat completions, at the same host, and gets no answer of the model."""
    rig = make_rig({"kind": "http_error", "status": 500, "error": "server_error"})
    rig.exchange(target="/v1/responses/input_tokens", messages=None, input="How long is this?")
    rig.exchange()
    counted, asked = rig.of_kind("http.request")
    assert counted["counts"]
    assert (counted["attempt"], asked["attempt"]) == (1, 1)
    (fired,) = rig.of_kind("fault.fired")
    assert fired["exchange"] == asked["exchange"]


def test_what_is_said_of_a_tool_may_name_where_it_leads() -> None:
    """LlamaIndex has no list of values for that, and one tool for all handoffs."""
    tool = {"name": "handoff", "description": "Agents: {'head': 'Leads a clerk.'}"}
    demand = demand_of({"tools": [{"type": "function", "function": tool}]})
    assert demand.names("handoff", '{"to_agent": "head", "reason": "It can."}')
    assert not demand.names("handoff", '{"to_agent": "clerk", "reason": "It can."}')
    assert not demand.names("other", '{"to_agent": "head"}')
