"""The kinds of failures that a client is asked about, as faults of a scenario.

A status is asked about with the error that the client's own provider sends with it, where there is
one, and else with the plainest error of that provider. Headers that say when to retry are taken
out of it: they are asked about by themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from faultclock.load.payloads import load_payloads
from faultclock.model.scenario.payload import ErrorPayload

#: Statuses that are asked about, and the errors that usually come with them.
_STATUSES: Mapping[int, tuple[str, ...]] = {
    400: ("invalid_request",),
    401: ("invalid_api_key",),
    403: ("permission_denied", "forbidden", "invalid_request"),
    404: ("not_found", "model_not_found"),
    408: ("request_timeout", "server_error"),
    409: ("conflict", "invalid_request"),
    413: ("request_too_large", "invalid_request"),
    422: ("unprocessable", "invalid_request"),
    425: ("server_error",),
    429: ("rate_limit_exceeded",),
    500: ("server_error",),
    501: ("server_error",),
    502: ("bad_gateway",),
    503: ("service_unavailable",),
    504: ("gateway_timeout",),
    529: ("overloaded_error", "overloaded"),
}
#: Headers that say when, or whether, to retry.
_HINTS = ("retry-after", "retry-after-ms", "x-should-retry", "x-ratelimit", "ratelimit", "reset")
#: Of the good answer; past the first bytes of any body, and of any status line.
_MIDDLE_BYTE = 20
_MIDDLE_CHUNK = 3


class Kind(Struct, frozen=True):
    """One kind of failure.

    Attributes:
        fault: as a scenario writes it; `error` is a name of `payloads_for`.
        silent: whether the client has to find out by a deadline of its own.
        status: of the answer; None where there is none, or a good one.
    """

    id: str
    title: str
    fault: Mapping[str, Any]
    stream: bool = False
    silent: bool = False
    status: int | None = None


#: All kinds, in the order of a profile.
KINDS: tuple[Kind, ...] = (
    *(
        Kind(
            f"status-{status}",
            f"status {status}",
            {"kind": "http_error", "status": status, "error": f"infer-{status}"},
            status=status,
        )
        for status in _STATUSES
    ),
    Kind("refused", "connection refused", {"kind": "connect_refused"}),
    Kind("unanswered", "connection never answered", {"kind": "connect_timeout"}, silent=True),
    Kind("dns", "host name does not resolve", {"kind": "dns_failure"}),
    Kind(
        "reset-before-answer",
        "connection reset before the answer",
        {"kind": "reset_before_response", "how": "reset"},
    ),
    Kind(
        "closed-before-answer",
        "connection closed before the answer",
        {"kind": "reset_before_response", "how": "eof"},
    ),
    Kind(
        "body-reset",
        "connection reset in the answer",
        {"kind": "truncate", "how": "reset", "after_body_bytes": _MIDDLE_BYTE},
    ),
    Kind(
        "body-cut",
        "connection closed in the answer",
        {"kind": "truncate", "how": "eof", "after_body_bytes": _MIDDLE_BYTE},
    ),
    Kind("silence", "silence before the answer", {"kind": "stall"}, silent=True),
    Kind(
        "silence-in-answer",
        "silence in the answer",
        {"kind": "stall", "after_body_bytes": _MIDDLE_BYTE},
        silent=True,
    ),
    Kind("broken-json", "200 with broken JSON", {"kind": "corrupt_body"}),
    Kind(
        "error-in-200",
        "200 with a rate limit as its body",
        {"kind": "ok_with_error_body", "error": "infer-429"},
    ),
    Kind(
        "stream-status-503",
        "status 503 to a streamed request",
        {"kind": "http_error", "status": 503, "error": "infer-503"},
        stream=True,
        status=503,
    ),
    Kind(
        "stream-reset",
        "connection reset in mid-stream",
        {"kind": "truncate", "how": "reset", "after_chunks": _MIDDLE_CHUNK},
        stream=True,
    ),
    Kind(
        "stream-cut",
        "connection closed in mid-stream",
        {"kind": "truncate", "how": "eof", "after_chunks": _MIDDLE_CHUNK},
        stream=True,
    ),
    Kind(
        "stream-unfinished",
        "stream that ends properly without its last part",
        {"kind": "truncate", "how": "clean_end", "after_chunks": _MIDDLE_CHUNK},
        stream=True,
    ),
    Kind(
        "stream-error-first",
        "error as the first event of a stream",
        {"kind": "stream_error", "after_chunks": 0, "error": "infer-429"},
        stream=True,
    ),
    Kind(
        "stream-error-midway",
        "error in mid-stream",
        {"kind": "stream_error", "after_chunks": _MIDDLE_CHUNK, "error": "infer-429"},
        stream=True,
    ),
    Kind(
        "stream-silence",
        "silence in mid-stream",
        {"kind": "stall", "after_chunks": _MIDDLE_CHUNK},
        stream=True,
        silent=True,
    ),
)


def kind_of(id_: str) -> Kind:
    """Return the kind with this id; a KeyError is our bug."""
    for kind in KINDS:
        if kind.id == id_:
            return kind
    raise KeyError(id_)


def error_for(dialect: str, status: int) -> ErrorPayload:
    """Return the error that comes with `status` in `dialect`, without a hint when to retry."""
    known = load_payloads(dialect)
    name = next(
        (name for name in _STATUSES[status] if name in known),
        "server_error" if status >= 500 else "invalid_request",
    )
    return without_hints(known[name])


def without_hints(payload: ErrorPayload) -> ErrorPayload:
    """Return `payload` without the headers that say when, or whether, to retry."""
    kept = {
        name: value
        for name, value in payload.headers.items()
        if not any(hint in name.lower() for hint in _HINTS)
    }
    return payload.model_copy(update={"headers": kept})


def payloads_for(dialect: str) -> dict[str, ErrorPayload]:
    """Return the errors that the kinds name, as `dialect` has them."""
    return {f"infer-{status}": error_for(dialect, status) for status in _STATUSES}
