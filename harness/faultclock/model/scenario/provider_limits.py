"""What a provider remembers of its callers, and how fast it answers: limits, overload, pace.

Pure data. `fakes.limits` keeps the accounts, `fakes.pacing` draws the delays. Each
limit has the id and the kind of a fault, because that is what it is once it bites: the trace says
that it fired, and one that never did spoils the run unless it is `optional`.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from faultclock.model._base import SparseValue, Value
from faultclock.model.duration import DurationNs, format_duration
from faultclock.model.scenario.rule import Rule, RuleId

_Payload = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")]
#: Above this a bucket fills by more than one in a nanosecond and limits nothing.
_PER_MINUTE_MAX = 1_000_000_000


class RefusalRule(Rule):
    """What a provider refuses by of its own accord."""

    #: What its facts call it.
    fault_kind: ClassVar[str]
    error: _Payload
    """Name of the error payload that it refuses with; its status is the payload's."""
    optional: bool = False
    """Whether a run that it never refused anything in is still a valid run."""


class _Bucket(RefusalRule):
    fault_kind: ClassVar[str] = "rate_limited"
    per_minute: int = Field(ge=1, le=_PER_MINUTE_MAX)
    burst: int | None = Field(default=None, ge=1)
    """How many the bucket holds; None: what it gets in a minute. A request that costs more than
    that takes all of it."""

    @model_validator(mode="after")
    def _small_burst(self) -> Self:
        if self.burst is not None and self.burst > self.per_minute:
            raise ValueError(f"burst: {self.burst} is more than the {self.per_minute} of a minute")
        return self

    @property
    def size(self) -> int:
        """How many the bucket holds."""
        return self.per_minute if self.burst is None else self.burst


class RequestLimit(_Bucket):
    """A bucket of requests that fills evenly: one more every minute / `per_minute`."""

    id: RuleId = "requests-per-minute"
    error: _Payload = "rate_limit_exceeded"


class TokenLimit(_Bucket):
    """A bucket of tokens. A request costs what its messages and its answer have."""

    id: RuleId = "tokens-per-minute"
    per_request: int | None = Field(default=None, ge=1)
    """What each request costs; None: what its messages and its answer have."""
    error: _Payload = "rate_limit_tokens"


class Quota(RefusalRule):
    """An account that is used up: good answers are counted, and no wait brings any back."""

    fault_kind: ClassVar[str] = "quota_exhausted"
    id: RuleId = "quota"
    requests: int | None = Field(default=None, ge=1)
    """How many good answers it pays for."""
    tokens: int | None = Field(default=None, ge=1)
    """How many tokens it pays for; the answer that goes beyond them is still given."""
    resets_after: DurationNs | None = None
    """How long after its first answer it begins anew; None: never. No answer says so."""
    error: _Payload = "insufficient_quota"

    @model_validator(mode="after")
    def _one_measure(self) -> Quota:
        if (self.requests is None) == (self.tokens is None):
            raise ValueError("give exactly one of requests and tokens")
        if self.resets_after == 0:
            raise ValueError("resets_after: 0s would be no quota")
        return self


class ProviderLimits(Value):
    """What a provider grants its callers, with honest headers about it.

    The time that it names is computed from the bucket that refused, and is never too early: a
    client that waits until then is answered, unless another one was faster.
    """

    per: Literal["key", "provider"] = "key"
    """Whether each API key has buckets and a quota of its own, or all requests share one set."""
    requests: RequestLimit | None = None
    tokens: TokenLimit | None = None
    quota: Quota | None = None
    refused: Literal["count", "free"] = "count"
    """Whether a request that fails takes from the bucket of requests what is there. "Unsuccessful
    requests contribute to your per-minute limit, so continuously resending a request won't work"
    (OpenAI, Rate limits, developers.openai.com/api/docs/guides/rate-limits, read 2026-11-21)."""
    early_penalty: DurationNs = 0
    """How far a call that comes before the time it was given pushes that time back: its own and
    that of all who share its buckets."""

    @model_validator(mode="after")
    def _some(self) -> ProviderLimits:
        if self.requests is None and self.tokens is None and self.quota is None:
            raise ValueError("give at least one of requests, tokens and quota")
        if self.early_penalty and self.requests is None and self.tokens is None:
            raise ValueError(
                "early_penalty: no request is early for a quota; give requests or tokens"
            )
        return self


class Overload(RefusalRule):
    """A provider that has more to do than it can, for a while or while it is asked too much."""

    fault_kind: ClassVar[str] = "overloaded"
    id: RuleId = "overload"
    from_time: DurationNs = 0
    """Virtual time from which on it holds (included)."""
    until_time: DurationNs | None = None
    """Virtual time at which it is over (excluded); None: it heals when the load drops."""
    at_once: int | None = Field(default=None, ge=0)
    """How many requests it can work on at the same time; those above that are refused."""
    percent: int | None = Field(default=None, ge=1, le=100)
    """How many of a hundred requests are refused, by chance."""
    tells_when: bool = False
    """Whether refusals tell how long it lasts."""
    error: _Payload = "overloaded"

    @model_validator(mode="after")
    def _heals(self) -> Overload:
        if (self.at_once is None) == (self.percent is None):
            raise ValueError("give exactly one of at_once and percent")
        if self.until_time is not None and self.until_time <= self.from_time:
            raise ValueError("until_time is not after from_time: it would never hold")
        if self.until_time is None and (self.at_once == 0 or self.percent == 100):
            raise ValueError(
                "it would never heal: give until_time, or plan a fault for every attempt"
            )
        if self.tells_when and self.until_time is None:
            raise ValueError("tells_when: give until_time, the time to tell")
        return self


class Constant(Value):
    """Always the same delay."""

    kind: Literal["constant"]
    value: DurationNs


class Uniform(Value):
    """Every delay between two, each as likely."""

    kind: Literal["uniform"]
    low: DurationNs = 0
    high: DurationNs

    @model_validator(mode="after")
    def _ordered(self) -> Uniform:
        if self.high < self.low:
            raise ValueError(f"high: {_told(self.high)} is below low: {_told(self.low)}")
        return self


class LogNormal(Value):
    """Mostly near the median, with a long tail: as many delays at half of it as at twice."""

    kind: Literal["lognormal"]
    median: DurationNs = Field(gt=0)
    p99: DurationNs
    """What one in a hundred exceeds; it says how long the tail is."""
    cap: DurationNs
    """No delay is longer."""

    @model_validator(mode="after")
    def _ordered(self) -> LogNormal:
        _check_tail("median", self.median, self.p99, self.cap)
        return self


class Pareto(Value):
    """Never below the minimum, and a tail that is longer still."""

    kind: Literal["pareto"]
    minimum: DurationNs = Field(gt=0)
    p99: DurationNs
    """What one in a hundred exceeds."""
    cap: DurationNs
    """No delay is longer."""

    @model_validator(mode="after")
    def _ordered(self) -> Pareto:
        _check_tail("minimum", self.minimum, self.p99, self.cap)
        return self


def _check_tail(name: str, from_ns: int, p99_ns: int, cap_ns: int) -> None:
    if p99_ns <= from_ns:
        raise ValueError(f"p99: {_told(p99_ns)} is not above {name}: {_told(from_ns)}")
    if cap_ns < p99_ns:
        raise ValueError(f"cap: {_told(cap_ns)} is below p99: {_told(p99_ns)}")


def _told(duration_ns: int) -> str:
    return format_duration(duration_ns)


Delay = Annotated[Constant | Uniform | LogNormal | Pareto, Field(discriminator="kind")]


class Pace(SparseValue):
    """How fast the model answers, in place of `think_time` and `chunk_interval`.

    What is drawn follows from the seed, the name of a stream of its own and the number of the
    answer: nothing else that is random in a run shifts it.
    """

    SPARSE: ClassVar[frozenset[str]] = frozenset({"first_token", "token", "tokens_per_second"})

    first_token: Delay | None = None
    """From the last byte of a request to the first token; None: `think_time`."""
    token: Delay | None = None
    """From one token to the next, drawn for each. A stream waits it between its chunks; a whole
    answer comes when all of its tokens are there."""
    tokens_per_second: int | None = Field(default=None, ge=1, le=1_000_000)
    """The same, as a steady speed."""

    @model_validator(mode="after")
    def _some(self) -> Pace:
        if self.first_token is None and self.token is None and self.tokens_per_second is None:
            raise ValueError("give at least one of first_token, token and tokens_per_second")
        if self.token is not None and self.tokens_per_second is not None:
            raise ValueError("give one of token and tokens_per_second: they say the same")
        return self
