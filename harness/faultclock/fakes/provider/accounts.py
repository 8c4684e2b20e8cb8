"""What a provider remembers of its callers, and what it is asked and answers: plain values.

`limits` folds over them. They are pickled over the lives of the subject, so nothing here may hold
anything but data.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, field

from faultclock.fakes.provider.buckets import Bucket
from faultclock.fakes.wire.dialect import RateStanding
from faultclock.model.scenario.provider_limits import Overload, ProviderLimits, RefusalRule


class Rules(Struct, frozen=True, kw_only=True):
    """What a provider's script says of limits."""

    limits: ProviderLimits | None
    overload: Overload | None


class Told(Struct, frozen=True, kw_only=True):
    """A promise: from `until_ns` on, what `rule` refused would pass."""

    until_ns: int
    rule: str


class Account(Struct, frozen=True, kw_only=True):
    """What a provider remembers of those who show one key.

    Attributes:
        number: 1-based, in the order in which they first came.
        requests, tokens: None where there is no such limit.
        spent: of the quota, in what it counts.
        anew_ns: when the quota begins anew; None: not yet begun, or never.
        blocked_ns: until when nothing passes, because a caller came too early.
        told: the time to come back that each call got.
    """

    number: int
    requests: Bucket | None
    tokens: Bucket | None
    spent: int = 0
    anew_ns: int | None = None
    blocked_ns: int = 0
    told: Mapping[str, Told] = field(default_factory=dict)


class LimitsState(Struct, frozen=True, kw_only=True):
    """Everything a provider remembers. Plain data.

    Attributes:
        accounts: by the digest of the key; by the empty text where all share one.
        open: the exchanges that it works on.
    """

    accounts: Mapping[str, Account] = field(default_factory=dict)
    open: frozenset[str] = frozenset()


class Arrival(Struct, frozen=True, kw_only=True):
    """One request that the provider would answer.

    Attributes:
        exchange: its id.
        key: digest of the key that it shows.
        caller: who would get a time to come back: the call, or the key where there is none.
        tokens: what it and its answer have.
        percent: a number drawn for it, 0 to 99.
        planned: what a fault of the plan makes of it; None where there is none.
    """

    exchange: str
    key: str
    caller: str
    now_ns: int
    tokens: int
    percent: int = 0
    planned: Literal["answered", "failed"] | None = None


class Refused(Struct, frozen=True, kw_only=True):
    """Why a request is refused.

    Attributes:
        rule: whose id and payload it goes by.
        asked: how many of what the rule counts it asked for.
        retry_after_ns: the wait that it gets; None: none.
        early_ns: how much too early it came, where its caller had a time.
        pushed_back_ns: by how much that pushed the instant back.
    """

    rule: RefusalRule
    asked: int
    retry_after_ns: int | None
    early_ns: int | None
    pushed_back_ns: int


class Ruling(Struct, frozen=True, kw_only=True):
    """What becomes of a request.

    Attributes:
        account: number of the one it was counted for.
        standing: what the headers of its answer tell.
    """

    account: int
    standing: RateStanding
    refused: Refused | None
