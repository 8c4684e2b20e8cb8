"""Miniatures of Relavium runtimes whose chain of providers is wrong: who is asked, how often."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from faultclock.subjects.agent_miniatures.relavium_table import relavium
from faultclock.subjects.ports import ProviderTarget, Reply
from faultclock.subjects.reference_agents.core import Ended, FailedAttempt, Next, Pair, Turn
from faultclock.subjects.reference_agents.relavium import RelaviumAgent
from faultclock.subjects.reference_agents.relavium_errors import CODE_OF_KIND
from faultclock.subjects.reference_agents.wire import AttemptFailed

__all__: list[str] = []

# The chain.


@relavium(
    "falls-through-on-a-bad-key",
    "Asks the next provider after a refused key",
    fails="chain.stops",
    shown_by="wrong-key",
)
class _FallsThroughOnABadKey(RelaviumAgent):
    def is_retryable(self, kind: str) -> bool:
        return kind == "auth" or super().is_retryable(kind)


@relavium(
    "never-fails-over",
    "Ends the run with the first provider's failure",
    fails="chain.advances",
    shown_by="limited-then-next-provider",
)
class _NeverFailsOver(RelaviumAgent):
    def may_advance(self, failed: AttemptFailed) -> bool:
        return False


@relavium(
    "no-fallback-within-a-stream",
    "Does not ask the next provider for an overload in a stream (BerriAI/litellm#6957)",
    fails="chain.advances",
    shown_by="overload-opens-the-stream",
    origin="BerriAI/litellm#6957",
)
class _NoFallbackWithinAStream(RelaviumAgent):
    def may_advance(self, failed: AttemptFailed) -> bool:
        return failed.seen.kind != "stream_error" and super().may_advance(failed)


@relavium(
    "replays-the-answer",
    "Has another provider begin anew after half an answer (HKUDS/nanobot#4038)",
    fails="chain.after-content",
    shown_by="cut-after-content",
    origin="HKUDS/nanobot#4038",
)
class _ReplaysTheAnswer(RelaviumAgent):
    def may_advance(self, failed: AttemptFailed) -> bool:
        return True


@relavium(
    "asks-the-parked",
    "Asks a provider again that has just limited requests (BerriAI/litellm#40130)",
    fails="chain.parks",
    shown_by="parked-provider-is-skipped",
    origin="BerriAI/litellm#40130",
)
class _AsksTheParked(RelaviumAgent):
    def park(self, target: ProviderTarget) -> None:
        return


@relavium(
    "parks-for-good",
    "Never asks a provider again that has limited requests once",
    fails="chain.advances",
    shown_by="parked-provider-is-skipped",
)
class _ParksForGood(RelaviumAgent):
    park_s = 1e6


@relavium(
    "starts-the-chain-over",
    "Begins to count anew once the chain is used up (google-gemini/gemini-cli#28339)",
    fails="chain.advances",
    shown_by="entry-used-up-then-next",
    origin="google-gemini/gemini-cli#28339",
)
class _StartsTheChainOver(RelaviumAgent):
    def available(self, turn: Turn) -> tuple[ProviderTarget, ...]:
        found = super().available(turn)
        return (*found, *found, *found)


@relavium(
    "hidden-retries",
    "Has an adapter that retries below the chain (HKUDS/nanobot#2760)",
    fails="amplification.requests",
    shown_by="chain-times-node",
    origin="HKUDS/nanobot#2760",
)
class _HiddenRetries(RelaviumAgent):
    @property
    def targets(self) -> tuple[ProviderTarget, ...]:
        return tuple(
            ProviderTarget(
                id=item.id,
                base_url=item.base_url,
                model=item.model,
                attempts_max=3 * (item.attempts_max or 1),
            )
            for item in super().targets
        )


@relavium(
    "sdk-retries-unlogged",
    "Sends again what an entry grants once (livekit/agents PR#5335)",
    fails="backoff.attempts",
    shown_by="both-layers-retry",
    origin="livekit/agents PR#5335",
)
class _SdkRetriesUnlogged(_HiddenRetries):
    pass


@relavium(
    "counts-retries",
    "Counts retries where attempts are meant",
    fails="backoff.attempts",
    shown_by="entry-used-up-then-next",
)
class _CountsRetries(RelaviumAgent):
    @property
    def targets(self) -> tuple[ProviderTarget, ...]:
        return tuple(
            ProviderTarget(
                id=item.id,
                base_url=item.base_url,
                model=item.model,
                attempts_max=1 + (item.attempts_max or 1),
            )
            for item in super().targets
        )


@relavium(
    "retries-at-once",
    "Waits for nothing between the attempts at an entry (BerriAI/litellm#7669)",
    fails="backoff.wait",
    shown_by="retried-at-its-entry",
    origin="BerriAI/litellm#7669",
)
class _RetriesAtOnce(RelaviumAgent):
    def entry_wait_s(self, attempt: int) -> float:
        return 0.0


@relavium(
    "sends-the-same-again",
    "Sends a request again that was too long (aaif-goose/goose#11048)",
    fails="classification.disposition",
    shown_by="too-long-is-not-sent-again",
    origin="aaif-goose/goose#11048",
)
class _SendsTheSameAgain(RelaviumAgent):
    def is_retryable(self, kind: str) -> bool:
        return kind == "bad_request" or super().is_retryable(kind)


@relavium(
    "reads-the-words",
    "Classifies by the words of the message",
    fails="classification.disposition",
    shown_by="words-say-rate-limit",
)
class _ReadsTheWords(RelaviumAgent):
    def after_failure(self, turn: Turn, attempt: FailedAttempt) -> Next:
        words = attempt.error.seen.provider_message or ""
        if "rate limit" in words and attempt.number < 3:
            return Next(act="again", wait_s=1.0)
        return super().after_failure(turn, attempt)


@relavium(
    "wording-is-a-quota",
    "Takes a limit that is worded as a quota for final (LibreChat-AI/agents PR#358)",
    fails="chain.advances",
    shown_by="words-say-quota",
    origin="LibreChat-AI/agents PR#358",
)
class _WordingIsAQuota(RelaviumAgent):
    def may_advance(self, failed: AttemptFailed) -> bool:
        worded = "quota" in (failed.seen.provider_message or "").lower()
        return not worded and super().may_advance(failed)


@relavium(
    "trusts-the-200",
    "Fails over by the status alone, and a 200 is none (OpenRouterTeam/ai-sdk-provider PR#211)",
    fails="chain.advances",
    shown_by="limit-in-a-200",
    origin="OpenRouterTeam/ai-sdk-provider PR#211",
)
class _TrustsThe200(RelaviumAgent):
    def may_advance(self, failed: AttemptFailed) -> bool:
        return failed.seen.status != 200 and super().may_advance(failed)


@relavium(
    "block-is-a-server-error",
    "Takes a block for a server error (Azure-Samples/azure-search-openai-demo#3030)",
    fails="failures.classified",
    shown_by="blocked-content-is-its-own-cause",
    origin="Azure-Samples/azure-search-openai-demo#3030",
)
class _BlockIsAServerError(RelaviumAgent):
    def classify(self, failed: AttemptFailed) -> Pair | None:
        pair = super().classify(failed)
        return ("llm", "overloaded") if pair == ("llm", "content_filter") else pair


@relavium(
    "asks-for-the-blocked-again",
    "Sends blocked content to the next provider",
    fails="ordering.blocked-content-is-never-asked-again",
    shown_by="blocked-content-is-its-own-cause",
)
class _AsksForTheBlockedAgain(RelaviumAgent):
    def is_retryable(self, kind: str) -> bool:
        return kind == "content_filter" or super().is_retryable(kind)


@relavium(
    "success-without-a-finish",
    "Takes a stream without a finish for an answer (ag-ui-protocol/ag-ui#2300)",
    fails="swallow.silent",
    shown_by="no-finish-is-no-answer",
    origin="ag-ui-protocol/ag-ui#2300",
)
class _SuccessWithoutAFinish(RelaviumAgent):
    async def ask_chain(self, turn: Turn, messages: Sequence[dict[str, Any]]) -> Reply:
        try:
            return await super().ask_chain(turn, messages)
        except Ended as end:
            if isinstance(end.__cause__, AttemptFailed) and end.__cause__.seen.kind == "cut":
                return Reply("The quick brown", finish_reason="stop")
            raise


@relavium(
    "validation-is-internal",
    "Ends a run with internal that a bad request has ended",
    fails="failures.outcome",
    shown_by="words-say-rate-limit",
)
class _ValidationIsInternal(RelaviumAgent):
    def run_pair(self, pair: Pair | None) -> Pair | None:
        found = super().run_pair(pair)
        return ("run", "internal") if found == ("run", CODE_OF_KIND["bad_request"]) else found
