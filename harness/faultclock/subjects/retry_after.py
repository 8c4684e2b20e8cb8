"""Retry-After as a client reads it: from the header's text to a wait.

RFC 9110, section 10.2.3: delay-seconds (a whole number) or an HTTP-date in one of three forms.
Providers also send fractions of a second. Everything else is no Retry-After at all, so that the
caller's own schedule applies.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

_SECONDS = re.compile(r"\d{1,12}(?:\.\d{1,9})?", re.ASCII)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTH = rf"(?P<month>{'|'.join(_MONTHS)})"
_TIME = r"(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)"
#: IMF-fixdate, then the two obsolete forms that a recipient has to read (RFC 9110, 5.6.7).
_DATES = (
    re.compile(rf"[A-Z][a-z]{{2}}, (?P<day>\d\d) {_MONTH} (?P<year>\d{{4}}) {_TIME} GMT", re.ASCII),
    re.compile(rf"[A-Z][a-z]{{5,8}}, (?P<day>\d\d)-{_MONTH}-(?P<year>\d\d) {_TIME} GMT", re.ASCII),
    re.compile(rf"[A-Z][a-z]{{2}} {_MONTH} (?P<day>[ \d]\d) {_TIME} (?P<year>\d{{4}})", re.ASCII),
)


def retry_after_s(value: str | None, now_ns: int) -> float | None:
    """Return the seconds that a Retry-After header asks to wait, or None when it asks nothing.

    Args:
        value: the header's text, None when there is no such header.
        now_ns: wall-clock time in nanoseconds since 1970, as `time.time_ns()` gives it.

    Example:
        >>> retry_after_s("1.5", now_ns=0), retry_after_s("-3", now_ns=0)
        (1.5, None)
        >>> retry_after_s("Thu, 01 Jan 1970 00:00:30 GMT", now_ns=10_250_000_000)
        19.75
        >>> retry_after_s("Thu, 01 Jan 1970 00:00:30 GMT", now_ns=40_000_000_000)
        0.0
    """
    if value is None:
        return None
    text = value.strip(" \t")
    if _SECONDS.fullmatch(text):
        return float(text)
    date_ns = http_date_ns(text, now_ns)
    if date_ns is None:
        return None
    # The difference is taken in whole nanoseconds: a float of the year 2026 has 200 ns steps.
    return max(0, date_ns - now_ns) / 1_000_000_000


def http_date_ns(text: str, now_ns: int) -> int | None:
    """Return the HTTP-date `text` as nanoseconds since 1970, None when it is not one.

    A two-digit year that would lie over 50 years ahead of `now_ns` is in the century before.
    """
    match = next((found for form in _DATES if (found := form.fullmatch(text))), None)
    if match is None:
        return None
    part = match.groupdict()
    year = int(part["year"])
    if len(part["year"]) == 2:
        this_year = datetime.fromtimestamp(now_ns // 1_000_000_000, UTC).year
        year += this_year // 100 * 100
        year -= 100 if year > this_year + 50 else 0
    try:
        moment = datetime(
            year,
            _MONTHS.index(part["month"]) + 1,
            int(part["day"]),
            int(part["hour"]),
            int(part["minute"]),
            # RFC 9110 allows a leap second; POSIX time has none.
            min(int(part["second"]), 59) if part["second"] == "60" else int(part["second"]),
            tzinfo=UTC,
        )
    except ValueError:
        return None
    return int(moment.timestamp()) * 1_000_000_000
