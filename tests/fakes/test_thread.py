"""A model that is told in a text what it called, and one that has to answer by a tool."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from faultclock.fakes.provider.provider import FakeProvider
from faultclock.fakes.provider.thread import Thread
from faultclock.fakes.wire.answer import Answer
from faultclock.fakes.wire.dialect import Asked
from faultclock.model.scenario.provider_script import ProviderReply, ProviderScript, ToolCallReply

CALL = ToolCallReply(name="write_file", arguments="{}")
SCRIPT = ProviderScript(replies=(ProviderReply(tool_calls=(CALL,)), ProviderReply(text="Done.")))
USER = {"role": "user", "content": "Write it."}


def _tool(name: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"answer": {"type": "string"}}}
    function = {"name": name, "parameters": {**schema, "required": ["answer"]}}
    return {"type": "function", "function": function}


def _after(call: dict[str, str], *messages: dict[str, Any]) -> Asked:
    thread = Thread(["write_file"])
    asked = Asked(model=None, stream=False, refusal=None, body={})
    thread.answered([USER], Answer(status=200, headers=(), chunks=(), tool_calls=(call,)))
    return thread.followed(asked, [USER, *messages])


def test_a_call_that_a_text_tells_of_has_been_heard() -> None:
    """By its id, or in what comes after the request that was answered."""
    call = {"id": "call_1", "name": "write_file", "arguments": "{}"}
    for said in ("Calling call_1", "Error executing tool write_file"):
        asked = _after(call, {"role": "user", "content": said})
        assert (asked.heard, asked.told) == (1, ("call_1",))
    asked = _after(call, {"role": "user", "content": "Go on."})
    assert (asked.heard, asked.told) == (1, ())


def test_a_result_is_no_text_about_a_call() -> None:
    """It has the id of its call where the API has it."""
    call = {"id": "call_1", "name": "write_file", "arguments": "{}"}
    result = {"role": "tool", "tool_call_id": "call_1", "content": "write_file did it"}
    assert _after(call, result).told == ()


def test_a_request_that_is_sent_again_has_heard_nothing() -> None:
    """It gets the same answer again."""
    assert _after({"id": "call_1", "name": "write_file", "arguments": "{}"}).heard == 0


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
