"""Retry-After, as it comes over the wire: a number of seconds, a date, or something unusable.

RFC 9110, section 10.2.3: `Retry-After = HTTP-date / delay-seconds`, with `delay-seconds = 1*DIGIT`
and three forms of HTTP-date (section 5.6.7). Providers also send fractions and, beside it,
`retry-after-ms`. What an error model makes of each form is its RetryAfterRule.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Literal

from faultclock.model.duration import MILLISECOND_NS, SECOND_NS, format_duration
from faultclock.model.error_model import RetryAfterRule
from faultclock.model.trace import WALL_EPOCH_NS

__all__ = ["AskedWait", "HeaderValue", "asked_wait", "parse_retry_after"]

_NUMBER = re.compile(r"(\d+)(\.\d+)?", re.ASCII)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTH = f"(?P<month>{'|'.join(_MONTHS)})"
_TIME = r"(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)"
_SHORT_DAY = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_LONG_DAY = "(?:Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)"
#: IMF-fixdate; then the two that are obsolete and that a recipient MUST accept: RFC 850, asctime.
_DATES = tuple(
    re.compile(pattern, re.ASCII)
    for pattern in (
        rf"{_SHORT_DAY}, (?P<day>\d\d) {_MONTH} (?P<year>\d{{4}}) {_TIME} GMT",
        rf"{_LONG_DAY}, (?P<day>\d\d)-{_MONTH}-(?P<year>\d\d) {_TIME} GMT",
        rf"{_SHORT_DAY} {_MONTH} (?P<day>[ \d]\d) {_TIME} (?P<year>\d{{4}})",
    )
)
#: A number of seconds with more digits than this is longer than any run; int() refuses over 4300.
_DIGITS_MAX = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderValue:
    """What the header's text is.

    Attributes:
        form: which form it has.
        delay_ns: the wait, for `seconds` and `fraction`.
        instant_ns: the moment in virtual time, for `date`; negative before the run began.
    """

    form: Literal["seconds", "fraction", "date", "unusable"]
    delay_ns: int = 0
    instant_ns: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedWait:
    """A wait that the upstream asks for, in nanoseconds, and the header in words."""

    wait_ns: int
    basis: str


def parse_retry_after(text: str) -> HeaderValue:
    """Return what the value of a Retry-After header is; nothing it may hold raises.

    Example:
        >>> parse_retry_after("7").delay_ns, parse_retry_after("-7").form
        (7000000000, 'unusable')
        >>> parse_retry_after("Thu, 01 Jan 2026 00:00:30 GMT").instant_ns
        30000000000
    """
    text = text.strip(" \t")
    if number := _NUMBER.fullmatch(text):
        return _number(number)
    for form in _DATES:
        if match := form.fullmatch(text):
            return _date(match.groupdict())
    return HeaderValue(form="unusable")


def asked_wait(headers: Mapping[str, str], rule: RetryAfterRule, now_ns: int) -> AskedWait | None:
    """Return the wait that response `headers` ask for; None: the schedule holds.

    Args:
        headers: lower-case names.
        rule: how the error model reads each form.
        now_ns: virtual time at which the subject could know; a date counts from it.
    """
    if rule.milliseconds_header == "prefer":
        number = _NUMBER.fullmatch(headers.get("retry-after-ms", "").strip(" \t"))
        if number is not None:
            wait_ns = _scaled_ns(number.group(), MILLISECOND_NS)
            return AskedWait(wait_ns=wait_ns, basis=f"retry-after-ms: {_short(number.group())}")
    text = headers.get("retry-after")
    if text is None:
        return None
    value = parse_retry_after(text)
    basis = f"Retry-After: {_short(text)}"
    if value.form == "unusable" or (value.form == "fraction" and rule.fraction == "unusable"):
        if rule.unusable == "schedule":
            return None
        return AskedWait(wait_ns=0, basis=f"{basis}, unusable")
    if value.form != "date":
        return AskedWait(wait_ns=value.delay_ns, basis=basis)
    if value.instant_ns > now_ns:
        wait_ns = value.instant_ns - now_ns
        return AskedWait(wait_ns=wait_ns, basis=f"{basis}, {format_duration(wait_ns)} ahead")
    if rule.past_date == "schedule":
        return None
    return AskedWait(wait_ns=0, basis=f"{basis}, in the past")


def _number(match: re.Match[str]) -> HeaderValue:
    delay_ns = _scaled_ns(match.group(), SECOND_NS)
    return HeaderValue(form="seconds" if match[2] is None else "fraction", delay_ns=delay_ns)


def _scaled_ns(number: str, unit_ns: int) -> int:
    whole, _, fraction = number.partition(".")
    whole = whole.lstrip("0") or "0"
    if len(whole) > _DIGITS_MAX:
        whole = "9" * _DIGITS_MAX
    # Finer than a nanosecond is cut off: it is below what any check can tell.
    return int(Decimal(f"{whole}.{fraction[:_DIGITS_MAX]}0") * unit_ns)


def _date(part: dict[str, str]) -> HeaderValue:
    epoch_year = datetime.fromtimestamp(WALL_EPOCH_NS // SECOND_NS, UTC).year
    year = int(part["year"])
    if len(part["year"]) == 2:
        # RFC 9110: a two-digit year over 50 years in the future is the latest such year past.
        year += epoch_year // 100 * 100
        year -= 100 if year > epoch_year + 50 else 0
    leap = part["second"] == "60"
    try:
        moment = datetime(
            year,
            _MONTHS.index(part["month"]) + 1,
            int(part["day"]),
            int(part["hour"]),
            int(part["minute"]),
            # The grammar allows a leap second, datetime does not.
            59 if leap else int(part["second"]),
            tzinfo=UTC,
        )
    except ValueError:
        return HeaderValue(form="unusable")
    seconds = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1) + leap
    return HeaderValue(form="date", instant_ns=seconds * SECOND_NS - WALL_EPOCH_NS)


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:39]}…"
