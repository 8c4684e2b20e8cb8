"""RetryPolicy: how often and after what wait a failure may be retried, as intervals.

    nominal(n) = base                        fixed
               = base * n                    linear
               = base * factor ** (n - 1)    exponential, each at most `cap`
    wait(n)   in [nominal(n) * (1 - p), nominal(n) * (1 + p)]    n is the 1-based retry number

A policy yields the Interval of a wait, never a sample: who draws samples is the subject. The
arithmetic is exact integers, and the reference subjects must not use it.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from msgspec import Struct
from pydantic import AfterValidator, Field, model_validator

from faultclock.model._base import SparseValue, Value
from faultclock.model.duration import DurationNs, format_duration

#: 2 ** 62 ns is 146 years: past it a schedule is at its cap in any case.
_LARGEST_NS = 2**62


class Interval(Struct, frozen=True, kw_only=True):
    """A closed range of waits in nanoseconds."""

    low_ns: int
    high_ns: int

    def __contains__(self, wait_ns: int) -> bool:
        return self.low_ns <= wait_ns <= self.high_ns

    def widened(self, slack_ns: int) -> Interval:
        """Return the interval with `slack_ns` more on both sides, not below zero."""
        return Interval(low_ns=max(0, self.low_ns - slack_ns), high_ns=self.high_ns + slack_ns)

    def __str__(self) -> str:
        if self.low_ns == self.high_ns:
            return format_duration(self.low_ns)
        return f"{format_duration(self.low_ns)} to {format_duration(self.high_ns)}"


class Backoff(Value):
    """The nominal waits."""

    kind: Literal["fixed", "linear", "exponential"]
    base: DurationNs
    factor: int = Field(default=2, ge=1)
    """Growth per retry of an exponential schedule."""
    cap: DurationNs | None = None
    """The longest nominal wait."""

    def nominal_ns(self, retry_number: int) -> int:
        """Return the nominal wait before retry `retry_number` (1-based), in nanoseconds."""
        if retry_number < 1:
            raise ValueError("retry numbers are 1-based")
        if self.kind == "fixed":
            wait_ns = self.base
        elif self.kind == "linear":
            wait_ns = self.base * retry_number
        else:
            # The exponent is bounded first: factor ** 10_000 would be an integer of 10,000 bits.
            wait_ns = min(self.base * self.factor ** min(retry_number - 1, 64), _LARGEST_NS)
        return wait_ns if self.cap is None else min(wait_ns, self.cap)


class Jitter(Value):
    """By how much a wait may differ from its nominal value, and that it must differ."""

    kind: Literal["none", "proportional", "additive"] = "none"
    percent: int = Field(default=0, ge=0, le=100)
    """Half width: 20 means ±20 %."""
    up_to: DurationNs | None = None
    """With `additive`: the most that is added to the nominal wait; nothing is taken away."""

    @model_validator(mode="after")
    def _consistent(self) -> Jitter:
        if (self.kind == "proportional") != (self.percent != 0):
            raise ValueError("proportional jitter has a percent above 0, and no other has one")
        if (self.kind == "additive") != (self.up_to is not None):
            raise ValueError("additive jitter has `up_to`, and no other has it")
        return self


def _in_order(waits: tuple[int, int]) -> tuple[int, int]:
    if waits[0] > waits[1]:
        lowest, highest = map(format_duration, waits)
        raise ValueError(f"the lowest wait {lowest} is above the highest {highest}")
    return waits


#: The lowest and the highest wait.
WaitRange = Annotated[tuple[DurationNs, DurationNs], AfterValidator(_in_order)]


class PolicyRequirements(Value):
    """Which requirement each part of a policy comes from."""

    attempts: str
    wait: str
    jitter: str | None = None
    retry_after: str | None = None


class RetryPolicy(SparseValue):
    """The retry rule of one group of class/code pairs."""

    SPARSE: ClassVar[frozenset[str]] = frozenset({"waits"})

    id: str
    applies_to: tuple[str, ...] = Field(min_length=1)
    """`Class/Code`, or `Class/*`."""
    owner: str = "provider adapter"
    layer: str = "transport"
    """`transport`, `session store`, or what is done again as a whole: `tool`, `node`, `stage`,
    `queue` or `program`."""
    attempts_from: Literal["policy", "node", "entry"] = "policy"
    """Whose the count, the waits and the codes worth a retry are: the policy's own, or those that
    the node of a workflow (or the entry of a chain) declares; the policy's then stand for none."""
    attempts_max: int = Field(ge=1)
    """Attempts in all, the first try included."""
    attempts_min: int | None = Field(default=None, ge=2)
    """Before it is given up for good, there are at least so many; None: one retry is enough. (Of
    requests to the model, all attempts are due in any case.)"""
    backoff: Backoff
    jitter: Jitter = Jitter.model_construct()
    waits: tuple[WaitRange, ...] = ()
    """The first waits one by one, in place of the schedule: a table, and no formula."""
    retry_after: Literal["honor", "ignore"] = "ignore"
    """Whether an upstream Retry-After replaces the schedule, exactly."""
    requirements: PolicyRequirements | None = None
    """Absent on a policy that a subject declares: the model's own ids then apply."""

    def covers(self, class_name: str, code: str) -> bool:
        """Return whether this policy is the rule for `class_name`/`code`."""
        return f"{class_name}/{code}" in self.applies_to or f"{class_name}/*" in self.applies_to

    def interval(self, retry_number: int) -> Interval:
        """Return the legal wait before retry `retry_number` (1-based)."""
        if 0 < retry_number <= len(self.waits):
            lowest, highest = self.waits[retry_number - 1]
            return Interval(low_ns=lowest, high_ns=highest)
        nominal_ns = self.backoff.nominal_ns(retry_number)
        margin = nominal_ns * self.jitter.percent
        if self.jitter.up_to is not None:
            return Interval(low_ns=nominal_ns, high_ns=nominal_ns + self.jitter.up_to)
        # Rounded outwards, so that exactly ±p % is always legal.
        return Interval(
            low_ns=(nominal_ns * 100 - margin) // 100,
            high_ns=-((-nominal_ns * 100 - margin) // 100),
        )
