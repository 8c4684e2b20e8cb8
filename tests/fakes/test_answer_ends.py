"""How answers end that are not whole, in the words of each provider and in the ledger."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from faultclock.errors import InputError
from faultclock.fakes.dialects import dialect_named, dialect_names
from faultclock.fakes.provider.provider import FakeProvider
from faultclock.fakes.provider.script_check import check_script
from faultclock.fakes.wire.said import said
from faultclock.load.payloads import load_payloads
from faultclock.model.scenario.fault import AnswerEnds, FaultRule, OkWithErrorBody
from faultclock.model.scenario.provider_script import ProviderScript
from tests.architecture.source_tree import PROJECT
from tests.fakes.dialects.asking import EXCHANGE, answered, request
from tests.fakes.test_history import conversation
from tests.fakes.test_history import said as talk

MakeRig = Callable[..., Any]


def ends(how: str, **more: Any) -> AnswerEnds:
    """Return an end as a file would say it."""
    return AnswerEnds.model_validate({"kind": "answer_ends", "how": how, **more})


def body(dialect: str, target: str, end: AnswerEnds, **asked: Any) -> Any:
    """Return the parsed body of a whole answer that ends so."""
    exchange = replace(EXCHANGE, ends=end)
    sent = request(target, **asked)
    answer = answered(dialect_named(dialect), sent, exchange, reply="One two three four")
    return json.loads(b"".join(answer.chunks))


@pytest.mark.parametrize(
    ("end", "text"),
    [
        (ends("length"), "One two"),
        (ends("length", after_tokens=0), ""),
        (ends("filtered", after_tokens=9), "One two three four"),
        (ends("paused", after_tokens=3), "One two three"),
        (ends("failed"), "One two"),
        (ends("refused"), None),
        (ends("empty"), ""),
        (ends("empty", null=True), None),
    ],
)
def test_what_is_said_before_the_end(end: AnswerEnds, text: str | None) -> None:
    """Half of the tokens, unless it is written how many; and nothing where nothing is said."""
    script = ProviderScript(reply="One two three four")
    spoken = said(script, replace(EXCHANGE, ends=end), [], 0)
    assert (spoken.text, spoken.ends) == (text, end.how)
    assert bool(spoken.refusal) is (end.how == "refused")


@pytest.mark.parametrize(
    "wrong",
    [
        {"how": "refused", "after_tokens": 2},
        {"how": "length", "null": True},
        {"how": "length", "after_tokens": -1},
        {"how": "bored"},
    ],
)
def test_an_end_that_says_nothing_is_refused(wrong: dict[str, Any]) -> None:
    """What belongs to another end is a mistake in the file."""
    with pytest.raises(ValueError, match=r"goes with|greater|Input should"):
        AnswerEnds.model_validate({"kind": "answer_ends", **wrong})


@pytest.mark.parametrize("name", dialect_names())
def test_what_a_dialect_cannot_say_is_refused(name: str) -> None:
    """Before anything runs, with what it can say."""
    dialect, payloads = dialect_named(name), load_payloads(name)
    for how in ("length", "filtered", "refused", "empty", "paused", "failed"):
        rule = FaultRule(id="f", then=ends(how))
        script = ProviderScript(dialect=name, faults=(rule,))
        if how in dialect.ends:
            check_script(script, payloads, dialect)
            continue
        with pytest.raises(InputError, match=f"no answer of the dialect {name} ends so: {how}"):
            check_script(script, payloads, dialect)


@pytest.mark.parametrize("name", dialect_names())
def test_the_page_says_which_ends_each_dialect_has(name: str) -> None:
    """A cell is empty exactly where the provider has no such end."""
    page = (PROJECT / "docs" / "dialects.md").read_text("utf-8")
    table = page.partition("## Answers that are not whole")[2].partition("##")[0]
    rows = [line for line in table.splitlines() if line.startswith(f"| **{name}** |")]
    cells = [cell.strip() for cell in rows[0].split("|")[2:-1]] if rows else [""] * 6
    order = ("length", "filtered", "refused", "empty", "paused", "failed")
    assert {how for how, cell in zip(order, cells, strict=True) if cell} == set(
        dialect_named(name).ends
    )


def test_a_refusal_stands_in_a_place_of_its_own() -> None:
    """There is no text beside it, and the finish reason is as always."""
    answer = body("openai-chat", "/v1/chat/completions", ends("refused"))
    choice = answer["choices"][0]
    assert choice["message"]["content"] is None
    assert choice["message"]["refusal"].startswith("I'm sorry")
    assert choice["finish_reason"] == "stop"


def test_azure_tells_what_its_filter_found() -> None:
    """In the results beside the choice."""
    target = "/openai/deployments/d/chat/completions?api-version=1"
    (choice,) = body("azure-openai", target, ends("filtered"))["choices"]
    assert choice["finish_reason"] == "content_filter"
    assert choice["content_filter_results"]["violence"]["filtered"]


@pytest.mark.parametrize(
    ("end", "reason"),
    [(ends("length"), "max_output_tokens"), (ends("filtered"), "content_filter")],
)
def test_a_response_is_incomplete(end: AnswerEnds, reason: str) -> None:
    """As a whole, and so is its message."""
    answer = body("openai-responses", "/v1/responses", end, input="Hi.")
    assert (answer["status"], answer["incomplete_details"]) == ("incomplete", {"reason": reason})
    assert answer["output"][0]["status"] == "incomplete"


@pytest.mark.parametrize(
    ("end", "member"),
    [
        (ends("filtered"), "candidates"),
        (ends("filtered", after_tokens=0), "promptFeedback"),
    ],
)
def test_gemini_keeps_nothing_of_what_its_filter_stopped(end: AnswerEnds, member: str) -> None:
    """A prompt that is blocked has no candidate at all."""
    target = "/v1beta/models/gemini-x:generateContent?key=k"
    answer = body("gemini-generate-content", target, end, contents=[{"parts": [{"text": "Hi."}]}])
    assert {"candidates", "promptFeedback"} & answer.keys() == {member}
    if member == "candidates":
        (candidate,) = answer["candidates"]
        assert (candidate["finishReason"], "content" in candidate) == ("SAFETY", False)
    else:
        assert answer["promptFeedback"] == {"blockReason": "PROHIBITED_CONTENT"}


@pytest.mark.parametrize("status", [200, 203, 302])
def test_a_good_status_can_carry_somebody_elses_page(
    status: int, make_rig: MakeRig, wire: Any
) -> None:
    """As a network sends it that wants its user to sign in first."""
    page = {
        "status": 200,
        "text": "<html>Sign in</html>",
        "content_type": "text/html",
        "source": "made up",
    }
    fault = {"kind": "ok_with_error_body", "error": "page", "status": status}
    rig = make_rig(fault, payloads={"page": page})
    got = wire.parse(wire.received(rig.exchange()))
    assert (got.status, got.body) == (status, b"<html>Sign in</html>")
    assert got.headers["content-type"] == "text/html"
    (ended,) = rig.of_kind("http.exchange_ended")
    assert (ended["how"], ended["finish_reason"]) == ("complete", None)


@pytest.mark.parametrize("status", [200, 204, 302, 304])
@pytest.mark.parametrize("stream", [False, True])
def test_a_status_below_400_can_have_no_body_at_all(
    status: int, stream: bool, make_rig: MakeRig, wire: Any
) -> None:
    """As gateways answer; a client that looks for an error status finds none."""
    rig = make_rig({"kind": "ok_with_error_body", "status": status})
    got = wire.parse(wire.received(rig.exchange(wire.request(stream=stream))))
    assert (got.status, got.body) == (status, b"")
    assert ("content-length" in got.headers) is (status in (200, 302))
    assert "location" not in got.headers
    (response,) = rig.of_kind("http.response")
    assert (response["status"], response["error"]) == (status, None)
    (fired,) = rig.of_kind("fault.fired")
    assert fired["fault_kind"] == "ok_with_error_body"


def test_a_status_without_a_body_is_given_none() -> None:
    """A page behind a 204 cannot be sent."""
    with pytest.raises(ValueError, match="leave out error"):
        OkWithErrorBody(kind="ok_with_error_body", status=204, error="page")


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("name", "facts"),
    [
        ("openrouter", {"code": 502}),
        ("openai-responses", {"code": "server_error"}),
        ("cohere", {"code": None}),
        ("mistral", {"code": None}),
        ("deepseek", {"code": None}),
        ("gemini-generate-content", {"code": None}),
        ("bedrock-converse", {"code": None}),
    ],
)
def test_an_answer_that_failed_in_the_middle_is_an_error_in_the_ledger(
    name: str, facts: dict[str, Any], stream: bool, make_rig: MakeRig, wire: Any
) -> None:
    """The status is good, a part of the text is there, and every model judges it as an error."""
    sent = conversation(name, talk("user"), stream=stream)
    target = sent.target
    if stream:
        target = target.replace(":generateC", ":streamGenerateC").replace("?", "?alt=sse&")
        target = target.replace("/converse", "/converse-stream")
    rule = FaultRule(id="failed", then=ends("failed"))
    script = ProviderScript(dialect=name, faults=(rule,), reply="One two three four")
    rig = type(make_rig())(FakeProvider(script, load_payloads(name)))
    lines = "".join(f"{header}: {value}\r\n" for header, value in sent.headers.items())
    asked = wire.request(target=target, authorization=None, content=sent.body, extra=lines)
    rig.exchange(asked)
    (response,) = rig.of_kind("http.response")
    assert response["status"] == 200
    assert {key: response["error"][key] for key in facts} == facts
    (ended,) = rig.of_kind("http.exchange_ended")
    assert (ended["ends"], ended["finish_reason"]) == ("failed", "error")


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("fault", "reason", "said"),
    [
        ({"how": "length"}, "length", "One two"),
        ({"how": "length", "after_tokens": 1}, "length", "One"),
        ({"how": "filtered", "after_tokens": 3}, "content_filter", "One two three"),
        ({"how": "refused"}, "stop", None),
        ({"how": "empty"}, "stop", ""),
        ({"how": "empty", "null": True}, "stop", None),
    ],
)
def test_an_answer_can_end_and_be_no_whole_one(
    fault: dict[str, Any],
    reason: str,
    said: str | None,
    stream: bool,
    make_rig: MakeRig,
    wire: Any,
) -> None:
    """In good order; only the ledger says in the words of all dialects what happened."""
    ends = {"kind": "answer_ends", **fault}
    rig = make_rig(ends, reply="One two three four")
    endpoint = rig.exchange(wire.request(stream=stream))
    (ended,) = rig.of_kind("http.exchange_ended")
    assert (ended["how"], ended["finish_reason"]) == ("complete", reason)
    assert ended["ends"] == fault["how"]
    digest = None if said is None else hashlib.sha256(said.encode()).hexdigest()
    assert ended["text_sha256"] == digest
    (fired,) = rig.of_kind("fault.fired")
    assert fired["fault_kind"] == "answer_ends"
    assert wire.parse(wire.received(endpoint)).status == 200


def test_a_whole_answer_says_nothing_of_its_end(make_rig: MakeRig) -> None:
    """So what is recorded of it is what it always was."""
    rig = make_rig()
    rig.exchange()
    (ended,) = rig.of_kind("http.exchange_ended")
    assert "ends" not in ended


def test_an_answer_that_asks_for_tools_has_no_text_to_end(make_rig: MakeRig) -> None:
    """The fault claims nothing there, and stays unmet."""
    tools = [{"name": "weather", "arguments": "{}"}]
    rig = make_rig({"kind": "answer_ends", "how": "length"}, tool_calls=tools)
    rig.exchange()
    assert rig.of_kind("fault.fired") == []
    (ended,) = rig.of_kind("http.exchange_ended")
    assert ended["finish_reason"] == "tool_calls"
