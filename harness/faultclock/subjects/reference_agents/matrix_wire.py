"""What a failed request over HTTP is, in the classes of the Error Handling Matrix.

A status decides, or the code (then the type) of an error object where no status does. The words of
a message decide nothing. For a rate limit or a quota the document has no row.
"""

from __future__ import annotations

from faultclock.subjects.reference_agents.matrix_reading import AUTH, NETWORK, RUNTIME, TIMEOUT
from faultclock.subjects.reference_agents.turn import Pair
from faultclock.subjects.stud import AttemptError

_AUTH_CODES = frozenset({"invalid_api_key", "invalid_token"})
_LIMIT_CODES = frozenset(
    {
        "rate_limit_exceeded",
        "rate_limit_error",
        "insufficient_quota",
        "billing_hard_limit_reached",
        "credit_balance_exhausted",
        "organization_spend_limit_exceeded",
        "project_spend_limit_exceeded",
        "1300",
    }
)
_UPSTREAM_CODES = frozenset(
    {
        "server_error",
        "internal_server_error",
        "internal_error",
        "overloaded_error",
        "server_is_overloaded",
        "slow_down",
        "service_unavailable",
    }
)
_AUTH_TYPES = frozenset({"authentication_error", "permission_error"})
_LIMIT_TYPES = frozenset(
    {
        "requests",
        "tokens",
        "rate_limit_error",
        "rate_limit_exceeded",
        "insufficient_quota",
        "exceeded_current_quota_error",
        "billing_error",
        "rate_limited",
        "ThrottlingException",
    }
)
_UPSTREAM_TYPES = frozenset(
    {
        "server_error",
        "internal_server_error",
        "api_error",
        "overloaded_error",
        "service_unavailable",
        "service_unavailable_error",
        "timeout_error",
        "InternalServerException",
        "ServiceUnavailableException",
    }
)


def wire_pair(seen: AttemptError) -> Pair | None:
    """Return class and code of a failed attempt, None where the document has no row for it."""
    if seen.kind in ("network", "cut"):
        return NETWORK
    if seen.kind == "deadline":
        return TIMEOUT
    if seen.kind == "malformed":
        return RUNTIME
    code, type_ = str(seen.provider_code), str(seen.provider_type)
    if seen.kind == "http_error":
        return AUTH if code in _AUTH_CODES else _by_status(seen.status or 0)
    if code in _AUTH_CODES:
        return AUTH
    if code in _LIMIT_CODES:
        return None
    if code.isdecimal():
        return _by_status(int(code))
    if code in _UPSTREAM_CODES:
        return NETWORK
    if type_ in _AUTH_TYPES:
        return AUTH
    if type_ in _LIMIT_TYPES:
        return None
    return NETWORK if type_ in _UPSTREAM_TYPES else RUNTIME


def _by_status(status: int) -> Pair | None:
    if status in (401, 403):
        return AUTH
    if status in (408, 429):
        return None
    return NETWORK if 500 <= status <= 599 else RUNTIME
