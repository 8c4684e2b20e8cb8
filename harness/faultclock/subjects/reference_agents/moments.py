"""The moments of a turn: where a model says what happens, in its own events, records and messages.

Every moment is silent unless a model has something to say.
"""

from __future__ import annotations

from typing import Literal

from faultclock.subjects.ports import Hook, ProviderTarget, Reply
from faultclock.subjects.reference_agents.calls import Call, Outcome
from faultclock.subjects.reference_agents.person import Decision
from faultclock.subjects.reference_agents.turn import FailedAttempt, Next, Turn


class Moments:
    """What an agent may say on its way."""

    def turn_started(self, turn: Turn) -> None:
        """A turn begins."""

    def asking(self, turn: Turn, target: ProviderTarget, attempt: int) -> None:
        """A provider is about to be asked (`attempt` is 1-based)."""

    def attempt_failed(self, turn: Turn, attempt: FailedAttempt, step: Next) -> None:
        """An attempt has failed, and `step` is what comes next."""

    def answered(self, turn: Turn, reply: Reply) -> None:
        """The model's answer is whole."""

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

    def hook_failed(self, hook: Hook, error: Exception) -> None:
        """A hook has raised, or has not come back in time."""

    def telemetry_failed(self, name: str, error: Exception) -> None:
        """The telemetry sink has raised, or has not come back in time."""
