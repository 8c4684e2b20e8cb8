"""The reference runtime of the AFK model: its failure matrix, and its circuit breaker.

Every decision is a step of its own. What a run says of itself is in `afk_telling`.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any

from faultclock.agents.afk_telling import (
    AUTH,
    CIRCUIT_OPEN,
    INVALID_REQUEST,
    JOIN_VIOLATION,
    LIMITS,
    QUEUE_PUSH,
    AfkTelling,
    Batch,
    of_attempt,
    of_call,
    words_for,
)
from faultclock.agents.calls import Call, Outcome
from faultclock.agents.core import reference
from faultclock.agents.turn import (
    Ended,
    FailedAttempt,
    Message,
    Next,
    Pair,
    RunState,
    Turn,
)
from faultclock.agents.waits import wait_s
from faultclock.subjects.ports import ProviderTarget, Reply, Surroundings
from faultclock.subjects.stud import AttemptError


class Breaker:
    """The circuit breaker of one provider, for one life of the process.

        closed -> open        five counted failures in a row
        open -> half-open     after thirty seconds; one probe is let through
        half-open -> closed   the probe was good
        half-open -> open     the probe failed with what counts

    What does not count, and a cancel, leaves it as it was: a probe that ends so makes room for
    the next one. Times are in seconds of any clock that only goes forward.

    Attributes:
        threshold: failures in a row that open it.
        cooldown_s: how long it refuses everything.
        probes_max: requests at a time that a half-open one lets through.
    """

    threshold = 5
    cooldown_s = 30.0
    probes_max = 1

    def __init__(self) -> None:
        self.failures = 0
        self.opened_s: float | None = None
        self.probes = 0

    @property
    def is_closed(self) -> bool:
        """Whether everything is let through."""
        return self.opened_s is None

    def admits(self, now_s: float) -> bool:
        """Return whether a request may be sent; if so, it has to be told how that ended."""
        if self.opened_s is None:
            return True
        if now_s - self.opened_s < self.cooldown_s or self.probes >= self.probes_max:
            return False
        self.probes += 1
        return True

    def good(self) -> None:
        """A request that was let through was answered."""
        self.failures = 0
        self.opened_s = None
        self.probes = 0

    def failed(self, now_s: float, *, counts: bool) -> None:
        """A request that was let through failed."""
        if self.opened_s is not None:
            # Of the probe, or of one that was on its way when it opened.
            if self.probes == 0:
                return
            self.probes -= 1
            if counts:
                self.opened_s = now_s
            return
        if counts:
            self.failures += 1
            if self.failures >= self.threshold:
                self.opened_s = now_s

    def let_go(self) -> None:
        """A request that was let through was cancelled."""
        self.probes = max(0, self.probes - 1)


class AfkAgent(AfkTelling):
    """AFK as its page has it."""

    approval_s = 300.0
    attempts_max = 3
    base_s = 0.5
    jitter_s = 0.15
    queue_attempts_max = 3
    queue_base_s = 0.5
    queue_cap_s = 30.0
    queue_jitter_s = 0.2
    breaker_type: type[Breaker] = Breaker

    def __init__(self, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self.breakers: dict[str, Breaker] = {}

    # ------------------------------------------------------------------ the LLM

    async def answer(self, turn: Turn, messages: Sequence[Message]) -> Reply:
        """Return the LLM's answer; each is a step of the run."""
        self.step_started(turn)
        self.llm_called(self.targets[0])
        reply = await super().answer(turn, messages)
        self.llm_completed(reply)
        await self.export("llm", step=turn.steps + 1)
        return reply

    async def ask_target(self, target: ProviderTarget, messages: Sequence[Message]) -> Reply:
        """Ask one model once, and tell its breaker how that went."""
        breaker = self.breaker(target)
        try:
            reply = await super().ask_target(target, messages)
        except AttemptError as failed:
            breaker.failed(self.now_s(), counts=self.counts(self.classify(failed)))
            raise
        except asyncio.CancelledError:
            breaker.let_go()
            raise
        breaker.good()
        return reply

    def breaker(self, target: ProviderTarget) -> Breaker:
        """Return the breaker of a provider."""
        return self.breakers.setdefault(target.id, self.breaker_type())

    def counts(self, pair: Pair | None) -> bool:
        """Return whether a failure says that the provider is down."""
        return pair is not None and pair[0] == "Retryable"

    def admitted(self, turn: Turn, target: ProviderTarget, *, is_last: bool) -> bool:
        if self.breaker(target).admits(self.now_s()):
            return True
        self.audit(CIRCUIT_OPEN, target.id or "provider")
        if is_last:
            raise self.llm_gone(turn, self.llm_state(), CIRCUIT_OPEN)
        return False

    def classify(self, failed: AttemptError) -> Pair | None:
        return of_attempt(failed)

    def after_failure(self, turn: Turn, attempt: FailedAttempt) -> Next:
        """Retry what is transient, then fall back; stop at everything else."""
        retryable = attempt.pair is not None and attempt.pair[0] == "Retryable"
        if retryable and attempt.number < self.attempts_max:
            delay_s = self.wait_s(attempt.number)
            # Who is refused next has nothing to wait for.
            return Next(
                act="again", wait_s=delay_s if self.breaker(attempt.target).is_closed else 0
            )
        if self.falls_back(attempt.pair, attempt.error) and not attempt.is_last:
            return Next(act="advance")
        return Next(act="end", state=self.llm_state())

    def unanswered(self, turn: Turn, attempt: FailedAttempt, step: Next) -> Ended:
        return self.llm_gone(turn, step.state, attempt.pair)

    def wait_s(self, attempt: int) -> float:
        """Return the wait after an attempt that failed, in seconds."""
        nominal_s = wait_s("exponential", self.base_s, attempt)
        return nominal_s + random.uniform(0, self.jitter_s)

    def falls_back(self, pair: Pair | None, failed: AttemptError) -> bool:
        """Return whether another model may be asked after this failure."""
        if failed.after_content or pair in (AUTH, INVALID_REQUEST):
            return False
        return pair is not None

    def llm_state(self) -> RunState:
        """Return how a run ends that has no answer of any model."""
        return "failed" if self.world.policies.get("llm", "fail") == "fail" else "degraded"

    def llm_gone(self, turn: Turn, state: RunState, pair: Pair | None) -> Ended:
        """Return the end of a run without an answer; a degraded one has the error as its text."""
        words = words_for(pair)
        if state == "degraded":
            self.tolerated(turn, pair)
        return Ended(state, pair, words, text=words if state == "degraded" else "")

    def no_provider_left(self, turn: Turn) -> Ended:
        return self.llm_gone(turn, self.llm_state(), CIRCUIT_OPEN)

    # ------------------------------------------------------------------ tools and subagents

    async def use_tools(self, turn: Turn, reply: Reply) -> None:
        """Carry out the calls of an answer; then see whether the subagents among them joined.

        Raises:
            Ended: by the policy for tools or subagents, or because the join is violated.
        """
        self.batch = Batch()
        self.batch_started(reply)
        await super().use_tools(turn, reply)
        if self.batch.agents and not self.joined():
            self.audit(JOIN_VIOLATION, "join")
            raise Ended("failed", JOIN_VIOLATION, words_for(JOIN_VIOLATION))
        await self.checkpoint(turn)

    def joined(self) -> bool:
        """Return whether the group of subagents has succeeded as its join policy asks."""
        agents, good = self.batch.agents, self.batch.good
        succeeded = len(good & set(agents))
        if self.world.join == "first_success":
            return succeeded > 0
        if self.world.join == "quorum":
            return succeeded >= (self.world.quorum or len(agents) // 2 + 1)
        return all(call in good for call, required in agents.items() if required)

    async def tool(self, turn: Turn, call: Call) -> Outcome:
        """Execute a call; where the first success counts, the other subagents are let go."""
        try:
            if self.world.join == "first_success" and call.id in self.batch.agents:
                outcome = await self.until_won(super().tool(turn, call))
            else:
                outcome = await super().tool(turn, call)
        except asyncio.CancelledError:
            self.call_stopped(call)
            raise
        if outcome.kind == "cancelled":
            self.call_stopped(call)
        return outcome

    async def until_won(self, work: Coroutine[Any, Any, Outcome]) -> Outcome:
        """Await a subagent, for as long as no other one has succeeded."""
        task = asyncio.ensure_future(work)
        won = asyncio.ensure_future(self.batch.won.wait())
        try:
            await asyncio.wait({task, won}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            return Outcome(kind="cancelled", message="another subagent was first")
        finally:
            for item in (task, won):
                item.cancel()
            await asyncio.gather(task, won, return_exceptions=True)

    def classify_tool(self, call: Call, outcome: Outcome) -> Pair | None:
        return of_call(call, outcome)

    def after_tool(self, turn: Turn, call: Call, attempt: int, outcome: Outcome) -> Next:
        """Tell the LLM; where the failure is configurable, the policy may end the run."""
        pair = self.classify_tool(call, outcome)
        if pair is None or pair[0] != "Configurable":
            return Next(act="tell")
        policy = self.policy_for(call)
        if policy == "fail":
            return Next(act="end", state="failed")
        if policy == "degrade":
            self.tolerated(turn, pair)
        return Next(act="tell")

    def policy_for(self, call: Call) -> str:
        """Return the failure policy that is for a call."""
        agent = call.tool is not None and call.tool.contract.agent
        return self.world.policies.get("subagent" if agent else "tool", "continue")

    def content(self, call: Call, outcome: Outcome) -> Mapping[str, Any]:
        """Return what the LLM is told of a call, without anything from the inside."""
        if outcome.kind in ("ok", "partial"):
            told: dict[str, Any] = {"success": True, "output": outcome.value}
            if outcome.errors:
                told["errors"] = [error.message for error in outcome.errors]
            return told
        words = words_for(self.classify_tool(call, outcome))
        if outcome.kind in ("input_invalid", "failed"):
            words = f"{words}: {outcome.message}"
        elif self.classify_tool(call, outcome) is None:
            words = "The call did not succeed"
        return {"success": False, "error": words}

    # ------------------------------------------------------------------ ends

    def at_limit(self, turn: Turn, limit: str) -> Ended:
        """Return the end of a run that has reached a limit: at once, under the limit's own name."""
        pair = LIMITS.get(limit)
        self.audit(pair, "run")
        state: RunState = "interrupted" if limit == "wall_time" else "failed"
        return Ended(state, pair, words_for(pair))

    def cancelled(self, turn: Turn) -> Ended:
        return Ended("cancelled", None, "The run was cancelled")

    def unexpected(self, turn: Turn, error: Exception) -> Ended:
        self.audit(None, "run", what=type(error).__name__)
        return Ended("failed", None, words_for(None))

    async def turn_over(self, turn: Turn, end: Ended) -> None:
        """Keep and hand over the result, then emit the one terminal event."""
        try:
            if end.state != "cancelled":
                await self.checkpoint(turn)
                await self.deliver(turn, end)
                await self.export("run", state=end.state)
        except asyncio.CancelledError:
            end.state, end.pair = "cancelled", None
        self.run_over(end)

    async def deliver(self, turn: Turn, end: Ended) -> None:
        """Push the result to the queue, again while that is refused and there are attempts left."""
        if self.world.queue is None:
            return
        item = f"{self.world.session_id}-run-{turn.number}"
        body = {"state": end.state, "text": end.text}
        for attempt in range(1, self.queue_attempts_max + 1):
            try:
                async with asyncio.timeout(self.hook_s):
                    await self.world.queue.push(item, body)
            except Exception as error:  # noqa: BLE001 - a queue may raise anything
                self.audit(QUEUE_PUSH, item, attempt=attempt, what=type(error).__name__)
            else:
                return
            if attempt < self.queue_attempts_max:
                await asyncio.sleep(self.queue_wait_s(attempt))
        self.undelivered(turn, end)

    def queue_wait_s(self, attempt: int) -> float:
        """Return the wait after a push that failed, in seconds."""
        nominal_s = wait_s("exponential", self.queue_base_s, attempt, cap_s=self.queue_cap_s)
        return nominal_s + random.uniform(0, self.queue_jitter_s)

    def undelivered(self, turn: Turn, end: Ended) -> None:
        """Let a run end degraded whose result nobody has taken."""
        if end.state == "completed":
            end.state, end.pair = "degraded", QUEUE_PUSH
        self.tolerated(turn, QUEUE_PUSH)


reference_afk = reference("afk", "AFK")(AfkAgent)
