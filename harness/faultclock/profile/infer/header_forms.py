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
_RETRY_AFTER, _RETRY_AFTER_MS = "retry-after", "retry-after-ms"


def _form(slug: str, form: str, header: str, value: Any, asked_ns: int | None = None) -> Form:
    """Return a form of one header."""
    return Form(slug=slug, header=header, form=form, headers={header: value}, asked_ns=asked_ns)


#: The one that is asked about for every kind of failure.
ALWAYS = _form("seconds", "seconds", _RETRY_AFTER, str(_ASKED_S), _ASKED_NS)
_MILLISECONDS = _form("milliseconds", "milliseconds", _RETRY_AFTER_MS, str(_OTHER_MS), _OTHER_NS)
#: All that is asked about for one kind, in the order of a profile.
FORMS: tuple[Form, ...] = (
    ALWAYS,
    _form(
        "fraction",
        "fraction of seconds",
        _RETRY_AFTER,
        f"{_ASKED_S}.5",
        _ASKED_NS + SECOND_NS // 2,
    ),
    _form("zero", "zero", _RETRY_AFTER, "0", 0),
    _form("negative", "negative", _RETRY_AFTER, "-17"),
    _form("garbage", "no number", _RETRY_AFTER, "soon"),
    _form("date", "date", _RETRY_AFTER, {"http_date": f"+{_ASKED_S}s"}, _ASKED_NS),
    _form("past-date", "past date", _RETRY_AFTER, {"http_date": "-60s"}),
    _MILLISECONDS,
    Form(
        slug="both",
        header="retry-after and retry-after-ms",
        form="both",
        headers={_RETRY_AFTER: str(_ASKED_S), _RETRY_AFTER_MS: str(_OTHER_MS)},
        asked_ns=_ASKED_NS,
        other_ns=_OTHER_NS,
    ),
    _form("amazon", "milliseconds (Amazon)", "x-amz-retry-after", str(_OTHER_MS), _OTHER_NS),
    _form("should-not-retry", "false", "x-should-retry", "false"),
    _form("reset-requests", "duration", "x-ratelimit-reset-requests", f"{_ASKED_S}s", _ASKED_NS),
    _form("reset-seconds", "seconds", "x-ratelimit-reset", str(_ASKED_S), _ASKED_NS),
    _form(
        "reset-epoch",
        "seconds since 1970",
        "x-ratelimit-reset",
        str(WALL_EPOCH_NS // SECOND_NS + _ASKED_S),
        _ASKED_NS,
    ),
    _form("reset-instant", "instant", "anthropic-ratelimit-requests-reset", _instant(), _ASKED_NS),
)


def persuading() -> tuple[Form, ...]:
    """Return the forms that may make a client retry what it otherwise does not."""
    return (ALWAYS, _MILLISECONDS, _form("should-retry", "true", "x-should-retry", "true"))
