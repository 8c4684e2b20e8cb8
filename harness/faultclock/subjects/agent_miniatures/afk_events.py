"""Miniatures of AFK runtimes: the events of a run, of its steps and of its LLM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from faultclock.subjects.agent_miniatures.afk_table import afk
from faultclock.subjects.ports import InteractionRequest, ProviderTarget, Reply
from faultclock.subjects.reference_agents.afk import AfkAgent
from faultclock.subjects.reference_agents.afk_kinds import MEMORY
from faultclock.subjects.reference_agents.core import Ended, Message, Pair, Turn

__all__: list[str] = []

# The run and its end.


@afk(
    "starts-twice",
    "Announces the start of a run twice",
    fails="ordering.run-started-once",
    shown_by="good-run",
)
class _StartsTwice(AfkAgent):
    """Whoever counts runs counts two."""

    def turn_started(self, turn: Turn) -> None:
        super().turn_started(turn)
        super().turn_started(turn)


@afk(
    "warns-before-the-start",
    "Warns before the run has started",
    fails="ordering.run-started-first",
    shown_by="good-run",
)
class _WarnsBeforeTheStart(AfkAgent):
    """A warning of a run that nobody knows."""

    def turn_started(self, turn: Turn) -> None:
        self.emit("warning", message="The session has no title")
        super().turn_started(turn)


@afk(
    "fails-and-completes",
    "agentscope-java#2642: RunError was followed by RunFinished",
    fails="ordering.one-terminal-event",
    shown_by="fails-and-does-not-complete",
    origin="agentscope-ai/agentscope-java#2642",
)
class _FailsAndCompletes(AfkAgent):
    """The end is announced in a `finally`, whatever was announced before."""

    def run_over(self, end: Ended) -> None:
        super().run_over(end)
        if end.state == "failed":
            self.emit("run_completed", state="failed")


@afk(
    "failure-has-no-end",
    "ag-ui#2416: a run that failed had no terminal event",
    fails="ordering.one-terminal-event",
    shown_by="server-error-for-ever",
    origin="ag-ui-protocol/ag-ui#2416",
)
class _FailureHasNoEnd(AfkAgent):
    """Who listens waits for ever."""

    def run_over(self, end: Ended) -> None:
        if end.state != "failed":
            super().run_over(end)


@afk(
    "checkpoint-after-the-end",
    "Writes the last checkpoint after the terminal event",
    fails="ordering.terminal-event-last",
    shown_by="memory-is-down",
)
class _CheckpointAfterTheEnd(AfkAgent):
    """The order of the system's own code; a warning comes behind the end."""

    forgot = False

    def run_over(self, end: Ended) -> None:
        super().run_over(end)
        if self.forgot:
            super().warn(MEMORY)

    def warn(self, pair: Pair | None) -> None:
        super().warn(pair)
        self.forgot |= pair == MEMORY


@afk(
    "asks-after-the-end",
    "Shows the person a question when the run is over",
    fails="ordering.nothing-after-the-run",
    shown_by="approval-is-given",
)
class _AsksAfterTheEnd(AfkAgent):
    """Was this helpful?"""

    def run_over(self, end: Ended) -> None:
        super().run_over(end)
        for interactor in self.world.interactors:
            request = InteractionRequest(
                id="helpful", kind="Approve", prompt="Was this helpful?", deadline_s=60.0
            )
            interactor.show(request, lambda _: None)


@afk(
    "interrupts-at-the-end",
    "Announces a completed run as interrupted",
    fails="ordering.completed-is-told",
    shown_by="good-run",
)
class _InterruptsAtTheEnd(AfkAgent):
    """The stream of events is closed first, and then looks cut off."""

    def run_over(self, end: Ended) -> None:
        if end.state == "completed":
            self.emit("run_interrupted", error="the stream was closed")
        else:
            super().run_over(end)


@afk(
    "degraded-looks-completed",
    "Announces a degraded run as completed",
    fails="ordering.degraded-is-named",
    shown_by="tool-raises-and-degrades",
)
class _DegradedLooksCompleted(AfkAgent):
    """The result says it, and the event does not."""

    def run_over(self, end: Ended) -> None:
        if end.state == "degraded":
            self.emit("run_completed", state="completed")
        else:
            super().run_over(end)


@afk(
    "failure-is-overwritten",
    "codex#28375: an error was overwritten by the end of the turn",
    fails="ordering.failed-is-told",
    shown_by="times-out-for-ever",
    origin="openai/codex#28375",
)
class _FailureIsOverwritten(AfkAgent):
    """The later event counts, and it is a good one without a result."""

    def run_over(self, end: Ended) -> None:
        if end.state == "failed":
            self.emit("warning", message=str(end))
            self.emit("run_completed", state="completed")
        else:
            super().run_over(end)


@afk(
    "fails-without-a-reason",
    "Fails and does not say why",
    fails="ordering.failed-says-why",
    shown_by="bad-key",
)
class _FailsWithoutAReason(AfkAgent):
    """Stop, and report nothing."""

    def emit(self, name: str, **fields: Any) -> None:
        super().emit(name, **({} if name == "run_failed" else fields))


@afk(
    "interrupted-looks-failed",
    "Announces a run that ran out of time as failed",
    fails="ordering.interrupted-is-told",
    shown_by="wall-time-used-up",
)
class _InterruptedLooksFailed(AfkAgent):
    """The result says interrupted."""

    def emit(self, name: str, **fields: Any) -> None:
        super().emit("run_failed" if name == "run_interrupted" else name, **fields)


@afk(
    "cancelled-looks-failed",
    "Announces a cancelled run as failed",
    fails="ordering.cancelled-is-told",
    shown_by="cancelled-in-a-tool",
)
class _CancelledLooksFailed(AfkAgent):
    """Who pressed Esc reads of an error."""

    def emit(self, name: str, **fields: Any) -> None:
        if name == "run_cancelled":
            super().emit("run_failed", error="cancelled", **fields)
        else:
            super().emit(name, **fields)


@afk(
    "degrades-in-silence",
    "Ends degraded without a warning",
    fails="ordering.degraded-was-warned",
    shown_by="llm-failure-degrades",
)
class _DegradesInSilence(AfkAgent):
    """Nobody can tell what is missing."""

    def tolerated(self, turn: Turn, pair: Pair | None) -> None:
        turn.degraded = True


# Steps and the LLM.


@afk(
    "no-steps",
    "Announces no step",
    fails="ordering.step-before-llm",
    shown_by="good-run",
)
class _NoSteps(AfkAgent):
    """The LLM is called out of nowhere."""

    def step_started(self, turn: Turn) -> None:
        self.emit("policy_decision", event_type="llm_before_execute", action="allow")


@afk(
    "decides-afterwards",
    "Decides whether the LLM may be called when it has been",
    fails="ordering.step-in-order",
    shown_by="good-run",
)
class _DecidesAfterwards(AfkAgent):
    """A gate behind the house."""

    def step_started(self, turn: Turn) -> None:
        self.emit("step_started", step=turn.steps + 1, state="running")

    def llm_called(self, target: ProviderTarget) -> None:
        super().llm_called(target)
        self.emit("policy_decision", event_type="llm_before_execute", action="allow")


@afk(
    "asks-in-secret",
    "Announces no call of the LLM",
    fails="ordering.llm-called-before-request",
    shown_by="good-run",
)
class _AsksInSecret(AfkAgent):
    """The bill has more lines than the log."""

    def llm_called(self, target: ProviderTarget) -> None:
        return


@afk(
    "announces-the-first-call-only",
    "Announces the first call of the LLM alone",
    fails="ordering.llm-called-anew",
    shown_by="good-run-with-tools",
)
class _AnnouncesTheFirstCallOnly(AfkAgent):
    """What follows the tools is no call of its own."""

    first = True

    def llm_called(self, target: ProviderTarget) -> None:
        if self.first:
            super().llm_called(target)
        self.first = False


@afk(
    "completes-what-failed",
    "ag-ui#2300: a stream that ended without an end resolved as a success",
    fails="ordering.llm-completed-after-answer",
    shown_by="no-fallback-after-content",
    origin="ag-ui-protocol/ag-ui#2300",
)
class _CompletesWhatFailed(AfkAgent):
    """Whatever the attempts came to, the call of the LLM is announced as completed."""

    async def ask_chain(self, turn: Turn, messages: Sequence[Message]) -> Reply:
        try:
            return await super().ask_chain(turn, messages)
        except Ended:
            self.emit("llm_completed")
            raise


@afk(
    "a-retry-is-a-failure",
    "pi-subagents#19: an error that was recovered from marked a good run as failed",
    fails="ordering.answer-completes-the-run",
    shown_by="rate-limited-then-answers",
    origin="edxeth/pi-subagents#19",
)
class _ARetryIsAFailure(AfkAgent):
    """The answer is there, and so is the error of before."""

    failed_once = False

    def audit(
        self, pair: Pair | None, target: str, attempt: int | None = None, **more: Any
    ) -> None:
        super().audit(pair, target, attempt, **more)
        self.failed_once = True

    def run_over(self, end: Ended) -> None:
        if self.failed_once:
            end.state = "failed"
        super().run_over(end)


@afk(
    "never-completes-the-call",
    "Announces no answer of the LLM",
    fails="ordering.llm-called-comes-to-an-end",
    shown_by="good-run-with-tools",
)
class _NeverCompletesTheCall(AfkAgent):
    """Tools are executed for an answer that never came."""

    def llm_completed(self, reply: Reply) -> None:
        return
