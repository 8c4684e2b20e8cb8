"""The stud-cli rules of the reference: classification, waits, attempts, audiences."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.subjects.ports import ProviderRequest, TypedError
from faultclock.subjects.stud import AttemptError, StudCall, UnmappedProviderError, classify

RATE = ("ProviderTransient", "RateLimited")
SERVER = ("ProviderTransient", "Provider5xx")
NETWORK = ("ProviderTransient", "NetworkTimeout")
WINDOW = ("ProviderCapability", "ContextWindowTooSmall")


def failure(kind: Any = "http_error", message: str = "it failed", **seen: Any) -> AttemptError:
    """Return a failed attempt."""
    return AttemptError(kind, message, **seen)


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (failure(status=429), RATE),
        (failure(status=429, provider_code="insufficient_quota"), RATE),
        (failure(status=413, provider_code="context_length_exceeded"), WINDOW),
        (failure(status=500, provider_code="context_length_exceeded"), SERVER),
        (failure(status=500), SERVER),
        (failure(status=503), SERVER),
        (failure(status=529), SERVER),
        (failure(status=599), SERVER),
        (failure(status=400), None),
        (failure(status=400, provider_code="context_length_exceeded"), WINDOW),
        (failure(status=400, provider_code="rate_limit_exceeded"), None),
        (failure(status=401), None),
        (failure(status=404), None),
        (failure("network"), NETWORK),
        (failure("deadline"), NETWORK),
        (failure("cut"), NETWORK),
        (failure("cut", status=200), NETWORK),
        (failure("malformed", status=200), None),
        (failure("error_body", status=200, provider_code="rate_limit_exceeded"), RATE),
        (failure("error_body", status=200, provider_type="server_error"), SERVER),
        (failure("error_body", status=200, provider_code=429), RATE),
        (failure("error_body", status=200, provider_code=502), SERVER),
        (failure("error_body", status=200, provider_code="context_length_exceeded"), WINDOW),
        (failure("error_body", status=200, provider_code="invalid_api_key"), None),
        (
            failure("error_body", provider_code="content_filter", provider_type="server_error"),
            None,
        ),
        (failure("stream_error", provider_code="new", provider_type="overloaded_error"), SERVER),
        (failure("stream_error", status=200, provider_type="server_error"), SERVER),
        (failure("stream_error", status=200), None),
    ],
    ids=lambda value: repr(value.context()) if isinstance(value, AttemptError) else None,
)
def test_status_and_provider_code_decide(
    seen: AttemptError, expected: tuple[str, str] | None
) -> None:
    """The table of signals, worked by hand."""
    assert classify(seen) == expected


@given(st.text(), st.sampled_from([400, 401, 429, 500]))
def test_no_message_changes_a_classification(text: str, status: int) -> None:
    """Neither our own text nor the provider's takes part."""
    told = failure(status=status, message=text, provider_message=text)
    assert classify(told) == classify(failure(status=status))


def test_a_rate_limit_doubles_its_waits_and_ends_with_the_sixth_failure(
    request_: ProviderRequest,
) -> None:
    """5, 10, 20, 40, 80 s within ±20 %, then the typed error with its cause."""
    call = StudCall(request_)
    for nominal_s in (5, 10, 20, 40, 80):
        assert 0.8 * nominal_s <= call.next_wait_s(failure(status=429)) <= 1.2 * nominal_s
    last = failure(status=429)
    with pytest.raises(TypedError, match="gave up after 6 attempts") as raised:
        call.next_wait_s(last)
    assert (raised.value.error_class, raised.value.code) == RATE
    inner = raised.value.__cause__
    assert isinstance(inner, TypedError)
    assert (inner.error_class, inner.code) == RATE
    assert inner.__cause__ is last


def test_a_server_error_is_tried_three_times(request_: ProviderRequest) -> None:
    """1, 2 s within ±20 %, then the end."""
    call = StudCall(request_)
    assert 0.8 <= call.next_wait_s(failure(status=500)) <= 1.2
    assert 1.6 <= call.next_wait_s(failure("network")) <= 2.4
    with pytest.raises(TypedError, match="gave up after 3 attempts"):
        call.next_wait_s(failure(status=502))


def test_failures_of_one_policy_do_not_use_up_another(request_: ProviderRequest) -> None:
    """429, 500, 429, 500 waits 5, 1, 10, 2 s."""
    call = StudCall(request_)
    waits = [call.next_wait_s(failure(status=status)) for status in (429, 500, 429, 500)]
    for wait_s, nominal_s in zip(waits, (5, 1, 10, 2), strict=True):
        assert 0.8 * nominal_s <= wait_s <= 1.2 * nominal_s


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_replaces_the_schedule_exactly(request_: ProviderRequest, status: int) -> None:
    """No jitter, no cap, on a 503 as well."""
    call = StudCall(request_)
    assert call.next_wait_s(failure(status=status, retry_after="7.5")) == 7.5


def test_the_jitter_uses_both_sides() -> None:
    """Over many draws a wait lies on either side of its nominal value, and never outside ±20 %."""
    random.seed(0)
    call = StudCall.__new__(StudCall)
    drawn = [call.jitter_factor() for _ in range(1_000)]
    assert 0.8 <= min(drawn) < 0.85
    assert 1.15 < max(drawn) <= 1.2


def test_each_retry_is_audited_before_its_wait(request_: ProviderRequest, host: Any) -> None:
    """The record has class, code and the number of the attempt that failed."""
    call = StudCall(request_)
    call.next_wait_s(failure(status=429))
    call.next_wait_s(failure(status=500))
    assert host.told == [("audit", (*RATE, 1)), ("audit", (*SERVER, 2))]


def test_a_capability_error_fails_fast_and_tells_each_audience(
    request_: ProviderRequest, host: Any
) -> None:
    """Audit gets class and code, the user a tuned text, the model a typed shape."""
    seen = failure(status=400, provider_code="context_length_exceeded")
    with pytest.raises(TypedError) as raised:
        StudCall(request_).next_wait_s(seen)
    assert raised.value.__cause__ is seen
    assert host.of("audit") == [(*WINDOW, 1)]
    assert [set(shape) for shape in host.of("model")] == [{"class", "code", "message"}]
    (message,) = host.of("user")
    assert "too long" in message
    assert "ContextWindowTooSmall" not in message


def test_what_the_document_does_not_name_is_raised_without_a_class(
    request_: ProviderRequest, host: Any
) -> None:
    """It is not retried, it keeps its cause, and the model is told nothing."""
    seen = failure(status=401, provider_code="invalid_api_key")
    with pytest.raises(UnmappedProviderError) as raised:
        StudCall(request_).next_wait_s(seen)
    assert raised.value.error_class is None
    assert raised.value.__cause__ is seen
    assert host.of("model") == []
    assert host.of("audit") == [(None, None, 1)]
