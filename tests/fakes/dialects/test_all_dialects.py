"""What holds for every dialect, checked on the very answers that the SDKs were given."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.fakes.dialects import dialect_named, dialect_names
from faultclock.fakes.wire.answer import Answer
from faultclock.fakes.wire.dialect import Dialect, Exchange
from faultclock.fakes.wire.http_server import HttpRequest
from faultclock.load.payloads import load_dialect
from tests.fakes.dialects.asking import facts_of
from tests.fakes.dialects.driver import Sdk
from tests.fakes.dialects.truth import REPLY, TOOLS, Case, Seen, sdks, seen_by

#: One SDK of each dialect is enough: the answers are the provider's.
_SDKS = list({sdk.dialect: sdk for sdk in reversed(sdks())}.values())
_NAMES = dialect_names()
EXCHANGE = Exchange(number=3, seed=7, unix_s=1_767_225_600, think_ms=100)

of_each_provider = pytest.mark.parametrize("sdk", _SDKS, ids=[sdk.dialect for sdk in _SDKS])


def answers(sdk: Sdk) -> dict[Case, Answer]:
    """Return what the provider sent in each case."""
    seen: dict[Case, Seen] = seen_by(sdk, sdk.ways[0])
    return {case: found.answers[0] for case, found in seen.items()}


def body_of(answer: Answer) -> bytes:
    """Return the whole body."""
    return b"".join(answer.chunks) + answer.end_marker


def content_type_of(answer: Answer) -> str:
    """Return the content type."""
    return str(dict(answer.headers)["content-type"])


@of_each_provider
def test_a_good_answer_is_heard_as_it_was_meant(sdk: Sdk) -> None:
    """Text, tool calls and the canonical finish reason come back from the bytes."""
    dialect = dialect_named(sdk.dialect)
    for case, answer in answers(sdk).items():
        if case.payload is not None:
            continue
        heard = dialect.heard(body_of(answer), content_type_of(answer))
        said = answer.text or None if case.ends else REPLY
        assert heard.text == (None if case.tools else said), case.id
        if case.ends == "failed":
            assert answer.error is not None, case.id
            assert heard.error is not None or heard.finish_reason == "error", case.id
            continue
        assert heard.error is None
        assert heard.finish_reason == answer.finish_reason, case.id
        assert case.ends or answer.finish_reason == ("tool_calls" if case.tools else "stop")
        assert [(call.name, json.loads(call.arguments)) for call in heard.tool_calls] == [
            (call.name, json.loads(call.arguments)) for call in (TOOLS if case.tools else ())
        ]


@of_each_provider
def test_a_stream_that_was_cut_is_heard_as_far_as_it_came(sdk: Sdk) -> None:
    """It has a part of the text, and no finish reason before the chunk that has it."""
    dialect = dialect_named(sdk.dialect)
    answer = answers(sdk)[Case(stream=True)]
    cut = b"".join(answer.chunks[: answer.chunks_before_finish])
    heard = dialect.heard(cut, content_type_of(answer))
    assert REPLY.startswith(heard.text or "-")
    assert heard.finish_reason is None
    assert dialect.heard(cut[:-7], content_type_of(answer)).finish_reason is None


@of_each_provider
def test_an_error_body_is_heard_as_its_facts(sdk: Sdk) -> None:
    """What the trace tells of an error is what its bytes say."""
    dialect = dialect_named(sdk.dialect)
    payloads = load_dialect(sdk.dialect).payloads
    for case, answer in answers(sdk).items():
        if case.payload is None or case.place == "stream":
            continue
        body = payloads[case.payload].body
        heard = dialect.heard(body_of(answer), content_type_of(answer))
        if body is None:
            assert (heard.text, heard.finish_reason) == (None, None), case.id
        elif answer.error is not None:
            assert heard.error is not None, case.id
            told = {name: value for name, value in heard.error.items() if value is not None}
            # What is told in a header alone, such as a type, is not in the body.
            assert told.items() <= answer.error.items(), case.id
            assert heard.error["message"] == answer.error["message"], case.id
        assert heard.tool_calls == ()


@pytest.mark.parametrize("name", _NAMES)
@given(body=st.binary(max_size=200), kind=st.sampled_from(["application/json", "text/html", ""]))
def test_no_bytes_raise_anything(name: str, body: bytes, kind: str) -> None:
    """Neither as an answer nor as a request."""
    dialect = dialect_named(name)
    dialect.heard(body, kind)
    dialect.heard(b"data: " + body + b"\n\n", "text/event-stream")
    asked = dialect.read(HttpRequest(method="POST", target="/v1/x", headers={}, body=body))
    facts_of(dialect, asked)


#: Members that answers and requests of some provider have.
_MEMBERS = [
    *("candidates", "choices", "content", "delta", "detail", "error", "finish_reason", "function"),
    *("index", "input", "message", "messages", "object", "output", "parts", "response", "role"),
    *("status", "text", "tool_calls", "type"),
]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_MEMBERS), inner, max_size=5)
    ),
    max_leaves=12,
)


@pytest.mark.parametrize("name", _NAMES)
@given(value=json_values)
def test_no_json_raises_anything(name: str, value: Any) -> None:
    """However near it is to an answer."""
    dialect: Dialect = dialect_named(name)
    text = json.dumps(value).encode()
    dialect.heard(text, "application/json")
    dialect.heard(b"data: " + text + b"\n\n", "text/event-stream")
    asked = dialect.read(HttpRequest(method="POST", target="/v1/x", headers={}, body=text))
    facts_of(dialect, asked)


@pytest.mark.parametrize("name", _NAMES)
def test_every_error_body_can_be_sent(name: str) -> None:
    """With the status of its payload; those of JSON whose facts are known also in a stream."""
    dialect = dialect_named(name)
    for payload_name, payload in load_dialect(name).payloads.items():
        answer = dialect.error_answer(payload, payload.status, EXCHANGE, {})
        assert answer.status == payload.status, payload_name
        assert all(header == header.lower() for header, _ in answer.headers)
        assert (payload.text is None) or answer.chunks == (payload.text.encode(),)


@pytest.mark.parametrize("name", _NAMES)
def test_what_it_answers_of_its_own_accord_is_in_its_file(name: str) -> None:
    """Else no script of the dialect could be played."""
    assert set(dialect_named(name).own_payloads) <= set(load_dialect(name).payloads)
    assert dialect_named(name).name == name


_COMMONEST = {
    *("rate_limit_exceeded", "invalid_api_key", "missing_authorization"),
    *("model_not_found", "invalid_request", "server_error", "service_unavailable", "overloaded"),
}


@of_each_provider
def test_the_commonest_errors_have_the_same_names_everywhere(sdk: Sdk) -> None:
    """So a scenario that names no dialect can be played in any; what is missing is told here."""
    missing = _COMMONEST - set(load_dialect(sdk.dialect).payloads)
    needs_no_key = {"invalid_api_key", "missing_authorization"}
    assert missing <= (needs_no_key if sdk.dialect == "ollama" else set())
