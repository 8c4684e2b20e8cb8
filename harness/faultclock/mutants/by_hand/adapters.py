"""Wrong provider adapters that are code."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
from weakref import WeakKeyDictionary

from msgspec.structs import replace

from faultclock.mutants.by_hand.table import ByHand
from faultclock.mutants.talks import StudTalk
from faultclock.subjects.ports import ProviderRequest, Reply
from faultclock.subjects.stud import AttemptError, Policy

wrong = ByHand("adapters")


#: A pause in a stream that lasts longer than this.
_PAUSE_S = 0.25


@wrong(
    "pause-is-the-end",
    "Takes a pause in a stream for its end",
    fails="swallow.silent",
    shown_by="provider-limits/slow-model-in-time",
)
class _PauseIsTheEnd(StudTalk):
    async def ask(self) -> Reply:
        asking, seen = asyncio.create_task(super().ask()), ""
        while not (await asyncio.wait({asking}, timeout=_PAUSE_S))[0]:
            text = self.exchange.received_text
            if text and text == seen:
                asking.cancel()
                await asyncio.wait({asking})
                return Reply(text)
            seen = text
        return asking.result()


#: For how many seconds each call waits before it begins, by the loop that they share.
_COOL_DOWN_S: WeakKeyDictionary[asyncio.AbstractEventLoop, float] = WeakKeyDictionary()


@wrong(
    "cool-down-only-grows",
    "Doubles the cool-down of all its calls at each failure, and never takes it back",
    fails="liveness.settles",
    shown_by="provider-transient/outage-is-over",
)
class _CoolDownOnlyGrows(StudTalk):
    async def talk(self) -> Reply:
        await asyncio.sleep(_COOL_DOWN_S.get(asyncio.get_running_loop(), 0.0))
        return await super().talk()

    def next_wait_s(self, failure: AttemptError) -> float:
        loop = asyncio.get_running_loop()
        _COOL_DOWN_S[loop] = 2 * _COOL_DOWN_S.get(loop, 0.25)
        return super().next_wait_s(failure)


@wrong(
    "starts-a-process",
    "Leaves the simulated world, unseen",
    fails="evidence.no-leaks",
    shown_by="provider-transient/healthy-call",
)
class _StartsAProcess(StudTalk):
    async def talk(self) -> Reply:
        # Hiding the refusal is part of the defect: the run is inconclusive all the same.
        with contextlib.suppress(BaseException):
            subprocess.run(["true"], check=False)  # noqa: S607 - the planted defect
        return await super().talk()


@wrong(
    "one-budget-for-all-attempts",
    "Takes the deadline of an attempt for that of all",
    fails="backoff.attempts",
    shown_by="provider-transient/errors-that-take-long",
    origin="567-labs/instructor#2633",
)
class _OneBudgetForAllAttempts(StudTalk):
    """The timeout of a request was the budget of its retries too: two of four were made."""

    def __init__(self, request: ProviderRequest) -> None:
        super().__init__(request)
        self.over_at_s = asyncio.get_running_loop().time() + request.timeout_s

    def policy(self, failure: AttemptError, kind: tuple[str, str]) -> Policy | None:
        policy = super().policy(failure, kind)
        if policy is None or asyncio.get_running_loop().time() < self.over_at_s:
            return policy
        return replace(policy, attempts_max=1)


@wrong(
    "raises-on-a-date",
    "Calls float() on whatever Retry-After says",
    fails="classification.disposition",
    shown_by="rate-limits/retry-after-http-date",
    origin="interviewstreet/hiring-agent#386",
)
class _RaisesOnADate(StudTalk):
    """An HTTP-date made float() raise, and the whole run died of it."""

    def retry_after_s(self, failure: AttemptError) -> float | None:
        return None if failure.retry_after is None else float(failure.retry_after)


#: Loop of a run to the instant until which its provider is left alone.
_COOLDOWNS: WeakKeyDictionary[asyncio.AbstractEventLoop, float] = WeakKeyDictionary()


@wrong(
    "first-cooldown-counts",
    "Keeps the cooldown that it has when a longer one comes",
    fails="backoff.retry-after",
    shown_by="rate-limits/two-limits-overlap",
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
