"""The reference by what any provider and any user would demand: async and blocking.

It asks again for limits, outages and lost connections, and for nothing that no wait can mend. It
waits as long as it is asked to (by Retry-After, or else by `retry-after-ms`), and gives up, saying
so, where that is longer than two minutes:

    429, 5xx, lost connection    4 attempts; 1, 2, 4 s, each ±20 %, or what Retry-After says
    a used-up quota, other 4xx   fails at once
    Retry-After above 2 min      fails at once, with the time in the error

All else (reading the wire, one connection an attempt) is the stud-cli reference's.
"""

from __future__ import annotations

import asyncio

from faultclock.agents.adapter import ask_once, converse, converse_blocking
from faultclock.agents.chat_exchange import ChatExchange
from faultclock.subjects.binding import provider_adapter
from faultclock.subjects.ports import OPENAI_ALIKE, ProviderRequest, Reply
from faultclock.subjects.stud import AttemptError, Policy, StudCall

_PATIENCE_S = 120.0
#: Longer numbers of milliseconds are no wait.
_DIGITS_MAX = 12
POLICY = Policy(name="all", attempts_max=4, first_wait_s=1.0)
_QUOTA = (
    "insufficient_quota",
    "billing_hard_limit_reached",
    "credit_balance_exhausted",
    "organization_spend_limit_exceeded",
    "project_spend_limit_exceeded",
    "exceeded_current_quota_error",
    "billing_error",
)


class CommonExchange(ChatExchange):
    """Reads the provider's own header where the standard one is absent."""

    def _retry_after(self) -> str | None:
        standard = super()._retry_after()
        own = self._headers.get(b"retry-after-ms", b"")
        if standard is not None or not own.isdigit() or len(own) > _DIGITS_MAX:
            return standard
        return f"{int(own) / 1_000:.3f}"


class NoContentError(Exception):
    """The provider answered, and said nothing: a refusal, or an empty text."""


class CommonCall(StudCall):
    """One call's way through its failures."""

    def classify(self, failure: AttemptError) -> tuple[str, str] | None:
        """Return class and code; None for what no wait can mend."""
        if failure.provider_code in _QUOTA or failure.provider_type in _QUOTA:
            return None
        return super().classify(failure)

    def policy(self, failure: AttemptError, kind: tuple[str, str]) -> Policy | None:
        """Return the one policy; None where the provider asks for more patience than there is."""
        if super().policy(failure, kind) is None:
            return None
        asked_s = self.retry_after_s(failure)
        return None if asked_s is not None and asked_s > _PATIENCE_S else POLICY


@provider_adapter(
    id="reference-common",
    title="Correct adapter by the common demands, async",
    inline=True,
    dialect=OPENAI_ALIKE,
)
async def reference_common(request: ProviderRequest) -> Reply:
    """Answer `request`, or raise the error that ends the call."""
    return _with_content(await converse(request, CommonCall(request), CommonExchange))


@provider_adapter(
    id="reference-common-sync",
    title="Correct adapter by the common demands, blocking",
    inline=True,
    dialect=OPENAI_ALIKE,
)
def reference_common_sync(request: ProviderRequest) -> Reply:
    """Answer `request`, or raise the error that ends the call."""
    return _with_content(converse_blocking(request, CommonCall(request), CommonExchange))


@provider_adapter(
    id="reference-common-passing-on",
    title="Correct adapter by the common demands that passes on what arrives, async",
    inline=True,
    dialect=OPENAI_ALIKE,
)
async def reference_common_passing_on(request: ProviderRequest) -> Reply:
    """Answer `request` piece by piece; once a piece was passed on, a failure ends the call."""
    call = CommonCall(request)
    while True:
        exchange = CommonExchange(request)
        try:
            reply = await ask_once(exchange, call.deadline_s)
        except AttemptError as failure:
            if exchange.received_text:
                request.host.delivered(exchange.received_text)
                raise
            wait_s = call.next_wait_s(failure)
        else:
            request.host.delivered(reply.text)
            return _with_content(reply)
        await asyncio.sleep(wait_s)


def _with_content(reply: Reply) -> Reply:
    """Return `reply`, which says itself how it ended; raise where there is nothing in it."""
    if not reply.text and not reply.tool_calls:
        raise NoContentError("the provider's answer holds neither a text nor a tool call")
    return reply
