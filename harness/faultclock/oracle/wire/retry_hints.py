"""When an answer asks not to be asked again before, in every form in which providers say it.

Retry-After is a number of seconds or a date (RFC 9110, section 10.2.3: `Retry-After = HTTP-date /
delay-seconds`, with `delay-seconds = 1*DIGIT` and three forms of HTTP-date, section 5.6.7).
Providers also send fractions, `retry-after-ms` (OpenAI, Azure), `google.rpc.RetryInfo` (Gemini),
and headers that say when a used-up limit is full again. The first ones ask for a wait; a reset time
describes the limit, so it proves nothing by itself. `asked_wait` reads Retry-After as a
RetryAfterRule says; `hints_of` reads everything, for checks that hold any client to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Literal

from msgspec import Struct

from faultclock.model.duration import MILLISECOND_NS, SECOND_NS, format_duration
from faultclock.model.error_model.error_model import RetryAfterRule
from faultclock.model.trace.trace import WALL_EPOCH_NS
from faultclock.oracle.wire.signals import Signal

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


class HeaderValue(Struct, frozen=True, kw_only=True):
    """What the header's text is.

    Attributes:
        form: which form it has.
        delay_ns: the wait, for `seconds` and `fraction`.
        instant_ns: the moment in virtual time, for `date`; negative before the run began.
    """

    form: Literal["seconds", "fraction", "date", "unusable"]
    delay_ns: int = 0
    instant_ns: int = 0


class AskedWait(Struct, frozen=True, kw_only=True):
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


# ---------------------------------------------------------------------- everything, as a hint

#: RFC 9110 has whole seconds and dates; a date in the past asks for nothing.
_STANDARD = RetryAfterRule.model_construct(fraction="unusable", past_date="schedule")
_BOUNDED = re.compile(r"\d{1,12}(?:\.\d{1,9})?", re.ASCII)
_DURATION = re.compile(
    r"(?:(?P<h>\d{1,6})h)?(?:(?P<m>\d{1,6})m(?!s))?(?:(?P<s>\d{1,9}(?:\.\d{1,9})?)s)?"
    r"(?:(?P<ms>\d{1,9}(?:\.\d{1,6})?)ms)?",
    re.ASCII,
)
_UNITS_NS = {"h": 3_600 * SECOND_NS, "m": 60 * SECOND_NS, "s": SECOND_NS, "ms": MILLISECOND_NS}
_RESET = re.compile(r"(?:x-|anthropic-)?ratelimit-(?:(?P<of>[a-z-]+)-)?reset(?:-(?P<then>[a-z]+))?")
#: The APIs whose providers document `retry-after-ms` (see `limits` in their dialects). Elsewhere it
#: is a header like any other.
_HAVE_MILLISECONDS = ("openai-chat", "openai-responses", "azure-openai")
#: A number above this is an instant in seconds since 1970, and no wait.
_EPOCH_S = 1_000_000_000


class Hint(Struct, frozen=True, kw_only=True):
    """One statement of an answer about when to ask again.

    Attributes:
        kind: `retry-after`: the standard header; `own`: the provider's own; `reset`: when a limit
            that is used up is full again.
        wait_ns: from the instant at which the failure could be known; above 0.
        basis: the statement in words.
        apis: whose providers document it; empty: whoever sends it means it.
    """

    kind: Literal["retry-after", "own", "reset"]
    wait_ns: int
    basis: str
    apis: tuple[str, ...] = ()


def hints_of(signal: Signal | None, now_ns: int | None) -> tuple[Hint, ...]:
    """Return what the answer to a failed attempt says about asking again.

    Args:
        now_ns: virtual time at which the failure could be known; None where it could not.
    """
    if signal is None or now_ns is None:
        return ()
    headers = signal.headers
    found = [*_retry_after(headers, now_ns), *_own(headers, signal.retry_delay)]
    found += _resets(headers, now_ns)
    return tuple(hint for hint in found if hint.wait_ns > 0)


def floor_of(hints: tuple[Hint, ...]) -> Hint | None:
    """Return the earliest instant that the answer asks to wait for; None where it asks for none.

    Where two forms name two instants, who keeps to either of them does as it was asked.
    """
    asked = [hint for hint in hints if hint.kind != "reset"]
    return min(asked, key=lambda hint: hint.wait_ns, default=None)


def _retry_after(headers: Mapping[str, str], now_ns: int) -> Iterator[Hint]:
    asked = asked_wait(headers, _STANDARD, now_ns)
    if asked is None:
        return
    # A date has whole seconds, and the clocks of two machines differ by as much.
    slack_ns = SECOND_NS if "ahead" in asked.basis else 0
    yield Hint(kind="retry-after", wait_ns=asked.wait_ns - slack_ns, basis=asked.basis)


def _own(headers: Mapping[str, str], retry_delay: str | None) -> Iterator[Hint]:
    text = headers.get("retry-after-ms", "").strip()
    if _BOUNDED.fullmatch(text):
        wait_ns = int(Decimal(text) * MILLISECOND_NS)
        basis = f"retry-after-ms: {text}"
        yield Hint(kind="own", wait_ns=wait_ns, basis=basis, apis=_HAVE_MILLISECONDS)
    wait = _duration_ns(retry_delay or "")
    if wait is not None:
        yield Hint(kind="own", wait_ns=wait, basis=f"RetryInfo.retryDelay: {retry_delay}")


def _resets(headers: Mapping[str, str], now_ns: int) -> Iterator[Hint]:
    for name, text in headers.items():
        if "reset" not in name or not _RESET.fullmatch(name) or not _is_used_up(headers, name):
            continue
        wait_ns = _reset_ns(text.strip(), now_ns)
        if wait_ns is not None:
            basis = f"{name}: {text[:40]}, {format_duration(max(0, wait_ns))} ahead"
            yield Hint(kind="reset", wait_ns=wait_ns, basis=basis)


def _is_used_up(headers: Mapping[str, str], reset: str) -> bool:
    """Return whether the limit whose reset this is has nothing left."""
    return headers.get(reset.replace("reset", "remaining"), "").strip() == "0"


def _reset_ns(text: str, now_ns: int) -> int | None:
    """Return the wait that a reset names, as seconds, a duration, or an instant; None: no form."""
    if _BOUNDED.fullmatch(text):
        number = Decimal(text)
        if number >= _EPOCH_S:
            return int(number * SECOND_NS) - WALL_EPOCH_NS - now_ns
        return int(number * SECOND_NS)
    wait_ns = _duration_ns(text)
    if wait_ns is not None:
        return wait_ns
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        return None
    return int(moment.timestamp()) * SECOND_NS - WALL_EPOCH_NS - now_ns


def _duration_ns(text: str) -> int | None:
    """Return a duration such as `8.64s`, `6ms`, `1m30s` or `15.002899939s`; None for no such."""
    match = _DURATION.fullmatch(text)
    if not text or match is None:
        return None
    parts = ((unit, number) for unit, number in match.groupdict().items() if number is not None)
    return sum(int(Decimal(number) * _UNITS_NS[unit]) for unit, number in parts)
