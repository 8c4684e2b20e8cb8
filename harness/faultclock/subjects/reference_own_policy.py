"""The reference with a retry policy of its own: what the document allows an adapter, declared.

    ProviderTransient / RateLimited      6 attempts; 3, 6, 12, 24, 48 s, each ±10 %

All else is as the core has it. The binding declares the policy, so a run is judged by it, and the
report says so.
"""

from __future__ import annotations

import random

from faultclock.model.retry_policy import RetryPolicy
from faultclock.subjects.binding import provider_adapter
from faultclock.subjects.ports import ProviderRequest, Reply
from faultclock.subjects.reference import DECLARES, converse
from faultclock.subjects.stud import AttemptError, Policy, StudCall

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
