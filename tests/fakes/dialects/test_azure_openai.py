"""What Azure does to OpenAI's dialect: paths, keys, the gateway's headers, the content filter."""

from __future__ import annotations

import json
import uuid

import pytest

from faultclock.fakes.dialects import dialect_named
from faultclock.fakes.wire.http_server import HttpRequest
from faultclock.load.payloads import load_payloads
from tests.fakes.dialects.asking import EXCHANGE, LIMITED, answered, events_of, headers_of, request

DIALECT = dialect_named("azure-openai")
PAYLOADS = load_payloads("azure-openai")
PATH = "/openai/deployments/my%20model/chat/completions?api-version=2024-10-21"
KEY = {"api-key": "k"}


def test_the_deployment_in_the_path_is_the_model() -> None:
    """The body need not name one, and what it names does not count."""
    assert DIALECT.read(request(PATH, headers=KEY)).model == "my model"
    bare = json.dumps({"messages": [{"role": "user", "content": "Hi."}]}).encode()
    asked = DIALECT.read(request(PATH, headers=KEY, content=bare))
    assert (asked.model, asked.refusal) == ("my model", None)


def test_the_newer_path_takes_the_model_from_the_body() -> None:
    """It needs no API version, and a bearer's token is as good as a key."""
    asked = DIALECT.read(request("/openai/v1/chat/completions"))
    assert (asked.model, asked.refusal) == ("some-model", None)


@pytest.mark.parametrize(
    ("sent", "payload"),
    [
        (request("/openai/deployments/d/chat/completions", headers=KEY), "unknown_url"),
        (request("/v1/chat/completions", headers=KEY), "unknown_url"),
        (request("/openai/deployments/a/b/chat/completions?api-version=1"), "unknown_url"),
        (request(PATH, headers={}), "missing_authorization"),
        (request(PATH, headers={"api-key": " "}), "missing_authorization"),
        (request(PATH, headers=KEY, method="GET"), "method_not_supported"),
        (request(PATH, headers=KEY, content=b"{"), "invalid_json"),
        (request(PATH, headers=KEY, content=b"{}"), "missing_required_parameter"),
        (
            request("/openai/v1/chat/completions", content=b'{"messages": [1]}'),
            "missing_required_parameter",
        ),
    ],
)
def test_azure_refuses_what_is_no_request_of_its_own(sent: HttpRequest, payload: str) -> None:
    """A deployment without an API version is not found."""
    refusal = DIALECT.read(sent).refusal
    assert refusal is not None
    assert refusal.payload == payload


def test_a_refusal_tells_the_wait_twice() -> None:
    """In seconds and in milliseconds; of a reset nothing is told."""
    payload = PAYLOADS["rate_limit_exceeded"]
    told = headers_of(DIALECT.error_answer(payload, 429, LIMITED, {}))
    assert (told["retry-after"], told["retry-after-ms"]) == ("3", "2500")
    assert (told["x-ratelimit-limit-requests"], told["x-ratelimit-remaining-requests"]) == (
        "60",
        "0",
    )
    assert told["x-ratelimit-remaining-tokens"] == "9"
    assert not any("reset" in name for name in told)


def test_the_gateway_has_an_id_for_each_answer() -> None:
    """A UUID, which another exchange does not share."""
    told = headers_of(answered(DIALECT, request(PATH, headers=KEY)))["apim-request-id"]
    assert str(uuid.UUID(told)) == told
    other = headers_of(DIALECT.error_answer(PAYLOADS["not_found"], 404, LIMITED, {}))
    assert other["apim-request-id"] == told, "it follows from seed and number alone"


def test_the_gateways_errors_have_a_text_as_code() -> None:
    """And no type."""
    answer = DIALECT.error_answer(PAYLOADS["invalid_api_key"], 401, EXCHANGE, {})
    error = json.loads(answer.chunks[0])["error"]
    assert (error["code"], set(error)) == ("401", {"code", "message"})
    assert answer.error is not None
    assert answer.error["type"] is None


def test_what_the_filter_found_is_in_good_answers() -> None:
    """For the prompt once, for the answer in each choice."""
    whole = json.loads(answered(DIALECT, request(PATH, headers=KEY)).chunks[0])
    assert whole["prompt_filter_results"][0]["content_filter_results"]["jailbreak"]
    assert whole["choices"][0]["content_filter_results"]["violence"] == {
        "filtered": False,
        "severity": "safe",
    }


def test_a_stream_begins_with_a_chunk_without_choices() -> None:
    """It counts as a chunk before the finish reason."""
    answer = answered(DIALECT, request(PATH, headers=KEY, stream=True), reply="One two.")
    first, *rest = events_of(answer)
    assert (first["choices"], first["object"]) == ([], "")
    assert first["prompt_filter_results"]
    reasons = [chunk["choices"][0]["finish_reason"] for chunk in rest]
    assert reasons == [None] * (answer.chunks_before_finish - 1) + ["stop"]
