"""What the agents with a chain of providers agree on, with a step for every decision.

A model is a subclass that fills in the steps, and a step that is filled in does what its sentence
in `turn` or here says:

    classify           what a failed attempt at a provider is
    after_failure      what to do about it: wait and ask again, ask the next provider, or end
    classify_tool      what a failed tool call is
    after_tool         what to do about it: tell the model, execute again, or end the turn
    content            what the model is told of a call
    moments            everything from `turn_started` on: events, records, messages

Nothing here knows a schedule, a wait or an event name.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from faultclock.agents.calls import (
    DENIALS,
    Call,
    Kind,
    Outcome,
    approval_of,
    execute_once,
    proposed,
    together,
)
from faultclock.agents.connection import ask_once
from faultclock.agents.turn import (
    Ended,
    FailedAttempt,
    Message,
    Moments,
    Next,
    Pair,
    Turn,
    Turns,
)
from faultclock.agents.wire import (
    CountedExchange,
    request_to,
    tool_message,
)
from faultclock.model.trace.trace import Declares
from faultclock.subjects.bind_runtime import runtime
from faultclock.subjects.binding import Binding
from faultclock.subjects.ports import CancelScope, ProviderTarget, Reply, RunResult, Surroundings
from faultclock.subjects.provider_words import Meaning, said
from faultclock.subjects.stud import AttemptError

T = TypeVar("T")

#: What an agent declares beside what it does: everything that the models want to hear of.
DECLARES: tuple[Declares, ...] = ("errors", "audit", "events", "user", "model", "operator")


def reference(model: str, name: str) -> Callable[[Callable[..., Any]], Binding]:
    """Bind the reference runtime of a model.

    Args:
        model: id of the error model.
        name: what the model is called in a sentence.
    """
    return runtime(
        id=f"reference-{model}",
        title=f"Correct agent runtime of the {name} model, async",
        declares=DECLARES,
        inline=True,
    )


def classified(
    seen: AttemptError,
    by_kind: Mapping[str, T],
    by_status: Callable[[int], T | None],
    by_meaning: Mapping[Meaning, T],
) -> T | None:
    """Return what a document calls a failed attempt, None where it has no name for it.

    Args:
        by_kind: what it says where there is neither a bad status nor an error object.
        by_status: what it says of an HTTP status.
        by_meaning: what it says of an error object in a 200, or inside a stream.
    """
    if seen.kind in ("error_body", "stream_error"):
        return said(seen.provider_code, seen.provider_type, by_meaning, by_status)
    if seen.kind == "http_error":
        return by_status(seen.status or 0)
    return by_kind.get(seen.kind)


class Agent(Moments, Turns[Turn, RunResult]):
    """A runtime with a chain of providers, whose turns end in states.

    Attributes:
        approval_s: how long an approval stays open where nothing else is said, in seconds.
        has_chain: whether the next provider is asked where the first one fails.
    """

    approval_s = 120.0
    has_chain = True

    def __init__(self, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self.turns = 0
        self.running: asyncio.Task[RunResult] | None = None

    # ------------------------------------------------------------------ a turn

    def new_turn(self, text: str) -> Turn:
        self.turns += 1
        return Turn(number=self.turns, text=text)

    async def run_cancellable(self, turn: Turn) -> RunResult:
        self.running = asyncio.ensure_future(self.whole_turn(turn))
        try:
            return await self.running
        finally:
            self.running = None

    def cancel(self, scope: CancelScope, target: str | None) -> None:
        """Cancel the turn that runs; to cancel twice is to cancel once."""
        if self.turn is not None and not self.turn.begun:
            # A task that is cancelled before its first step never takes one: it would have no end.
            self.turn.cancelled = True
        elif self.running is not None:
            self.running.cancel()

    async def in_time(self, turn: Turn, work: Coroutine[Any, Any, str]) -> str:
        limit_s = self.world.limits.wall_time_s
        if limit_s is None:
            return await work
        try:
            async with asyncio.timeout(limit_s) as timer:
                return await work
        except TimeoutError:
            if not timer.expired():
                raise
        raise self.at_limit(turn, "wall_time")

    def remember(self, turn: Turn, end: Ended) -> None:
        if end.state in ("completed", "degraded"):
            self.history += turn.messages

    def result(self, turn: Turn, end: Ended) -> RunResult:
        error_class, code = end.pair or (None, None)
        return RunResult(text=end.text, state=end.state, error_class=error_class, code=code)

    # ------------------------------------------------------------------ limits

    def check_steps(self, turn: Turn) -> None:
        limit = self.world.limits.steps_max
        if limit is not None and turn.steps >= limit:
            raise self.at_limit(turn, "steps")

    def check_spent(self, turn: Turn) -> None:
        # What is exactly used up is not exceeded.
        limits = self.world.limits
        if limits.tokens_max is not None and turn.tokens > limits.tokens_max:
            raise self.at_limit(turn, "tokens")
        price = limits.usd_per_million_tokens
        if (
            limits.cost_max_usd is not None
            and turn.tokens * price > limits.cost_max_usd * 1_000_000
        ):
            raise self.at_limit(turn, "cost")

    @abstractmethod
    def at_limit(self, turn: Turn, limit: str) -> Ended:
        """Return the end of a turn that has reached one of its limits."""

    # ------------------------------------------------------------------ the model

    @property
    def targets(self) -> tuple[ProviderTarget, ...]:
        """The providers, in the order in which they are asked."""
        first = ProviderTarget(
            id="",
            base_url=self.world.base_url,
            model=self.world.model,
            attempts_max=self.world.attempts_per_provider,
        )
        return (first, *self.world.fallbacks)

    async def answer(self, turn: Turn, messages: Sequence[Message]) -> Reply:
        await self.run_hooks("pre_model", {"messages": len(messages)})
        reply = await self.ask_chain(turn, messages)
        await self.run_hooks("post_model", {"tool_calls": len(reply.tool_calls)})
        return reply

    async def ask_chain(self, turn: Turn, messages: Sequence[Message]) -> Reply:
        """Ask the providers of the chain, each as often as `after_failure` says."""
        targets = self.available(turn)
        for index, target in enumerate(targets):
            is_last = index == len(targets) - 1
            number = 0
            while self.admitted(turn, target, is_last=is_last):
                number += 1
                self.asking(turn, target, number)
                try:
                    return await self.ask_target(target, messages)
                except AttemptError as error:
                    attempt = FailedAttempt(
                        target=target,
                        number=number,
                        error=error,
                        pair=self.classify(error),
                        is_last=is_last,
                    )
                    step = self.after_failure(turn, attempt)
                    self.attempt_failed(turn, attempt, step)
                    if step.act == "end":
                        raise self.unanswered(turn, attempt, step) from error
                    if step.act == "advance":
                        break
                    await asyncio.sleep(step.wait_s)
        raise self.no_provider_left(turn)

    async def ask_target(self, target: ProviderTarget, messages: Sequence[Message]) -> Reply:
        """Ask one provider once."""
        request = request_to(self.world, target, messages, self.world.tools)
        return await ask_once(CountedExchange(request), request.timeout_s)

    def available(self, turn: Turn) -> tuple[ProviderTarget, ...]:
        """Return the providers that may be asked now."""
        return self.targets if self.has_chain else self.targets[:1]

    def admitted(self, turn: Turn, target: ProviderTarget, *, is_last: bool) -> bool:
        """Return whether a provider may be asked (again); else the next one is.

        Raises:
            Ended: it may not, and there is no next one.
        """
        return True

    @abstractmethod
    def classify(self, failed: AttemptError) -> Pair | None:
        """Return class and code of a failed attempt, None where the model has none."""

    @abstractmethod
    def after_failure(self, turn: Turn, attempt: FailedAttempt) -> Next:
        """Return what to do about a failed attempt."""

    def unanswered(self, turn: Turn, attempt: FailedAttempt, step: Next) -> Ended:
        """Return the end of a turn whose last attempt at a provider has failed."""
        return Ended(step.state, self.run_pair(attempt.pair), str(attempt.error))

    def run_pair(self, pair: Pair | None) -> Pair | None:
        """Return what a run ends with whose provider failed with `pair`."""
        return pair

    def no_provider_left(self, turn: Turn) -> Ended:
        """Return the end of a turn for which no provider is left to be asked."""
        return Ended("failed", None, "no provider is left")

    # ------------------------------------------------------------------ tools

    async def use_tools(self, turn: Turn, reply: Reply) -> None:
        calls = proposed(reply, self.world.tools)
        cleared = [await self.cleared(turn, call) for call in calls]
        results = await together(
            [
                self.tool(turn, call) if refusal is None else _now(refusal)
                for call, refusal in zip(calls, cleared, strict=True)
            ]
        )
        for call, outcome in zip(calls, results, strict=True):
            turn.messages.append(tool_message(call.id, self.content(call, outcome)))

    async def cleared(self, turn: Turn, call: Call) -> Outcome | None:
        """Return why a call is not executed, None if it is: input, policy, person, limits.

        Raises:
            Ended: the turn ends by it.
        """
        self.call_proposed(turn, call)
        refusal = await self.refusal(call)
        if refusal is None:
            turn.denials = 0
            limit = self.world.limits.tool_calls_max
            if limit is not None and turn.executions >= limit:
                raise self.at_limit(turn, "tool_calls")
            turn.executions += 1
            return None
        denied = refusal.kind in DENIALS
        turn.denials = turn.denials + 1 if denied else 0
        step = self.after_tool(turn, call, 1, refusal)
        self.call_over(turn, call, 1, refusal, step)
        if step.act == "end":
            raise self.ended_by(call, refusal, step)
        return refusal

    async def refusal(self, call: Call) -> Outcome | None:
        """Return why a call must not be executed, None if it may."""
        if call.tool is None:
            return Outcome(kind="unknown", message=f"there is no tool {call.name}")
        if call.misfit is not None:
            return Outcome(kind="input_invalid", message=call.misfit)
        policy = self.world.policy
        if policy is not None:
            decision = policy.decide(call.name, call.arguments, call_id=call.id)
            self.policy_decided(call, decision)
            if decision == "deny":
                return Outcome(kind="denied_by_policy", message=f"policy denies {call.name}")
        if not call.tool.contract.gated or self.world.mode == "yolo":
            return None
        if self.world.mode == "allowlist" and call.name in self.world.allowlist:
            return None
        self.approval_asked(call)
        approval = await approval_of(self.world, call, deadline_s=self.approval_s)
        self.approval_decided(call, approval)
        if approval == "approved":
            return None
        kind: Kind = "approval_timed_out" if approval == "timeout" else "denied_by_user"
        return Outcome(kind=kind, message=f"{call.name} was not approved")

    async def tool(self, turn: Turn, call: Call) -> Outcome:
        """Execute a call, again where `after_tool` says so.

        Raises:
            Ended: the turn ends by it.
        """
        attempt = 0
        while True:
            attempt += 1
            await self.run_hooks("pre_tool", call.named)
            self.call_started(turn, call, attempt)
            outcome = await execute_once(call)
            if outcome.ok:
                self.call_over(turn, call, attempt, outcome, None)
                await self.run_hooks("post_tool", {"tool": call.name, "ok": True})
                return outcome
            step = self.after_tool(turn, call, attempt, outcome)
            self.call_over(turn, call, attempt, outcome, step)
            await self.run_hooks("post_tool", {"tool": call.name, "ok": False})
            if step.act == "end":
                raise self.ended_by(call, outcome, step)
            if step.act == "tell":
                return outcome
            await asyncio.sleep(step.wait_s)

    def ended_by(self, call: Call, outcome: Outcome, step: Next) -> Ended:
        """Return the end of a turn that goes no further than a call."""
        return Ended(step.state, self.run_pair(self.classify_tool(call, outcome)), outcome.message)

    @abstractmethod
    def classify_tool(self, call: Call, outcome: Outcome) -> Pair | None:
        """Return class and code of a call that is not good."""

    def after_tool(self, turn: Turn, call: Call, attempt: int, outcome: Outcome) -> Next:
        """Return what to do about a call that is not good; most documents tell the model."""
        return Next(act="tell")

    @abstractmethod
    def content(self, call: Call, outcome: Outcome) -> Mapping[str, Any]:
        """Return what the model is told of a call."""


async def _now(outcome: Outcome) -> Outcome:
    return outcome
