"""How a miniature of an AFK runtime is made: one step of the reference, or another decision."""

from __future__ import annotations

from abc import abstractmethod

from faultclock.subjects.agent_miniatures.table import wrong_in
from faultclock.subjects.reference_agents.afk import AfkAgent
from faultclock.subjects.reference_agents.core import FailedAttempt, Next, Turn

__all__ = ["Decides", "afk"]

afk = wrong_in("afk")


class Decides(AfkAgent):
    """A runtime that knows better what to do about some failed attempts."""

    def after_failure(self, turn: Turn, attempt: FailedAttempt) -> Next:
        """Do what `decide` says, else what is right."""
        return self.decide(attempt) or super().after_failure(turn, attempt)

    @abstractmethod
    def decide(self, attempt: FailedAttempt) -> Next | None:
        """Return what to do about an attempt; None: what is right."""
