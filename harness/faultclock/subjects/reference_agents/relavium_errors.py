"""The errors of the Relavium model, and the arithmetic of doing something again, without any I/O.

    AttemptError   what one attempt at a provider could see
      -> kind_of()      the kind (`llm/...`), by status and the provider's own type, never by words
      -> CODE_OF_KIND   the code that a run ends with (`run/...`)

The document's rows in the words of this file:

    rate_limit overloaded timeout transport    retryable: the next provider, or again after a wait
    auth bad_request content_filter unknown    fatal: the chain stops
    tool_failed, and sandbox_error by the wall clock: within the node's own budget
    everything else: once

The arithmetic is this file's own on purpose: what judges it must not share a bug with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from faultclock.subjects.ports import NodeRetryRule
from faultclock.subjects.reference_agents.turn import Ended
from faultclock.subjects.stud import AttemptError

RETRYABLE_KINDS = frozenset({"rate_limit", "overloaded", "timeout", "transport"})
CODE_OF_KIND = {
    "rate_limit": "provider_rate_limit",
    "overloaded": "provider_unavailable",
    "timeout": "provider_unavailable",
    "transport": "provider_unavailable",
    "auth": "provider_auth",
    "bad_request": "validation",
    "content_filter": "content_filter",
    "cancelled": "cancelled",
    "unknown": "internal",
}
#: Codes that a node may be done again for.
_RETRYABLE_CODES = frozenset({"provider_rate_limit", "provider_unavailable", "tool_failed"})

_CONTENT_CODES = frozenset({"content_filter", "content_policy_violation", "moderation_blocked"})
#: What the type of an error object says goes before the status.
_BY_TYPE = {
    "rate_limit_error": "rate_limit",
    "overloaded_error": "overloaded",
    "api_error": "overloaded",
    "timeout_error": "timeout",
    "authentication_error": "auth",
    "permission_error": "auth",
    "not_found_error": "bad_request",
}
_BY_STATUS = {
    **dict.fromkeys((401, 402, 403), "auth"),
    **dict.fromkeys((400, 404, 409, 413, 422), "bad_request"),
    408: "timeout",
    429: "rate_limit",
}
#: By the letter of the document, whatever type stands beside.
_AUTH_STATUSES = frozenset({401, 403})
#: What an error object says in a 200 or inside a stream, where no status does.
_IN_BAND_CODE = {
    **dict.fromkeys(
        (
            "rate_limit_exceeded",
            "rate_limit_error",
            "insufficient_quota",
            "billing_hard_limit_reached",
            "1300",
        ),
        "rate_limit",
    ),
    **dict.fromkeys(
        ("server_error", "service_unavailable", "server_is_overloaded", "slow_down"), "overloaded"
    ),
    "invalid_api_key": "auth",
    **dict.fromkeys(
        (
            "context_length_exceeded",
            "invalid_value",
            "missing_required_parameter",
            "model_not_found",
            "unsupported_parameter",
        ),
        "bad_request",
    ),
}
_IN_BAND_STATUS = {429, 500, 502, 503, 504, 529, 401, 402, 403, 400, 404, 422}
_IN_BAND_TYPE = {
    **dict.fromkeys(
        (
            "requests",
            "tokens",
            "rate_limit_exceeded",
            "insufficient_quota",
            "rate_limited",
            "ThrottlingException",
        ),
        "rate_limit",
    ),
    **dict.fromkeys(
        (
            "server_error",
            "service_unavailable",
            "InternalServerException",
            "ServiceUnavailableException",
        ),
        "overloaded",
    ),
    "invalid_request_error": "bad_request",
}
_BY_CONNECTION = {"deadline": "timeout", "network": "transport", "cut": "transport"}


def kind_of(seen: AttemptError) -> str:
    """Return the LlmErrorKind of a failed attempt; nothing is unclassified."""
    if seen.kind in _BY_CONNECTION:
        return _BY_CONNECTION[seen.kind]
    if seen.kind == "malformed":
        return "unknown"
    code, type_ = str(seen.provider_code), seen.provider_type or ""
    if code in _CONTENT_CODES:
        return "content_filter"
    if seen.status in _AUTH_STATUSES:
        return "auth"
    if type_ in _BY_TYPE:
        return _BY_TYPE[type_]
    if seen.kind == "http_error":
        return _of_status(seen.status or 0)
    if code in _IN_BAND_CODE:
        return _IN_BAND_CODE[code]
    if code.isdecimal() and int(code) in _IN_BAND_STATUS:
        return _of_status(int(code))
    return _IN_BAND_TYPE.get(type_, "unknown")


def _of_status(status: int) -> str:
    return "overloaded" if 500 <= status <= 599 else _BY_STATUS.get(status, "unknown")


class RunError(Ended):
    """Ends a node, and the run with it unless the node is done again.

    Attributes:
        code: one of the ErrorCodes.
        target: id of what failed; empty where that is the run itself.
        field: the offending field of a validation error.
        cause: what it stands for, as plain data for the log.
        retryable: what the error says of itself; it need not be what its code says by default.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        target: str = "",
        retryable: bool | None = None,
        field: str | None = None,
        cause: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__("failed", ("run", code), message)
        self.code = code
        self.target = target
        self.field = field
        self.cause = dict(cause or {})
        self.retryable = code in _RETRYABLE_CODES if retryable is None else retryable


def entry_wait_s(attempt: int) -> float:
    """Return the wait after the `attempt`-th failure (1-based) at one provider, in seconds."""
    wait_s = 0.25
    for _ in range(attempt - 1):
        wait_s = min(wait_s + wait_s, 8.0)
    return wait_s


def node_wait_s(rule: NodeRetryRule, attempt: int) -> float:
    """Return the wait after the `attempt`-th failure (1-based) of a node, in seconds."""
    if rule.backoff is None:
        return 0.0
    wait_s = rule.base_s
    if rule.backoff == "linear":
        wait_s = rule.base_s * attempt
    elif rule.backoff == "exponential":
        for _ in range(attempt - 1):
            wait_s *= rule.factor
            if wait_s > 86_400:
                break
    longest_s = 86_400.0 if rule.cap_s is None else min(rule.cap_s, 86_400.0)
    return min(wait_s, longest_s)


_TOLD = {
    "validation": "{run} failed validation at node {target}: {field} is not what it should be."
    " Correct it and start the run again.",
    "content_filter": "The provider blocked the content of this request. Change the text and try"
    " again.",
    "provider_auth": "The provider did not accept the API key — check it in Settings.",
    "provider_rate_limit": "The provider is limiting requests. Wait a moment and start the run"
    " again.",
    "provider_unavailable": "The provider could not be reached. Start the run again later.",
    "tool_denied": "The step {target} was not allowed. Allow it in Settings, or change it.",
    "tool_failed": "The step {target} did not work. Look at the tool and start the run again.",
    "tool_unavailable": "The step {target} is not possible here. Install what it needs.",
    "budget_exceeded": "The run has used up its budget. Raise the limit to go on.",
    "run_timeout": "The run has used up its time. Raise the limit to go on.",
    "turn_limit": "The run has used up its turns. Raise the limit to go on.",
    "sandbox_error": "An expression could not be evaluated. Check the expression of {target}.",
    "internal": "Something went wrong inside the program. Please report it with its id.",
}


def told(error: RunError, *, run: str = "The workflow") -> str:
    """Return what a person may read of `error`: its code in words, an id, and the next step."""
    return _TOLD[error.code].format(
        run=run, target=error.target or "a node", field=error.field or "the input"
    )
