"""Miniatures of AFK runtimes whose defects stood between two rules: each had once been green."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from faultclock.subjects.agent_miniatures.afk_table import Decides, afk
from faultclock.subjects.ports import Reply
from faultclock.subjects.reference_agents.afk import AfkAgent
from faultclock.subjects.reference_agents.afk_breaker import Breaker
from faultclock.subjects.reference_agents.afk_kinds import (
    AUTH,
    DENIAL,
    JOIN_VIOLATION,
    RATE_LIMIT,
    SERVER_ERROR,
    VALIDATION,
)
from faultclock.subjects.reference_agents.calls import Call, Outcome
from faultclock.subjects.reference_agents.core import (
    Ended,
    FailedAttempt,
    Next,
    Pair,
    RunState,
    Turn,
)

__all__: list[str] = []


@afk(
    "never-asks-the-policy",
    "Executes tools without asking the policy engine",
    fails="failures.redone",
    shown_by="policy-denies",
)
class _NeverAsksThePolicy(AfkAgent):
    """It is configured, and nobody calls it."""

    async def refusal(self, call: Call) -> Outcome | None:
        world = self.world
        self.world = replace(world, policy=None)
        try:
            return await super().refusal(call)
        finally:
            self.world = world


@afk(
    "degraded-is-over",
    "Ends the run at the failure that it was to tolerate",
    fails="failures.outcome",
    shown_by="tool-raises-and-degrades",
)
class _DegradedIsOver(AfkAgent):
    """The state is the right one, and the answer is missing."""

    def after_tool(self, turn: Turn, call: Call, attempt: int, outcome: Outcome) -> Next:
        step = super().after_tool(turn, call, attempt, outcome)
        return Next(act="end", state="degraded") if turn.degraded else step


@afk(
    "degrades-without-words",
    "Ends degraded with no text at all",
    fails="ordering.degraded-has-words",
    shown_by="llm-failure-degrades",
)
class _DegradesWithoutWords(AfkAgent):
    """A screen with nothing on it."""

    def llm_gone(self, turn: Turn, state: RunState, pair: Pair | None) -> Ended:
        end = super().llm_gone(turn, state, pair)
        end.text = ""
        return end


class _Lenient(AfkAgent):
    """Ends degraded after failures that nobody has asked it to tolerate."""

    tolerates: Pair = AUTH

    def llm_gone(self, turn: Turn, state: RunState, pair: Pair | None) -> Ended:
        """Tolerate one of them."""
        return super().llm_gone(turn, "degraded" if pair == self.tolerates else state, pair)


@afk(
    "tolerates-a-wrong-key",
    "Ends degraded with a key that is wrong",
    fails="failures.outcome",
    shown_by="bad-key",
)
class _ToleratesAWrongKey(_Lenient):
    """It will never be better, and nobody is called."""


@afk(
    "tolerates-a-limit",
    "Ends degraded when every attempt was limited",
    fails="failures.outcome",
    shown_by="rate-limited-for-ever",
)
class _ToleratesALimit(_Lenient):
    """The policy says fail, and the run says that it is nearly good."""

    tolerates = RATE_LIMIT


@afk(
    "tolerates-an-outage",
    "Ends degraded when a provider is down",
    fails="failures.outcome",
    shown_by="server-error-for-ever",
)
class _ToleratesAnOutage(_Lenient):
    """There is no answer, and that is called half of one."""

    tolerates = SERVER_ERROR


@afk(
    "typing-error-looks-good",
    "Tells the LLM that a call with wrong arguments was done",
    fails="failures.told-model",
    shown_by="tool-arguments-invalid",
)
class _TypingErrorLooksGood(AfkAgent):
    """What it could have put right it never hears of."""

    def content(self, call: Call, outcome: Outcome) -> Mapping[str, Any]:
        if outcome.kind == "input_invalid":
            return {"success": True, "output": None}
        return super().content(call, outcome)


@afk(
    "children-without-a-verdict",
    "Tells the LLM of a failed subagent in words alone",
    fails="failures.told-model",
    shown_by="subagent-fails-and-continues",
)
class _ChildrenWithoutAVerdict(AfkAgent):
    """Whether it worked is left to be guessed from a sentence."""

    def content(self, call: Call, outcome: Outcome) -> Mapping[str, Any]:
        told = super().content(call, outcome)
        return {name: value for name, value in told.items() if name != "success"}


class _AddsUp(Breaker):
    """Forgets no failure."""

    def good(self) -> None:
        failures = self.failures
        super().good()
        self.failures = failures


@afk(
    "breaker-adds-up",
    "Counts the failures of a provider in all, and not those in a row",
    fails="breaker.opens",
    shown_by="breaker-counts-in-a-row",
)
class _BreakerAddsUp(AfkAgent):
    """Each provider fails five times some day."""

    breaker_type = _AddsUp


class _Impatient(Breaker):
    """Lets its probe through a little too soon."""

    cooldown_s = 25.0


@afk(
    "breaker-is-impatient",
    "Sends its probe five seconds before the time is over",
    fails="breaker.opens",
    shown_by="breaker-stays-open",
)
class _BreakerIsImpatient(AfkAgent):
    """Thirty seconds are about half a minute."""

    breaker_type = _Impatient


@afk(
    "steps-of-all-runs",
    "Counts the steps of all runs against the limit of each",
    fails="limits.ends",
    shown_by="each-run-has-its-own-limits",
)
class _StepsOfAllRuns(AfkAgent):
    """The counter is the agent's, and the agent lives on."""

    so_far = 0

    def turn_started(self, turn: Turn) -> None:
        turn.steps = self.so_far
        super().turn_started(turn)

    def answered(self, turn: Turn, reply: Reply) -> None:
        self.so_far = turn.steps
        super().answered(turn, reply)


@afk(
    "costs-do-not-add-up",
    "Looks at the cost of each answer by itself",
    fails="limits.ends",
    shown_by="cost-adds-up",
)
class _CostsDoNotAddUp(AfkAgent):
    """No single one was too dear."""

    def answered(self, turn: Turn, reply: Reply) -> None:
        turn.tokens = reply.tokens
        super().answered(turn, reply)


@afk(
    "pushes-twice",
    "Gives the queue up while there is a retry left",
    fails="failures.redone",
    shown_by="queue-refuses-twice",
)
class _PushesTwice(AfkAgent):
    """The third time it would have been taken."""

    queue_attempts_max = 2


class _TakesForAYes(AfkAgent):
    """Executes a call after one of the answers that are no approval."""

    takes = "denied_by_user"

    async def refusal(self, call: Call) -> Outcome | None:
        """Forget about that answer."""
        refused = await super().refusal(call)
        return None if refused is not None and refused.kind == self.takes else refused


@afk(
    "a-no-is-a-yes",
    "Executes what a person has denied",
    fails="ordering.denied-by-a-person-never-executed",
    shown_by="approval-is-denied",
)
class _ANoIsAYes(_TakesForAYes):
    """The run is resumed, and that is all it looks at."""


@afk(
    "silence-is-consent",
    "Executes what nobody has answered in time",
    fails="ordering.unanswered-never-executed",
    shown_by="approval-is-not-given",
)
class _SilenceIsConsent(_TakesForAYes):
    """Nobody has said no."""

    takes = "approval_timed_out"


@afk(
    "queue-without-jitter",
    "Comes back to the queue without jitter",
    fails="backoff.jitter",
    shown_by="queue-waits-spread",
)
class _QueueWithoutJitter(AfkAgent):
    """Every worker at the same instant."""

    queue_jitter_s = 0.0


@afk(
    "typing-error-in-silence",
    "Emits no warning of a call with wrong arguments",
    fails="ordering.invalid-arguments-warned",
    shown_by="tool-arguments-invalid",
)
class _TypingErrorInSilence(AfkAgent):
    """The LLM will put it right, so nobody need know."""

    def warn(self, pair: Pair | None) -> None:
        if pair != VALIDATION:
            super().warn(pair)


@afk(
    "quota-is-terminal",
    "Gives up on a 429 that says quota",
    fails="classification.disposition",
    shown_by="quota-is-a-rate-limit",
)
class _QuotaIsTerminal(Decides):
    """Money does not come back in a second."""

    def decide(self, attempt: FailedAttempt) -> Next | None:
        if attempt.error.seen.provider_code == "insufficient_quota":
            return Next(act="end", state="failed")
        return None


@afk(
    "408-is-a-refusal",
    "Takes a 408 for a refusal like any other from 400 on",
    fails="classification.disposition",
    shown_by="request-timeout-status",
)
class _RequestTimeoutIsARefusal(Decides):
    """It begins with a four."""

    def decide(self, attempt: FailedAttempt) -> Next | None:
        return Next(act="end", state="failed") if attempt.error.seen.status == 408 else None


@afk(
    "join-fails-by-the-denial",
    "Fails with the denial of a subagent instead of the join that it broke",
    fails="failures.outcome",
    shown_by="policy-denies-a-required-subagent",
)
class _JoinFailsByTheDenial(AfkAgent):
    """The last thing that it remembers."""

    async def use_tools(self, turn: Turn, reply: Reply) -> None:
        try:
            await super().use_tools(turn, reply)
        except Ended as end:
            if end.pair == JOIN_VIOLATION:
                end.pair = DENIAL
            raise


@afk(
    "denial-without-a-verdict",
    "Tells the LLM of a denied call in words alone",
    fails="failures.told-model",
    shown_by="policy-denies",
)
class _DenialWithoutAVerdict(AfkAgent):
    """Whether it was done is left to be guessed from a sentence."""

    def content(self, call: Call, outcome: Outcome) -> Mapping[str, Any]:
        told = super().content(call, outcome)
        denied = outcome.kind == "denied_by_policy"
        return {"error": told["error"]} if denied else told


@afk(
    "children-fail-without-a-word",
    "Tells the LLM that a subagent has failed, and not with what",
    fails="failures.told-model",
    shown_by="subagent-fails-and-continues",
)
class _ChildrenFailWithoutAWord(AfkAgent):
    """It did not work, for whatever reason."""

    def content(self, call: Call, outcome: Outcome) -> Mapping[str, Any]:
        told = super().content(call, outcome)
        return {name: value for name, value in told.items() if name != "error"}


@afk(
    "everything-is-fine",
    "Answers for a model that never did",
    fails="swallow.silent",
    shown_by="server-error-for-ever",
)
class _EverythingIsFine(AfkAgent):
    """The last attempt fails, and a text of its own takes the place of the answer."""

    def llm_gone(self, turn: Turn, state: RunState, pair: Pair | None) -> Ended:
        return Ended("completed", None, "", text="Everything is fine.")
