"""Miniatures that take a failure for another one."""

from __future__ import annotations

from dataclasses import replace

from faultclock.subjects.miniatures import wrong
from faultclock.subjects.stud import POLICIES, AttemptError, Policy, StudCall

__all__: list[str] = []

_RATE_LIMITED = ("ProviderTransient", "RateLimited")
_PROVIDER_5XX = ("ProviderTransient", "Provider5xx")
_CONTEXT_WINDOW = ("ProviderCapability", "ContextWindowTooSmall")

# A limit that is taken for the end, by its words.


class _EndsAtAWord(StudCall):
    word = ""

    def policy(self, failure: AttemptError, kind: tuple[str, str]) -> Policy | None:
        told = (failure.provider_message or "").lower()
        return None if self.word in told else super().policy(failure, kind)


@wrong(
    "ends-at-the-word-quota",
    "Gives up where a limit is worded as a quota",
    fails="classification.disposition",
    origin="LibreChat-AI/agents#358",
)
class _EndsAtTheWordQuota(_EndsAtAWord):
    """A host words its limit per second INSUFFICIENT QUOTA: a short limit became terminal."""

    word = "quota"


@wrong(
    "ends-at-the-word-billing",
    "Gives up where a limit speaks of billing",
    fails="classification.disposition",
    origin="dimetron/pi-go#177",
)
class _EndsAtTheWordBilling(_EndsAtAWord):
    """A limit per minute came with the wording of an unpaid bill, and with a delay to wait."""

    word = "billing"


# Two paths for one error.


@wrong(
    "stream-has-its-own-rules",
    "Takes a quota for terminal inside a stream only",
    fails="classification.disposition",
    origin="2389-research/tracker#547",
)
class _StreamHasItsOwnRules(StudCall):
    """The path of answers and the path of events did not agree about the same error."""

    def policy(self, failure: AttemptError, kind: tuple[str, str]) -> Policy | None:
        quota = failure.provider_code == "billing_hard_limit_reached"
        if quota and failure.kind == "stream_error":
            return None
        return super().policy(failure, kind)


@wrong(
    "rules-by-status-alone",
    "Goes by the status, also where it was 200",
    fails="classification.disposition",
    origin="anthropics/anthropic-sdk-python#1258",
)
class _RulesByStatusAlone(StudCall):
    """An error inside a stream was raised with status 200, and no rule was for that."""

    def policy(self, failure: AttemptError, kind: tuple[str, str]) -> Policy | None:
        return None if failure.kind == "stream_error" else super().policy(failure, kind)


@wrong(
    "overload-is-unknown",
    "Does not know an overload that comes in a stream",
    fails="classification.disposition",
    origin="byte5ai/omadia#122",
)
class _OverloadIsUnknown(StudCall):
    """The library retried an overload that came as a status, and never one inside a 200."""

    def policy(self, failure: AttemptError, kind: tuple[str, str]) -> Policy | None:
        overloaded = "overloaded_error" in (failure.provider_type, failure.provider_code)
        if overloaded and failure.kind == "stream_error":
            return None
        return super().policy(failure, kind)


@wrong(
    "cut-stream-is-the-callers-fault",
    "Takes a stream that was cut for an invalid request",
    fails="classification.disposition",
    origin="router-for-me/CLIProxyAPI#3055",
)
class _CutStreamIsTheCallersFault(StudCall):
    """What was closed before its end was passed on as an invalid request, and clients stopped."""

    def policy(self, failure: AttemptError, kind: tuple[str, str]) -> Policy | None:
        return None if failure.kind == "cut" else super().policy(failure, kind)


# The caller's mistake that is taken for the server's.


@wrong(
    "too-long-is-a-500",
    "Takes a prompt that is too long for a server error",
    fails="classification.disposition",
    origin="benchflow-ai/benchflow#830",
)
class _TooLongIsA500(StudCall):
    """A 400 for its context came out as a transient 500, and was retried like one."""

    def classify(self, failure: AttemptError) -> tuple[str, str] | None:
        kind = super().classify(failure)
        return _PROVIDER_5XX if kind == _CONTEXT_WINDOW else kind


@wrong(
    "too-long-is-patience",
    "Sends a prompt that is too long again and again, in silence",
    fails="classification.disposition",
    origin="lfnovo/open-notebook#1231",
)
class _TooLongIsPatience(StudCall):
    """Up to fifteen times over twenty-five minutes."""

    def policy(self, failure: AttemptError, kind: tuple[str, str]) -> Policy | None:
        if kind == _CONTEXT_WINDOW:
            return replace(POLICIES[_RATE_LIMITED], attempts_max=15)
        return super().policy(failure, kind)

    def scheduled_s(self, policy: Policy, count: int) -> float:
        return super().scheduled_s(policy, min(count, 5))


@wrong(
    "bad-event-is-a-500",
    "Makes a server error of a refusal inside a stream",
    fails="classification.disposition",
    origin="BerriAI/litellm#42432",
)
class _BadEventIsA500(StudCall):
    """A 400 from upstream, inside a stream, became a 500 that nobody had sent."""

    def classify(self, failure: AttemptError) -> tuple[str, str] | None:
        kind = super().classify(failure)
        return _PROVIDER_5XX if kind is None and failure.kind == "stream_error" else kind


@wrong(
    "filtered-is-a-500",
    "Takes a filtered prompt for a server error",
    fails="classification.disposition",
    origin="Azure-Samples/azure-search-openai-demo#3030",
)
class _FilteredIsA500(StudCall):
    """A 400 of the content filter came out as a 500, and 500s are tried again."""

    def classify(self, failure: AttemptError) -> tuple[str, str] | None:
        if failure.provider_code == "content_filter":
            return _PROVIDER_5XX
        return super().classify(failure)
