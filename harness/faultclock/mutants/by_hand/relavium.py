"""Wrong Relavium runtimes that are code."""

from __future__ import annotations

import asyncio
from typing import Any

from faultclock.agents.relavium import RelaviumAgent
from faultclock.agents.relavium_run import Run
from faultclock.mutants.by_hand.table import ByHand
from faultclock.subjects.ports import RunResult

wrong = ByHand("relavium")


@wrong(
    "forgets-the-time",
    "Emits events without a timestamp",
    fails="ordering.envelope-is-whole",
    shown_by="healthy-run",
)
class _ForgetsTheTime(RelaviumAgent):
    class run_type(Run):  # noqa: N801 - it takes the place of an attribute
        def emit(self, name: str, **fields: Any) -> None:
            number, self.seq = self.seq, self.seq + 1
            self.host.event(name, runId=self.id, sequenceNumber=number, **fields)


@wrong(
    "correlates-by-the-key",
    "Makes the correlation id of the API key",
    fails="ordering.correlation-holds-no-secret",
    shown_by="handler-throws",
)
class _CorrelatesByTheKey(RelaviumAgent):
    def new_run(self, number: int) -> Run:
        key = self.world.api_key

        class Keyed(Run):
            @property
            def correlation_id(self) -> str:
                return f"corr-{key}"

        return Keyed(self.host, f"run-{number}", 0)


@wrong(
    "never-comes-back",
    "Waits for ever after an engine fault",
    fails="ordering.call-ends-once",
    shown_by="handler-throws",
)
class _NeverComesBack(RelaviumAgent):
    async def run_turn(self, text: str) -> RunResult:
        result = await super().run_turn(text)
        if result.code == "internal":
            await asyncio.Event().wait()
        return result
