"""WorkflowScript: the nodes (or stages) of a workflow that a runtime has to carry out.

A node says what has to be done, and what its author declared about doing it again; how a node
that fails is treated is the runtime's affair, and what it should be is the error model's.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from faultclock.model._base import Value
from faultclock.model.duration import MILLISECOND_NS, SECOND_NS, DurationNs
from faultclock.model.retry_policy import Backoff
from faultclock.model.scenario.rule import EVERY, CountedRule, RangeField


class SandboxFault(Value):
    """The evaluation of an expression fails."""

    kind: Literal["sandbox"]
    cause: Literal["syntax", "reference", "type", "memory", "stack", "result", "wall_clock"]
    message: str = "ReferenceError: secret_rate is not defined at expression:1:4"
    """What the sandbox says, with an internal that must not get out."""


class HandlerFault(Value):
    """The handler of a node throws something unexpected."""

    kind: Literal["exception"]
    message: str = "boom in /srv/agent/nodes/run.py with sk-simulated-0123456789abcdef0123"


class NodeRule(CountedRule):
    """What becomes of some executions of an expression or a handler; the first match decides."""

    executions: RangeField = EVERY
    """1-based, over all executions of this node in the run: `2`, `1-3`, `3+` or `every`."""
    then: Annotated[SandboxFault | HandlerFault, Field(discriminator="kind")]


class NodeRetry(Value):
    """How often the author of the workflow lets a node be done again."""

    attempts_max: int = Field(ge=1)
    """Attempts in all, the first included."""
    backoff: Backoff | None = None
    """None: at once."""
    retry_on: tuple[str, ...] = ()
    """Run error codes that are worth another attempt; empty: each one that may be retried."""


class NodeScript(Value):
    """One node."""

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    do: Literal["agent", "tool", "expression", "handler", "program", "command"]
    """`agent`: ask the model (its tools may be called). `tool`: execute a tool. `expression`:
    evaluate in the sandbox. `handler`: call code of the host. `program`: let an agent on the
    command line work. `command`: run a command such as the tests."""
    role: Literal["", "coder", "reviewer", "tester", "discussion"] = ""
    """What the node is for, where the workflow has such roles."""
    prompt: str = "Do your part."
    tool: str | None = None
    arguments: dict[str, Any] = {}
    """With `tool`."""
    argv: tuple[str, ...] = ()
    """With `program` and `command`: the program's name, then its arguments."""
    output_schema: dict[str, Any] | None = None
    """JSON Schema of what an agent or a program answers; None: plain text."""
    strict: bool = True
    """Whether an answer that does not fit is a failure."""
    idempotent: bool = True
    """Whether it may be done twice without harm."""
    retry: NodeRetry | None = None
    timeout: DurationNs = 60 * SECOND_NS
    """Of one attempt."""
    takes: DurationNs = 50 * MILLISECOND_NS
    """How long an expression or a handler takes."""
    value: Any = {"done": True}
    """What a good expression or handler returns."""
    needs: tuple[str, ...] = ()
    """Nodes that must have succeeded before it."""
    rules: tuple[NodeRule, ...] = ()
    """For an expression or a handler."""

    @model_validator(mode="after")
    def _consistent(self) -> NodeScript:
        if (self.tool is not None) != (self.do == "tool"):
            raise ValueError(f"{self.id}: `tool` goes with do: tool")
        if bool(self.argv) != (self.do in ("program", "command")):
            raise ValueError(f"{self.id}: `argv` goes with do: program and do: command")
        if self.rules and self.do not in ("expression", "handler"):
            raise ValueError(f"{self.id}: `rules` go with do: expression and do: handler")
        if self.do != "expression" and any(rule.then.kind == "sandbox" for rule in self.rules):
            raise ValueError(f"{self.id}: only an expression is evaluated in the sandbox")
        return self


class WorkflowScript(Value):
    """The nodes, in the order in which they are to be done."""

    nodes: tuple[NodeScript, ...] = Field(min_length=1)
    iterations_max: int = Field(default=3, ge=1)
    """How often the work may go back to the coder, the first round included."""

    @model_validator(mode="after")
    def _consistent(self) -> WorkflowScript:
        known: set[str] = set()
        for node in self.nodes:
            if node.id in known:
                raise ValueError(f"two nodes have the id {node.id!r}")
            if missing := [name for name in node.needs if name not in known]:
                raise ValueError(f"{node.id}: there is no node {missing[0]!r} before it")
            known.add(node.id)
        return self
