"""The fake host of a workflow: it evaluates expressions and calls handlers, in virtual time.

Only those two kinds of nodes are done here; a node for an agent, a tool or a program is done by
the runtime with what it has for that. It knows the script's nodes and no port.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Literal

from faultclock.fakes.port import Style, waiting
from faultclock.fakes.ports.uses import Used, UseRule, Uses, UsesState
from faultclock.model.scenario.workflow_script import (
    NodeRule,
    NodeScript,
    SandboxFault,
    WorkflowScript,
)
from faultclock.model.secrets import without_secrets
from faultclock.sim.kernel.kernel import Kernel
from faultclock.sim.kernel.promise import Promise

SandboxCause = Literal["syntax", "reference", "type", "memory", "stack", "result", "wall_clock"]


def made_nodes(nodes: Iterable[NodeScript]) -> tuple[NodeScript, ...]:
    """Return the nodes that the host does: expressions and handlers."""
    return tuple(node for node in nodes if node.do in ("expression", "handler"))


class FakeWorkflow:
    """The host's part of a workflow in one life of the subject.

    `evaluate` and `handle` are coroutine functions for an async subject and block the simulated
    thread of a blocking one. They raise what the script says when the node's time is over: what
    `sandbox_error` makes, or RuntimeError. A node whose task is cancelled stops.

    Args:
        style: of the subject.
        states: by node id, over all lives; they are changed in place.
        sandbox_error: makes the exception of the port from a cause and a message.
        life: 1-based.
        clean: takes out of what is raised what may stand in no trace.
    """

    evaluate: Callable[[str], Any]
    handle: Callable[[str], Any]

    def __init__(
        self,
        script: WorkflowScript,
        kernel: Kernel,
        style: Style,
        states: dict[str, UsesState],
        sandbox_error: Callable[[SandboxCause, str], Exception],
        life: int = 1,
        *,
        clean: Callable[[str], str] = without_secrets,
    ) -> None:
        self._nodes = {node.id: node for node in made_nodes(script.nodes)}
        self._uses = {
            node.id: Uses(
                _used(node), _rules(node, sandbox_error, clean), kernel, states[node.id], life
            )
            for node in self._nodes.values()
        }
        self.evaluate = waiting(style, partial(self._begin, "expression"))
        self.handle = waiting(style, partial(self._begin, "handler"))

    def seal(self) -> None:
        """Record every rule that was never met. Call it once, after the last life."""
        for uses in self._uses.values():
            uses.seal()

    def _begin(self, do: str, node_id: str) -> Promise:
        node = self._nodes.get(node_id)
        if node is None or node.do != do:
            raise LookupError(f"the workflow has no {do} {node_id!r}")
        value = copy.deepcopy(node.value)
        return self._uses[node.id].begin({"node": node.id}, value, also={"do": do})


def _used(node: NodeScript) -> Used:
    return Used(
        actor="workflow",
        of=f"node {node.id}",
        begins="node.called",
        takes_ns=node.takes,
        stops=True,
    )


def _rules(
    node: NodeScript,
    sandbox_error: Callable[[SandboxCause, str], Exception],
    clean: Callable[[str], str],
) -> Iterator[UseRule]:
    for rule in node.rules:
        fault = rule.then
        cause = fault.cause if isinstance(fault, SandboxFault) else None
        yield UseRule(
            rule=rule,
            fault_kind=fault.kind,
            make_error=partial(_error_of, rule, sandbox_error),
            error={"kind": fault.kind, "cause": cause, "message": clean(fault.message)},
        )


def _error_of(rule: NodeRule, sandbox_error: Callable[[SandboxCause, str], Exception]) -> Exception:
    fault = rule.then
    if isinstance(fault, SandboxFault):
        return sandbox_error(fault.cause, fault.message)
    return RuntimeError(fault.message)
