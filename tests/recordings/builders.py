"""Recordings made by hand, for tests that are about one thing each."""

from __future__ import annotations

import json
from typing import Any

from faultclock.errors import UnknownNameError
from faultclock.fakes.dialects import dialect_named
from faultclock.load.located.tree import Place
from faultclock.recordings.exchange import Exchange, Headers, OddityKind
from faultclock.recordings.importing import Imported, Options, import_recording
from faultclock.recordings.outcome import Hearing

CHAT = "https://api.openai.com/v1/chat/completions"


def dialects(name: str) -> Hearing | None:
    """Return the dialect of a name, None where there is none."""
    try:
        return dialect_named(name)
    except UnknownNameError:
        return None


def interaction(
    status: int = 200,
    body: Any = None,
    *,
    url: str = CHAT,
    asked: Any = None,
    headers: dict[str, str] | None = None,
    told: dict[str, str] | None = None,
    at: str | None = None,
    method: str = "POST",
) -> dict[str, Any]:
    """Return one interaction as vcrpy writes it; `at` is a time of day, `None` no Date."""
    if asked is None:
        asked = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "Hello there"}]}
    answered = {"Content-Type": "application/json", **(told or {})}
    if at is not None:
        answered["Date"] = f"Mon, 02 Mar 2026 {at} GMT"
    return {
        "request": {
            "method": method,
            "uri": url,
            "body": asked if isinstance(asked, str) else json.dumps(asked),
            "headers": {name: [value] for name, value in (headers or {}).items()},
        },
        "response": {
            "status": {"code": status, "message": ""},
            "headers": {name: [value] for name, value in answered.items()},
            "body": {"string": body if isinstance(body, str) else json.dumps(body)},
        },
    }


def cassette(*interactions: Any) -> bytes:
    """Return a cassette of these interactions."""
    return json.dumps({"version": 1, "interactions": list(interactions)}, indent=1).encode()


def imported(*interactions: Any, **options: Any) -> Imported:
    """Return what comes of a cassette of these interactions."""
    return import_recording(
        cassette(*interactions),
        "some/tape.yaml",
        family="recorded",
        dialects=dialects,
        options=Options(**options),
    )


def kinds(got: Imported) -> list[OddityKind]:
    """Return the kinds of the oddities, by place."""
    return [oddity.kind for oddity in got.oddities]


def exchange(
    *,
    url: str = CHAT,
    method: str = "POST",
    status: int | None = 200,
    body: bytes | None = b"{}",
    asked: bytes | None = b"{}",
    headers: Headers = (),
    told: Headers = (),
    failure: str | None = None,
    at_s: float | None = None,
    line: int = 1,
) -> Exchange:
    """Return one exchange with these parts."""
    place = Place(line, 1)
    return Exchange(
        method=method,
        url=url,
        request_headers=headers,
        request_body=asked,
        status=status,
        response_headers=told,
        response_body=body,
        failure=failure,
        answered_at_s=at_s,
        place=place,
        headers_place=place,
        body_place=place,
    )
