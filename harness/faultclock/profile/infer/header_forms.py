"""Header forms: the headers that are asked about, each in each form that it is known to have.

The value that is asked for is longer than any first wait that a schedule has, so that a client
that honors it and one that ignores it cannot be mistaken for each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import Struct

from faultclock.model.duration import MILLISECOND_NS, SECOND_NS
from faultclock.model.trace.trace import WALL_EPOCH_NS

#: What is asked for, and what the second of two headers asks for.
_ASKED_S = 17
_OTHER_MS = 11_250


class Form(Struct, frozen=True, kw_only=True):
    """One header in one form.

    Attributes:
        asked_ns: the wait that it asks for; None where it asks for none that can be kept.
        other_ns: what a second header of it asks for.
    """

    slug: str
    header: str
    form: str
    headers: Mapping[str, Any]
    asked_ns: int | None = None
    other_ns: int | None = None

    @property
    def value(self) -> str:
        """What was sent, in words."""
        return ", ".join(
            f"now {item['http_date']}" if isinstance(item, dict) else str(item)
            for item in self.headers.values()
        )


def _instant() -> str:
    at = datetime.fromtimestamp(WALL_EPOCH_NS / SECOND_NS, UTC) + timedelta(seconds=_ASKED_S)
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


_ASKED_NS = _ASKED_S * SECOND_NS
_OTHER_NS = _OTHER_MS * MILLISECOND_NS
_RETRY_AFTER = "retry-after"
#: The one that is asked about for every kind of failure.
ALWAYS = Form(
    slug="seconds",
    header=_RETRY_AFTER,
    form="seconds",
    headers={_RETRY_AFTER: str(_ASKED_S)},
    asked_ns=_ASKED_NS,
)
#: All that is asked about for one kind, in the order of a profile.
FORMS: tuple[Form, ...] = (
    ALWAYS,
    Form(
        slug="fraction",
        header=_RETRY_AFTER,
        form="fraction of seconds",
        headers={_RETRY_AFTER: f"{_ASKED_S}.5"},
        asked_ns=_ASKED_NS + SECOND_NS // 2,
    ),
    Form(slug="zero", header=_RETRY_AFTER, form="zero", headers={_RETRY_AFTER: "0"}, asked_ns=0),
    Form(slug="negative", header=_RETRY_AFTER, form="negative", headers={_RETRY_AFTER: "-17"}),
    Form(slug="garbage", header=_RETRY_AFTER, form="no number", headers={_RETRY_AFTER: "soon"}),
    Form(
        slug="date",
        header=_RETRY_AFTER,
        form="date",
        headers={_RETRY_AFTER: {"http_date": f"+{_ASKED_S}s"}},
        asked_ns=_ASKED_NS,
    ),
    Form(
        slug="past-date",
        header=_RETRY_AFTER,
        form="past date",
        headers={_RETRY_AFTER: {"http_date": "-60s"}},
    ),
    Form(
        slug="milliseconds",
        header="retry-after-ms",
        form="milliseconds",
        headers={"retry-after-ms": str(_OTHER_MS)},
        asked_ns=_OTHER_NS,
    ),
    Form(
        slug="both",
        header="retry-after and retry-after-ms",
        form="both",
        headers={_RETRY_AFTER: str(_ASKED_S), "retry-after-ms": str(_OTHER_MS)},
        asked_ns=_ASKED_NS,
        other_ns=_OTHER_NS,
    ),
    Form(
        slug="amazon",
        header="x-amz-retry-after",
        form="milliseconds (Amazon)",
        headers={"x-amz-retry-after": str(_OTHER_MS)},
        asked_ns=_OTHER_NS,
    ),
    Form(
        slug="should-not-retry",
        header="x-should-retry",
        form="false",
        headers={"x-should-retry": "false"},
    ),
    Form(
        slug="reset-requests",
        header="x-ratelimit-reset-requests",
        form="duration",
        headers={"x-ratelimit-reset-requests": f"{_ASKED_S}s"},
        asked_ns=_ASKED_NS,
    ),
    Form(
        slug="reset-seconds",
        header="x-ratelimit-reset",
        form="seconds",
        headers={"x-ratelimit-reset": str(_ASKED_S)},
        asked_ns=_ASKED_NS,
    ),
    Form(
        slug="reset-epoch",
        header="x-ratelimit-reset",
        form="seconds since 1970",
        headers={"x-ratelimit-reset": str(WALL_EPOCH_NS // SECOND_NS + _ASKED_S)},
        asked_ns=_ASKED_NS,
    ),
    Form(
        slug="reset-instant",
        header="anthropic-ratelimit-requests-reset",
        form="instant",
        headers={"anthropic-ratelimit-requests-reset": _instant()},
        asked_ns=_ASKED_NS,
    ),
)
#: For failures that are not retried: whether a header changes that.
_PERSUADING = (ALWAYS, next(form for form in FORMS if form.slug == "milliseconds"))


def persuading() -> tuple[Form, ...]:
    """Return the forms that may make a client retry what it otherwise does not."""
    should = Form(
        slug="should-retry",
        header="x-should-retry",
        form="true",
        headers={"x-should-retry": "true"},
    )
    return (*_PERSUADING, should)
