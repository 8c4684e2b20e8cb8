"""Miniatures with bugs that were reported of other runtimes: requests, dialogs, cancels, resume."""

# ruff: noqa: ARG002 - an override takes what the step takes, needed or not

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any

from faultclock.subjects.ports import Extension, TypedError
from faultclock.subjects.reference_runtime.approvals import Verdict
from faultclock.subjects.reference_runtime.cancellation import is_cancellation
from faultclock.subjects.reference_runtime.lifecycle import Extensions
from faultclock.subjects.reference_runtime.loop import MessageLoop
from faultclock.subjects.reference_runtime.provider import ProviderCall, TransportRetries
from faultclock.subjects.reference_runtime.resume import Resume
from faultclock.subjects.reference_runtime.runtime import ReferenceRuntime
from faultclock.subjects.reference_runtime.session import Halted, Message, Session, Turn
from faultclock.subjects.reference_runtime.tool_call import ProposedCall
from faultclock.subjects.runtime_miniatures.table import wrong
from faultclock.subjects.stud import AttemptError, Policy

__all__: list[str] = []

# Requests of a turn.


@wrong(
    "waits-two-then-four",
    "Waits 2 and 4 s above a layer that is told 7",
    fails="backoff.retry-after",
    origin="earendil-works/pi#9595",
)
class _WaitsTwoThenFour(TransportRetries):
    """The layer that honours Retry-After was off by default; the agent above it has its own."""

    def wait_s(self, failure: AttemptError, policy: Policy, count: int) -> float:
        return float(2**count)


# The person.


@wrong(
    "second-approval-sends-all-again",
    "Sends the first result again with the second",
    fails="tools.paired",
    origin="openai/openai-agents-js#1435",
)
class _SecondApprovalSendsAllAgain(MessageLoop):
    """After a second approval the first output went out once more, and the answer was a 400."""

    async def call_tools(self, reply: Any) -> None:
        before = [item for item in self.turn.messages if item.get("role") == "tool"]
        await super().call_tools(reply)
        self.turn.messages += before


@wrong(
    "halt-is-a-failed-tool",
    "Takes the halt of a run for a tool that failed",
    fails="ordering.headless-halt-ends-turn",
    origin="langchain-ai/langchain#39199",
)
class _HaltIsAFailedTool(MessageLoop):
    """The middleware that retries tools swallowed what was to stop the run for a person."""

    async def consider(self, call: ProposedCall) -> Verdict | dict[str, Any]:
        try:
            return await super().consider(call)
        except Halted:
            message = "The tool failed."
            return self.session.telling.shape("ToolTerminal", "ApprovalDenied", message)


# Cancels.


@wrong(
    "interrupted-calls-stay-open",
    "Leaves the calls of a cancelled turn unanswered",
    fails="tools.paired",
    origin="anthropics/claude-code#3003",
)
class _InterruptedCallsStayOpen(ReferenceRuntime):
    """After Escape a tool call had no result, and every later request was refused."""

    def settle(self, turn: Turn, *, keep: bool = True) -> None:
        if turn.saved or not turn.started:
            return
        self.session.messages = [*self.session.messages, *turn.messages]
        self.session.dirty = True


@wrong(
    "cancel-interrupts-the-save",
    "Ends in peace when a cancel interrupts its save",
    fails="turns.saved",
    origin="openai/openai-agents-python#1895",
)
class _CancelInterruptsTheSave(ReferenceRuntime):
    """The write of the session was cancelled half way, and the turn was gone."""

    async def in_time(self, turn: Turn, work: Coroutine[Any, Any, str]) -> str:
        try:
            return await super().in_time(turn, work)
        except TypedError as error:
            last = turn.messages[-1] if turn.messages else {}
            if not is_cancellation(error) or last.get("role") != "assistant":
                raise
            return str(last.get("content"))


@wrong(
    "announces-a-retry-after-cancel",
    "Announces a retry that cannot come any more",
    fails="cancel.audited",
    origin="zirkelc/ai-retry#39",
)
class _AnnouncesARetryAfterCancel(ProviderCall):
    """The callbacks of a retry were called after the user's abort."""

    async def wait_after(self, failure: AttemptError) -> None:
        try:
            await super().wait_after(failure)
        except asyncio.CancelledError:
            self.session.host.audit(
                error_class="ProviderTransient",
                code="RateLimited",
                context={**failure.context(), "retried": True},
                attempt=self.retries.attempt + 1,
            )
            raise


# A session that is resumed.


@wrong(
    "stale-ids-after-resume",
    "Answers an interrupted call by another id",
    fails="tools.paired",
    origin="letta-ai/letta-code#101",
)
class _StaleIdsAfterResume(Resume):
    """The id of the approval that was open is not that of the call."""

    def add(self, messages: list[Message]) -> None:
        super().add(
            [
                {**item, "tool_call_id": self.session.new_id("approval")}
                if item.get("role") == "tool"
                else item
                for item in messages
            ]
        )


@wrong(
    "dies-of-a-missing-tool",
    "Ends a turn when a tool of its history is gone",
    fails="turns.go-on",
    origin="anthropics/claude-code#64016",
)
class _DiesOfAMissingTool(MessageLoop):
    """The list of tools was another one after the resume: what the history calls is not there."""

    def propose(self, call_id: str, name: str, arguments: str) -> ProposedCall:
        call = super().propose(call_id, name, arguments)
        if call.tool is None and self.session.surroundings.resume:
            raise TypedError("ToolTerminal", "NotFound", f"there is no tool {name}")
        return call


@wrong(
    "resumes-what-has-state",
    "Activates on resume what has stored something, and nothing else",
    fails="extensions.walked",
    origin="github/copilot-cli#4674",
)
class _ResumesWhatHasState(Extensions):
    """What defined the agent was lost on resume: the set was made from what was stored."""

    async def open(self) -> None:
        session = self.session
        store = session.surroundings.store
        for extension in session.surroundings.extensions if session.surroundings.resume else ():
            if await store.read_slot(session.id, extension.id) is None:
                self.left_out.add(extension.id)
        await super().open()

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.left_out: set[str] = set()

    def in_order(self, extensions: Sequence[Extension], phase: str) -> list[Extension]:
        ordered = super().in_order(extensions, phase)
        left_out = self.left_out if phase == "activate" else ()
        return [extension for extension in ordered if extension.id not in left_out]
