"""Miniatures of Relavium runtimes whose defects stood between two rules: once they were green."""

from __future__ import annotations

from harness.subjects.agent_miniatures.table import wrong_in
from harness.subjects.reference_agents.core import FailedAttempt, Next, Pair, Turn
from harness.subjects.reference_agents.relavium import RelaviumAgent
from harness.subjects.reference_agents.wire import AttemptFailed

__all__: list[str] = []

_relavium = wrong_in("relavium")


@_relavium(
    "parks-for-a-moment",
    "Asks a provider that has limited it again after twenty seconds",
    fails="chain.parks",
    shown_by="parked-provider-is-skipped",
)
class _ParksForAMoment(RelaviumAgent):
    """It is limited anew, and each time for longer."""

    park_s = 20.0


@_relavium(
    "parks-whatever-fails",
    "Leaves a provider alone that was overloaded for once",
    fails="chain.advances",
    shown_by="overloaded-is-not-parked",
)
class _ParksWhateverFails(RelaviumAgent):
    """Half a minute on the dearer model, for each hiccup of the other."""

    def after_failure(self, turn: Turn, attempt: FailedAttempt) -> Next:
        step = super().after_failure(turn, attempt)
        if step.act == "advance":
            self.park(attempt.target)
        return step


@_relavium(
    "knows-no-529",
    "Takes an overloaded provider for something unknown",
    fails="chain.advances",
    shown_by="overloaded-by-its-own-status",
)
class _KnowsNo529(RelaviumAgent):
    """A table of statuses that ends at 504."""

    def classify(self, failed: AttemptFailed) -> Pair | None:
        is_unknown = failed.seen.status == 529
        return ("llm", "unknown") if is_unknown else super().classify(failed)
