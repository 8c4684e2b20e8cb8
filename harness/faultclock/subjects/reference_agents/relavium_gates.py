"""Human gates of the Relavium model: a run waits for a person, who says yes, no, or nothing."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Literal

from faultclock.subjects.ports import (
    InteractionAnswer,
    InteractionKind,
    InteractionRequest,
    Node,
    Surroundings,
)
from faultclock.subjects.reference_agents.person import first_answer
from faultclock.subjects.reference_agents.relavium_errors import RunError
from faultclock.subjects.reference_agents.relavium_telling import RelaviumTelling


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """A point at which a run waits for a person."""

    id: str
    kind: InteractionKind
    prompt: str
    options: tuple[str, ...] = ()


async def ask_person(
    surroundings: Surroundings, gate: Gate, *, deadline_s: float
) -> InteractionAnswer:
    """Return the first answer to a gate, or `timeout`; where nobody sees it, the gate waits too."""
    request = InteractionRequest(
        id=gate.id,
        kind=gate.kind,
        prompt=gate.prompt,
        deadline_s=deadline_s,
        options=gate.options,
    )
    given = await first_answer(surroundings, request)
    if given is None:
        await asyncio.sleep(deadline_s)
        return InteractionAnswer(status="timeout")
    return given


class RelaviumGates(RelaviumTelling):
    """Runs that are one gate.

    Attributes:
        gate_s: how long a gate stays open where nothing else is said, in seconds.
    """

    gate_s = 120.0

    async def ask(
        self,
        kind: InteractionKind,
        prompt: str,
        options: tuple[str, ...],
        deadline_s: float | None,
    ) -> InteractionAnswer:
        """Carry out a run that is one human gate, and return what was decided."""
        self.turns += 1
        self.run = self.new_run(self.turns)
        limit_s = (
            self.world.deadlines_s.get(kind, self.gate_s) if deadline_s is None else deadline_s
        )
        gate = Gate(id=f"gate-{self.turns}", kind=kind, prompt=prompt, options=options)
        node = Node(id=gate.id, do="handler")
        self.run.node = node
        self.run.emit("run:started")
        await self.kept("started")
        self.node_event("node:started", node)
        self.gate_paused(gate, limit_s)
        answer = await ask_person(self.world, gate, deadline_s=limit_s)
        if answer.status == "timeout":
            self.gate_timed_out(node)
            await self.kept("ended")
            return answer
        self.gate_resumed(gate, answer)
        await self.kept("node", nodeId=node.id)
        self.node_event("node:completed", node, output=answer.status)
        self.run.emit("run:completed", outputs={node.id: answer.status})
        await self.kept("ended")
        return answer

    def gate_paused(self, gate: Gate, limit_s: float) -> None:
        """Emit that the run waits for a person, and until when."""
        self.run.emit(
            "human_gate:paused",
            gateId=gate.id,
            timeoutMs=round(limit_s * 1000),
            timeoutAction="reject",
            expiresAt=round((time.monotonic() + limit_s) * 1000),
        )
        self.run.emit("run:paused", gateIds=[gate.id])

    def gate_resumed(self, gate: Gate, answer: InteractionAnswer) -> None:
        """Emit what the person decided; a no is a decision and no failure."""
        decision: Literal["approved", "rejected"] = (
            "approved" if answer.status == "accepted" else "rejected"
        )
        self.run.emit("human_gate:resumed", gateId=gate.id, decision=decision, decidedBy="user")

    def gate_timed_out(self, node: Node) -> None:
        """Fail the run of a gate that nobody answered."""
        error = RunError("run_timeout", "nobody answered", target=node.id, cause={"gate": node.id})
        self.log(error)
        self.node_failed(node, error, (node,))
        self.fail_run(error)
