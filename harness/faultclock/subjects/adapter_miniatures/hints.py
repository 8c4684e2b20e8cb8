"""Miniatures that misread a provider's hint when to come back."""

# ruff: noqa: ARG002 - an override takes what the step takes, needed or not

from __future__ import annotations

import asyncio
import math
from weakref import WeakKeyDictionary

from faultclock.subjects.chat_exchange import ChatExchange
from faultclock.subjects.miniatures import wrong
from faultclock.subjects.ports import ProviderRequest
from faultclock.subjects.stud import AttemptError, Policy, StudCall

__all__: list[str] = []

_MINUTE_S = 60.0

# One header, read wrongly.


@wrong(
    "drops-long-retry-after",
    "Takes its own short wait when asked for over a minute",
    fails="backoff.retry-after",
    origin="openai/openai-python#3555",
)
class _DropsLongRetryAfter(StudCall):
    """A Retry-After above 60 s was replaced by a wait under 8 s."""

    def wait_s(self, failure: AttemptError, policy: Policy, count: int) -> float:
        asked_s = super().wait_s(failure, policy, count)
        return min(0.5 * 2 ** (count - 1), 8.0) if asked_s > _MINUTE_S else asked_s


@wrong(
    "gives-up-on-long-retry-after",
    "Gives up when asked for over a minute",
    fails="classification.disposition",
    origin="anthropics/claude-code#81330",
)
class _GivesUpOnLongRetryAfter(StudCall):
    """A Retry-After above 60 s ended the whole call."""

    def policy(self, failure: AttemptError, kind: tuple[str, str]) -> Policy | None:
        asked_s = self.retry_after_s(failure)
        return None if (asked_s or 0.0) > _MINUTE_S else super().policy(failure, kind)


@wrong(
    "own-short-schedule",
    "Waits 2, 4 and 8 s, whatever it is asked",
    fails="backoff.retry-after",
    origin="NousResearch/hermes-agent#2724",
)
class _OwnShortSchedule(StudCall):
    """`Retry-After: 3600` was ignored."""

    def wait_s(self, failure: AttemptError, policy: Policy, count: int) -> float:
        return float(2**count)


@wrong(
    "keeps-first-retry-after",
    "Computes every wait from the first failure",
    fails="backoff.retry-after",
    origin="BerriAI/litellm#20722",
)
class _KeepsFirstRetryAfter(StudCall):
    """The exception of the first attempt was kept: 9 s slept where 107 s were asked."""

    def __init__(self, request: ProviderRequest) -> None:
        super().__init__(request)
        self.first: AttemptError | None = None

    def retry_after_s(self, failure: AttemptError) -> float | None:
        self.first = self.first or failure
        return super().retry_after_s(self.first)


@wrong(
    "whole-seconds-only",
    "Reads no fraction of a second",
    fails="backoff.retry-after",
    origin="dcdpr/jp#1061",
)
class _WholeSecondsOnly(StudCall):
    """`45.837906927s` was unparsed, so that it was the schedule nearly always."""

    def retry_after_s(self, failure: AttemptError) -> float | None:
        text = failure.retry_after or ""
        return super().retry_after_s(failure) if text.isdecimal() else None


@wrong(
    "raises-on-a-date",
    "Calls float() on whatever Retry-After says",
    fails="classification.disposition",
    origin="interviewstreet/hiring-agent#386",
)
class _RaisesOnADate(StudCall):
    """An HTTP-date made float() raise, and the whole run died of it."""

    def retry_after_s(self, failure: AttemptError) -> float | None:
        return None if failure.retry_after is None else float(failure.retry_after)


@wrong(
    "date-is-not-a-number",
    "Makes NaN of a date, and waits that long",
    fails="backoff.retry-after",
    origin="duolahypercho/codex-router#573",
)
class _DateIsNotANumber(StudCall):
    """No comparison holds for NaN, so there was neither a wait nor a cooldown."""

    def retry_after_s(self, failure: AttemptError) -> float | None:
        try:
            asked_s = float(failure.retry_after or "")
        except ValueError:
            asked_s = math.nan
        return asked_s if asked_s > 0 else 0.0


# Two headers, or another one.


class _VendorFirst(ChatExchange):
    """Looks at the vendor's header, and at the standard one only where there is no other."""

    unit = 1_000

    def _retry_after(self) -> str | None:
        value = self._headers.get(b"retry-after-ms")
        if value is None:
            return super()._retry_after()
        try:
            return str(float(value) / self.unit)
        except ValueError:
            return None


class _VendorInSeconds(_VendorFirst):
    unit = 1


@wrong(
    "empty-vendor-header-wins",
    "Stops at an empty retry-after-ms",
    fails="backoff.retry-after",
    origin="openclaw/openclaw#111353",
    exchange=_VendorFirst,
)
class _EmptyVendorHeaderWins(StudCall):
    """An unusable retry-after-ms hid the valid Retry-After beside it."""


@wrong(
    "milliseconds-as-seconds",
    "Sleeps seconds where milliseconds are meant",
    fails="backoff.wait",
    origin="ndycode/oc-codex-multi-auth#47",
    exchange=_VendorInSeconds,
)
class _MillisecondsAsSeconds(StudCall):
    """Small values were taken for seconds: a thousand times too long."""


# One hint for several calls.

#: Loop of a run to the instant until which its provider is left alone.
_COOLDOWNS: WeakKeyDictionary[asyncio.AbstractEventLoop, float] = WeakKeyDictionary()


@wrong(
    "first-cooldown-counts",
    "Keeps the cooldown that it has when a longer one comes",
    fails="backoff.retry-after",
    origin="BerriAI/litellm#40130",
)
class _FirstCooldownCounts(StudCall):
    """A second, longer cooldown did not extend the first, shorter one."""

    def retry_after_s(self, failure: AttemptError) -> float | None:
        asked_s = super().retry_after_s(failure)
        if asked_s is None:
            return None
        loop = asyncio.get_running_loop()
        if _COOLDOWNS.get(loop, 0.0) <= loop.time():
            _COOLDOWNS[loop] = loop.time() + asked_s
        return _COOLDOWNS[loop] - loop.time()
