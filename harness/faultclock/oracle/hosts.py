"""Where an attempt went and what it was for: the provider by its host, the node by its prompt.

A node's prompt is a message of its own in each request that is made for the node, so the trace
shows whose request it is, without a word of the subject. Two nodes with one prompt are one unit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from faultclock.model.scenario import Scenario
from faultclock.model.trace import TraceEvent
from faultclock.oracle.requests import Attempt

__all__ = ["Places", "places_of", "with_nodes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """What a scenario says of providers and nodes.

    Attributes:
        providers: host to the id of a fallback; any other host is the first provider's.
        nodes: digest of a prompt to the node that has it.
    """

    providers: Mapping[str, str]
    nodes: Mapping[str, str]

    def provider(self, host: str, request: TraceEvent | None) -> str:
        """Return who answers at `host`: empty for the first provider.

        A log that was kept elsewhere may have no hosts, and say in the request who was asked.
        """
        if not host and request is not None:
            named = str(request.provider or "")
            return named if named in self.providers.values() else ""
        return self.providers.get(host, "")

    def node(self, request: TraceEvent | None) -> str:
        """Return the node that `request` is for; empty where it is unknown."""
        if request is None or not self.nodes:
            return ""
        messages = request.messages or ()
        digests = (item.get("content_sha256") for item in reversed(messages) if item)
        return next((self.nodes[digest] for digest in digests if digest in self.nodes), "")


def places_of(scenario: Scenario) -> Places:
    """Return the providers and the nodes of `scenario`."""
    nodes: dict[str, str] = {}
    for node in () if scenario.workflow is None else scenario.workflow.nodes:
        if node.do == "agent":
            nodes.setdefault(hashlib.sha256(node.prompt.encode()).hexdigest(), node.id)
    return Places(
        providers={provider.host_name: provider.id for provider in scenario.fallbacks},
        nodes=nodes,
    )


def with_nodes(attempts: Sequence[Attempt]) -> tuple[Attempt, ...]:
    """Return the attempts, each with a node where its neighbours tell.

    What never reached a provider says nothing itself: after a failure it is for the same node as
    that, and otherwise for the node of the attempt after it.
    """
    found: list[Attempt] = []
    for index, attempt in enumerate(attempts):
        node = attempt.node
        if not node and attempt.asked is None:
            before = found[-1] if found and found[-1].failed else None
            later = (item.node for item in attempts[index + 1 :] if item.node)
            node = before.node if before is not None else next(later, "")
        found.append(attempt if node == attempt.node else replace(attempt, node=node))
    return tuple(found)
