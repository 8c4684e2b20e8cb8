"""Each failure on the wire has the class, code and disposition that the document gives it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from faultclock.load.error_model import load_error_model
from faultclock.model.error_model.error_model import ErrorModel, SignalPattern
from faultclock.oracle.wire.signals import Signal, classify, meets

RATE = ("ProviderTransient", "RateLimited")
SERVER = ("ProviderTransient", "Provider5xx")
NETWORK = ("ProviderTransient", "NetworkTimeout")
WINDOW = ("ProviderCapability", "ContextWindowTooSmall")


def http(status: int, code: str | None = None, type_: str | None = None) -> Signal:
    """Return an answer with an error status."""
    return Signal(kind="http_error", status=status, error_code=code, error_type=type_)


@pytest.mark.parametrize(
    ("signal", "pair", "disposition"),
    [
        (http(429), RATE, "retry"),
        (http(429, "rate_limit_exceeded", "requests"), RATE, "retry"),
        (http(429, "insufficient_quota", "insufficient_quota"), RATE, "retry"),
        (http(429, "billing_hard_limit_reached"), RATE, "retry"),
        (http(429, None, "insufficient_quota"), RATE, "retry"),
        (http(500), SERVER, "retry"),
        (http(503, "server_error"), SERVER, "retry"),
        (http(529, "overloaded_error"), SERVER, "retry"),
        (http(599), SERVER, "retry"),
        # The code of a 500 does not make it what its code says elsewhere.
        (http(500, "context_length_exceeded"), SERVER, "retry"),
        (http(400, "context_length_exceeded"), WINDOW, "terminal"),
        (http(413, "context_length_exceeded"), WINDOW, "terminal"),
        (http(400, "invalid_value"), None, "terminal"),
        (http(400, "content_filter"), None, "terminal"),
        (http(401, "invalid_api_key"), None, "terminal"),
        (http(402), None, "terminal"),
        (http(403), None, "terminal"),
        (http(404, "model_not_found"), None, "terminal"),
        (http(422), None, "terminal"),
        (http(400, "rate_limit_exceeded"), None, "terminal"),
        (http(408), None, None),
        (http(409), None, None),
        (http(425), None, None),
        (Signal(kind="error_body", error_code="rate_limit_exceeded"), RATE, "retry"),
        (Signal(kind="error_body", error_code="429"), RATE, "retry"),
        (Signal(kind="stream_error", error_type="server_error"), SERVER, "retry"),
        (Signal(kind="stream_error", error_code="503"), SERVER, "retry"),
        (Signal(kind="stream_error", error_type="tokens"), RATE, "retry"),
        (
            Signal(
                kind="stream_error",
                error_code="billing_hard_limit_reached",
                error_type="invalid_request_error",
            ),
            RATE,
            "retry",
        ),
        (
            Signal(
                kind="error_body",
                error_code="context_length_exceeded",
                error_type="invalid_request_error",
            ),
            WINDOW,
            "terminal",
        ),
        (Signal(kind="error_body", error_code="invalid_api_key"), None, "terminal"),
        (Signal(kind="error_body", error_type="invalid_request_error"), None, "terminal"),
        (Signal(kind="stream_error", error_code="never seen"), None, None),
        (Signal(kind="stream_error"), None, None),
        (Signal(kind="dns_failure"), NETWORK, "retry"),
        (Signal(kind="connect_refused"), NETWORK, "retry"),
        (Signal(kind="connect_timeout"), NETWORK, "retry"),
        (Signal(kind="connection_reset"), NETWORK, "retry"),
        (Signal(kind="connection_closed"), NETWORK, "retry"),
        (Signal(kind="deadline"), NETWORK, "retry"),
        (Signal(kind="stream_cut"), NETWORK, "retry"),
        (Signal(kind="body_cut"), NETWORK, "retry"),
        (Signal(kind="malformed_body"), None, None),
    ],
)
def test_each_signal_has_its_class_and_disposition(
    model: ErrorModel, signal: Signal, pair: tuple[str, str] | None, disposition: str | None
) -> None:
    """Worked by hand from the document's tables; no class means a reason is given."""
    seen = classify(model, signal)
    assert (seen.pair, seen.disposition) == (pair, disposition)
    assert (seen.unmapped is None) == (pair is not None)
    assert seen.requirement is not None


@pytest.mark.parametrize(
    ("reading", "signal", "pair", "disposition"),
    [
        ({"quota-429": "terminal"}, http(429, "insufficient_quota"), RATE, "terminal"),
        ({"quota-429": "terminal"}, http(429, "rate_limit_exceeded"), RATE, "retry"),
        ({"refused-requests": "not-judged"}, http(401), None, None),
        (
            {"refused-requests": "not-judged"},
            http(400, "context_length_exceeded"),
            WINDOW,
            "terminal",
        ),
        ({"request-timeout": "network-timeout"}, http(408), NETWORK, "retry"),
        ({"cut-answers": "unmapped"}, Signal(kind="stream_cut"), None, None),
        ({"cut-answers": "unmapped"}, Signal(kind="connection_reset"), NETWORK, "retry"),
    ],
)
def test_a_reading_changes_what_a_signal_is(
    reading: dict[str, str], signal: Signal, pair: tuple[str, str] | None, disposition: str | None
) -> None:
    """The other readings classify differently, and only what they speak of."""
    seen = classify(load_error_model("stud-cli", reading), signal)
    assert (seen.pair, seen.disposition) == (pair, disposition)


def test_a_signal_that_no_rule_matches_is_unmapped(model: ErrorModel) -> None:
    """Without a rule there is no class, no requirement, and nothing to judge."""
    seen = classify(model.model_copy(update={"signals": ()}), http(500))
    assert (seen.pair, seen.disposition, seen.requirement) == (None, None, None)
    assert str(seen) == "unmapped"


def test_every_condition_of_a_pattern_must_hold() -> None:
    """Within a field any value fits; between fields all must."""
    pattern = SignalPattern(statuses=("400-403", "429"), error_codes=("a", "b"))
    assert meets(pattern, http(429, "b"))
    assert not meets(pattern, http(429, "c"))
    assert not meets(pattern, http(404, "a"))
    assert not meets(pattern, Signal(kind="stream_error", error_code="a"))


def test_an_error_is_known_by_its_name_whoever_sends_it(model: ErrorModel) -> None:
    """A provider without codes says in words that the context is too long; the world knows."""
    said = Signal(kind="http_error", status=400, error_type="invalid_request_error")
    meant = replace(said, means="context_length_exceeded")
    assert classify(model, said).pair is None
    assert classify(model, meant).pair == ("ProviderCapability", "ContextWindowTooSmall")


def test_what_is_decided_by_is_said() -> None:
    """A code may be known to its provider alone; who reads a finding has to see why it is one.

    The name is no word of the wire, and says whose it is.
    """
    told = Signal(kind="http_error", status=400, error_code="3051", means="context_length_exceeded")
    assert str(told) == "400 3051 (in Faultclock: context_length_exceeded)"
    assert str(Signal(kind="http_error", status=400, means="x")) == "400 (in Faultclock: x)"
    assert str(Signal(kind="stream_error", error_type="t")).endswith(": t")
