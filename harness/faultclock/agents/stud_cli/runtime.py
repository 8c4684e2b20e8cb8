"""The runtime: one object for one life of the process, as the document has it.

    start       resolve and load the extensions; open the session, new or resumed
    run_turn    RECEIVE_INPUT -> the message loop, or the stages of a state machine -> RENDER
    ask         put a question of an extension to the person
    cancel      cancel what runs in a scope; from elsewhere, at any time
    close       save, let the extensions go

The message loop goes from the history to the model's last word:

    COMPOSE_REQUEST -> SEND_REQUEST -> STREAM_RESPONSE -> TOOL_CALL -> COMPOSE_REQUEST ...
                                                       -> (done)

Turns are strictly one after the other. A turn that ends is saved before it is shown. One that is
cut off adds to the history only what the world may have felt: its tool calls, each with a result.

Each part is made by its own `..._type`, so that a program which differs in one step is a subclass
that names another type.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from typing import Any

from faultclock.agents.stud_cli.cancellation import Scope, is_cancellation
from faultclock.agents.stud_cli.lifecycle import Extensions
from faultclock.agents.stud_cli.persistence import Resume, sealed, user
from faultclock.agents.stud_cli.provider import ProviderCall
from faultclock.agents.stud_cli.session import Halted, StudTurn
from faultclock.agents.stud_cli.stages import LoopEnd, Workflow
from faultclock.agents.stud_cli.tools import ToolCalls
from faultclock.agents.turn import Ended, Message
from faultclock.model.trace.trace import Declares
from faultclock.subjects.bind_runtime import runtime
from faultclock.subjects.ports import (
    CancelScope,
    InteractionAnswer,
    InteractionKind,
    Reply,
    Stage,
    Surroundings,
    Tool,
    TypedError,
)

#: What it says about itself on the way: all that its checks need.
DECLARES: tuple[Declares, ...] = ("errors", "audit", "events", "user", "model")
#: How long a turn that runs may go on when the session is to be closed, in seconds.
_DRAIN_S = 30.0


class Failed(Ended):
    """The end of a turn by an error, a cancel among them."""

    def __init__(self, error: Exception) -> None:
        super().__init__("cancelled" if is_cancellation(error) else "failed", None, str(error))
        self.error = error


class Capped(Ended):
    """A stage has reached its cap: a normal end of Act."""

    def __init__(self) -> None:
        super().__init__("completed", None, "the stage has reached its cap")


class ReferenceRuntime(ToolCalls):
    """A correct runtime for the stud-cli model.

    Attributes:
        bound: requests after which a conversation that does not end is given up.
    """

    bound = 12
    extensions_type: type[Extensions] = Extensions
    resume_type: type[Resume] = Resume
    provider_type: type[ProviderCall] = ProviderCall
    workflow_type: type[Workflow] = Workflow

    def __init__(self, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self.extensions = self.extensions_type(self)
        self.resume = self.resume_type(self, self.persistence, self.extensions)

    # ------------------------------------------------------------------ opening

    async def start(self) -> None:
        """Open the session.

        Raises:
            TypedError: it cannot be opened; nothing of it is left active.
        """
        try:
            await self.scope.run(self.open())
        except Exception as error:
            await self.extensions.close()
            self.failed = error if isinstance(error, TypedError) else None
            self.telling.turn_failed(error, {"session": self.id, "in": "start"})
            raise

    async def open(self) -> None:
        """Open a new session, or a stored one."""
        if self.world.resume:
            await self.resume.read()
            await self.extensions.open()
            await self.resume.deliver()
        else:
            await self.extensions.open()
            # The journal of the first turn needs a snapshot that it goes on from.
            await self.persistence.snapshot([])
        self.state = "active"
        self.lifecycle("SessionActive")
        await self.resume.settle()

    def lifecycle(self, name: str) -> None:
        """Say in which state the session is now."""
        self.host.event(name, session=self.id)
        self.host.audit_event("SessionLifecycle", session=self.id, state=self.state)

    def check_open(self) -> None:
        """Check that the session can do something.

        Raises:
            TypedError: why it cannot.
        """
        if self.scope.error is not None:
            raise TypedError("Cancellation", "SessionCancelled", "the session was cancelled")
        if self.state == "closed":
            raise TypedError("Session", "SessionClosed", "the session is closed")
        if self.failed is not None:
            message = f"the session is in error: {self.failed}"
            raise TypedError(self.failed.error_class, self.failed.code, message) from self.failed
        if self.state == "idle":
            raise TypedError("Session", "IllegalTransition", "the session was not started")

    # ------------------------------------------------------------------ a turn

    def new_turn(self, text: str) -> StudTurn:
        """Return a fresh turn, with a scope of its own.

        Raises:
            TypedError: why there is none.
        """
        self.check_open()
        id_ = self.new_id("turn")
        return StudTurn(text=text, id=id_, scope=self.scope.child("turn", id_))

    def turn_started(self, turn: StudTurn) -> None:
        self.host.event("SessionTurnStart", turn=turn.id)

    async def in_time(self, turn: StudTurn, work: Coroutine[Any, Any, str]) -> str:
        """Await `work`, and cancel the turn when its wall time is over."""
        limit_s = self.world.limits.wall_time_s
        if limit_s is None:
            return await turn.scope.run(work)
        timer = asyncio.get_running_loop().call_later(limit_s, turn.scope.cancel, "cap")
        try:
            return await turn.scope.run(work)
        finally:
            timer.cancel()

    async def work(self, turn: StudTurn) -> str:
        """Receive the input, let the model work, save, and hand over what it says."""
        with self.stage(turn, "RECEIVE_INPUT"):
            await self.receive(turn)
        end = await self.think(turn)
        if end.cap_hit:
            # There is nothing to show, but the turn is over, and what it did is to be kept.
            await self.save(turn)
            return end.text
        with self.stage(turn, "RENDER"):
            return await self.render(turn, end)

    async def receive(self, turn: StudTurn) -> None:
        """Take the user's message.

        Raises:
            TypedError: Validation/InputInvalid: there is nothing in it.
        """
        said = turn.text.strip()
        if not said:
            context = {"turn": turn.id}
            raise TypedError("Validation", "InputInvalid", "the message is empty", context)
        await self.persistence.note("turn_started", turn=turn.id, text=said)
        turn.messages.append(user(said))

    async def think(self, turn: StudTurn) -> LoopEnd:
        """Run the message loop, or the workflow of the attached state machine."""
        machine = self.world.state_machine
        if machine is None:
            return await self.loop(turn)
        return await self.workflow_type(self, machine, turn, self.loop).run()

    async def render(self, turn: StudTurn, end: LoopEnd) -> str:
        """Hand the answer over, once, and only after it is saved."""
        await self.save(turn)
        return end.text

    async def save(self, turn: StudTurn) -> None:
        """Save the session with this turn: its boundary."""
        await self.persistence.snapshot([*self.history, *turn.messages])
        turn.saved = True

    # ------------------------------------------------------------------ the message loop

    async def loop(
        self, turn: StudTurn, stage: Stage | None = None, scope: Scope | None = None
    ) -> LoopEnd:
        """Go on until the model asks for no more tools: a whole turn, or one attempt of a stage.

        Raises:
            TypedError: ExtensionHost/LoopBoundExceeded, or what the provider or the store failed
                with; never the failure of a tool.
        """
        turn.stage, turn.stage_scope, turn.requests = stage, scope, 0
        try:
            return LoopEnd(text=await self.last_word(turn))
        except Capped:
            return LoopEnd(text="", cap_hit=True)

    def check_steps(self, turn: StudTurn) -> None:
        if self.is_capped(turn, turn.requests):
            raise Capped
        self.check_limits(turn, turn.requests)
        turn.requests += 1

    def is_capped(self, turn: StudTurn, requests: int) -> bool:
        """Return whether a stage is at its cap, looked at before each request.

        For a stage the bound of the loop is a cap too.
        """
        if turn.stage is None:
            return False
        cap = turn.stage.turn_cap
        return requests >= (self.bound if cap is None else min(cap, self.bound))

    def check_limits(self, turn: StudTurn, requests: int) -> None:
        """Check that the turn may ask the model once more.

        Raises:
            TypedError: ExtensionHost/LoopBoundExceeded.
        """
        limits = self.world.limits
        for name, used, limit in (
            ("bound", requests, self.bound),
            ("steps_max", turn.steps, limits.steps_max),
            ("tokens_max", turn.tokens, limits.tokens_max),
        ):
            if limit is not None and used >= limit:
                message = f"the turn has reached its limit: {name} is {limit}"
                context = {"limit": name, "used": used}
                raise TypedError("ExtensionHost", "LoopBoundExceeded", message, context)

    def conversation(self, turn: StudTurn) -> list[Message]:
        """Return what the model is to know: in a stage, its body first."""
        system = [] if turn.stage is None else [{"role": "system", "content": turn.stage.body}]
        return [*system, *super().conversation(turn)]

    async def answer(self, turn: StudTurn, messages: Sequence[Message]) -> Reply:
        """Ask the model once, through the three stages of a request."""
        with self.stage(turn, "COMPOSE_REQUEST"):
            call = self.compose(turn, messages)
        return await self.asked(turn, call)

    async def asked(self, turn: StudTurn, call: ProviderCall) -> Reply:
        """Send a request, and read its answer."""
        try:
            with self.stage(turn, "SEND_REQUEST"):
                await call.send()
            with self.stage(turn, "STREAM_RESPONSE"):
                return self.identified(await call.receive())
        finally:
            call.drop()

    def compose(self, turn: StudTurn, messages: Sequence[Message]) -> ProviderCall:
        """Compose the next request."""
        return self.provider_type(self, list(messages), self.offered(turn))

    def offered(self, turn: StudTurn) -> tuple[Tool, ...]:
        """Return the tools that the model is offered; a stage narrows them."""
        tools = self.world.tools
        allowed = () if turn.stage is None else turn.stage.allowed_tools
        return tuple(tool for tool in tools if not allowed or tool.contract.name in allowed)

    def identified(self, reply: Reply) -> Reply:
        """Return `reply` with an id on each call, where the provider gave none."""
        calls = tuple(
            call if call.id else replace(call, id=self.new_id("call")) for call in reply.tool_calls
        )
        return replace(reply, tool_calls=calls)

    # ------------------------------------------------------------------ the end of a turn

    def cancelled(self, turn: StudTurn) -> Ended:
        """End a turn whose process goes down.

        Raises:
            asyncio.CancelledError: always; a cancel of the turn itself comes as a TypedError.
        """
        self.end_turn(turn)
        raise asyncio.CancelledError

    def unexpected(self, turn: StudTurn, error: Exception) -> Ended:
        return Failed(error)

    def remember(self, turn: StudTurn, end: Ended) -> None:
        if isinstance(end, Failed) or (isinstance(end, Halted) and turn.executed):
            self.seal(turn)

    def seal(self, turn: StudTurn) -> None:
        """Keep of a turn that was cut off what the world may have felt, and nothing else."""
        proposed = any(message.get("tool_calls") for message in turn.messages)
        if turn.saved or not proposed:
            return
        messages, _ = sealed(turn.messages, turn.results, turn.executed)
        self.history = [*self.history, *messages]
        self.dirty = True

    async def turn_over(self, turn: StudTurn, end: Ended) -> None:
        self.audit_turn(turn, "halted" if isinstance(end, Halted) else end.state)
        if isinstance(end, Failed):
            self.telling.turn_failed(end.error, {"turn": turn.id})
        self.end_turn(turn)

    def audit_turn(self, turn: StudTurn, outcome: str) -> None:
        """Audit how a turn ended."""
        self.host.audit_event("Turn", turn=turn.id, outcome=outcome)

    def end_turn(self, turn: StudTurn) -> None:
        """Say that a turn is over, however it ended."""
        turn.scope.close()
        self.host.event("SessionTurnEnd", turn=turn.id)

    def result(self, turn: StudTurn, end: Ended) -> str:
        """Return the text of a turn.

        Raises:
            TypedError: what the turn ended with.
            Exception: a failure of the provider for which the document has no class.
        """
        if isinstance(end, Failed):
            raise end.error
        return end.text

    # ------------------------------------------------------------------ around a turn

    async def ask(
        self,
        kind: InteractionKind,
        prompt: str,
        options: tuple[str, ...],
        deadline_s: float | None,
    ) -> InteractionAnswer:
        """Ask the person on behalf of an extension.

        Raises:
            TypedError: Cancellation/TurnCancelled: the dialog was closed, or it was cancelled;
                otherwise why no person could be asked.
        """
        self.check_open()
        # What is asked between turns is cancelled as a turn would be.
        scope = self.scope.child("turn", self.new_id("ask"))
        question = self.interactions.ask(kind, prompt, options=options, deadline_s=deadline_s)
        try:
            answer = await scope.run(question)
            if answer.status == "dismissed":
                scope.cancel("user")
            scope.check()
            return answer
        except Halted as halt:
            return InteractionAnswer(status="dismissed", reason=str(halt))
        except TypedError as error:
            self.telling.turn_failed(error, {"kind": kind})
            raise
        finally:
            scope.close()

    def cancel(self, scope: CancelScope, target: str | None) -> None:
        """Cancel what runs in a scope: downwards only; to cancel twice is to cancel once."""
        if scope == "session":
            self.scope.cancel("user")
            return
        for found in tuple(self.scope.find(scope, target)):
            found.cancel("user")

    async def close(self) -> None:
        """Save what is not saved yet, and let everything go; to close twice is to close once.

        Raises:
            TypedError: Session/StoreUnavailable; everything else is let go nevertheless.
        """
        if self.state == "closed":
            return
        await self.drain()
        try:
            if self.dirty and self.failed is None:
                await self.persistence.snapshot(self.history)
        except TypedError as error:
            self.telling.turn_failed(error, {"session": self.id, "in": "close"})
            raise
        finally:
            await self.extensions.close()
            self.state = "closed"
            self.lifecycle("SessionClosed")

    async def drain(self) -> None:
        """Let a turn that runs come to its end, and cancel it if that takes too long."""
        try:
            async with asyncio.timeout(_DRAIN_S), self.queue:
                return
        except TimeoutError:
            state = "save-and-close-timeout"
            self.host.audit_event("SessionLifecycle", session=self.id, state=state)
            self.cancel("turn", None)
        async with self.queue:
            return


reference_runtime = runtime(
    id="reference-runtime",
    title="Correct agent runtime of the stud-cli model, async",
    declares=DECLARES,
    inline=True,
)(ReferenceRuntime)
