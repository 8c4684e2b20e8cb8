"""Miniatures of Relavium runtimes whose defects stood between two rules: once they were green."""

from __future__ import annotations

import asyncio
from abc import abstractmethod

from faultclock.subjects.agent_miniatures.relavium_table import relavium
from faultclock.subjects.ports import Node
from faultclock.subjects.reference_agents.core import FailedAttempt, Next, Pair, Turn
from faultclock.subjects.reference_agents.relavium import RelaviumAgent
from faultclock.subjects.reference_agents.relavium_errors import RunError
from faultclock.subjects.reference_agents.wire import AttemptFailed

__all__: list[str] = []


@relavium(
    "parks-for-a-moment",
    "Asks a provider that has limited it again after twenty seconds",
    fails="chain.parks",
    shown_by="parked-provider-is-skipped",
)
class _ParksForAMoment(RelaviumAgent):
    """It is limited anew, and each time for longer."""

    park_s = 20.0


@relavium(
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


@relavium(
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


@relavium(
    "logs-no-reason",
    "Logs an engine fault with a cause that says nothing",
    fails="ordering.internal-error-is-logged-whole",
    shown_by="handler-throws",
)
class _LogsNoReason(RelaviumAgent):
    """It was always there that the text of the exception was lost."""

    def log(self, error: RunError, *, final: bool = False) -> None:
        error.cause = {"type": "none"}
        super().log(error, final=final)


@relavium(
    "knows-no-server-error-in-a-200",
    "Takes an error object without a status for something unknown",
    fails="chain.advances",
    shown_by="overloaded-in-a-200",
)
class _KnowsNoServerErrorInA200(RelaviumAgent):
    """It reads the status, and the status is good."""

    def classify(self, failed: AttemptFailed) -> Pair | None:
        is_in_band = failed.seen.kind == "error_body"
        return ("llm", "unknown") if is_in_band else super().classify(failed)


@relavium(
    "has-a-cause-of-nothing",
    "Logs the failure of a provider with a cause that says nothing",
    fails="ordering.wrapped-error-keeps-its-cause",
    shown_by="chain-times-node",
)
class _HasACauseOfNothing(RelaviumAgent):
    """The field is there, so a search for it finds every run, and no reason."""

    def log(self, error: RunError, *, final: bool = False) -> None:
        error.cause = {"type": "none"}
        super().log(error, final=final)


class _Announces(RelaviumAgent):
    """Announces another wait than the one that follows."""

    @abstractmethod
    def announced_s(self, node: Node, attempt: int) -> float:
        """Return the wait that it tells, in seconds."""

    async def before_retry(self, node: Node, attempt: int, error: RunError) -> None:
        self.node_event(
            "node:retrying",
            node,
            attemptNumber=attempt,
            error=self.shown(error),
            delayMs=round(self.announced_s(node, attempt) * 1000),
        )
        await asyncio.sleep(self.node_wait_s(node, attempt))


@relavium(
    "announces-seconds",
    "Announces the wait before a retry in seconds, as milliseconds",
    fails="ordering.announced-at-once",
    shown_by="node-waits-grow",
)
class _AnnouncesSeconds(_Announces):
    def announced_s(self, node: Node, attempt: int) -> float:
        return self.node_wait_s(node, attempt) / 1000


@relavium(
    "announces-the-first-wait",
    "Announces the same wait before each retry, although they grow",
    fails="ordering.announced-in-a-second",
    shown_by="node-waits-grow",
)
class _AnnouncesTheFirstWait(_Announces):
    def announced_s(self, node: Node, attempt: int) -> float:
        return self.node_wait_s(node, 1)


@relavium(
    "announces-the-next-wait",
    "Announces the wait before the retry after the next",
    fails="ordering.announced-in-two-seconds",
    shown_by="sandbox-ran-out-of-time",
)
class _AnnouncesTheNextWait(_Announces):
    def announced_s(self, node: Node, attempt: int) -> float:
        return self.node_wait_s(node, attempt + 1)


@relavium(
    "announces-a-line",
    "Announces waits in a line, and doubles them",
    fails="ordering.announced-in-three-seconds",
    shown_by="node-waits-grow",
)
class _AnnouncesALine(_Announces):
    def announced_s(self, node: Node, attempt: int) -> float:
        rule = node.retry
        is_growing = rule is not None and rule.backoff == "exponential"
        return (
            self.node_wait_s(node, 1) * attempt if is_growing else self.node_wait_s(node, attempt)
        )


@relavium(
    "waits-in-a-line",
    "Adds a second to a wait that is to be doubled",
    fails="failures.wait",
    shown_by="node-waits-grow",
)
class _WaitsInALine(RelaviumAgent):
    """After two failures nobody sees the difference."""

    def node_wait_s(self, node: Node, attempt: int) -> float:
        rule = node.retry
        if rule is None or rule.backoff != "exponential":
            return super().node_wait_s(node, attempt)
        return rule.base_s * attempt


@relavium(
    "doubles-a-line",
    "Doubles a wait that is to grow in a line",
    fails="failures.wait",
    shown_by="node-waits-grow",
)
class _DoublesALine(RelaviumAgent):
    """The third wait is a second too long."""

    def node_wait_s(self, node: Node, attempt: int) -> float:
        rule = node.retry
        if rule is None or rule.backoff != "linear":
            return super().node_wait_s(node, attempt)
        return float(rule.base_s * 2 ** (attempt - 1))


@relavium(
    "leaves-the-lost-pending",
    "Skips none of the nodes that need the one that failed",
    fails="ordering.lost-nodes-are-skipped",
    shown_by="others-need-what-failed",
)
class _LeavesTheLostPending(RelaviumAgent):
    def node_failed(self, node: Node, error: RunError, nodes: tuple[Node, ...]) -> None:
        super().node_failed(node, error, ())


@relavium(
    "ends-with-its-chain",
    "Does a node again for its tools, and never for its providers",
    fails="ordering.node-retries-its-provider",
    shown_by="node-outlives-an-outage",
)
class _EndsWithItsChain(RelaviumAgent):
    def is_redone(self, node: Node, attempt: int, error: RunError) -> bool:
        is_providers = error.code in ("provider_rate_limit", "provider_unavailable")
        return not is_providers and super().is_redone(node, attempt, error)


@relavium(
    "never-looks-at-the-cap",
    "Loops for ever, whatever the cap of turns",
    fails="limits.ends",
    shown_by="turns-used-up",
)
class _NeverLooksAtTheCap(RelaviumAgent):
    """It is the world that ends it, and not the runtime."""

    def check_steps(self, turn: Turn) -> None:
        return


@relavium(
    "never-looks-at-the-cost",
    "Loops for ever, whatever it has cost",
    fails="limits.ends",
    shown_by="cost-used-up",
)
class _NeverLooksAtTheCost(RelaviumAgent):
    """The bill grows for as long as the world stands."""

    def check_spent(self, turn: Turn) -> None:
        return
