"""The Error Handling Matrix in a plain conversation over HTTP, and what every task has in common.

Events, the operator's notices, cancels and the schedule of retries are here; what stages and their
programs need beside them is in `matrix`.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

from faultclock.subjects.ports import (
    CancelScope,
    Node,
    ProviderTarget,
    RunResult,
    Surroundings,
    TypedError,
)
from faultclock.subjects.reference_agents.calls import Call, Outcome
from faultclock.subjects.reference_agents.core import Agent
from faultclock.subjects.reference_agents.matrix_words import (
    CANCELED,
    DENIED,
    NETWORK,
    Failure,
    Notice,
    notice_of,
    wire_pair,
)
from faultclock.subjects.reference_agents.turn import Ended, FailedAttempt, Next, Pair, Turn
from faultclock.subjects.reference_agents.waits import wait_s
from faultclock.subjects.stud import AttemptError


class MatrixConversation(Agent):
    """A conversation by the matrix, for one life of the process.

    Attributes:
        attempts_max: code to attempts in all; what is not there is not done again.
        first_wait_s, longest_wait_s: of a doubling schedule.
        jitter: half width around a wait, as a fraction of it.
        denials_max: denials of permission in a row after which to stop, if nothing else is said.
    """

    attempts_max: Mapping[str, int] = {"provider_network_error": 3, "provider_timeout": 3}
    first_wait_s = 1.0
    longest_wait_s = 4.0
    jitter = 0.2
    denials_max = 3

    def __init__(self, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self.log: list[dict[str, Any]] = []
        self.state = "intake"
        self.round = 1
        self.node: Node | None = None
        self.failures: Counter[str] = Counter()
        self.is_canceled = False
        self.is_over = False

    # ------------------------------------------------------------------ turns and their ends

    async def run_turn(self, text: str) -> RunResult:
        """Carry out one task.

        Raises:
            TypedError: run/canceled: the operator has cancelled it.
        """
        if self.is_over:
            raise TypedError(*CANCELED, "the session was canceled")
        self.is_canceled = False
        try:
            result = await super().run_turn(text)
        except asyncio.CancelledError:
            if not self.is_canceled:
                raise
            raise TypedError(*CANCELED, "the operator has canceled the task") from None
        if result.state == "cancelled":
            raise TypedError(*CANCELED, "the operator has canceled the task")
        return result

    def cancel(self, scope: CancelScope, target: str | None) -> None:
        self.is_over = self.is_over or scope == "session"
        if not self.is_canceled:
            self.is_canceled = True
            super().cancel(scope, target)

    def turn_started(self, turn: Turn) -> None:
        self.log = []
        self.state, self.round, self.node = "intake", 1, None

    def cancelled(self, turn: Turn) -> Ended:
        self.host.audit_event("Cancellation", scope="run", code=CANCELED[1], turn=turn.number)
        return Ended("cancelled", CANCELED, "canceled")

    def unexpected(self, turn: Turn, error: Exception) -> Ended:
        context = {"target": "run", "message": type(error).__name__, "turn": turn.number}
        self.put_on_record(None, context)
        return Ended("failed", None, "internal error")

    def at_limit(self, turn: Turn, limit: str) -> Ended:
        """Return the end of a task at a limit, of which the document says nothing."""
        self.put_on_record(None, {"target": "run", "limit": limit})
        return Ended("failed", None, f"the limit {limit} is used up")

    def nobody_left(self, turn: Turn) -> Ended:
        return Ended("failed", NETWORK, "no provider is left")

    async def turn_over(self, turn: Turn, end: Ended) -> None:
        if end.state == "cancelled":
            self.show(notice_of(Failure(pair=CANCELED, stage="run")))
        elif end.state == "failed":
            if self.world.workflow is None:
                said = "" if end.pair else str(end)
                self.show(notice_of(Failure(pair=end.pair, stage="turn", said=said)))
            self.host.show_user("The task could not be finished. The operator has been told why.")
        if self.world.workflow is not None:
            self.transition("finalize", end.pair[1] if end.pair else end.state)

    # ------------------------------------------------------------------ events

    def emit(self, name: str, **fields: Any) -> None:
        """Emit an event, and keep it for the stage's own log."""
        fields["ts"] = _now()
        self.log.append({"event": name, **fields})
        self.host.event(name, **fields)

    def transition(self, to: str, reason: str) -> None:
        """Go to another state of the task."""
        if self.state == to:
            return
        fields = {"from": self.state, "to": to, "reason": reason, "round": self.round}
        self.emit("fsm.transition", **fields)
        self.state = to

    def show(self, notice: Notice) -> None:
        """Show the operator a notice."""
        self.host.show_operator(notice.message, actions=notice.actions, pill=notice.pill)

    # ------------------------------------------------------------------ retries

    def scheduled_s(self, code: str) -> float | None:
        """Return the wait after the latest failure with `code`, None if it was the last one."""
        count = self.failures[code]
        if count >= self.attempts_max.get(code, 1):
            return None
        nominal_s = wait_s("exponential", self.first_wait_s, count, cap_s=self.longest_wait_s)
        return nominal_s * random.uniform(1 - self.jitter, 1 + self.jitter)

    # ------------------------------------------------------------------ requests to a provider

    def asking(self, turn: Turn, target: ProviderTarget, attempt: int) -> None:
        """Begin to count anew with each request."""
        if attempt == 1:
            self.failures.clear()

    def available(self, turn: Turn) -> tuple[ProviderTarget, ...]:
        """Return the first provider: another one is the operator's choice."""
        return self.targets[:1]

    def classify(self, failed: AttemptError) -> Pair | None:
        return wire_pair(failed)

    def after_failure(self, turn: Turn, attempt: FailedAttempt) -> Next:
        """Ask again where the failure passes by itself."""
        code = "" if attempt.pair is None else attempt.pair[1]
        self.failures[code] += 1
        delay_s = self.scheduled_s(code)
        return Next(act="end") if delay_s is None else Next(act="again", wait_s=delay_s)

    def attempt_failed(self, turn: Turn, attempt: FailedAttempt, step: Next) -> None:
        """Put the failure on record, and note the retry that follows it."""
        stage = "turn" if self.node is None else self.node.id
        context = {"target": stage, "signal": attempt.error.kind}
        self.put_on_record(attempt.pair, context, attempt.number)
        if step.act == "again":
            code = None if attempt.pair is None else attempt.pair[1]
            fields = {"code": code, "attempt": attempt.number, "wait_s": step.wait_s}
            self.emit("task.retry", stage=stage, **fields)

    # ------------------------------------------------------------------ tools of a conversation

    def classify_tool(self, call: Call, outcome: Outcome) -> Pair | None:
        """Return class and code of a refused call: only a loop of denials has a row."""
        return DENIED if outcome.kind.startswith(("denied", "approval")) else None

    def after_tool(self, turn: Turn, call: Call, attempt: int, outcome: Outcome) -> Next:
        """Tell the model, unless it is denied again and again."""
        limit = self.world.denials_max or self.denials_max
        return Next(act="end" if turn.denials >= limit else "tell")

    def call_refused(self, turn: Turn, call: Call, outcome: Outcome, step: Next) -> None:
        pair = DENIED if step.act == "end" else None
        self.put_on_record(
            pair, {"target": call.id, "tool": call.name, "message": outcome.message}, 1
        )

    def call_ended(
        self, turn: Turn, call: Call, attempt: int, outcome: Outcome, step: Next | None
    ) -> None:
        if step is not None:
            self.put_on_record(
                None, {"target": call.id, "tool": call.name, "kind": outcome.kind}, 1
            )

    def content(self, call: Call, outcome: Outcome) -> Mapping[str, Any]:
        if outcome.ok:
            return {"value": outcome.value}
        if outcome.kind == "partial":
            items = [{"item": item.item, "code": item.code} for item in outcome.errors]
            return {"value": outcome.value, "errors": items}
        return {"error": outcome.kind, "message": f"{call.name} did not succeed."}


def _now() -> float:
    return round(time.monotonic(), 6)
