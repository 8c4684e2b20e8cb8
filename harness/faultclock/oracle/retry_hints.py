"""Hints: every instant before which an answer asks not to be asked again, for every reader.

Providers say one thing in many forms: Retry-After as seconds or as an HTTP-date (RFC 9110, section
10.2.3), `retry-after-ms` (OpenAI, Azure), `google.rpc.RetryInfo` (Gemini), and headers that say
when a used-up limit is full again. The first two kinds ask for a wait. A reset time describes the
limit, so it proves nothing by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Literal

from faultclock.model.duration import MILLISECOND_NS, SECOND_NS, format_duration
from faultclock.model.error_model import RetryAfterRule
from faultclock.model.trace import WALL_EPOCH_NS
from faultclock.oracle.requests import Attempt
from faultclock.oracle.retry_after import asked_wait

__all__ = ["Hint", "floor_of", "hints_of"]

#: RFC 9110 has whole seconds and dates; a date in the past asks for nothing.
_STANDARD = RetryAfterRule(fraction="unusable", past_date="schedule")
_NUMBER = re.compile(r"\d{1,12}(?:\.\d{1,9})?", re.ASCII)
_DURATION = re.compile(
    r"(?:(?P<h>\d{1,6})h)?(?:(?P<m>\d{1,6})m(?!s))?(?:(?P<s>\d{1,9}(?:\.\d{1,9})?)s)?"
    r"(?:(?P<ms>\d{1,9}(?:\.\d{1,6})?)ms)?",
    re.ASCII,
)
_UNITS_NS = {"h": 3_600 * SECOND_NS, "m": 60 * SECOND_NS, "s": SECOND_NS, "ms": MILLISECOND_NS}
_RESET = re.compile(r"(?:x-|anthropic-)?ratelimit-(?:(?P<of>[a-z-]+)-)?reset(?:-(?P<then>[a-z]+))?")
#: A number above this is an instant in seconds since 1970, and no wait.
_EPOCH_S = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Hint:
    """One statement of an answer about when to ask again.

    Attributes:
        kind: `retry-after`: the standard header; `own`: the provider's own; `reset`: when a limit
            that is used up is full again.
        wait_ns: from the instant at which the failure could be known; above 0.
        basis: the statement in words.
    """

    kind: Literal["retry-after", "own", "reset"]
    wait_ns: int
    basis: str


def hints_of(attempt: Attempt) -> tuple[Hint, ...]:
    """Return what the answer to a failed attempt says about asking again."""
    signal = attempt.signal
    now_ns = attempt.known_ns if attempt.knowable_ns is None else attempt.knowable_ns
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
    if _NUMBER.fullmatch(text):
        wait_ns = int(Decimal(text) * MILLISECOND_NS)
        yield Hint(kind="own", wait_ns=wait_ns, basis=f"retry-after-ms: {text}")
    wait = _duration_ns(retry_delay or "")
    if wait is not None:
        yield Hint(kind="own", wait_ns=wait, basis=f"RetryInfo.retryDelay: {retry_delay}")


def _resets(headers: Mapping[str, str], now_ns: int) -> Iterator[Hint]:
    for name, text in headers.items():
        match = _RESET.fullmatch(name)
        if match is None or not _is_used_up(headers, name):
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
    if _NUMBER.fullmatch(text):
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
