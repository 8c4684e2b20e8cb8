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


class Kind(Struct, frozen=True, kw_only=True):
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


def _status_kinds() -> tuple[Kind, ...]:
    return tuple(
        Kind(
            id=f"status-{status}",
            title=f"status {status}",
            fault={"kind": "http_error", "status": status, "error": f"infer-{status}"},
            status=status,
        )
        for status in _STATUSES
    )


#: All kinds, in the order of a profile.
KINDS: tuple[Kind, ...] = (
    *_status_kinds(),
    Kind(id="refused", title="connection refused", fault={"kind": "connect_refused"}),
    Kind(
        id="unanswered",
        title="connection never answered",
        fault={"kind": "connect_timeout"},
        silent=True,
    ),
    Kind(id="dns", title="host name does not resolve", fault={"kind": "dns_failure"}),
    Kind(
        id="reset-before-answer",
        title="connection reset before the answer",
        fault={"kind": "reset_before_response", "how": "reset"},
    ),
    Kind(
        id="closed-before-answer",
        title="connection closed before the answer",
        fault={"kind": "reset_before_response", "how": "eof"},
    ),
    Kind(
        id="body-reset",
        title="connection reset in the answer",
        fault={"kind": "truncate", "how": "reset", "after_body_bytes": _MIDDLE_BYTE},
    ),
    Kind(
        id="body-cut",
        title="connection closed in the answer",
        fault={"kind": "truncate", "how": "eof", "after_body_bytes": _MIDDLE_BYTE},
    ),
    Kind(
        id="silence",
        title="silence before the answer",
        fault={"kind": "stall"},
        silent=True,
    ),
    Kind(
        id="silence-in-answer",
        title="silence in the answer",
        fault={"kind": "stall", "after_body_bytes": _MIDDLE_BYTE},
        silent=True,
    ),
    Kind(id="broken-json", title="200 with broken JSON", fault={"kind": "corrupt_body"}),
    Kind(
        id="error-in-200",
        title="200 with a rate limit as its body",
        fault={"kind": "ok_with_error_body", "error": "infer-429"},
    ),
    Kind(
        id="stream-status-503",
        title="status 503 to a streamed request",
        fault={"kind": "http_error", "status": 503, "error": "infer-503"},
        stream=True,
        status=503,
    ),
    Kind(
        id="stream-reset",
        title="connection reset in mid-stream",
        fault={"kind": "truncate", "how": "reset", "after_chunks": _MIDDLE_CHUNK},
        stream=True,
    ),
    Kind(
        id="stream-cut",
        title="connection closed in mid-stream",
        fault={"kind": "truncate", "how": "eof", "after_chunks": _MIDDLE_CHUNK},
        stream=True,
    ),
    Kind(
        id="stream-unfinished",
        title="stream that ends properly without its last part",
        fault={"kind": "truncate", "how": "clean_end", "after_chunks": _MIDDLE_CHUNK},
        stream=True,
    ),
    Kind(
        id="stream-error-first",
        title="error as the first event of a stream",
        fault={"kind": "stream_error", "after_chunks": 0, "error": "infer-429"},
        stream=True,
    ),
    Kind(
        id="stream-error-midway",
        title="error in mid-stream",
        fault={"kind": "stream_error", "after_chunks": _MIDDLE_CHUNK, "error": "infer-429"},
        stream=True,
    ),
    Kind(
        id="stream-silence",
        title="silence in mid-stream",
        fault={"kind": "stall", "after_chunks": _MIDDLE_CHUNK},
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
