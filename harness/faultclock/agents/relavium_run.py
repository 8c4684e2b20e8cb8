"""A run of Relavium: its numbered events, and what can fail in it.

AttemptError -> kind_of -> LlmErrorKind -> CODE_OF_KIND -> ErrorCode -> told -> the person
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from faultclock.agents.turn import Ended
from faultclock.subjects.ports import Host, Node
from faultclock.subjects.provider_words import by_word
from faultclock.subjects.stud import AttemptError

RETRYABLE_KINDS = frozenset({"rate_limit", "overloaded", "timeout", "transport"})
CODE_OF_KIND = {
    "rate_limit": "provider_rate_limit",
    **dict.fromkeys(("overloaded", "timeout", "transport"), "provider_unavailable"),
    "auth": "provider_auth",
    "bad_request": "validation",
    "content_filter": "content_filter",
    "cancelled": "cancelled",
    "unknown": "internal",
}
CODE_OF_OUTCOME = {
    **dict.fromkeys(("denied_by_policy", "denied_by_user"), "tool_denied"),
    **dict.fromkeys(("exception", "timeout", "failed", "output_malformed"), "tool_failed"),
    "approval_timed_out": "run_timeout",
    "unavailable": "internal",
}
CODE_OF_LIMIT = {
    **dict.fromkeys(("steps", "turns", "tool_calls"), "turn_limit"),
    **dict.fromkeys(("tokens", "cost"), "budget_exceeded"),
    "wall_time": "run_timeout",
}
#: Codes that a node may be done again for.
_RETRYABLE_CODES = frozenset({"provider_rate_limit", "provider_unavailable", "tool_failed"})
#: What a person may read of an error: its code in words, an id, and the next step.
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

_BY_CONNECTION = {
    "deadline": "timeout",
    "network": "transport",
    "cut": "transport",
    "malformed": "unknown",
}
_CONTENT_CODES = frozenset({"content_filter", "content_policy_violation", "moderation_blocked"})
#: By the letter of the document, with any type beside it.
_AUTH_STATUSES = frozenset({401, 403})
#: What the type of an error object says goes before the status.
_BY_TYPE = by_word(
    {
        "rate_limit": "rate_limit_error",
        "overloaded": "overloaded_error api_error",
        "timeout": "timeout_error",
        "auth": "authentication_error permission_error",
        "bad_request": "not_found_error",
    }
)
_BY_STATUS = {
    **dict.fromkeys((401, 402, 403), "auth"),
    **dict.fromkeys((400, 404, 409, 413, 422), "bad_request"),
    **dict.fromkeys(range(500, 600), "overloaded"),
    408: "timeout",
    429: "rate_limit",
}
#: What an error object says in a 200 or inside a stream: the document lists its words itself.
_IN_BAND_CODE = by_word(
    {
        "rate_limit": "rate_limit_exceeded rate_limit_error insufficient_quota"
        " billing_hard_limit_reached 1300",
        "overloaded": "server_error service_unavailable server_is_overloaded slow_down",
        "auth": "invalid_api_key",
        "bad_request": "context_length_exceeded invalid_value missing_required_parameter"
        " model_not_found unsupported_parameter",
    }
)
_IN_BAND_STATUS = {429, 500, 502, 503, 504, 529, 401, 402, 403, 400, 404, 422}
_IN_BAND_TYPE = by_word(
    {
        "rate_limit": "requests tokens rate_limit_exceeded insufficient_quota rate_limited"
        " ThrottlingException",
        "overloaded": "server_error service_unavailable InternalServerException"
        " ServiceUnavailableException",
        "bad_request": "invalid_request_error",
    }
)


def kind_of(seen: AttemptError) -> str:
    """Return the LlmErrorKind of a failed attempt; nothing is unclassified."""
    code, type_ = str(seen.provider_code), seen.provider_type or ""
    if seen.kind in _BY_CONNECTION:
        return _BY_CONNECTION[seen.kind]
    if code in _CONTENT_CODES:
        return "content_filter"
    if seen.status in _AUTH_STATUSES:
        return "auth"
    if type_ in _BY_TYPE:
        return _BY_TYPE[type_]
    if seen.kind == "http_error":
        return _BY_STATUS.get(seen.status or 0, "unknown")
    if code.isdecimal() and int(code) in _IN_BAND_STATUS:
        return _BY_STATUS[int(code)]
    return _IN_BAND_CODE.get(code) or _IN_BAND_TYPE.get(type_, "unknown")


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


def told(error: RunError) -> str:
    """Return what a person may read of `error`."""
    own = {"target": error.target or "a node", "field": error.field or "the input"}
    return _TOLD[error.code].format(run="The workflow", **own)


def cause_of(error: BaseException) -> dict[str, Any]:
    """Return an exception for the log: its type, its text and where it was thrown."""
    stack = "".join(traceback.format_exception(error))
    return {"type": type(error).__name__, "message": str(error), "stack": stack}


@dataclass
class Run:
    """One run: its id, its numbered events, and what it has come to so far.

    Attributes:
        seq: the number that the next event gets; numbers begin with 0 and have no gap.
        outputs: what each node that is done has come to, by its id.
        node: the node that is being done; `attempt`, its attempt (1-based).
        failed_node: id of the node that the run fails with.
        tool: name of the tool that failed; `cause`, what the error stands for.
    """

    host: Host
    id: str
    seq: int
    outputs: dict[str, str] = field(default_factory=dict)
    node: Node | None = None
    attempt: int = 0
    failed_node: str | None = None
    tool: str = ""
    cause: dict[str, Any] = field(default_factory=dict)

    @property
    def node_id(self) -> str:
        """Id of the node that is being done; empty before the first."""
        return "" if self.node is None else self.node.id

    @property
    def correlation_id(self) -> str:
        """What joins the message for the person to the log; it says nothing by itself."""
        return f"corr-{self.id}"

    def emit(self, name: str, **fields: Any) -> None:
        """Emit an event of this run, with its envelope."""
        number, self.seq = self.seq, self.seq + 1
        stamp = round(time.time() * 1000)
        self.host.event(name, runId=self.id, sequenceNumber=number, timestamp=stamp, **fields)
