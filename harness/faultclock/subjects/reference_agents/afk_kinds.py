"""What AFK calls a failure: category and name, of an attempt at a provider or of a tool call.

The matrix of the page "Failure Policy Matrix", row by row. What it has no row for is None: nobody
may make up a category.
"""

from __future__ import annotations

from typing import Final

from faultclock.subjects.reference_agents.calls import Call, Outcome
from faultclock.subjects.reference_agents.turn import Pair
from faultclock.subjects.stud import AttemptError

RATE_LIMIT: Final = ("Retryable", "RateLimit")
SERVER_ERROR: Final = ("Retryable", "ServerError")
TIMEOUT: Final = ("Retryable", "Timeout")
QUEUE_PUSH: Final = ("Retryable", "QueuePush")
AUTH: Final = ("Terminal", "Auth")
INVALID_REQUEST: Final = ("Terminal", "InvalidRequest")
CIRCUIT_OPEN: Final = ("Terminal", "CircuitOpen")
JOIN_VIOLATION: Final = ("Terminal", "JoinViolation")
VALIDATION: Final = ("NonFatal", "Validation")
DENIAL: Final = ("NonFatal", "PolicyDenial")
MEMORY: Final = ("NonFatal", "MemoryUnavailable")
TELEMETRY: Final = ("NonFatal", "TelemetryExport")
HANDLER: Final = ("Configurable", "HandlerException")
TOOL_TIMEOUT: Final = ("Configurable", "ToolTimeout")
SUBAGENT_FAILED: Final = ("Configurable", "SubagentFailed")
SUBAGENT_TIMEOUT: Final = ("Configurable", "SubagentTimeout")

#: Limit to what a run ends with that has reached it; the page knows no limit on tokens.
LIMITS: Final[dict[str, Pair]] = {
    "steps": ("Budget", "max_steps"),
    "tool_calls": ("Budget", "max_tool_calls"),
    "cost": ("Budget", "max_total_cost_usd"),
    "wall_time": ("Budget", "max_wall_time_s"),
}

#: What is said of each, without anything from the inside.
WORDS: Final[dict[Pair, str]] = {
    RATE_LIMIT: "Rate limit exceeded",
    SERVER_ERROR: "Internal server error",
    TIMEOUT: "Request timed out",
    QUEUE_PUSH: "The result could not be queued",
    AUTH: "Invalid API key",
    INVALID_REQUEST: "The provider refused the request",
    CIRCUIT_OPEN: "Circuit breaker open for provider",
    JOIN_VIOLATION: "Required subagent failed",
    VALIDATION: "Invalid arguments",
    DENIAL: "Action denied by policy",
    MEMORY: "Could not persist checkpoint",
    TELEMETRY: "Telemetry could not be exported",
    HANDLER: "Tool raised an error",
    TOOL_TIMEOUT: "Tool exceeded its timeout",
    SUBAGENT_FAILED: "Subagent completed with state=failed",
    SUBAGENT_TIMEOUT: "Subagent exceeded wall time",
    LIMITS["steps"]: "Step count exceeded",
    LIMITS["tool_calls"]: "Tool call count exceeded",
    LIMITS["cost"]: "Estimated cost exceeded",
    LIMITS["wall_time"]: "Wall time exceeded",
}

_BY_STATUS: Final[dict[int, Pair]] = {
    429: RATE_LIMIT,
    500: SERVER_ERROR,
    502: SERVER_ERROR,
    503: SERVER_ERROR,
    408: TIMEOUT,
    401: AUTH,
    403: AUTH,
    400: INVALID_REQUEST,
}
#: "Model does not exist" is the example of an invalid request, and comes with a 404.
_MISSING_MODEL: Final = "model_not_found"
#: Codes and types of an error object in a 200: they stand for the statuses above.
_BY_NAME: Final[dict[str, Pair]] = {
    "rate_limit_exceeded": RATE_LIMIT,
    "rate_limit_error": RATE_LIMIT,
    "requests": RATE_LIMIT,
    "tokens": RATE_LIMIT,
    "insufficient_quota": RATE_LIMIT,
    "billing_hard_limit_reached": RATE_LIMIT,
    "credit_balance_exhausted": RATE_LIMIT,
    "organization_spend_limit_exceeded": RATE_LIMIT,
    "project_spend_limit_exceeded": RATE_LIMIT,
    "exceeded_current_quota_error": RATE_LIMIT,
    "billing_error": RATE_LIMIT,
    "1300": RATE_LIMIT,
    "rate_limited": RATE_LIMIT,
    "ThrottlingException": RATE_LIMIT,
    "server_error": SERVER_ERROR,
    "internal_server_error": SERVER_ERROR,
    "internal_error": SERVER_ERROR,
    "api_error": SERVER_ERROR,
    "service_unavailable": SERVER_ERROR,
    "service_unavailable_error": SERVER_ERROR,
    "server_is_overloaded": SERVER_ERROR,
    "slow_down": SERVER_ERROR,
    "InternalServerException": SERVER_ERROR,
    "ServiceUnavailableException": SERVER_ERROR,
    "invalid_api_key": AUTH,
    "authentication_error": AUTH,
    "permission_error": AUTH,
    "context_length_exceeded": INVALID_REQUEST,
    "invalid_value": INVALID_REQUEST,
    "unsupported_value": INVALID_REQUEST,
    "unsupported_parameter": INVALID_REQUEST,
    "missing_required_parameter": INVALID_REQUEST,
    "content_filter": INVALID_REQUEST,
    "content_policy_violation": INVALID_REQUEST,
    "invalid_request_error": INVALID_REQUEST,
    _MISSING_MODEL: INVALID_REQUEST,
}
#: Codes that stand for statuses which the matrix does not have.
_WITHOUT_ROW: Final = frozenset({"overloaded_error"})


def of_attempt(seen: AttemptError) -> Pair | None:
    """Return what an attempt at a provider failed with, None where the matrix has no row."""
    if seen.kind == "deadline":
        return TIMEOUT
    if seen.kind == "http_error":
        missing = seen.status == 404 and seen.provider_code == _MISSING_MODEL
        return INVALID_REQUEST if missing else _BY_STATUS.get(seen.status or 0)
    if seen.kind not in ("error_body", "stream_error"):
        return None
    code = "" if seen.provider_code is None else str(seen.provider_code)
    if code.isdecimal() and code not in _BY_NAME:
        return _BY_STATUS.get(int(code))
    if code in _WITHOUT_ROW:
        return None
    return _BY_NAME.get(code) or _BY_NAME.get(seen.provider_type or "")


def of_call(call: Call, outcome: Outcome) -> Pair | None:
    """Return what a tool call failed with, None where the matrix has no row."""
    if outcome.kind == "input_invalid":
        return VALIDATION
    if outcome.kind == "denied_by_policy":
        return DENIAL
    if call.tool is not None and call.tool.contract.agent:
        return {
            "exception": SUBAGENT_FAILED,
            "failed": SUBAGENT_FAILED,
            "unavailable": SUBAGENT_FAILED,
            "output_malformed": SUBAGENT_FAILED,
            "timeout": SUBAGENT_TIMEOUT,
            "denied_by_user": DENIAL,
        }.get(outcome.kind)
    return {"exception": HANDLER, "failed": HANDLER, "timeout": TOOL_TIMEOUT}.get(outcome.kind)


def words_for(pair: Pair | None) -> str:
    """Return what may be said of a failure to anybody."""
    return "The run could not go on" if pair is None else WORDS[pair]
