"""Miniatures of Relavium runtimes whose defects stood between two rules: once they were green."""

from __future__ import annotations

import asyncio
from abc import abstractmethod

from faultclock.subjects.agent_miniatures.relavium_table import relavium
from faultclock.subjects.ports import Node
from faultclock.subjects.reference_agents.relavium import RelaviumAgent
from faultclock.subjects.reference_agents.relavium_errors import RunError

__all__: list[str] = []


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
    "announces-the-first-wait",
    "Announces the same wait before each retry, although they grow",
    fails="ordering.announced-in-a-second",
    shown_by="node-waits-grow",
)
class _AnnouncesTheFirstWait(_Announces):
    def announced_s(self, node: Node, attempt: int) -> float:
        return self.node_wait_s(node, 1)


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
