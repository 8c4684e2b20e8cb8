"""Miniatures of Relavium runtimes that tell the log or the person something wrong, or too much."""

from __future__ import annotations

from faultclock.subjects.agent_miniatures.relavium_table import relavium
from faultclock.subjects.reference_agents.core import FailedAttempt, Next, Turn
from faultclock.subjects.reference_agents.relavium import RelaviumAgent
from faultclock.subjects.reference_agents.relavium_errors import RunError

__all__: list[str] = []


# The log.


# The person.


@relavium(
    "shows-the-payload",
    "Shows the person the provider's own words",
    fails="ordering.user-sees-no-payload",
    shown_by="wrong-key",
)
class _ShowsThePayload(RelaviumAgent):
    payload = ""

    def attempt_failed(self, turn: Turn, attempt: FailedAttempt, step: Next) -> None:
        super().attempt_failed(turn, attempt, step)
        self.payload = f'{{"error": {{"type": "{attempt.error.seen.provider_type}"}}}}'

    def tell_user(self, error: RunError) -> None:
        self.host.show_user(f"Check the key in Settings: {self.payload}")
