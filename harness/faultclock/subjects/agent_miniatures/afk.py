"""Miniatures of AFK runtimes: the LLM, and the chain of models.

The circuit breaker of each model is in `afk_breaker`. Runs, tools and subagents are in `afk_runs`,
what a run says of itself in `afk_events` and `afk_tool_events`.
"""

from __future__ import annotations

from collections.abc import Sequence

from faultclock.subjects.agent_miniatures.afk_table import Decides, afk
from faultclock.subjects.ports import ProviderTarget, Reply
from faultclock.subjects.reference_agents.afk import AfkAgent
from faultclock.subjects.reference_agents.afk_kinds import (
    AUTH,
    INVALID_REQUEST,
    RATE_LIMIT,
)
from faultclock.subjects.reference_agents.core import (
    Ended,
    FailedAttempt,
    Message,
    Next,
    Pair,
    RunState,
    Turn,
)
from faultclock.subjects.reference_agents.wire import AttemptFailed

__all__: list[str] = []

# What a failure is, and whether it is retried.


@afk(
    "retries-a-wrong-key",
    "Asks again with a key that is wrong",
    fails="classification.disposition",
    shown_by="bad-key",
)
class _RetriesAWrongKey(Decides):
    """Whatever fails is asked again, three times."""

    def decide(self, attempt: FailedAttempt) -> Next | None:
        if attempt.pair != AUTH or attempt.number >= self.attempts_max:
            return None
        return Next(act="again", wait_s=self.wait_s(attempt.number))


@afk(
    "retries-what-is-too-long",
    "goose#11048: a context that is too long was sent again",
    fails="classification.disposition",
    shown_by="context-too-long",
    origin="aaif-goose/goose#11048",
)
class _RetriesWhatIsTooLong(Decides):
    """The same payload went out four times, and nothing ever shortened it."""

    def decide(self, attempt: FailedAttempt) -> Next | None:
        too_long = attempt.error.seen.provider_code == "context_length_exceeded"
        if not too_long or attempt.number >= 4:
            return None
        return Next(act="again", wait_s=self.wait_s(attempt.number))


@afk(
    "stream-errors-are-unknown",
    "tracker#547: a limit in a stream was another thing than one in a status",
    fails="classification.disposition",
    shown_by="limit-opens-the-stream",
    origin="2389-research/tracker#547",
)
class _StreamErrorsAreUnknown(AfkAgent):
    """Two classifiers for one provider, and they do not agree."""

    def classify(self, failed: AttemptFailed) -> Pair | None:
        return None if failed.seen.kind == "stream_error" else super().classify(failed)


@afk(
    "error-body-is-an-answer",
    "ai-sdk-provider#211: an error in a 200 was taken for an answer",
    fails="failures.outcome",
    shown_by="limit-inside-a-good-status",
    origin="OpenRouterTeam/ai-sdk-provider#211",
)
class _ErrorBodyIsAnAnswer(AfkAgent):
    """The status is good, so that the answer is an empty one."""

    async def ask_target(self, target: ProviderTarget, messages: Sequence[Message]) -> Reply:
        try:
            return await super().ask_target(target, messages)
        except AttemptFailed as failed:
            if failed.seen.kind != "error_body":
                raise
            return Reply("", (), "stop", 0)


@afk(
    "gives-up-on-a-limit",
    "Takes a rate limit for the end",
    fails="classification.disposition",
    shown_by="rate-limited-then-answers",
)
class _GivesUpOnALimit(Decides):
    """What passes in a second has failed for good."""

    def decide(self, attempt: FailedAttempt) -> Next | None:
        return Next(act="end", state="failed") if attempt.pair == RATE_LIMIT else None


@afk(
    "auth-is-a-bad-request",
    "Ends a run for a wrong key as one for an invalid request",
    fails="classification.declared",
    shown_by="bad-key",
)
class _AuthIsABadRequest(AfkAgent):
    """Both are terminal, and only one of them is mended by another key."""

    def llm_gone(self, turn: Turn, state: RunState, pair: Pair | None) -> Ended:
        found = super().llm_gone(turn, state, pair)
        found.pair = INVALID_REQUEST if pair == AUTH else pair
        return found


@afk(
    "retries-at-once",
    "litellm#7669: a limit was retried at once, without any backoff",
    fails="backoff.wait",
    shown_by="rate-limited-then-answers",
    origin="BerriAI/litellm#7669",
)
class _RetriesAtOnce(AfkAgent):
    """One mode of routing knew no wait."""

    def wait_s(self, attempt: int) -> float:
        return 0.0


@afk(
    "retries-for-ever",
    "opencode#21960: there was no bound on the retries of a limit",
    fails="backoff.attempts",
    shown_by="rate-limited-for-ever",
    origin="anomalyco/opencode#21960",
)
class _RetriesForEver(AfkAgent):
    """A thousand steps were retried a thousand times; a dozen show it as well."""

    attempts_max = 12


@afk(
    "no-jitter",
    "ai#5474: the backoff had no jitter",
    fails="backoff.jitter",
    shown_by="retries-spread",
    origin="vercel/ai#5474",
)
class _NoJitter(AfkAgent):
    """All clients come back at the same instant."""

    jitter_s = 0.0


@afk(
    "one-attempt-less",
    "Counts a retry as an attempt and none for the first try",
    fails="backoff.attempts",
    shown_by="rate-limited-for-ever",
)
class _OneAttemptLess(AfkAgent):
    """The provider is back by the third."""

    attempts_max = 2


# The chain.


@afk(
    "never-falls-back",
    "pydantic-ai#4729: the fallback model was never asked",
    fails="chain.advances",
    shown_by="falls-back",
    origin="pydantic/pydantic-ai#4729",
)
class _NeverFallsBack(AfkAgent):
    """There is another model, and the run fails with the first."""

    def falls_back(self, pair: Pair | None, failed: AttemptFailed) -> bool:
        return False


@afk(
    "falls-back-on-a-wrong-key",
    "Asks the next model when the key is wrong",
    fails="chain.stops",
    shown_by="no-fallback-on-a-bad-key",
)
class _FallsBackOnAWrongKey(AfkAgent):
    """Any exception leads to the next model, as in the system's own code."""

    def falls_back(self, pair: Pair | None, failed: AttemptFailed) -> bool:
        return True


@afk(
    "falls-back-after-content",
    "nanobot#4038: an answer began anew behind its own first part",
    fails="chain.after-content",
    shown_by="no-fallback-after-content",
    origin="HKUDS/nanobot#4038",
)
class _FallsBackAfterContent(AfkAgent):
    """Nobody looks whether something was passed on already."""

    def falls_back(self, pair: Pair | None, failed: AttemptFailed) -> bool:
        return pair not in (None, AUTH, INVALID_REQUEST)


@afk(
    "chain-begins-anew",
    "gemini-cli#28339: a fallback reset the count of attempts",
    fails="amplification.requests",
    shown_by="every-model-is-limited",
    origin="google-gemini/gemini-cli#28339",
)
class _ChainBeginsAnew(AfkAgent):
    """When the last model fails, the first one is asked again; here it is once only."""

    async def ask_chain(self, turn: Turn, messages: Sequence[Message]) -> Reply:
        try:
            return await super().ask_chain(turn, messages)
        except Ended:
            return await super().ask_chain(turn, messages)
