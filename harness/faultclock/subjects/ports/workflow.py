"""The port to a workflow: what the nodes of a turn are, and how the host does its part of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

NodeKind = Literal["agent", "tool", "expression", "handler", "program", "command"]
Cause = Literal["syntax", "reference", "type", "memory", "stack", "result", "wall_clock"]


class SandboxError(Exception):
    """The sandbox could not evaluate an expression.

    Attributes:
        cause: `wall_clock` is the only one that may pass on another try.
    """

    def __init__(self, cause: Cause, message: str) -> None:
        super().__init__(message)
        self.cause = cause


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRetryRule:
    """How often a node may be done again; waits are in seconds.

    Attributes:
        attempts_max: attempts in all, the first included.
        backoff: `fixed`, `linear` or `exponential`; None: at once.
        retry_on: run error codes that are worth another attempt; empty: each that may be retried.
    """

    attempts_max: int
    backoff: str | None = None
    base_s: float = 0.0
    factor: int = 2
    cap_s: float | None = None
    retry_on: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One node of a workflow; see `NodeScript` for what its kinds and roles mean.

    Attributes:
        needs: nodes that must have succeeded before it.
        timeout_s: of one attempt.
    """

    id: str
    do: NodeKind
    role: Literal["", "coder", "reviewer", "tester", "discussion"] = ""
    prompt: str = ""
    tool: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    argv: tuple[str, ...] = ()
    output_schema: Mapping[str, Any] | None = None
    strict: bool = True
    idempotent: bool = True
    retry: NodeRetryRule | None = None
    timeout_s: float = 60.0
    needs: tuple[str, ...] = ()


class Workflow(Protocol):
    """What a turn consists of."""

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All nodes, in the order in which they are to be done."""
        ...

    @property
    def iterations_max(self) -> int:
        """How often the work may go back to the coder, the first round included."""
        ...

    def evaluate(self, node_id: str) -> Any:
        """Evaluate an `expression` node in the sandbox; return (or await) its value.

        Raises:
            SandboxError: it could not be evaluated.
        """
        ...

    def handle(self, node_id: str) -> Any:
        """Call the host's code of a `handler` node; return (or await) its value.

        Raises:
            Exception: anything that such code may throw.
        """
        ...
