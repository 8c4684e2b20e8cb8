"""The JSON service behind a tool: what it answers to whom."""

from __future__ import annotations

import json
from typing import Any

import pytest

from faultclock.errors import InternalError
from faultclock.fakes.dialects.http_json import HttpJson
from faultclock.fakes.wire.dialect import Exchange
from faultclock.fakes.wire.http_server import HttpRequest
from faultclock.load.payloads import load_payloads
from faultclock.model.scenario.provider_script import ProviderScript
from tests.fakes.dialects.asking import broken_off

DIALECT = HttpJson()
EXCHANGE = Exchange(number=1, seed=0, unix_s=1_767_225_600, think_ms=100)


def answer(reply: str, target: str = "/v1/items/1?q=a", body: bytes = b"") -> tuple[int, Any]:
    """Return status and parsed body of the good answer."""
    request = HttpRequest(method="POST", target=target, headers={}, body=body)
    script = ProviderScript(dialect="http-json", reply=reply)
    good = DIALECT.good_answer(script, DIALECT.read(request), EXCHANGE)
    return good.status, json.loads(b"".join(good.chunks))


def test_a_plain_text_comes_back_with_what_was_asked() -> None:
    """So a tool that nobody wrote a service for finds one."""
    status, value = answer("Hello.", body=b'{"a": 1}')
    assert status == 200
    assert value == {
        "path": "/v1/items/1",
        "query": {"q": "a"},
        "body": {"a": 1},
        "text": "Hello.",
    }


def test_a_body_that_is_no_json_is_none_of_its_business() -> None:
    """The service does not refuse it: that would be a fault that nobody planned."""
    assert answer("Hello.", body=b"\xff")[1]["body"] is None


@pytest.mark.parametrize("reply", ['{"celsius": 21}', "[1, 2]", "7", "{}"])
def test_any_json_is_the_answer_to_everything(reply: str) -> None:
    """Whatever the path."""
    assert answer(reply) == (200, json.loads(reply))


def test_a_table_of_paths_answers_by_the_longest_end() -> None:
    """And has nothing at any other path."""
    table = json.dumps({"/items/1": {"id": 1}, "/1": "short", "/items/2": {"id": 2}})
    assert answer(table) == (200, {"id": 1})
    assert answer(table, "/v1/items/2") == (200, {"id": 2})
    status, value = answer(table, "/v1/nothing")
    assert (status, value["error"]["code"]) == (404, "not_found")


def test_every_payload_can_be_sent() -> None:
    """With its status, its headers and, where it is JSON, its error."""
    for name, payload in load_payloads("http-json").items():
        sent = DIALECT.error_answer(payload, payload.status, EXCHANGE, {})
        assert sent.status == payload.status, name
        assert (sent.error is None) == (payload.text is not None), name


def test_it_has_no_streams() -> None:
    """A fault inside a stream is never met, and says so when it is forced."""
    request = HttpRequest(method="GET", target="/", headers={}, body=b"")
    assert not DIALECT.read(request).stream
    with pytest.raises(InternalError):
        broken_off(DIALECT, load_payloads("http-json")["unavailable"])
