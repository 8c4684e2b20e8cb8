"""Headers: dates, what can be sent, what must not be seen."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.fakes.wire.headers import (
    SCRUBBED,
    http_date,
    is_sendable,
    merged,
    rendered,
    scrubbed,
    scrubbed_url,
)
from faultclock.model.scenario.fault import HttpDate

NOON_NS = int(datetime(2026, 1, 1, 12, tzinfo=UTC).timestamp()) * 1_000_000_000


def test_a_date_is_an_imf_fixdate() -> None:
    """RFC 9110: day name, two-digit day, GMT; parts of a second are cut off."""
    assert http_date(NOON_NS + 999_999_999) == "Thu, 01 Jan 2026 12:00:00 GMT"


@given(st.integers(0, 200 * 365 * 86_400 * 10**9))
def test_a_date_says_the_second_that_it_was_made_from(wall_ns: int) -> None:
    """Whatever the instant."""
    parsed = parsedate_to_datetime(http_date(wall_ns))
    assert parsed.timestamp() == wall_ns // 10**9


@pytest.mark.parametrize(("offset", "shown"), [("+30s", "12:00:30"), ("-90s", "11:58:30")])
def test_an_offset_counts_from_the_instant_of_the_response(offset: str, shown: str) -> None:
    """Backwards too."""
    date = HttpDate.model_validate({"http_date": offset})
    assert rendered((("retry-after", date), ("a", "b")), NOON_NS) == [
        ("retry-after", f"Thu, 01 Jan 2026 {shown} GMT"),
        ("a", "b"),
    ]


def test_a_scenarios_headers_replace_the_providers() -> None:
    """Names are compared without regard to case."""
    assert merged((("retry-after", "1"), ("a", "b")), {"Retry-After": "7", "X": "y"}) == (
        ("retry-after", "7"),
        ("a", "b"),
        ("x", "y"),
    )


@pytest.mark.parametrize("value", ["", "30", "-1", "1.5", "soon", "a b", "Wed, 21 Oct 2015"])
def test_odd_values_can_be_sent(value: str) -> None:
    """A scenario needs garbage as well."""
    assert is_sendable("Retry-After", value)


@pytest.mark.parametrize(
    ("name", "value"), [("a", " x"), ("a", "x\r\ny: z"), ("a", "ü"), ("a b", "x"), ("", "x")]
)
def test_what_http_cannot_carry_is_not_sendable(name: str, value: str) -> None:
    """Line breaks above all."""
    assert not is_sendable(name, value)


def test_secrets_are_scrubbed_from_headers_and_targets() -> None:
    """The names stay, so that a check can see that a key was sent."""
    headers = {"authorization": "Bearer x", "x-api-key": "y", "user-agent": "z"}
    assert scrubbed(headers) == {
        "authorization": SCRUBBED,
        "x-api-key": SCRUBBED,
        "user-agent": "z",
    }
    assert scrubbed_url("/v1/x?b=&a=1") == "/v1/x?b=&a=1"
    assert "hunter2" not in scrubbed_url("/v1/x?api-version=1&api-key=hunter2")


@pytest.mark.parametrize(
    "name",
    ["x-portkey-api-key", "helicone-auth", "x_my_secret", "x-custom-token", "proxy-authorization"],
)
def test_a_gateways_own_header_may_hold_a_secret(name: str) -> None:
    """Its name says so."""
    assert scrubbed({name: "hunter2"}) == {name: SCRUBBED}
    assert "hunter2" not in scrubbed_url(f"/v1?{name}=hunter2")


@pytest.mark.parametrize(
    "name",
    ["x-ratelimit-limit-tokens", "anthropic-ratelimit-tokens-reset", "x-request-id", "etag"],
)
def test_counts_of_tokens_are_no_secrets(name: str) -> None:
    """What the limits are judged by has to stay."""
    assert scrubbed({name: "5", "idempotency-key": "x"}) == {name: "5", "idempotency-key": "x"}


@pytest.mark.parametrize("name", ["x-my-gateway", "x-tenant", "via"])
def test_a_header_that_is_not_known_keeps_its_value_to_itself(name: str) -> None:
    """The password of a gateway may be a word; what the subject is answered is all ours."""
    assert scrubbed({name: "swordfish"}, sent=True) == {name: SCRUBBED}
    assert scrubbed({name: "swordfish"}) == {name: "swordfish"}


@pytest.mark.parametrize(
    "name",
    ["host", "accept", "content-type", "user-agent", "idempotency-key", "x-stainless-retry-count"],
)
def test_what_checks_read_of_a_request_stays(name: str) -> None:
    """HTTP's own headers, those of SDKs, and what says that a request is a repetition."""
    assert scrubbed({name: "5"}, sent=True) == {name: "5"}


def test_who_asks_is_scrubbed_from_a_url() -> None:
    """In a target, and in a header that repeats one."""
    assert scrubbed_url("http://me:hunter2@h/v1") == f"http://{SCRUBBED}@h/v1"
    assert "hunter2" not in scrubbed({"referer": "https://h/?api_key=hunter2"})["referer"]


def test_a_key_in_an_unusual_place_is_scrubbed_by_its_shape() -> None:
    """A header of its own, a path, a parameter with any name."""
    key = "sk-simulated-4f9d2c7ab1e85036d7c9"
    assert key not in scrubbed({"x-my-auth": f"key {key}"})["x-my-auth"]
    for target in (f"/v1/{key}/chat", f"/v1/chat?sig={key}&a=1", f"/v1/chat?key={key}"):
        assert key not in scrubbed_url(target)
