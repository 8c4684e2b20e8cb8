"""Clients with a known, odd way of retrying: what they are made to do is what is to be inferred."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Literal

from faultclock.agents.adapter import ask_once
from faultclock.agents.chat_exchange import ChatExchange
from faultclock.subjects.binding import Binding, bind
from faultclock.subjects.ports import ProviderRequest, Reply
from faultclock.subjects.stud import AttemptError

Shape = Literal["none", "full", "equal", "proportional", "additive", "decorrelated"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """One loop of attempts; of several, the first is the innermost.

    Attributes:
        width: parts of the nominal wait for `proportional`, seconds for `additive`.
    """

    attempts: int
    base_s: float = 1.0
    growth: Literal["fixed", "linear", "exponential"] = "exponential"
    factor: float = 2.0
    cap_s: float | None = None
    jitter: Shape = "none"
    width: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Hints:
    """What the innermost loop makes of Retry-After."""

    statuses: frozenset[int] = frozenset()
    ceiling_s: float | None = None
    above: Literal["ignore", "give up", "leave it to the next loop", "cut down"] = "ignore"
    added: float = 0.0
    """Seconds of jitter on top."""


class _GivesUpError(Exception):
    """No loop tries again."""


def client(
    *loops: Loop,
    retried: frozenset[int] = frozenset({429, 500, 503}),
    hints: Hints | None = None,
    total_s: float | None = None,
    draw: Callable[[], float] = random.random,
) -> Binding:
    """Return a subject that retries exactly so."""
    plan = _Plan(loops, retried, hints or Hints(), total_s, draw)

    async def adapter(request: ProviderRequest) -> Reply:
        return await plan.asked(request, len(loops), time.monotonic())

    return bind(
        adapter,
        role="provider_adapter",
        takes="request",
        id="fake",
        title="A client that retries in a known way",
        inline=True,
    )


def wait_s(loop: Loop, retry: int, before_s: float, drawn: float) -> float:
    """Return the wait before `retry` (1-based).

    Args:
        before_s: the wait before it; 0 for none.
        drawn: a number from 0 to 1.
    """
    nominal = {
        "fixed": loop.base_s,
        "linear": loop.base_s * retry,
        "exponential": loop.base_s * loop.factor ** (retry - 1),
    }[loop.growth]
    if loop.cap_s is not None:
        nominal = min(nominal, loop.cap_s)
    match loop.jitter:
        case "full":
            return nominal * drawn
        case "equal":
            return nominal * (0.5 + 0.5 * drawn)
        case "proportional":
            return nominal * (1 + loop.width * (2 * drawn - 1))
        case "additive":
            return nominal + loop.width * drawn
        case "decorrelated":
            top = loop.factor * (before_s or loop.base_s)
            waited = loop.base_s + (top - loop.base_s) * drawn
            return waited if loop.cap_s is None else min(waited, loop.cap_s)
    return nominal


@dataclass(frozen=True, slots=True)
class _Plan:
    loops: tuple[Loop, ...]
    retried: frozenset[int]
    hints: Hints
    total_s: float | None
    draw: Callable[[], float]

    async def asked(self, request: ProviderRequest, depth: int, since_s: float) -> Reply:
        if depth == 0:
            return await ask_once(ChatExchange(request), request.timeout_s)
        loop, before_s = self.loops[depth - 1], 0.0
        for number in range(1, loop.attempts + 1):
            try:
                return await self.asked(request, depth - 1, since_s)
            except AttemptError as error:
                last = number == loop.attempts or not self._goes_on(error, since_s, depth)
                if last:
                    raise
                before_s = self._wait_s(loop, number, before_s, error, innermost=depth == 1)
            await asyncio.sleep(before_s)
        raise _GivesUpError

    def _goes_on(self, error: AttemptError, since_s: float, depth: int) -> bool:
        if error.status is not None and error.status not in self.retried:
            return False
        asked = self._asked_s(error)
        hints = self.hints
        leaves = hints.above == "leave it to the next loop" and depth == 1
        ends = hints.above == "give up" or leaves
        if asked is not None and hints.ceiling_s is not None and ends:
            return asked <= hints.ceiling_s
        return self.total_s is None or time.monotonic() - since_s < self.total_s

    def _wait_s(
        self, loop: Loop, number: int, before_s: float, error: AttemptError, *, innermost: bool
    ) -> float:
        drawn = self.draw()
        asked = self._asked_s(error) if innermost else None
        hints = self.hints
        if asked is not None:
            if hints.ceiling_s is None or asked <= hints.ceiling_s:
                return asked + hints.added * drawn
            if hints.above == "cut down":
                return hints.ceiling_s
        return wait_s(loop, number, before_s, drawn)

    def _asked_s(self, error: AttemptError) -> float | None:
        if error.status not in self.hints.statuses or error.retry_after is None:
            return None
        try:
            asked = float(error.retry_after)
        except ValueError:
            try:
                at = parsedate_to_datetime(error.retry_after).timestamp()
            except ValueError:
                return None
            asked = at - time.time()
        return asked if asked > 0 else None
