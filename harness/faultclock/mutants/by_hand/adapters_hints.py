"""Wrong provider adapters that are code: waits, hints when to come back, and broken answers."""

from __future__ import annotations

import asyncio
import math
import random
from weakref import WeakKeyDictionary

from faultclock.mutants.by_hand.table import ByHand
from faultclock.mutants.talks import StudTalk
from faultclock.subjects.chat_exchange import ChatExchange
from faultclock.subjects.ports import ProviderRequest, Reply
from faultclock.subjects.reference import ask_once, converse
from faultclock.subjects.stud import AttemptError, Policy, StudCall

wrong = ByHand("adapters")


@wrong(
    "hurries-in-streams",
    "Waits milliseconds after a limit inside a stream",
    fails="backoff.wait",
    origin="openai/codex#3764",
)
class _HurriesInStreams(StudTalk):
    """Told in the stream to try again in 17 seconds, it did so after 209 ms to 3.3 s."""

    def wait_s(self, failure: AttemptError, policy: Policy, count: int) -> float:
        if failure.kind == "stream_error":
            return float(0.2 * 2 ** (count - 1) * random.uniform(0.9, 1.1))
        return super().wait_s(failure, policy, count)


@wrong(
    "cap-takes-the-jitter",
    "Caps a wait after the jitter is added",
    fails="backoff.jitter",
    origin="NousResearch/hermes-agent#109234",
)
class _CapTakesTheJitter(StudTalk):
    """Nineteen of twenty retries slept exactly the cap, and all woke together."""

    def scheduled_s(self, policy: Policy, count: int) -> float:
        cap_s = policy.first_wait_s * float(2 ** (count - 1))
        return min(cap_s, cap_s * random.uniform(0.99, 1.2))


_MINUTE_S = 60.0


# One header, read wrongly.


@wrong(
    "drops-long-retry-after",
    "Takes its own short wait when asked for over a minute",
    fails="backoff.retry-after",
    origin="openai/openai-python#3555",
)
class _DropsLongRetryAfter(StudTalk):
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
class _GivesUpOnLongRetryAfter(StudTalk):
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
class _OwnShortSchedule(StudTalk):
    """`Retry-After: 3600` was ignored."""

    def wait_s(self, failure: AttemptError, policy: Policy, count: int) -> float:
        return float(2**count)


@wrong(
    "keeps-first-retry-after",
    "Computes every wait from the first failure",
    fails="backoff.retry-after",
    origin="BerriAI/litellm#20722",
)
class _KeepsFirstRetryAfter(StudTalk):
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
class _WholeSecondsOnly(StudTalk):
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
class _RaisesOnADate(StudTalk):
    """An HTTP-date made float() raise, and the whole run died of it."""

    def retry_after_s(self, failure: AttemptError) -> float | None:
        return None if failure.retry_after is None else float(failure.retry_after)


@wrong(
    "date-is-not-a-number",
    "Makes NaN of a date, and waits that long",
    fails="backoff.retry-after",
    origin="duolahypercho/codex-router#573",
)
class _DateIsNotANumber(StudTalk):
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
)
class _EmptyVendorHeaderWins(StudTalk):
    """An unusable retry-after-ms hid the valid Retry-After beside it."""

    exchange_type = _VendorFirst


@wrong(
    "milliseconds-as-seconds",
    "Sleeps seconds where milliseconds are meant",
    fails="backoff.wait",
    origin="ndycode/oc-codex-multi-auth#47",
)
class _MillisecondsAsSeconds(StudTalk):
    """Small values were taken for seconds: a thousand times too long."""

    exchange_type = _VendorInSeconds


#: Loop of a run to the instant until which its provider is left alone.
_COOLDOWNS: WeakKeyDictionary[asyncio.AbstractEventLoop, float] = WeakKeyDictionary()


@wrong(
    "first-cooldown-counts",
    "Keeps the cooldown that it has when a longer one comes",
    fails="backoff.retry-after",
    origin="BerriAI/litellm#40130",
)
class _FirstCooldownCounts(StudTalk):
    """A second, longer cooldown did not extend the first, shorter one."""

    def retry_after_s(self, failure: AttemptError) -> float | None:
        asked_s = super().retry_after_s(failure)
        if asked_s is None:
            return None
        loop = asyncio.get_running_loop()
        if _COOLDOWNS.get(loop, 0.0) <= loop.time():
            _COOLDOWNS[loop] = loop.time() + asked_s
        return _COOLDOWNS[loop] - loop.time()


# A failure that passes for an answer.


@wrong.run(
    "refused-stream-is-empty",
    "Returns an empty text where a stream was refused",
    fails="swallow.silent",
    origin="felladrin/MiniSearch#2469",
)
async def _refused_stream_is_empty(request: ProviderRequest) -> Reply:
    """The exception was swallowed on its way out of the callback that reads the stream."""
    if not request.stream:
        return await converse(request, StudCall(request))
    try:
        return await ask_once(ChatExchange(request), request.timeout_s)
    except AttemptError:
        return Reply("")


# The part of an answer that was there when it broke.


class _Begun(StudTalk):
    """A call that knows whether the attempt which failed had begun to answer."""

    begun = ""

    async def talk(self) -> Reply:
        while True:
            exchange = ChatExchange(self.request)
            try:
                return self.whole(await ask_once(exchange, self.deadline_s))
            except AttemptError as failure:
                self.begun = exchange.received_text
                self.look_at(failure)
                wait_s = self.next_wait_s(failure)
            await asyncio.sleep(wait_s)

    def whole(self, reply: Reply) -> Reply:
        return reply

    def look_at(self, failure: AttemptError) -> None:
        return


class _Replays(_Begun):
    """The half that was shown is shown again, as the beginning of the whole."""

    def whole(self, reply: Reply) -> Reply:
        return Reply(self.begun + reply.text, reply.tool_calls)


@wrong.run(
    "replays-what-was-shown",
    "Appends the second answer to the half of the first",
    fails="swallow.silent",
    origin="HKUDS/nanobot#4038",
)
async def _replays_what_was_shown(request: ProviderRequest) -> Reply:
    """A retry after visible output began with the first word again."""
    return await _Replays(request).talk()


class _TriesUntilTheFirstWord(_Begun):
    def policy(self, failure: AttemptError, kind: tuple[str, str]) -> Policy | None:
        return None if self.begun else super().policy(failure, kind)


@wrong.run(
    "retries-until-the-first-word",
    "Retries a request, and not the reading of its stream",
    fails="classification.disposition",
    origin="agentscope-ai/agentscope#2757",
)
async def _retries_until_the_first_word(request: ProviderRequest) -> Reply:
    """An error while the stream was iterated was outside of the retry, and of the fallback."""
    return await _TriesUntilTheFirstWord(request).talk()


class _LetsOut(_Begun):
    def look_at(self, failure: AttemptError) -> None:
        if self.begun and failure.kind == "network":
            # The socket's own error, as if there were no adapter around it.
            raise failure.__cause__ or failure


@wrong.run(
    "raw-error-from-streams",
    "Lets the raw error of a connection out of a stream",
    fails="classification.disposition",
    origin="pydantic/pydantic-ai#4729",
)
async def _raw_error_from_streams(request: ProviderRequest) -> Reply:
    """What the library raised while it was streaming escaped, so that no fallback was tried."""
    return await _LetsOut(request).talk()
