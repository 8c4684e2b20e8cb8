"""Miniatures that wait by a schedule of their own."""

from __future__ import annotations

import random

from faultclock.subjects.miniatures import wrong
from faultclock.subjects.stud import AttemptError, Policy, StudCall

__all__: list[str] = []


@wrong(
    "hurries-in-streams",
    "Waits milliseconds after a limit inside a stream",
    fails="backoff.wait",
    origin="openai/codex#3764",
)
class _HurriesInStreams(StudCall):
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
class _CapTakesTheJitter(StudCall):
    """Nineteen of twenty retries slept exactly the cap, and all woke together."""

    def scheduled_s(self, policy: Policy, count: int) -> float:
        cap_s = policy.first_wait_s * float(2 ** (count - 1))
        return min(cap_s, cap_s * random.uniform(0.99, 1.2))
