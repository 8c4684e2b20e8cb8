"""Wrong provider adapters that are code: how often they try, and with what clock."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from faultclock.mutants.by_hand.table import ByHand
from faultclock.mutants.talks import StudTalk
from faultclock.subjects.chat_exchange import ChatExchange
from faultclock.subjects.ports import ProviderRequest, Reply, TypedError
from faultclock.subjects.reference import ask_once, converse
from faultclock.subjects.stud import AttemptError, Policy, StudCall

wrong = ByHand("adapters")


_NETWORK_TIMEOUT = ("ProviderTransient", "NetworkTimeout")


_PROVIDER_5XX = ("ProviderTransient", "Provider5xx")


# Layers that do not know of each other.


class _Library(StudTalk):
    """The inner layer: it audits its attempts like any other, and leaves the telling to others."""

    attempts = 3

    def policy(self, failure: AttemptError, kind: tuple[str, str]) -> Policy | None:
        policy = super().policy(failure, kind)
        return policy and replace(policy, attempts_max=self.attempts)

    def tell_user(self, code: str | None, failure: AttemptError) -> None:
        return

    def tell_model(self, error_class: str | None, code: str | None, failure: AttemptError) -> None:
        return


async def _layered(work: Callable[[], Awaitable[Reply]], tries: int) -> Reply:
    """Do `work` again while it fails with what is worth a retry: one layer around it."""
    for number in range(1, tries + 1):
        try:
            return await work()
        except TypedError as error:
            if error.error_class != "ProviderTransient" or number == tries:
                raise
        await asyncio.sleep(1.0)
    raise AssertionError("there is at least one try")


def _told_once(request: ProviderRequest, work: Awaitable[Reply]) -> Awaitable[Reply]:
    async def run() -> Reply:
        try:
            return await work
        except TypedError as error:
            failure = AttemptError("http_error", "every layer gave up")
            call = StudCall(request)
            call.tell_user(error.code, failure)
            call.tell_model(error.error_class, error.code, failure)
            raise

    return run()


@wrong.run(
    "application-retries-too",
    "Retries around a library that retries",
    fails="backoff.attempts",
    origin="HKUDS/nanobot#2760",
)
async def _application_retries_too(request: ProviderRequest) -> Reply:
    """Twelve requests where four were meant, measured on a mock server."""
    return await _told_once(
        request, _layered(lambda: converse(request, _Library(request)), tries=4)
    )


@wrong.run(
    "three-layers-retry",
    "Retries in three layers",
    fails="backoff.attempts",
    origin="mpfaffenberger/code_puppy#317",
)
async def _three_layers_retry(request: ProviderRequest) -> Reply:
    """Three by three by five requests: 45."""

    async def agent() -> Reply:
        return await _layered(lambda: converse(request, _Library(request)), tries=3)

    return await _told_once(request, _layered(agent, tries=5))


class _QuietLibrary(_Library):
    def audit_retry(self, error: TypedError) -> None:
        return


@wrong.run(
    "library-retries-unseen",
    "Logs its own retries, and not those below them",
    fails="backoff.attempts",
    origin="livekit/agents#5335",
)
async def _library_retries_unseen(request: ProviderRequest) -> Reply:
    """Four by three requests in two minutes, and three retries in the log."""
    return await _told_once(
        request, _layered(lambda: converse(request, _QuietLibrary(request)), tries=4)
    )


# Counters that never get there.


@wrong(
    "resets-inside-statuses",
    "Counts resets anew for each status",
    fails="backoff.attempts",
    origin="lidge-jun/opencodex#714",
)
class _ResetsInsideStatuses(StudTalk):
    """A retry of resets inside a retry of statuses: up to nine paid calls."""

    def policy(self, failure: AttemptError, kind: tuple[str, str]) -> Policy | None:
        policy = super().policy(failure, kind)
        if kind == _PROVIDER_5XX:
            self._failures.pop("reset", None)
        return policy and replace(policy, name="reset") if kind == _NETWORK_TIMEOUT else policy


# Budgets of time.


@wrong(
    "one-budget-for-all-attempts",
    "Takes the deadline of an attempt for that of all",
    fails="backoff.attempts",
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


@wrong.run(
    "one-signal-for-all-attempts",
    "Begins its next attempt with a deadline that is over",
    fails="classification.disposition",
    origin="zirkelc/ai-retry#54",
)
async def _one_signal_for_all_attempts(request: ProviderRequest) -> Reply:
    """The timeout of one attempt aborted the signal that all share."""
    call, aborted = StudCall(request), False
    while True:
        try:
            if aborted:
                raise AttemptError("deadline", "the signal is aborted already")
            return await ask_once(ChatExchange(request), call.deadline_s)
        except AttemptError as failure:
            aborted = aborted or failure.kind == "deadline"
            wait_s = call.next_wait_s(failure)
        await asyncio.sleep(wait_s)
