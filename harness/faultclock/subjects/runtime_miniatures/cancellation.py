"""Miniatures of cancels: what they reach, in which order, and what is told of them."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from faultclock.subjects.ports import TypedError
from faultclock.subjects.reference_runtime.cancellation import Scope, is_cancellation
from faultclock.subjects.reference_runtime.provider import ProviderCall
from faultclock.subjects.reference_runtime.runtime import ReferenceRuntime
from faultclock.subjects.reference_runtime.session import Turn
from faultclock.subjects.runtime_miniatures.table import wrong
from faultclock.subjects.stud import AttemptError

__all__: list[str] = []

T = TypeVar("T")


# What they reach.


@wrong(
    "backoff-swallows-cancel",
    "Swallows a cancel while it waits",
    fails="cancel.outcome",
    origin="harbor-framework/harbor#1223",
)
class _BackoffSwallowsCancel(ProviderCall):
    """harbor-framework/harbor#1223: the retry caught the cancel, and the next attempt came."""

    async def wait_after(self, failure: AttemptError) -> None:
        waited = asyncio.ensure_future(super().wait_after(failure))
        while not waited.done():
            try:
                await asyncio.wait({waited})
            except asyncio.CancelledError:
                continue
        waited.result()


@wrong("cancel-is-a-wish", "Cancels only between two steps", fails="cancel.outcome")
class _CancelIsAWish(Scope):
    """earendil-works/pi#8331: Escape did nothing while the stream was open."""

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        result = await work
        self.check()
        return result


@wrong(
    "asks-after-cancel",
    "Asks what to keep after a cancel",
    fails="ordering.cancelled-turn-acts-no-more",
)
class _AsksAfterCancel(ReferenceRuntime):
    """Whoever pressed Escape wants no further question."""

    async def in_time(self, turn: Turn, work: Coroutine[Any, Any, str]) -> str:
        try:
            return await super().in_time(turn, work)
        except TypedError as error:
            if is_cancellation(error):
                question = self.interactions.ask("Confirm", "Keep what was done?")
                self.question = asyncio.ensure_future(question)
                await asyncio.sleep(0)
            raise


# In which order.


@wrong(
    "cancels-top-down", "Cancels the turn before its tools", fails="ordering.cancel-children-first"
)
class _CancelsTopDown(Scope):
    """For a moment a tool runs in a turn that is over."""

    def below(self) -> tuple[Scope, ...]:
        return () if self.first else super().below()

    first = False

    def cancel(self, reason: str) -> None:
        if self.error is not None:
            return
        self.first = True
        super().cancel(reason)
        self.first = False
        for child in self.below():
            child.cancel("parent")


# What is told of it.
