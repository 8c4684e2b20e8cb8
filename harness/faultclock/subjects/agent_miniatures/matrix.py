"""Runtimes of the Error Handling Matrix that are wrong in one way: what they do.

What becomes of a task, and what is told and kept of it, is in `matrix_tasks`; what they say in
events is in `matrix_events`.
"""

from __future__ import annotations

import asyncio
from asyncio.subprocess import Process
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from faultclock.subjects.agent_miniatures.matrix_table import AsksOnly, matrix
from faultclock.subjects.ports import Node, Reply
from faultclock.subjects.reference_agents.core import Ended, Message, Next, Pair, Turn
from faultclock.subjects.reference_agents.matrix import MatrixAgent, StageFailed
from faultclock.subjects.reference_agents.matrix_programs import ProgramRunner
from faultclock.subjects.reference_agents.matrix_reading import (
    NETWORK,
    REVIEW_SCHEMA,
    RUNTIME,
    TIMEOUT,
    ProgramRun,
    Trouble,
    answer_of,
    trouble_of,
)
from faultclock.subjects.reference_agents.matrix_words import Failure
from faultclock.subjects.reference_agents.wire import AttemptFailed

__all__: list[str] = []


# --- Done again, or not --------------------------------------------------------------------------


@matrix(
    "gives-up-at-once",
    "Fails a stage at the first disconnect",
    fails="failures.redone",
    shown_by="coder-disconnects-once",
)
class _GivesUpAtOnce(MatrixAgent):
    attempts_max: Mapping[str, int] = {"provider_timeout": 3}


@matrix(
    "stage-retries-retries",
    "Retries the stage on top of the program's own retries, like HKUDS/nanobot#2760",
    fails="failures.redone",
    shown_by="coder-disconnects-for-ever",
    origin="HKUDS/nanobot#2760",
)
class _StageRetriesRetries(MatrixAgent):
    async def program_stage(self, node: Node) -> str:
        for _ in range(2):
            try:
                return await super().program_stage(node)
            except StageFailed:
                await asyncio.sleep(4.0)
        return await super().program_stage(node)


@matrix(
    "retries-without-end",
    "Has no cap on the attempts of a stage, like anomalyco/opencode#21960",
    fails="failures.redone",
    shown_by="retries-have-an-end",
    origin="anomalyco/opencode#21960",
)
class _RetriesWithoutEnd(MatrixAgent):
    # Twenty stand for no end, so that the run has one.
    attempts_max: Mapping[str, int] = {"provider_network_error": 20}


@matrix(
    "retries-what-must-not-be",
    "Retries a hung stage that must not be done twice, like MervinPraison/PraisonAI#4256",
    fails="failures.redone",
    shown_by="coder-times-out-not-idempotent",
    origin="MervinPraison/PraisonAI#4256",
)
class _RetriesWhatMustNotBe(MatrixAgent):
    def again_after_s(self, node: Node, pair: Pair | None) -> float | None:
        """Never look at whether the stage may be done twice."""
        return super().again_after_s(replace(node, idempotent=True), pair)


@matrix(
    "retries-refused-prompt",
    "Takes a prompt that is too long for a crash and tries again, like rynfar/meridian#856",
    fails="failures.redone",
    shown_by="coder-prompt-too-long",
    origin="rynfar/meridian#856",
)
class _RetriesRefusedPrompt(MatrixAgent):
    attempts_max: Mapping[str, int] = {"provider_runtime_error": 3}


@matrix(
    "looks-three-times",
    "Looks for a program three times that is not installed",
    fails="failures.redone",
    shown_by="coder-is-not-installed",
)
class _LooksThreeTimes(MatrixAgent):
    attempts_max: Mapping[str, int] = {"provider_not_found": 3}


@matrix(
    "regenerates-for-ever",
    "Asks a reviewer for JSON until it gets some",
    fails="failures.redone",
    shown_by="reviewer-fields-missing",
)
class _RegeneratesForEver(MatrixAgent):
    def again_after_s(self, node: Node, pair: Pair | None) -> float | None:
        """Give five more chances, where one is allowed."""
        wait_s = super().again_after_s(node, pair)
        return 0.0 if pair == REVIEW_SCHEMA and self.failures[REVIEW_SCHEMA[1]] < 6 else wait_s


@matrix(
    "waits-nothing",
    "Runs a program again at once after a disconnect",
    fails="failures.wait",
    shown_by="coder-disconnects-once",
)
class _WaitsNothing(MatrixAgent):
    first_wait_s = 0.0


@matrix(
    "no-jitter",
    "Waits exactly one and two seconds, like vercel/ai PR#5474",
    fails="backoff.jitter",
    shown_by="model-disconnects-over-seeds",
    origin="vercel/ai PR#5474",
)
class _NoJitter(MatrixAgent):
    jitter = 0.0


@matrix(
    "retries-what-was-canceled",
    "Takes a cancel for a failure and tries again, like harbor-framework/harbor#1223",
    fails="ordering.canceled-starts-nothing",
    shown_by="canceled-in-a-backoff",
    origin="harbor-framework/harbor#1223",
)
class _RetriesWhatWasCanceled(MatrixAgent):
    async def note_retry(self, node: Node, failure: Failure, attempt: int, wait_s: float) -> None:
        """Wait here, and let nothing disturb the wait."""
        await super().note_retry(node, failure, attempt, wait_s)
        with suppress(BaseException):
            await asyncio.sleep(wait_s)


# --- What a run of a program was -----------------------------------------------------------------


@matrix(
    "reads-error-output-only",
    "Does not see a disconnect in the standard output, like danshapiro/kilroy#20",
    fails="failures.classified",
    shown_by="disconnect-in-stdout-only",
    origin="danshapiro/kilroy#20",
)
class _ReadsErrorOutputOnly(MatrixAgent):
    def read(self, node: Node, run: ProgramRun) -> Trouble | None:
        """Look at the exit status and the error output, and nowhere else."""
        if run.status == 0:
            return super().read(node, run)
        return trouble_of(replace(run, stdout=[]))


@matrix(
    "no-status-is-zero",
    "Reads the exit status that is absent after a signal as a zero",
    fails="ordering.no-schema-label-on-a-broken-provider",
    shown_by="reviewer-killed",
)
class _NoStatusIsZero(MatrixAgent):
    def read(self, node: Node, run: ProgramRun) -> Trouble | None:
        """Take a run that ended by a signal for a good one."""
        if run.status is not None and run.status < 0:
            run.status = 0
        return super().read(node, run)


@matrix(
    "answer-first",
    "Looks at the answer before it looks at how the program ended",
    fails="failures.classified",
    shown_by="reviewer-disconnects-for-ever",
)
class _AnswerFirst(MatrixAgent):
    def read(self, node: Node, run: ProgramRun) -> Trouble | None:
        """Call half an answer a schema failure, whatever broke it off."""
        if self.is_gated(node) and answer_of(run, node.output_schema)[1] is not None:
            return Trouble(REVIEW_SCHEMA)
        return super().read(node, run)


@matrix(
    "words-are-signals",
    "Searches the whole output for words of a failure",
    fails="ordering.nothing-fails-by-itself",
    shown_by="words-are-no-signals",
)
class _WordsAreSignals(MatrixAgent):
    def read(self, node: Node, run: ProgramRun) -> Trouble | None:
        """Find an auth error in the name of an author."""
        if "auth" in run.raw:
            return Trouble(("provider", "provider_auth_error"))
        return super().read(node, run)


@matrix(
    "stops-at-first-denial",
    "Stops a program at the first permission that it is denied",
    fails="ordering.nothing-fails-by-itself",
    shown_by="one-permission-denied",
)
class _StopsAtFirstDenial(MatrixAgent):
    denials_max = 1


@matrix(
    "never-stops-a-loop",
    "Lets a program be denied until it gives up by itself",
    fails="ordering.denial-loop-stopped",
    shown_by="permission-loop",
)
class _NeverStopsALoop(MatrixAgent):
    denials_max = 1_000


@matrix(
    "never-kills",
    "Sends SIGTERM and takes that for the end of the process",
    fails="ordering.stopped-means-ended",
    shown_by="permission-loop-in-ndjson",
)
class _NeverKills(MatrixAgent):
    runner_type = AsksOnly


class _PatientRunner(ProgramRunner):
    """Starts the clock again with each line."""

    async def follow(self, process: Process, run: ProgramRun, name: str, node: Node) -> None:
        """Give a program its time from the last line that it wrote."""
        following = asyncio.ensure_future(
            super().follow(process, run, name, replace(node, timeout_s=1e6))
        )
        seen = -1
        while seen != len(run.stdout):
            seen = len(run.stdout)
            done, _ = await asyncio.wait({following}, timeout=node.timeout_s)
            if done:
                return following.result()
        following.cancel()
        raise TimeoutError


@matrix(
    "pings-keep-it-alive",
    "Lets each line set the timeout back, like multica-ai/multica PR#5712",
    fails="ordering.call-ends-once",
    shown_by="coder-pings-for-ever",
    origin="multica-ai/multica PR#5712",
)
class _PingsKeepItAlive(MatrixAgent):
    runner_type = _PatientRunner


class _ImpatientRunner(ProgramRunner):
    """Wants to see a line every thirty seconds."""

    async def follow(self, process: Process, run: ProgramRun, name: str, node: Node) -> None:
        """Give a program half a minute."""
        await super().follow(process, run, name, replace(node, timeout_s=30.0))


@matrix(
    "silence-is-death",
    "Stops a program that is silent but alive, like timothy-agent/timothy PR#669",
    fails="ordering.nothing-fails-by-itself",
    shown_by="coder-is-quiet-and-good",
    origin="timothy-agent/timothy PR#669",
)
class _SilenceIsDeath(MatrixAgent):
    runner_type = _ImpatientRunner


# --- Requests over HTTP ---------------------------------------------------------------------------


@matrix(
    "retries-a-bad-token",
    "Asks again with a token that was refused",
    fails="classification.disposition",
    shown_by="model-refuses-the-token",
)
class _RetriesABadToken(MatrixAgent):
    attempts_max: Mapping[str, int] = {"provider_auth_error": 3}


@matrix(
    "error-event-is-fatal",
    "Goes by the status of a stream alone, like anthropics/anthropic-sdk-python#1258",
    fails="classification.disposition",
    shown_by="model-says-so-in-the-stream",
    origin="anthropics/anthropic-sdk-python#1258",
)
class _ErrorEventIsFatal(MatrixAgent):
    def classify(self, failed: AttemptFailed) -> Pair | None:
        """Find no status in the stream, and so nothing that passes by itself."""
        return RUNTIME if failed.seen.kind == "stream_error" else super().classify(failed)


@matrix(
    "timeout-is-a-disconnect",
    "Calls a deadline that passed a disconnect",
    fails="failures.outcome",
    shown_by="model-times-out-for-ever",
)
class _TimeoutIsADisconnect(MatrixAgent):
    def classify(self, failed: AttemptFailed) -> Pair | None:
        """Know one class for whatever happens on a connection."""
        pair = super().classify(failed)
        return NETWORK if pair == TIMEOUT else pair


@matrix(
    "one-attempt-more",
    "Counts retries where attempts are meant",
    fails="backoff.attempts",
    shown_by="model-is-overloaded-for-ever",
)
class _OneAttemptMore(MatrixAgent):
    attempts_max: Mapping[str, int] = {"provider_network_error": 4}


@matrix(
    "request-retries-retries",
    "Repeats a request that was retried to its end, like livekit/agents PR#5335",
    fails="amplification.requests",
    shown_by="model-is-overloaded-for-ever",
    origin="livekit/agents PR#5335",
)
class _RequestRetriesRetries(MatrixAgent):
    async def ask_chain(self, turn: Turn, messages: Sequence[Message]) -> Reply:
        """Ask three times, three times each."""
        for _ in range(2):
            try:
                return await super().ask_chain(turn, messages)
            except Ended:
                await asyncio.sleep(4.0)
        return await super().ask_chain(turn, messages)


@matrix(
    "schedule-begins-late",
    "Waits two seconds before the first retry",
    fails="backoff.wait",
    shown_by="model-says-so-in-the-stream",
)
class _ScheduleBeginsLate(MatrixAgent):
    first_wait_s = 2.0


@matrix(
    "never-times-out",
    "Waits for ever for a connection that has gone silent, like earendil-works/pi#8331",
    fails="ordering.call-ends-once",
    shown_by="model-times-out-once",
    origin="earendil-works/pi#8331",
)
class _NeverTimesOut(MatrixAgent):
    def __init__(self, surroundings: Any) -> None:
        super().__init__(replace(surroundings, timeout_s=1e9))


@matrix(
    "denied-for-ever",
    "Lets a model ask for what it is denied as often as it likes",
    fails="failures.outcome",
    shown_by="denied-again-and-again",
)
class _DeniedForEver(MatrixAgent):
    def after_tool(self, *call: Any) -> Next:
        """Tell the model, each time."""
        return Next(act="tell")
