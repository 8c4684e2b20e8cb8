"""What an agent says on its way, and what surrounds it beside its provider and its tools.

Every moment is silent unless a model has something to say. Hooks and telemetry may not be felt:
what fails in one of them is a moment too (`hook_failed`, `telemetry_failed`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Literal

from faultclock.subjects.ports import Hook, HookSlot, ProviderTarget, Surroundings
from faultclock.subjects.reference_agents.calls import Call, Decision, Outcome
from faultclock.subjects.reference_agents.turn import FailedAttempt, Next, Pair, Turn


class Services:
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

    def hook_failed(self, hook: Hook, error: Exception) -> None:
        """A hook has raised, or has not come back in time."""

    def telemetry_failed(self, name: str, error: Exception) -> None:
        """The telemetry sink has raised, or has not come back in time."""


class Moments:
    """What an agent may say on its way."""

    def asking(self, turn: Turn, target: ProviderTarget, attempt: int) -> None:
        """A provider is about to be asked (`attempt` is 1-based)."""

    def attempt_failed(self, turn: Turn, attempt: FailedAttempt, step: Next) -> None:
        """An attempt has failed, and `step` is what comes next."""

    def call_proposed(self, turn: Turn, call: Call) -> None:
        """The model has asked for a tool."""

    def policy_decided(self, call: Call, decision: Literal["allow", "deny"]) -> None:
        """The policy engine has said what it thinks of a call."""

    def approval_asked(self, call: Call) -> None:
        """The person is about to be asked."""

    def approval_decided(self, call: Call, decision: Decision) -> None:
        """The person has answered, or not in time."""

    def call_refused(self, turn: Turn, call: Call, outcome: Outcome, step: Next) -> None:
        """A call is not executed."""

    def call_started(self, turn: Turn, call: Call, attempt: int) -> None:
        """A tool is about to be executed."""

    def call_ended(
        self, turn: Turn, call: Call, attempt: int, outcome: Outcome, step: Next | None
    ) -> None:
        """A tool was executed; `step` is what comes next where that was not good."""
