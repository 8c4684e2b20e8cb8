"""The runtime: one object for one life of the process, as the document has it.

    start       resolve and load the extensions; open the session, new or resumed
    run_turn    RECEIVE_INPUT -> the message loop, or the stages of a state machine -> RENDER
    ask         put a question of an extension to the person
    cancel      cancel what runs in a scope; from elsewhere, at any time
    close       save, let the extensions go

Turns are strictly one after the other. A turn that ends is saved before it is shown. One that is
cut off adds to the history only what the world may have felt: its tool calls, each with a result.

Each part is made by its own `..._type`, so that a program which differs in one step is a subclass
that names another type.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from faultclock.subjects.ports import (
    CancelScope,
    InteractionAnswer,
    InteractionKind,
    Stage,
    Surroundings,
    TypedError,
)
from faultclock.subjects.reference_runtime.approvals import Approvals
from faultclock.subjects.reference_runtime.cancellation import Scope, is_cancellation
from faultclock.subjects.reference_runtime.history import sealed, user
from faultclock.subjects.reference_runtime.interaction import Interactions
from faultclock.subjects.reference_runtime.lifecycle import Extensions
from faultclock.subjects.reference_runtime.loop import LoopEnd, MessageLoop
from faultclock.subjects.reference_runtime.persistence import Persistence
from faultclock.subjects.reference_runtime.resume import Resume
from faultclock.subjects.reference_runtime.session import Halted, Session, Turn
from faultclock.subjects.reference_runtime.stages import Workflow
from faultclock.subjects.reference_runtime.telling import Telling
from faultclock.subjects.reference_runtime.tools import ToolRunner

#: How long a turn that runs may go on when the session is to be closed, in seconds.
_DRAIN_S = 30.0


class ReferenceRuntime:
    """A correct runtime for the stud-cli model."""

    telling_type: type[Telling] = Telling
    scope_type: type[Scope] = Scope
    session_type: type[Session] = Session
    persistence_type: type[Persistence] = Persistence
    interactions_type: type[Interactions] = Interactions
    approvals_type: type[Approvals] = Approvals
    tools_type: type[ToolRunner] = ToolRunner
    extensions_type: type[Extensions] = Extensions
    resume_type: type[Resume] = Resume
    loop_type: type[MessageLoop] = MessageLoop
    workflow_type: type[Workflow] = Workflow

    def __init__(self, surroundings: Surroundings) -> None:
        self.surroundings = surroundings
        self.telling = self.telling_type(surroundings.host)
        self.session = self.session_type(surroundings, self.scope_type, self.telling)
        self.persistence = self.persistence_type(self.session)
        self.interactions = self.interactions_type(self.session)
        self.approvals = self.approvals_type(self.session, self.interactions)
        self.tools = self.tools_type(self.session, self.persistence)
        self.extensions = self.extensions_type(self.session)
        self.resume = self.resume_type(self.session, self.persistence, self.extensions)
        # Those who wait for their turn get it in the order in which they came.
        self.queue = asyncio.Lock()

    # Opening.

    async def start(self) -> None:
        """Open the session.

        Raises:
            TypedError: it cannot be opened; nothing of it is left active.
        """
        try:
            await self.session.scope.run(self.open())
        except Exception as error:
            await self.extensions.close()
            self.session.failed = error if isinstance(error, TypedError) else None
            self.telling.turn_failed(error, {"session": self.session.id, "in": "start"})
            raise

    async def open(self) -> None:
        """Open a new session, or a stored one."""
        if self.surroundings.resume:
            await self.resume.read()
            await self.extensions.open()
            await self.resume.deliver()
        else:
            await self.extensions.open()
            # The journal of the first turn needs a snapshot that it goes on from.
            await self.persistence.snapshot([])
        self.session.state = "active"
        self.lifecycle("SessionActive")
        await self.resume.settle()

    def lifecycle(self, name: str) -> None:
        """Say in which state the session is now."""
        self.session.host.event(name, session=self.session.id)
        self.session.host.audit_event(
            "SessionLifecycle", session=self.session.id, state=self.session.state
        )

    # A turn.

    async def run_turn(self, text: str) -> str:
        """Answer one message of the user.

        Raises:
            TypedError: what the turn ended with, or why there is none.
            Exception: a failure of the provider for which the document has no class.
        """
        async with self.queue:
            self.check_open()
            turn = self.make_turn()
            self.session.host.event("SessionTurnStart", turn=turn.id)
            try:
                return await self.guarded(turn, self.whole_turn(turn, text))
            finally:
                turn.scope.close()
                self.session.host.event("SessionTurnEnd", turn=turn.id)

    def make_turn(self) -> Turn:
        """Return a fresh turn, with a scope of its own."""
        id_ = self.session.new_id("turn")
        return Turn(id=id_, scope=self.session.scope.child("turn", id_))

    async def guarded(self, turn: Turn, work: Coroutine[Any, Any, str]) -> str:
        """Await a turn's work in its scope and its wall time; whatever its end, settle it."""
        try:
            text = await self.in_time(turn, work)
        except Halted as halt:
            self.settle(turn, keep=bool(turn.started))
            self.audit_turn(turn, "halted")
            return str(halt)
        except Exception as error:
            self.settle(turn)
            self.audit_turn(turn, "cancelled" if is_cancellation(error) else "failed")
            self.telling.turn_failed(error, {"turn": turn.id})
            raise
        self.audit_turn(turn, "completed")
        return text

    async def in_time(self, turn: Turn, work: Coroutine[Any, Any, str]) -> str:
        """Await `work`, and cancel the turn when its wall time is over."""
        limit_s = self.surroundings.limits.wall_time_s
        if limit_s is None:
            return await turn.scope.run(work)
        timer = asyncio.get_running_loop().call_later(limit_s, turn.scope.cancel, "cap")
        try:
            return await turn.scope.run(work)
        finally:
            timer.cancel()

    async def whole_turn(self, turn: Turn, text: str) -> str:
        """Receive the input, let the model work, save, and hand over what it says."""
        with self.session.stage(turn, "RECEIVE_INPUT"):
            await self.receive(turn, text)
        end = await self.think(turn)
        if end.cap_hit:
            # There is nothing to show, but the turn is over, and what it did is to be kept.
            await self.save(turn)
            return end.text
        with self.session.stage(turn, "RENDER"):
            return await self.render(turn, end)

    async def receive(self, turn: Turn, text: str) -> None:
        """Take the user's message.

        Raises:
            TypedError: Validation/InputInvalid: there is nothing in it.
        """
        said = text.strip()
        if not said:
            raise TypedError(
                "Validation", "InputInvalid", "the message is empty", {"turn": turn.id}
            )
        await self.persistence.note("turn_started", turn=turn.id, text=said)
        turn.messages.append(user(said))

    async def think(self, turn: Turn) -> LoopEnd:
        """Run the message loop, or the workflow of the attached state machine."""
        machine = self.surroundings.state_machine
        if machine is None:
            return await self.make_loop(turn).run()
        workflow = self.workflow_type(self.session, machine, turn, self.make_loop)
        return await workflow.run()

    def make_loop(
        self, turn: Turn, stage: Stage | None = None, scope: Scope | None = None
    ) -> MessageLoop:
        """Return a message loop for a turn, or for one attempt of a stage."""
        return self.loop_type(
            self.session, self.persistence, self.approvals, self.tools, turn, stage, scope
        )

    async def render(self, turn: Turn, end: LoopEnd) -> str:
        """Hand the answer over, once, and only after it is saved."""
        await self.save(turn)
        return end.text

    async def save(self, turn: Turn) -> None:
        """Save the session with this turn: its boundary."""
        await self.persistence.snapshot([*self.session.messages, *turn.messages])
        turn.saved = True

    def settle(self, turn: Turn, *, keep: bool = True) -> None:
        """Keep of a turn that was cut off what the world may have felt, and nothing else."""
        proposed = any(message.get("tool_calls") for message in turn.messages)
        if turn.saved or not keep or not proposed:
            return
        messages, _ = sealed(turn.messages, turn.results, turn.started)
        self.session.messages = [*self.session.messages, *messages]
        self.session.dirty = True

    def audit_turn(self, turn: Turn, outcome: str) -> None:
        """Audit how a turn ended."""
        self.session.host.audit_event("Turn", turn=turn.id, outcome=outcome)

    def check_open(self) -> None:
        """Check that the session can do something.

        Raises:
            TypedError: why it cannot.
        """
        session = self.session
        if session.scope.error is not None:
            raise TypedError("Cancellation", "SessionCancelled", "the session was cancelled")
        if session.state == "closed":
            raise TypedError("Session", "SessionClosed", "the session is closed")
        if session.failed is not None:
            message = f"the session is in error: {session.failed}"
            raise TypedError(session.failed.error_class, session.failed.code, message) from (
                session.failed
            )
        if session.state == "idle":
            raise TypedError("Session", "IllegalTransition", "the session was not started")

    # Around a turn.

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
                otherwise why nobody could be asked.
        """
        self.check_open()
        # What is asked between turns is cancelled as a turn would be.
        scope = self.session.scope.child("turn", self.session.new_id("ask"))
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
        """Cancel what runs in a scope: downwards only, and as often as anybody likes."""
        if scope == "session":
            self.session.scope.cancel("user")
            return
        for found in tuple(self.session.scope.find(scope, target)):
            found.cancel("user")

    async def close(self) -> None:
        """Save what is not saved yet, and let everything go; to close twice is to close once.

        Raises:
            TypedError: Session/StoreUnavailable; everything else is let go nevertheless.
        """
        if self.session.state == "closed":
            return
        await self.drain()
        try:
            if self.session.dirty and self.session.failed is None:
                await self.persistence.snapshot(self.session.messages)
        except TypedError as error:
            self.telling.turn_failed(error, {"session": self.session.id, "in": "close"})
            raise
        finally:
            await self.extensions.close()
            self.session.state = "closed"
            self.lifecycle("SessionClosed")

    async def drain(self) -> None:
        """Let a turn that runs come to its end, and cancel it if that takes too long."""
        try:
            async with asyncio.timeout(_DRAIN_S), self.queue:
                return
        except TimeoutError:
            self.session.host.audit_event(
                "SessionLifecycle", session=self.session.id, state="save-and-close-timeout"
            )
            self.cancel("turn", None)
        async with self.queue:
            return
