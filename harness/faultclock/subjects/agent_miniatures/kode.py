"""Miniatures of KODE SDK agents: turns, and what the model says.

Those of interrupts, storage and the timeline are in `kode_life`, those of tools in `kode_tools`, of
errors in `kode_errors` and `kode_telling`, of permissions and hooks in `kode_permissions`, and of
what is on record in `kode_records`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from faultclock.subjects.agent_miniatures.kode_table import Muted, kode
from faultclock.subjects.ports import Reply, RunResult
from faultclock.subjects.reference_agents.core import Ended, FailedAttempt, Message, Next, Turn
from faultclock.subjects.reference_agents.kode import KodeAgent
from faultclock.subjects.reference_agents.wire import ask_once, assistant_message, request_to

__all__: list[str] = []

# How a turn goes.


@kode(
    "asks-after-the-end",
    "Asks the model for a title after the turn",
    fails="ordering.nothing-after-the-end",
    shown_by="good-turn-with-two-tools",
)
class _AsksAfterTheEnd(KodeAgent):
    """A task that nobody waits for works on when the caller has its answer."""

    async def turn_over(self, turn: Turn, end: Ended) -> None:
        await super().turn_over(turn, end)
        self.later = asyncio.get_running_loop().create_task(self.title())

    async def title(self) -> None:
        await asyncio.sleep(0.5)
        messages = [{"role": "user", "content": "Give this a title."}]
        await ask_once(request_to(self.world, self.targets[0], messages, ()))


@kode(
    "no-done-after-a-failure",
    "A turn whose model failed has no done",
    fails="ordering.done-once",
    shown_by="model-401",
    origin="ag-ui-protocol/ag-ui#2416",
)
class _NoDoneAfterAFailure(KodeAgent):
    """ag-ui-protocol/ag-ui#2416: who waits for the end of a failed run waits for ever."""

    def done(self, turn: Turn, end: Ended) -> None:
        if end.state != "failed":
            super().done(turn, end)


@kode(
    "done-comes-late",
    "Is done after it has returned",
    fails="ordering.done-before-return",
    shown_by="good-turn-with-two-tools",
)
class _DoneComesLate(KodeAgent):
    """The event is queued, and the answer overtakes it."""

    def done(self, turn: Turn, end: Ended) -> None:
        asyncio.get_running_loop().call_later(0.01, super().done, turn, end)


@kode(
    "says-more-after-done",
    "Shows text after done",
    fails="ordering.done-is-last",
    shown_by="good-turn-with-two-tools",
)
class _SaysMoreAfterDone(KodeAgent):
    """Whoever stops listening at done misses it."""

    def done(self, turn: Turn, end: Ended) -> None:
        super().done(turn, end)
        self.timeline.progress("text_chunk", step=turn.steps, delta="(that is all)")


@kode(
    "never-working",
    "Works without the state WORKING",
    fails="ordering.working-first",
    shown_by="good-turn-with-two-tools",
)
class _NeverWorking(KodeAgent):
    """A screen that shows the state says READY while the agent is busy."""

    def turn_started(self, turn: Turn) -> None:
        pass


@kode(
    "stays-working",
    "Stays WORKING after a failure",
    fails="ordering.ready-last",
    shown_by="model-unreachable",
)
class _StaysWorking(KodeAgent):
    """The agent is there, and nobody would know."""

    async def turn_over(self, turn: Turn, end: Ended) -> None:
        await self.save()
        self.done(turn, end)
        if end.state != "failed":
            self.state("READY")


@kode(
    "ready-before-done",
    "Is READY before it is done",
    fails="ordering.turn-closes-in-order",
    shown_by="good-turn-with-two-tools",
)
class _ReadyBeforeDone(KodeAgent):
    """Whoever sends the next message at READY gets the end of the last one."""

    async def turn_over(self, turn: Turn, end: Ended) -> None:
        await self.save()
        self.state("READY")
        self.done(turn, end)


@kode(
    "no-step-complete",
    "A turn that completed has no step_complete",
    fails="ordering.completed-step",
    shown_by="good-turn-with-two-tools",
)
class _NoStepComplete(Muted):
    """The step never shows in the statistics."""

    muted = ("type", "step_complete")


@kode(
    "completed-after-an-error",
    "Is done as completed after the model failed",
    fails="ordering.completed-is-not-failed",
    shown_by="model-500",
    origin="agentscope-ai/agentscope-java#2642",
)
class _CompletedAfterAnError(KodeAgent):
    """agentscope-ai/agentscope-java#2642: an error event, and then the run is finished."""

    def done(self, turn: Turn, end: Ended) -> None:
        self.timeline.progress("done", step=turn.number, reason="completed")
        self.timeline.monitor("step_complete", step=turn.number)


@kode(
    "overwrites-the-failure",
    "A failed turn returns as completed, without a text",
    fails="failures.outcome",
    shown_by="model-unreachable",
    origin="openai/codex#28375",
)
class _OverwritesTheFailure(KodeAgent):
    """openai/codex#28375: the error is followed by a completion with nothing in it."""

    def result(self, turn: Turn, end: Ended) -> RunResult:
        return RunResult() if end.state == "failed" else super().result(turn, end)


@kode(
    "dies-with-its-model",
    "Takes no message any more after the model failed",
    fails="failures.outcome",
    shown_by="model-500",
)
class _DiesWithItsModel(KodeAgent):
    """An error of the agent ends the agent."""

    dead = False

    async def work(self, turn: Turn) -> str:
        if self.dead:
            raise Ended("failed", ("model", "failure"), "the agent has failed before")
        return await super().work(turn)

    async def turn_over(self, turn: Turn, end: Ended) -> None:
        self.dead = self.dead or end.state == "failed"
        await super().turn_over(turn, end)


@kode(
    "stops-after-the-tools",
    "Does not ask the model again after a batch of tools",
    fails="turns.go-on",
    shown_by="good-turn-with-two-tools",
)
class _StopsAfterTheTools(KodeAgent):
    """The results are there, and the next step waits for the next message."""

    async def converse(self, turn: Turn, prompt: str) -> str:
        turn.messages.append({"role": "user", "content": prompt})
        reply = await self.answer(turn, [*self.history, *turn.messages])
        self.answered(turn, reply)
        turn.messages.append(assistant_message(reply))
        if reply.tool_calls:
            await self.use_tools(turn, reply)
        return reply.text


@kode(
    "runs-turns-into-each-other",
    "Does not wait for the turn that runs",
    fails="turns.apart",
    shown_by="two-messages-at-once",
)
class _RunsTurnsIntoEachOther(KodeAgent):
    """Two messages at once are two turns at once, on one conversation."""

    async def run_turn(self, text: str) -> RunResult:
        self._queue = asyncio.Lock()
        return await super().run_turn(text)


@kode(
    "forgets-a-failed-turn",
    "Throws finished tool calls away when the model fails",
    fails="ordering.executed-once",
    shown_by="model-fails-after-tools",
    origin="vercel/ai#18667",
)
class _ForgetsAFailedTurn(KodeAgent):
    """vercel/ai#18667: the next turn knows nothing of what the tools have done."""

    def remember(self, turn: Turn, end: Ended) -> None:
        if end.state != "failed":
            super().remember(turn, end)


@kode(
    "begins-anew",
    "Forgets the conversation with each turn",
    fails="turns.history",
    shown_by="application-asks-three-times",
)
class _BeginsAnew(KodeAgent):
    """To adjust and retry, one has to know what was tried."""

    async def run_turn(self, text: str) -> RunResult:
        self.history = []
        return await super().run_turn(text)


# What the model says.


@kode(
    "no-pre-model",
    "Asks the model without passing PRE_MODEL",
    fails="ordering.asked-at-pre-model",
    shown_by="good-turn-with-two-tools",
)
class _NoPreModel(Muted):
    """Who stops the agent before the model is asked cannot."""

    muted = ("current", "PRE_MODEL")


@kode(
    "text-ends-before-it-begins",
    "Emits the end of a text before its chunks",
    fails="ordering.model-step-in-order",
    shown_by="good-turn-with-two-tools",
)
class _TextEndsBeforeItBegins(KodeAgent):
    """The whole text is shown, and then its parts once more."""

    def answered(self, turn: Turn, reply: Reply) -> None:
        if reply.text:
            self.timeline.progress("text_chunk_start", step=turn.steps)
            self.timeline.progress("text_chunk_end", step=turn.steps, text=reply.text)
            self.timeline.progress("text_chunk", step=turn.steps, delta=reply.text)
        super().answered(turn, replace(reply, text=""))


@kode(
    "text-never-ends",
    "Emits no end of a text",
    fails="ordering.text-chunk-ends",
    shown_by="good-turn-with-two-tools",
)
class _TextNeverEnds(Muted):
    """The cursor blinks on."""

    muted = ("type", "text_chunk_end")


@kode(
    "silent-about-the-model",
    "Emits no error when the model fails",
    fails="ordering.model-failure-is-monitored",
    shown_by="model-stream-cut",
)
class _SilentAboutTheModel(Muted):
    """Operators see a quiet agent."""

    muted = ("phase", "model")


class _TakesWhatItHas(KodeAgent):
    """Returns an answer where there is none."""

    text = ""

    async def ask_chain(self, turn: Turn, messages: Sequence[Message]) -> Reply:
        try:
            return await super().ask_chain(turn, messages)
        except Ended:
            return Reply(self.text)

    def attempt_failed(self, turn: Turn, attempt: FailedAttempt, step: Next) -> None:
        pass


@kode(
    "half-an-answer-is-one",
    "Takes a stream without an end for a whole answer",
    fails="swallow.silent",
    shown_by="model-stream-cut",
    origin="ag-ui-protocol/ag-ui#2300",
)
class _HalfAnAnswerIsOne(_TakesWhatItHas):
    """ag-ui-protocol/ag-ui#2300: a stream that just ends resolves as a success."""

    text = "The quick"


@kode(
    "an-error-is-an-answer",
    "Takes an error in a 200 for an empty answer",
    fails="swallow.silent",
    shown_by="model-error-in-200",
    origin="OpenRouterTeam/ai-sdk-provider#211",
)
class _AnErrorIsAnAnswer(_TakesWhatItHas):
    """OpenRouterTeam/ai-sdk-provider#211: the status says 200, so it must be good."""
