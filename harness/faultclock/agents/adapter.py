"""The reference: a correct stud-cli provider adapter without an SDK, async and blocking.

It is the error model's document as a program: `stud` decides, `chat_exchange` reads the wire,
and `connection` does the I/O. The whole of a call is `converse`:

    attempt -> failed? -> classify, audit -> wait exactly as long as the policy says -> attempt

One connection per attempt: it is closed before the wait begins, so that nothing of a failed
attempt can disturb the next one.

`reference_own_policy` has a retry policy of its own, as the document allows an adapter. Its binding
declares the policy, so a run is judged by it, and the report says so:

    ProviderTransient / RateLimited      6 attempts; 3, 6, 12, 24, 48 s, each ±10 %
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable

from faultclock.agents.chat_exchange import ChatExchange
from faultclock.agents.connection import ask_once as ask_once
from faultclock.agents.connection import ask_once_blocking as ask_once_blocking
from faultclock.model.retry_policy import RetryPolicy
from faultclock.model.trace.trace import Declares
from faultclock.subjects.binding import provider_adapter
from faultclock.subjects.ports import OPENAI_ALIKE, ProviderRequest, Reply
from faultclock.subjects.stud import AttemptError, Policy, StudCall

#: What the reference says about itself on the way: all that its checks need.
DECLARES: tuple[Declares, ...] = ("errors", "audit", "user", "model")
_RATE_LIMITED = ("ProviderTransient", "RateLimited")
_OWN = Policy(name="own", attempts_max=6, first_wait_s=3.0)

_DECLARED = RetryPolicy.model_validate(
    {
        "id": "rate-limited-sooner",
        "applies_to": ["ProviderTransient/RateLimited"],
        "attempts_max": 6,
        "backoff": {"kind": "exponential", "base": "3s"},
        "jitter": {"kind": "proportional", "percent": 10},
        "retry_after": "honor",
    }
)


@provider_adapter(
    id="reference",
    title="Correct stud-cli adapter without an SDK, async",
    declares=DECLARES,
    inline=True,
    dialect=OPENAI_ALIKE,
)
async def reference(request: ProviderRequest) -> Reply:
    """Answer `request`, or raise the typed error that ends the call."""
    return await converse(request, StudCall(request))


@provider_adapter(
    id="reference-sync",
    title="Correct stud-cli adapter without an SDK, blocking",
    declares=DECLARES,
    inline=True,
    dialect=OPENAI_ALIKE,
)
def reference_sync(request: ProviderRequest) -> Reply:
    """Answer `request`, or raise the typed error that ends the call."""
    return converse_blocking(request, StudCall(request))


def converse_blocking(
    request: ProviderRequest,
    call: StudCall,
    exchange_type: Callable[[ProviderRequest], ChatExchange] = ChatExchange,
) -> Reply:
    """Attempt until there is an answer or `call` raises, with blocking sockets."""
    while True:
        try:
            return ask_once_blocking(exchange_type(request), request.timeout_s)
        except AttemptError as failure:
            wait_s = call.next_wait_s(failure)
        time.sleep(wait_s)


async def converse(
    request: ProviderRequest,
    call: StudCall,
    exchange_type: Callable[[ProviderRequest], ChatExchange] = ChatExchange,
) -> Reply:
    """Attempt until there is an answer or `call` raises."""
    while True:
        try:
            return await ask_once(exchange_type(request), call.deadline_s)
        except AttemptError as failure:
            wait_s = call.next_wait_s(failure)
        await asyncio.sleep(wait_s)


class _OwnPolicy(StudCall):
    """Asks a limited provider again sooner than the core would."""

    def policy(self, failure: AttemptError, kind: tuple[str, str]) -> Policy | None:
        return _OWN if kind == _RATE_LIMITED else super().policy(failure, kind)

    def scheduled_s(self, policy: Policy, count: int) -> float:
        if policy is not _OWN:
            return super().scheduled_s(policy, count)
        return policy.first_wait_s * float(2 ** (count - 1)) * random.uniform(0.9, 1.1)


@provider_adapter(
    id="reference-own-policy",
    title="Correct stud-cli adapter with a retry policy that it declares",
    declares=DECLARES,
    retry_policies=(_DECLARED,),
    inline=True,
)
async def reference_own_policy(request: ProviderRequest) -> Reply:
    """Answer `request`, or raise the typed error that ends the call."""
    return await converse(request, _OwnPolicy(request))
