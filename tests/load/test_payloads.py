"""The shipped payloads, and what a wrong file says."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from faultclock.errors import SourceError, UnknownNameError
from faultclock.load.payloads import dialect_names, load_payloads

EXPECTED = {
    "bad_gateway": 502,
    "billing_hard_limit_reached": 429,
    "conflict": 409,
    "content_filter": 400,
    "context_length_exceeded": 400,
    "gateway_timeout": 504,
    "insufficient_quota": 429,
    "invalid_api_key": 401,
    "invalid_request": 400,
    "model_not_found": 404,
    "overloaded": 503,
    "permission_denied": 403,
    "rate_limit_exceeded": 429,
    "rate_limit_tokens": 429,
    "request_timeout": 408,
    "server_error": 500,
    "service_unavailable": 503,
    "unprocessable": 422,
    "unsupported_parameter": 400,
}


def test_the_shipped_payloads_have_their_statuses() -> None:
    """Every name that scenarios may use is there."""
    payloads = load_payloads("openai-chat")
    assert {name: payloads[name].status for name in EXPECTED} == EXPECTED


def test_every_json_payload_has_openais_shape_and_a_dated_source() -> None:
    """`error` with message, type, param and code; nobody's guess passes for a recording."""
    for name, payload in load_payloads("openai-chat").items():
        assert "2026-" in payload.source, name
        if payload.body is not None:
            error: dict[str, Any] = payload.body["error"]
            assert {"message", "type", "param", "code"} <= error.keys(), name
            assert set(payload.body) == {"error"}, name


def test_a_429_names_its_wait_in_words() -> None:
    """As OpenAI's do, so that code which reads the message meets what it would meet."""
    body = load_payloads("openai-chat")["rate_limit_exceeded"].body or {}
    assert "Please try again in 20s." in body["error"]["message"]


@pytest.mark.parametrize("dialect", dialect_names())
def test_no_number_looks_like_a_rate_limit_by_chance(dialect: str) -> None:
    """A client that looks for `429` in a text is shown by the payload that is made for it."""
    for name, payload in load_payloads(dialect).items():
        numbers = re.findall(r"[0-9]+", json.dumps(payload.body))
        if payload.status < 429 and name != "invalid_mentions_rate_limit":
            assert not [number for number in numbers if "429" in number], name


def test_an_unknown_dialect_is_refused_with_those_that_exist() -> None:
    """With a near name where there is one."""
    with pytest.raises(UnknownNameError, match="openai-chat"):
        load_payloads("openai-chatt")


GOOD = "status: 500, source: somewhere 2026-01-01"
PLACE = "title: Mine\nbase_url: https://mine.example.com/v1\nmodel: mine-1\n"


@pytest.mark.parametrize(
    "payload",
    [
        "{status: 500, body: {error: {}}}",
        f"{{{GOOD}}}",
        f"{{{GOOD}, body: {{}}, text: x, content_type: text/html}}",
        f"{{{GOOD}, text: x}}",
        "{status: 200, source: x, body: {}}",
        f"{{{GOOD}, body: {{}}, heders: {{}}}}",
    ],
)
def test_a_wrong_payload_is_told_with_its_place(payload: str, tmp_path: Path) -> None:
    """No source, no body, two bodies, no content type, an error with a good status, a typo."""
    file = tmp_path / "payloads" / "mine.yaml"
    file.parent.mkdir()
    file.write_text(f"dialect: mine\n{PLACE}payloads:\n  boom: {payload}\n")
    with pytest.raises(SourceError, match=r"mine\.yaml:6:\d+"):
        load_payloads("mine", tmp_path)


def test_a_file_of_another_dialect_is_refused(tmp_path: Path) -> None:
    """A copy that was not edited."""
    file = tmp_path / "payloads" / "mine.yaml"
    file.parent.mkdir()
    file.write_text(f"dialect: other\n{PLACE}payloads:\n  boom: {{{GOOD}, body: {{}}}}\n")
    with pytest.raises(SourceError, match="says that it is of 'other'"):
        load_payloads("mine", tmp_path)
