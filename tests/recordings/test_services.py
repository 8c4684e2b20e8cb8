"""A recording as services: what other hosts answered, without secrets and without the provider."""

from __future__ import annotations

import json

import pytest

from faultclock.errors import SourceError
from faultclock.recordings.services import recorded_services

_KEY = "sk-simulated-0123456789abcdef0123"


def _entry(method: str, url: str, status: int, text: str, kind: str = "application/json") -> object:
    return {
        "startedDateTime": "2026-11-20T10:00:00.000Z",
        "request": {
            "method": method,
            "url": url,
            "headers": [{"name": "Authorization", "value": f"Bearer {_KEY}"}],
        },
        "response": {
            "status": status,
            "headers": [{"name": "Content-Type", "value": kind}],
            "content": {"mimeType": kind, "text": text},
        },
    }


def _har(*entries: object) -> bytes:
    return json.dumps({"log": {"version": "1.2", "entries": entries}}).encode()


def test_each_request_is_answered_as_it_was() -> None:
    """In the order of the recording, and the last answer repeats."""
    services = recorded_services(
        _har(
            _entry("GET", "https://api.weather.example/now?at=Rome", 503, '{"error": "busy"}'),
            _entry("GET", "https://api.weather.example/now?at=Rome", 200, '{"celsius": 21}'),
            _entry("POST", "http://localhost:8080/notes", 201, "made", "text/plain"),
            _entry("POST", "https://api.openai.com/v1/chat/completions", 200, "{}"),
        ),
        "tape.har",
    )
    weather, notes = services
    assert (weather.host, notes.host) == ("api.weather.example", "localhost:8080")
    said = [(answer.request, answer.status, answer.body) for answer in weather.answers]
    assert said == [
        ("GET /now?at=Rome", 503, {"error": "busy"}),
        ("GET /now?at=Rome", 200, {"celsius": 21}),
    ]
    assert [answer.nth.last for answer in weather.answers] == [1, None]
    assert notes.answers[0].body == "made"


def test_no_secret_of_the_recording_is_in_an_answer() -> None:
    """Neither in a body nor in a request; a query with one is left out."""
    (service,) = recorded_services(
        _har(_entry("GET", f"https://a.example.com/x?key={_KEY}", 200, f'{{"key": "{_KEY}"}}')),
        "tape.har",
    )
    assert service.answers[0].request == "GET /x"
    assert _KEY not in service.model_dump_json()


def test_a_recording_of_a_provider_alone_is_none() -> None:
    """The model is asked in each scenario as that has it."""
    tape = _har(_entry("POST", "https://api.openai.com/v1/chat/completions", 200, "{}"))
    with pytest.raises(SourceError, match="but for a model's provider"):
        recorded_services(tape, "tape.har")
