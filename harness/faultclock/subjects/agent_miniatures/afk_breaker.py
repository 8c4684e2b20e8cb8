"""Miniatures of AFK runtimes: the circuit breaker of each model of the chain."""

from __future__ import annotations

import asyncio

from faultclock.subjects.agent_miniatures.afk_table import afk
from faultclock.subjects.reference_agents.afk import AfkAgent
from faultclock.subjects.reference_agents.afk_breaker import Breaker

__all__: list[str] = []


class _Shut(Breaker):
    def good(self) -> None:
        if self.opened_s is None:
            super().good()
        else:
            self.opened_s = asyncio.get_running_loop().time()
            self.probes = 0


@afk(
    "breaker-never-closes",
    "Keeps the breaker open after a good probe",
    fails="breaker.closes",
    shown_by="breaker-opens-and-closes",
)
class _BreakerNeverCloses(AfkAgent):
    """Each good probe begins another thirty seconds."""

    breaker_type = _Shut
