"""Recordings of other tools than vcrpy, each by its public format, and those that are refused."""

from __future__ import annotations

import contextlib
import gzip
import json
from typing import Any

import pytest

from faultclock.errors import SourceError
from faultclock.model.duration import MILLISECOND_NS, SECOND_NS
from faultclock.recordings import httprr
from faultclock.recordings.exchange import OddityKind, Recording
from faultclock.recordings.formats import NOT_READ, read_recording
from faultclock.recordings.importing import import_recording
from tests.recordings.builders import CHAT, dialects
from tests.recordings.planted import CASSETTES

FOLDER = CASSETTES / "formats"
NAMES = {
    "go-vcr.yaml": "a cassette of go-vcr",
    "betamax.json": "a cassette of Betamax",
    "nock.json": "a recording of nock",
    "trace.httprr": "a trace of httprr",
    "wiremock.json": "stub mappings of WireMock",
}


def read(name: str) -> Recording:
    """Return one of the recordings."""
    return read_recording((FOLDER / name).read_bytes(), f"folder/{name}")


def told(content: bytes | str | Any) -> str:
    """Return why something is refused."""
    given = content if isinstance(content, (bytes, str)) else json.dumps(content)
    with pytest.raises(SourceError) as caught:
        read_recording(given.encode() if isinstance(given, str) else given, "folder/x")
    return str(caught.value)


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_of_each_tool_has_the_same_exchanges(name: str) -> None:
    """A limit, then a good answer three seconds later, under the name of the tool."""
    recording = read(name)
    assert recording.format == NAMES[name]
    first, second, *_ = recording.exchanges
    assert (first.method, first.status, second.status) == ("POST", 429, 200)
    assert first.url == (
        CHAT if name != "wiremock.json" else "http://localhost/v1/chat/completions"
    )
    assert json.loads(first.request_body or b"")["messages"][0]["content"] == "Say hello."
    assert json.loads(first.response_body or b"")["error"]["code"] == "rate_limit_exceeded"
    assert json.loads(second.response_body or b"")["choices"][0]["message"]["content"] == "Hello."
    assert (second.answered_at_s or 0) - (first.answered_at_s or 0) == 3
    assert first.place.line < second.place.line or name == "wiremock.json"


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_of_each_tool_becomes_a_scenario(name: str) -> None:
    """One call whose first attempt meets the limit; its secrets stay behind."""
    got = import_recording((FOLDER / name).read_bytes(), name, family="recorded", dialects=dialects)
    written = got.scenarios[0]
    rule = written.scenario.provider.faults[0]
    assert (rule.when.attempts.last, rule.then.model_dump()["status"]) == (1, 429)
    assert "planted" not in written.text.lower()


def test_what_a_tool_says_of_time_is_used() -> None:
    """go-vcr's durations, WireMock's delays; Betamax's instants have no zone and are in UTC."""
    assert [item.wait_ns for item in read("go-vcr.yaml").exchanges] == [
        312_500_000,
        1_250 * MILLISECOND_NS,
    ]
    assert read("wiremock.json").exchanges[0].wait_ns == 150 * MILLISECOND_NS
    assert read("betamax.json").exchanges[0].answered_at_s == 1_772_445_607


@pytest.mark.parametrize(
    ("duration", "wait_ns"),
    [
        ("0s", None),
        ("", None),
        ("1m2.5s", 62_500 * MILLISECOND_NS),
        ("soon", None),
        ("2h", 7_200 * SECOND_NS),
    ],
)
def test_a_duration_of_go_is_read(duration: str, wait_ns: int | None) -> None:
    """Or left aside, where it is not one."""
    text = (FOLDER / "go-vcr.yaml").read_text("utf-8").replace("312.5ms", duration or "''")
    assert read_recording(text.encode(), "x").exchanges[0].wait_ns == wait_ns


def test_a_fault_of_wiremock_is_a_failure_of_the_network() -> None:
    """It has a name of its own for each; those that cannot be played are left out and told."""
    third = read("wiremock.json").exchanges[2]
    assert (third.status, third.failure) == (None, "CONNECTION_RESET_BY_PEER")
    stub = {"request": {"url": "/v1/chat/completions", "method": "POST"}}
    for fault, kind in (
        ("EMPTY_RESPONSE", "reset_before_response"),
        ("RANDOM_DATA_THEN_CLOSE", None),
    ):
        content = json.dumps({**stub, "response": {"fault": fault}}).encode()
        got = import_recording(content, "x", family="recorded", dialects=dialects)
        assert OddityKind.TRANSPORT_FAILURE in [oddity.kind for oddity in got.oddities]
        kinds = [rule.then.kind for item in got.scenarios for rule in item.scenario.provider.faults]
        assert kinds == ([kind] if kind else [])


def test_the_body_of_a_stub_may_stand_elsewhere() -> None:
    """It is not looked for, and the report says where to put it."""
    stub = {
        "request": {"urlPattern": "^/v1/chat/completions(\\?.*)?$", "method": "POST"},
        "response": {"status": 503, "bodyFileName": "../../etc/passwd"},
    }
    recording = read_recording(json.dumps([stub]).encode(), "x")
    (exchange,) = recording.exchanges
    assert (exchange.url, exchange.response_body) == ("http://localhost/v1/chat/completions", None)
    assert any("bodyFileName" in oddity.message for oddity in recording.oddities)


def test_a_trace_of_httprr_may_be_packed() -> None:
    """As langchaingo keeps them; a file that never ends is refused before it is unpacked."""
    content = (FOLDER / "trace.httprr").read_bytes()
    assert len(read_recording(gzip.compress(content), "x.httprr.gz").exchanges) == 2
    assert "64,000,000 bytes" in told(gzip.compress(b" " * 65_000_000))
    assert "cannot be unpacked" in told(b"\x1f\x8b\x08\x00 not really")


def test_a_trace_of_httprr_that_breaks_off_gives_what_came_before() -> None:
    """With the line where it does."""
    content = (FOLDER / "trace.httprr").read_bytes()
    for cut in (content[:-10], content + b"no lengths\n", content + b"999999999 1\nx"):
        recording = read_recording(cut, "x")
        assert len(recording.exchanges) == (1 if cut == content[:-10] else 2)
        (oddity,) = [item for item in recording.oddities if item.kind == OddityKind.CUT_OFF]
        assert oddity.place.line > 5


def test_a_trace_of_httprr_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Empty records could be without number; here the most is a thousand."""
    monkeypatch.setattr(httprr, "_RECORDS_MAX", 1_000)
    recording = read_recording(b"httprr trace v1\n" + b"0 0\n" * 1_200, "x")
    assert recording.exchanges == ()
    assert [it.place.line for it in recording.oddities if it.kind is OddityKind.CUT_OFF] == [1_002]


FOREIGN: list[tuple[str, bytes | str | Any]] = [
    ("flows of mitmproxy", b"2105:9:websocket;0:~8:response;400:6:reason;2:OK,"),
    ("a recording of nock that is JavaScript", "nock('https://api.openai.com:443')\n  .post('/')"),
    ("a recording of nock that is JavaScript", "const nock = require('nock')\n\nnock('https://x')"),
    ("spans of OpenTelemetry", {"resourceSpans": [{"scopeSpans": []}]}),
    (
        "spans of OpenTelemetry",
        [{"name": "chat gpt-4o", "context": {}, "attributes": {}, "start_time": "x"}],
    ),
    ("an export of LangSmith", [{"id": "1", "run_type": "llm", "inputs": {}, "outputs": {}}]),
    ("an export of LangSmith", {"runs": [{"run_type": "llm", "inputs": {}}]}),
    ("an export of Langfuse", {"id": "1", "observations": [{"type": "GENERATION"}]}),
    ("an export of Langfuse", {"data": [{"traceId": "1", "type": "GENERATION", "startTime": "x"}]}),
    ("a collection of Postman", {"info": {"name": "x"}, "item": []}),
]


@pytest.mark.parametrize(("name", "content"), FOREIGN)
def test_what_is_not_read_is_called_by_its_name(name: str, content: Any) -> None:
    """With what to do instead."""
    message = told(content)
    assert f"folder/x:1:1: this is {name}, which cannot be read as a recording" in message
    instead = next(item.instead for item in NOT_READ if item.name == name)
    assert instead in message


def test_each_format_that_is_not_read_is_in_these_tests() -> None:
    """So that a name is never written without a file that gets it."""
    assert {item.name for item in NOT_READ} == {name for name, _ in FOREIGN}


def test_lines_of_json_are_known_by_their_first() -> None:
    """As exporters write them."""
    line = json.dumps({"run_type": "llm", "inputs": {}, "name": "x"})
    assert "an export of LangSmith" in told(f"{line}\n{line}\n")


@pytest.mark.parametrize(
    "content",
    [
        b"httprr trace v1\n",
        b'[{"scope": 1, "method": 2, "path": 3}]',
        b'[{"scope": {}, "method": [], "path": {}, "rawHeaders": {"a": [[]]}, "response": [1]}]',
        b'{"mappings": [{"request": {"url": {}}, "response": []}]}',
        b'{"request": {"url": "/x", "bodyPatterns": {"a": 1}}, "response": {"headers": 3}}',
        b'{"mappings": [{"request": {"url": "/"}, "scenarioName": {}, "insertionIndex": "1e400"}]}',
        b'{"interactions": [{"response": {"code": [], "duration": {}}}]}',
        b'{"http_interactions": [1], "recorded_with": "betamax/1"}',
    ],
)
def test_odd_shapes_of_these_formats_are_read_or_refused(content: bytes) -> None:
    """Nothing but an InputError comes of any of them."""
    with contextlib.suppress(SourceError):
        import_recording(content, "x", family="recorded", dialects=dialects)
