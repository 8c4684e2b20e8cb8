"""Cassettes of our own: what vcrpy loads, and what the importer reads back."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
import yaml
from vcr.serialize import deserialize
from vcr.serializers import yamlserializer

from faultclock.recordings.formats import read_recording
from faultclock.recordings.importing import Imported, Options, import_recording
from faultclock.recordings.tape import Take, tape_text
from tests.recordings.builders import CHAT, dialects
from tests.recordings.planted import MARKS, SHAPED

_ASKED = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "Why is it so, Jane?"}]}
_GOOD = {
    "id": "chatcmpl-Planted0000Planted0000",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-4o-mini",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": "Because."},
        }
    ],
}
_START_NS = 5_000_000_000_000
_WALL_NS = 1_790_000_000_123_456_000


def _take(at_ms: int = 0, **more: Any) -> Take:
    started_ns = _START_NS + at_ms * 1_000_000
    values: dict[str, Any] = {
        "client": "httpx2",
        "process": 1,
        "wall_ns": _WALL_NS + at_ms * 1_000_000,
        "started_ns": started_ns,
        "head_ns": started_ns + 40_000_000,
        "ended_ns": started_ns + 90_000_000,
        "how": "complete",
        "method": "POST",
        "url": CHAT,
        "request_headers": (("Authorization", f"Bearer {SHAPED[0]}"), ("Host", "api.openai.com")),
        "request_body": json.dumps(_ASKED).encode(),
        "status": 200,
        "message": "OK",
        "response_headers": (("Content-Type", "application/json"),),
        "response_body": json.dumps(_GOOD).encode(),
    }
    return Take(**{**values, **more})


def _unanswered(at_ms: int, failure: str) -> Take:
    return _take(
        at_ms,
        status=None,
        head_ns=None,
        how="failed",
        failure=failure,
        response_headers=(),
        response_body=None,
    )


def _imported(*takes: Take, **options: Any) -> Imported:
    text = tape_text(takes, **options)
    return import_recording(
        text.encode(), "x/tape.cassette", family="recorded", dialects=dialects, options=Options()
    )


def test_vcrpy_loads_it_and_sees_nothing_of_ours() -> None:
    """Requests, answers and their order; what nobody answered is not among them."""
    text = tape_text([_unanswered(0, "reset"), _take(10), _take(20, status=500)])
    requests, responses = deserialize(text, yamlserializer)
    assert [request.uri for request in requests] == [CHAT, CHAT]
    assert [response["status"]["code"] for response in responses] == [200, 500]
    assert json.loads(requests[0].body)["model"] == "gpt-4o-mini"
    assert json.loads(responses[0]["body"]["string"])["choices"][0]["finish_reason"] == "stop"


def test_instants_are_counted_from_the_first_start() -> None:
    """And read back to the nanosecond."""
    chunks = ((_START_NS + 41_000_003, 7), (_START_NS + 60_000_001, 9))
    text = tape_text([_take(chunks=chunks), _take(1_500)])
    first, second = read_recording(text.encode(), "tape.cassette").exchanges
    assert first.instants is not None
    assert (first.instants.started_ns, first.instants.head_ns) == (0, 40_000_000)
    assert first.instants.chunks == ((41_000_003, 7), (60_000_001, 9))
    assert second.instants is not None
    assert second.instants.started_ns == 1_500_000_000
    assert first.exact
    assert first.wait_ns == 40_000_000
    assert first.answered_at_s == pytest.approx(_WALL_NS / 1e9 + 0.04, abs=1e-5)


def test_what_nobody_answered_takes_its_place_among_the_attempts() -> None:
    """vcrpy drops it; here it is the first attempt of a call that then went well."""
    got = _imported(_unanswered(0, "connect_refused"), _unanswered(700, "eof"), _take(1_900))
    (written,) = got.scenarios
    first, second = (rule.then for rule in written.scenario.provider.faults)
    assert first.kind == "connect_refused"
    assert (second.kind, getattr(second, "how", None)) == ("reset_before_response", "eof")
    assert len(written.scenario.tasks) == 1
    assert "from the end of one to the next 0.610 s, 1.110 s" in written.text


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        ("connect_timeout", "connect_timeout"),
        ("dns_failure", "dns_failure"),
        ("reset", "reset_before_response"),
        ("stall", "stall"),
    ],
)
def test_each_failure_of_the_network_is_a_fault(failure: str, kind: str) -> None:
    """The one that does the same to a client."""
    (written,) = _imported(_unanswered(0, failure), _take(500)).scenarios
    (rule,) = written.scenario.provider.faults
    assert rule.then.kind == kind


def test_a_failure_that_cannot_be_played_is_told() -> None:
    """By the name of the client's exception, and left out."""
    got = _imported(_unanswered(0, "SSLCertVerificationError"), _take(500))
    assert got.left_out == 1
    assert [str(oddity.kind) for oddity in got.oddities] == ["transport-failure"]


_STREAM = (
    b'data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":'
    b'[{"index":0,"delta":{"content":"Be"},"finish_reason":null}]}\n\n'
)


@pytest.mark.parametrize(("failure", "kind"), [("reset", "truncate"), ("stall", "stall")])
def test_an_answer_that_failed_in_the_middle_is_cut_there(failure: str, kind: str) -> None:
    """How it ended is known, because the recorder was there."""
    take = _take(
        how="failed",
        failure=failure,
        request_body=json.dumps({**_ASKED, "stream": True}).encode(),
        response_headers=(("Content-Type", "text/event-stream"),),
        response_body=_STREAM,
    )
    (written,) = _imported(take).scenarios
    (rule,) = written.scenario.provider.faults
    assert rule.then.kind == kind
    assert getattr(rule.then, "how", "reset") == "reset"


def test_an_answer_that_the_program_left_is_no_failure() -> None:
    """A client that was told to stop has not met a fault of the provider."""
    take = _take(
        how="left",
        response_headers=(("Content-Type", "text/event-stream"),),
        response_body=_STREAM,
    )
    got = _imported(take)
    assert got.scenarios[0].scenario.provider.faults == ()
    assert [str(oddity.kind) for oddity in got.oddities] == ["left-early"]


def test_a_dialect_that_was_told_counts_for_hosts_on_this_machine() -> None:
    """And for no other: a provider's host says itself what it speaks."""
    local = _take(url="http://127.0.0.1:8080/v1/chat/completions")
    (written,) = _imported(local).scenarios
    assert written.scenario.provider.dialect == "openai-compatible"
    (written,) = _imported(local, dialect="openai-chat").scenarios
    assert written.scenario.provider.dialect == "openai-chat"
    other = _take(url="https://openrouter.ai/api/v1/chat/completions")
    (written,) = _imported(other, dialect="openai-chat").scenarios
    assert written.scenario.provider.dialect == "openrouter"


def test_a_compressed_body_is_written_plain_with_headers_that_fit() -> None:
    """Otherwise nothing could be looked for in it."""
    packed = gzip.compress(json.dumps(_GOOD).encode())
    headers = (
        ("Content-Encoding", "gzip"),
        ("Content-Length", str(len(packed))),
        ("Set-Cookie", "a=b"),
    )
    (made,) = yaml.safe_load(tape_text([_take(response_headers=headers, response_body=packed)]))[
        "interactions"
    ]
    body = made["response"]["body"]["string"]
    assert json.loads(body)["choices"]
    assert made["response"]["headers"] == {"Content-Length": [str(len(body.encode()))]}


def test_requests_that_are_signed_anew_are_of_one_key() -> None:
    """Amazon's signatures differ, and make no session of each request."""
    signed = [
        f"AWS4-HMAC-SHA256 Credential=AKIAPLANTED000000000/{day}/us-east-1/bedrock/aws4_request,"
        f" SignedHeaders=host, Signature={str(day) * 8}"
        for day in (20261120, 20261121)
    ]
    takes = [
        _take(at, request_headers=(("Authorization", one),))
        for at, one in zip((0, 50), signed, strict=True)
    ]
    text = tape_text(takes)
    assert text.count("Credential=key_scrubbed1") == 2
    assert "20261121" not in text
    assert len(_imported(*takes).scenarios) == 1


def test_a_header_that_nobody_knows_is_named_and_its_value_is_not() -> None:
    """A gateway's password has no shape; what SDKs tell of themselves stays readable."""
    sent = (
        ("X-Gateway-Auth", "correct horse"),
        ("X-Who", f"correct horse; {SHAPED[0]}"),
        ("Referer", "https://wiki.corp.example/x"),
        ("X-Stainless-Lang", "python"),
        ("Anthropic-Version", "2023-06-01"),
    )
    text = tape_text([_take(request_headers=sent), _take(900, request_headers=sent)])
    assert "correct horse" not in text
    assert "corp.example" not in text
    headers = yaml.safe_load(text)["interactions"][0]["request"]["headers"]
    assert headers["X-Gateway-Auth"] == ["value_scrubbed1"]
    assert headers["X-Stainless-Lang"] == ["python"]
    assert headers["Anthropic-Version"] == ["2023-06-01"]


def test_a_header_of_an_answer_that_nobody_knows_keeps_its_value_to_itself() -> None:
    """A proxy tells whose it is; what frames the answer and what tells of limits stays."""
    came = (
        ("X-Backend", "team-acme-prod"),
        ("Retry-After", "7"),
        ("x-ratelimit-reset-requests", "20s"),
        ("anthropic-ratelimit-tokens-remaining", "0"),
    )
    text = tape_text([_take(response_headers=came)])
    assert "acme" not in text
    headers = yaml.safe_load(text)["interactions"][0]["response"]["headers"]
    assert headers["X-Backend"] == ["value_scrubbed1"]
    assert headers["Retry-After"] == ["7"]
    assert headers["x-ratelimit-reset-requests"] == ["20s"]
    assert headers["anthropic-ratelimit-tokens-remaining"] == ["0"]


@pytest.mark.parametrize("texts_kept", [True, False])
def test_no_secret_is_in_the_text(texts_kept: bool) -> None:
    """Wherever it stood: URL, headers, bodies of both kinds, and what nobody answered."""
    said = " ".join(SHAPED)
    asked = {"model": "m", "user": SHAPED[10], "messages": [{"role": "user", "content": said}]}
    more: dict[str, Any] = {
        "url": f"{CHAT}?key={SHAPED[0]}&api-key=x1",
        "request_headers": tuple((f"X-{at}-Token", value) for at, value in enumerate(SHAPED)),
        "request_body": json.dumps(asked).encode(),
        "response_headers": tuple((f"X-{at}", value) for at, value in enumerate(SHAPED)),
        "response_body": json.dumps({"error": {"message": said}}).encode(),
    }
    lost = {**more, "status": None, "how": "failed", "failure": "reset"}
    text = tape_text([_take(status=429, **more), _take(9, **lost)], texts_kept=texts_kept)
    assert [mark for mark in (*MARKS, *SHAPED) if mark in text] == []
    assert "=x1" not in text
    assert ("Jane" in tape_text([_take()], texts_kept=texts_kept)) is texts_kept


@pytest.mark.parametrize(
    "recorded",
    [
        "nonsense",
        "{started_ns: -1, ended_ns: 5}",
        "{started_ns: 9, ended_ns: 5}",
        "{started_ns: 1e300, ended_ns: .inf}",
        "{started_ns: 1, ended_ns: 5, head_ns: 70, chunks: [[1, 2], [0, 3]]}",
        "{started_ns: 1, ended_ns: 5, chunks: [1, [2], [1, -4]], how: [], failure: {}}",
    ],
)
def test_instants_that_cannot_be_are_left_aside(recorded: str) -> None:
    """Somebody has edited the file; what else it says still counts."""
    lines = tape_text([_take()]).splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("  recorded:"))
    text = "\n".join([*lines[:at], f"  recorded: {recorded}", ""])
    (exchange,) = read_recording(text.encode(), "tape.cassette").exchanges
    assert exchange.status == 200
    assert exchange.instants is None or exchange.instants.chunks == ()
