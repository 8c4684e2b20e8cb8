"""Miniatures of AFK runtimes: the circuit breaker of each model of the chain."""

from __future__ import annotations

import asyncio
from typing import Any

from faultclock.subjects.agent_miniatures.afk_table import afk
from faultclock.subjects.reference_agents.afk import AfkAgent
from faultclock.subjects.reference_agents.afk_breaker import Breaker
from faultclock.subjects.reference_agents.afk_kinds import CIRCUIT_OPEN, SERVER_ERROR
from faultclock.subjects.reference_agents.core import Ended, Pair, RunState, Turn

__all__: list[str] = []


class _Deaf(Breaker):
    threshold = 10_000


@afk(
    "breaker-never-opens",
    "Asks a provider that is down again and again",
    fails="breaker.opens",
    shown_by="breaker-opens-and-closes",
)
class _BreakerNeverOpens(AfkAgent):
    """The threshold is out of reach."""

    breaker_type = _Deaf


class _Forgetful(Breaker):
    def failed(self, now_s: float, *, counts: bool) -> None:
        super().failed(now_s, counts=counts)
        if not counts:
            self.good()


@afk(
    "bad-request-resets-the-breaker",
    "smg#2565: a 400 counted as a success and reset the count",
    fails="breaker.opens",
    shown_by="bad-requests-reset-no-breaker",
    origin="smg-project/smg#2565",
)
class _BadRequestResetsTheBreaker(AfkAgent):
    """Where one caller is wrong now and then, the breaker of a dead provider never opens."""

    breaker_type = _Forgetful


@afk(
    "bad-requests-open-the-breaker",
    "sglang#25811: callers' 400s opened the breaker of a healthy worker",
    fails="breaker.opens",
    shown_by="bad-requests-open-no-breaker",
    origin="sgl-project/sglang#25811",
)
class _BadRequestsOpenTheBreaker(AfkAgent):
    """Every failure counts, whoever it is the fault of."""

    def counts(self, pair: Pair | None) -> bool:
        return True


class _Impatient(Breaker):
    cooldown_s = 4.0


@afk(
    "breaker-opens-for-a-moment",
    "Asks again four seconds after the breaker has opened",
    fails="breaker.opens",
    shown_by="breaker-stays-open",
)
class _BreakerOpensForAMoment(AfkAgent):
    """A provider that is down gets no rest."""

    breaker_type = _Impatient


@afk(
    "refusals-leave-no-trace",
    "Puts no refusal of an open breaker on record",
    fails="failures.classified",
    shown_by="falls-back-while-open",
)
class _RefusalsLeaveNoTrace(AfkAgent):
    """Why the next model was asked, nobody can tell."""

    def audit(
        self, pair: Pair | None, target: str, attempt: int | None = None, **more: Any
    ) -> None:
        if pair != CIRCUIT_OPEN:
            super().audit(pair, target, attempt, **more)


@afk(
    "refusal-looks-retryable",
    "neurolink#899: the refusal of an open breaker looked as if one had to try again",
    fails="breaker.refuses",
    shown_by="breaker-stays-open",
    origin="juspay/neurolink#899",
)
class _RefusalLooksRetryable(AfkAgent):
    """395 calls in 73 minutes, each told that the server had an error."""

    def audit(
        self, pair: Pair | None, target: str, attempt: int | None = None, **more: Any
    ) -> None:
        super().audit(self._as_retryable(pair), target, attempt, **more)

    def llm_gone(self, turn: Turn, state: RunState, pair: Pair | None) -> Ended:
        return super().llm_gone(turn, state, self._as_retryable(pair))

    def _as_retryable(self, pair: Pair | None) -> Pair | None:
        return SERVER_ERROR if pair == CIRCUIT_OPEN else pair


class _Loose(Breaker):
    def failed(self, now_s: float, *, counts: bool) -> None:
        if self.opened_s is not None and self.probes:
            self.good()
        super().failed(now_s, counts=counts)


@afk(
    "half-open-lets-all-through",
    "llm4s#460: a half-open breaker let all traffic through",
    fails="breaker.half-open",
    shown_by="breaker-probe-fails",
    origin="llm4s/llm4s#460",
)
class _HalfOpenLetsAllThrough(AfkAgent):
    """What follows the probe is let through as well, whatever became of it."""

    breaker_type = _Loose


class _Stuck(Breaker):
    def failed(self, now_s: float, *, counts: bool) -> None:
        if self.opened_s is None or counts:
            super().failed(now_s, counts=counts)


@afk(
    "probe-is-never-given-back",
    "deer-flow#3991: a probe that failed otherwise kept the breaker shut for ever",
    fails="breaker.half-open",
    shown_by="breaker-probe-is-refused",
    origin="bytedance/deer-flow#3991",
)
class _ProbeIsNeverGivenBack(AfkAgent):
    """Only what counts clears the mark of the probe."""

    breaker_type = _Stuck


class _Holding(Breaker):
    def let_go(self) -> None:
        return


@afk(
    "cancelled-probe-stays",
    "litellm#39701: a cancelled probe left the breaker half-open",
    fails="breaker.half-open",
    shown_by="breaker-probe-is-cancelled",
    origin="BerriAI/litellm#39701",
)
class _CancelledProbeStays(AfkAgent):
    """Nobody tells the breaker that the probe is gone."""

    breaker_type = _Holding


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
