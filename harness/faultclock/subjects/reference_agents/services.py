"""What surrounds an agent beside its provider and its tools: hooks, telemetry, the record.

None of them may be felt: what fails in a hook or in the telemetry sink is a moment of the model's
(`hook_failed`, `telemetry_failed`), and nothing leaves here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from faultclock.subjects.ports import HookSlot, Surroundings
from faultclock.subjects.reference_agents.moments import Moments
from faultclock.subjects.reference_agents.turn import Pair


class Services(Moments):
    """The services of an agent, each with its own way to fail.

    Attributes:
        hook_s: how long a hook, the telemetry sink and the queue are waited for, in seconds.
    """

    hook_s = 5.0

    def __init__(self, surroundings: Surroundings) -> None:
        self.world = surroundings
        self.host = surroundings.host

    async def run_hooks(self, slot: HookSlot, payload: Mapping[str, Any]) -> None:
        """Call the hooks of a slot; what they do wrong is `hook_failed`'s affair."""
        for hook in self.world.hooks:
            if hook.slot != slot:
                continue
            try:
                async with asyncio.timeout(self.hook_s):
                    await hook.run(payload)
            except Exception as error:  # noqa: BLE001 - it is somebody else's code
                self.hook_failed(hook, error)

    async def export(self, name: str, **fields: Any) -> None:
        """Hand something to the telemetry sink; whether that works makes no difference."""
        if self.world.telemetry is None:
            return
        try:
            async with asyncio.timeout(self.hook_s):
                await self.world.telemetry.export(name, fields)
        except Exception as error:  # noqa: BLE001 - telemetry must not be felt
            self.telemetry_failed(name, error)

    def put_on_record(
        self, pair: Pair | None, context: Mapping[str, Any], attempt: int | None = None
    ) -> None:
        """Put a failure on record; one that the model has no name for has neither class nor code.

        Args:
            attempt: 1-based, where it is one of several.
        """
        error_class, code = pair or (None, None)
        self.host.audit(error_class=error_class, code=code, context=context, attempt=attempt)
