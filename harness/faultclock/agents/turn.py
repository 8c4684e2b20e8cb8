"""A turn: what it has used up, how it goes, how it ends, and what is said on the way.

`Turns` is what all references agree on: ask the model, execute what it asks for, give it the
results, until it has its last word, and bring the turn to its one end. Every moment is silent
unless a model has something to say. Hooks and telemetry may not be felt: what fails in one of them
is a moment too (`hook_failed`, `telemetry_failed`).
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, Generic, Literal, TypeVar

from msgspec import Struct, field

from faultclock.agents.calls import Call, Decision, Outcome
from faultclock.agents.wire import assistant_message
from faultclock.subjects.ports import Hook, HookSlot, ProviderTarget, Reply, Surroundings
from faultclock.subjects.ports import RunState as RunState
from faultclock.subjects.stud import AttemptError

#: Class and code of a failure.
Pair = tuple[str, str]
Message = dict[str, Any]


def code_of(pair: Pair | None) -> str | None:
    """Return the code of a failure, None where the model has no name for it."""
    return None if pair is None else pair[1]


TurnT = TypeVar("TurnT", bound="Turn")
ResultT = TypeVar("ResultT")


class Ended(Exception):  # noqa: N818 - a turn that ends is no error of the program
    """Ends a turn before the model's last word.

    Attributes:
        pair: class and code that the turn ends with; None where the model has none.
        text: what there is to show.
    """

    def __init__(self, state: RunState, pair: Pair | None, message: str, *, text: str = "") -> None:
        super().__init__(message)
        self.state: RunState = state
        self.pair = pair
        self.text = text


class Next(Struct, frozen=True, kw_only=True):
    """What to do about a failure.

    Attributes:
        act: `again` (after `wait_s`), `advance` to the next provider, `end` the turn, or, for a
            tool call, `tell` the model.
        state: with `end`: how the turn ends.
    """

    act: Literal["again", "advance", "end", "tell"]
    wait_s: float = 0.0
    state: RunState = "failed"


class FailedAttempt(Struct, frozen=True, kw_only=True):
    """One attempt at a provider that failed, and what the model calls it.

    Attributes:
        number: 1-based; the first request to this provider is attempt 1.
        pair: class and code; None where the model has none.
        is_last: whether no provider of the chain is left behind this one.
    """

    target: ProviderTarget
    number: int
    error: AttemptError
    pair: Pair | None
    is_last: bool


class Turn(Struct, kw_only=True):
    """What a turn has used up so far.

    Attributes:
        number: 1-based, within this process; 0 where turns have ids.
        steps: answers of the model; `executions`: of tools; `tokens`: as the provider counts.
        denials: denials of permission in a row.
        begun: whether its work has begun; `cancelled`: whether it was cancelled before that.
    """

    number: int = 0
    text: str
    messages: list[Message] = field(default_factory=list)
    steps: int = 0
    executions: int = 0
    tokens: int = 0
    denials: int = 0
    degraded: bool = False
    begun: bool = False
    cancelled: bool = False


class Services:
    """The services of an agent, each with its own way to fail.

    Attributes:
        hook_s: how long a hook, the telemetry sink and the queue are waited for, in seconds.
    """

    hook_s = 5.0

    def __init__(self, surroundings: Surroundings) -> None:
        self.world = surroundings
        self.host = surroundings.host

    async def tried(self, service: Callable[..., Awaitable[Any]], *given: Any) -> Exception | None:
        """Ask a service, and wait for `hook_s` at most; return what it failed with."""
        try:
            async with asyncio.timeout(self.hook_s):
                await service(*given)
        except Exception as error:  # noqa: BLE001 - a service may raise anything
            return error
        return None

    def emit(self, name: str, **fields: Any) -> None:
        """Emit an event."""
        self.host.event(name, **fields)

    async def run_hooks(self, slot: HookSlot, payload: Mapping[str, Any]) -> None:
        """Call the hooks of a slot; what they do wrong is `hook_failed`'s affair."""
        for hook in self.world.hooks:
            if hook.slot == slot and (error := await self.tried(hook.run, payload)):
                self.hook_failed(hook, error)

    async def export(self, name: str, **fields: Any) -> None:
        """Hand something to the telemetry sink; whether that works makes no difference."""
        sink = self.world.telemetry
        if sink is not None and (error := await self.tried(sink.export, name, fields)):
            self.telemetry_failed(name, error)

    def put_on_record(
        self, pair: Pair | None, context: Mapping[str, Any], attempt: int | None = None
    ) -> None:
        """Put a failure on record; one that the model has no name for has neither class nor code.

        Args:
            attempt: 1-based, where it is one of several.
        """
        error_class, code = pair or (None, None)
        self.host.audit(error_class=error_class, code=code, context=context, attempt=attempt)

    def hook_failed(self, hook: Hook, error: Exception) -> None:
        """A hook has raised, or has not come back in time."""

    def telemetry_failed(self, name: str, error: Exception) -> None:
        """The telemetry sink has raised, or has not come back in time."""


class Moments:
    """What an agent may say on its way."""

    def asking(self, turn: Turn, target: ProviderTarget, attempt: int) -> None:
        """A provider is about to be asked (`attempt` is 1-based)."""

    def attempt_failed(self, turn: Turn, attempt: FailedAttempt, step: Next) -> None:
        """An attempt has failed, and `step` is what comes next."""

    def call_proposed(self, turn: Turn, call: Call) -> None:
        """The model has asked for a tool."""

    def policy_decided(self, call: Call, decision: Literal["allow", "deny"]) -> None:
        """The policy engine has said what it thinks of a call."""

    def approval_asked(self, call: Call) -> None:
        """The person is about to be asked."""

    def approval_decided(self, call: Call, decision: Decision) -> None:
        """The person has answered, or not in time."""

    def call_started(self, turn: Turn, call: Call, attempt: int) -> None:
        """A tool is about to be executed."""

    def call_over(
        self, turn: Turn, call: Call, attempt: int, outcome: Outcome, step: Next | None
    ) -> None:
        """A call was refused, or executed; `step` is what comes next where it is not good."""


class Turns(Services, ABC, Generic[TurnT, ResultT]):
    """A runtime for one life of the process, whose turns run one after the other."""

    def __init__(self, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self.history: list[Message] = []
        self.turn: TurnT | None = None
        # Those who wait for their turn get it in the order in which they came.
        self.queue = asyncio.Lock()

    async def start(self) -> None:
        """Open the session."""

    async def close(self) -> None:
        """Let everything go."""

    async def run_turn(self, text: str) -> ResultT:
        """Answer one message of the user; in any case the turn ends in a state."""
        async with self.queue:
            self.turn = turn = self.new_turn(text)
            try:
                return await self.run_cancellable(turn)
            finally:
                self.turn = None

    @abstractmethod
    def new_turn(self, text: str) -> TurnT:
        """Return a turn that has not begun."""

    async def run_cancellable(self, turn: TurnT) -> ResultT:
        """Run a turn so that a cancel reaches it."""
        return await self.whole_turn(turn)

    async def whole_turn(self, turn: TurnT) -> ResultT:
        """Do the work of a turn and bring it to its one end."""
        try:
            turn.begun = True
            self.turn_started(turn)
            if turn.cancelled:
                raise asyncio.CancelledError
            text = await self.in_time(turn, self.work(turn))
            end = Ended("degraded" if turn.degraded else "completed", None, "", text=text)
        except Ended as ended:
            end = ended
        except asyncio.CancelledError:
            end = self.cancelled(turn)
        except Exception as error:  # noqa: BLE001 - a turn never ends without an end
            end = self.unexpected(turn, error)
        self.remember(turn, end)
        await self.turn_over(turn, end)
        return self.result(turn, end)

    def turn_started(self, turn: TurnT) -> None:
        """Say that a turn begins."""

    @abstractmethod
    async def in_time(self, turn: TurnT, work: Coroutine[Any, Any, str]) -> str:
        """Await `work`, for no longer than the turn's wall time."""

    async def work(self, turn: TurnT) -> str:
        """Return the text that the turn comes to: a conversation, or the nodes of a workflow."""
        return await self.converse(turn, turn.text)

    async def converse(self, turn: TurnT, prompt: str) -> str:
        """Say something to the model, and ask it until it has its last word."""
        turn.messages.append({"role": "user", "content": prompt})
        return await self.last_word(turn)

    async def last_word(self, turn: TurnT) -> str:
        """Ask the model until it has its last word."""
        while True:
            self.check_steps(turn)
            reply = await self.answer(turn, self.conversation(turn))
            turn.steps += 1
            turn.tokens += reply.tokens
            self.answered(turn, reply)
            turn.messages.append(assistant_message(reply))
            if not reply.tool_calls:
                self.check_spent(turn)
                return reply.text
            await self.use_tools(turn, reply)
            self.check_spent(turn)

    def conversation(self, turn: TurnT) -> list[Message]:
        """Return what the model is to know."""
        return [*self.history, *turn.messages]

    @abstractmethod
    def check_steps(self, turn: TurnT) -> None:
        """Check that the model may be asked once more.

        Raises:
            Ended: it may not.
        """

    def check_spent(self, turn: TurnT) -> None:
        """Check what the turn has cost."""

    @abstractmethod
    async def answer(self, turn: TurnT, messages: Sequence[Message]) -> Reply:
        """Return the model's answer.

        Raises:
            Exception: there is none, and the turn ends by it.
        """

    def answered(self, turn: TurnT, reply: Reply) -> None:
        """Say that the model's answer is whole."""

    @abstractmethod
    async def use_tools(self, turn: TurnT, reply: Reply) -> None:
        """Carry out the tool calls of an answer, and give the model their results in its order."""

    @abstractmethod
    def cancelled(self, turn: TurnT) -> Ended:
        """Return the end of a turn that was cancelled."""

    @abstractmethod
    def unexpected(self, turn: TurnT, error: Exception) -> Ended:
        """Return the end of a turn in which something unforeseen happened."""

    @abstractmethod
    def remember(self, turn: TurnT, end: Ended) -> None:
        """Keep of the conversation what the next turn goes on from."""

    async def turn_over(self, turn: TurnT, end: Ended) -> None:
        """Say how the turn ended, to each audience."""

    @abstractmethod
    def result(self, turn: TurnT, end: Ended) -> ResultT:
        """Return the turn's end as the port has it."""
