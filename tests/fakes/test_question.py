"""What a request asks, apart from the labels on it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest

from faultclock.fakes.dialects import dialect_named
from faultclock.fakes.wire.question import question_in

LABELS = frozenset({"metadata", "user"})
ASKED = {"model": "gpt-x", "messages": [{"role": "user", "content": "Grüße, 😀"}], "top_p": 0.5}
MakeRig = Callable[..., Any]


def _compact(body: Any) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def _spaced(body: Any) -> bytes:
    return json.dumps(body).encode()


@pytest.mark.parametrize("written", [_compact, _spaced])
def test_a_labelled_request_asks_what_the_same_one_without_a_label_asks(
    written: Callable[[Any], bytes],
) -> None:
    """Whatever client writes the JSON, so that the digest of a body without labels is its own."""
    plain = {"asked_sha256": hashlib.sha256(written(ASKED)).hexdigest()}
    for label in ("one", "two"):
        body = written({**ASKED, "metadata": {"request_id": label}, "user": label})
        assert question_in(body, LABELS) == plain


def test_what_is_asked_stays_in_the_digest() -> None:
    """Another model, other words or another id within the conversation are another question."""
    others = (
        {**ASKED, "model": "gpt-y"},
        {**ASKED, "messages": []},
        {**ASKED, "messages": [{"role": "tool", "tool_call_id": "1", "metadata": 1}]},
        {**ASKED, "messages": [{"role": "tool", "tool_call_id": "2", "metadata": 1}]},
        {**ASKED, "previous_response_id": "resp_1"},
    )
    digests = {question_in(_compact({**it, "user": "me"}), LABELS)["asked_sha256"] for it in others}
    assert len(digests) == len(others)


@pytest.mark.parametrize("body", [b"", b"no JSON", b"[1]", b'{"messages":[]}', b'{"usr":"user"}'])
def test_a_body_without_a_label_is_what_is_asked(body: bytes) -> None:
    """Nothing more is recorded of it."""
    assert question_in(body, LABELS) == {}


@pytest.mark.parametrize(
    ("dialect", "label"),
    [
        ("openai-chat", "prompt_cache_key"),
        ("openai-responses", "prompt_cache_key"),
        ("azure-openai", "user"),
        ("openai-compatible", "request_id"),
        ("openrouter", "session_id"),
        ("anthropic-messages", "metadata"),
        ("bedrock-converse", "requestMetadata"),
        ("gemini-generate-content", "labels"),
    ],
)
def test_each_api_has_its_own_labels(dialect: str, label: str) -> None:
    """They are in the file of the dialect."""
    assert label in dialect_named(dialect).labels


def test_the_provider_records_what_a_labelled_request_asks(make_rig: MakeRig, wire: Any) -> None:
    """Once for each, beside the digest of all of it."""
    rig = make_rig()
    for label in ("a", "b"):
        rig.exchange(wire.request(metadata={"id": label}))
    one, two = rig.of_kind("http.request")
    assert one["body_sha256"] != two["body_sha256"]
    plain = wire.request().partition(b"\r\n\r\n")[2]
    digest = hashlib.sha256(plain).hexdigest()
    assert (one["asked_sha256"], two["asked_sha256"]) == (digest, digest)
