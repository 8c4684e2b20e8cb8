"""Miniatures of saving: retries of the store, what is said to be saved, and when."""

# ruff: noqa: ARG002 - an override takes what the step takes, needed or not

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from faultclock.subjects.ports import TypedError
from faultclock.subjects.reference_runtime.loop import LoopEnd
from faultclock.subjects.reference_runtime.persistence import Persistence
from faultclock.subjects.reference_runtime.runtime import ReferenceRuntime
from faultclock.subjects.reference_runtime.session import Turn
from faultclock.subjects.runtime_miniatures.table import wrong

__all__: list[str] = []

# Once more?


@wrong(
    "loses-silently",
    "Goes on when nothing can be saved",
    fails="store.disposition",
    origin="MervinPraison/PraisonAI#3597",
)
class _LosesSilently(Persistence):
    """MervinPraison/PraisonAI#3597: a failed write returned False, and nobody looked."""

    async def ask(self, operation: str, once: Callable[[], Awaitable[Any]]) -> Any:
        try:
            return await super().ask(operation, once)
        except TypedError as error:
            if error.code != "StoreUnavailable":
                raise
            self.session.failed = None
            return None


# What is said of it, and when.


@wrong(
    "shows-then-saves",
    "Shows an answer before it is saved",
    fails="ordering.persisted-before-render",
)
class _ShowsThenSaves(ReferenceRuntime):
    """What the person has read is gone after a crash."""

    async def render(self, turn: Turn, end: LoopEnd) -> str:
        return end.text

    async def whole_turn(self, turn: Turn, text: str) -> str:
        shown = await super().whole_turn(turn, text)
        await self.save(turn)
        return shown


@wrong("saves-the-question-only", "Saves before the model answers", fails="turns.saved")
class _SavesTheQuestionOnly(ReferenceRuntime):
    """The last answer is always the one that a crash takes."""

    async def think(self, turn: Turn) -> LoopEnd:
        before = self.session.messages
        await self.save(turn)
        self.session.messages = before
        return await super().think(turn)

    async def render(self, turn: Turn, end: LoopEnd) -> str:
        self.session.messages = [*self.session.messages, *turn.messages]
        return end.text
