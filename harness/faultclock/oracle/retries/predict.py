"""The error model folded over the attempts of a request: what had to happen after each failure.

Each failed attempt gets a Step: it had to be retried after a wait within an interval, or the call
had to end, or the document does not say. Counting is per provider and policy (or per provider,
where the model reads it so): to ask the next provider of a chain is no retry. A policy that the
subject declares takes the place of the model's where the model allows that, and the step says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from faultclock.model.duration import format_duration
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.retry_policy import Interval, Jitter, PolicyRequirements, RetryPolicy
from faultclock.model.trace.trace import SubjectInfo
from faultclock.oracle.retries.redo import Act, act_of, in_time
from faultclock.oracle.wire.requests import Attempt, Request, wait_before, waited
from faultclock.oracle.wire.retry_hints import asked_wait
from faultclock.oracle.wire.signals import Classification, classify
from faultclock.oracle.wire.timing import VIRTUAL, Timing


class Ruling(Struct, frozen=True, kw_only=True):
    """The policy that governs a failure, and where it comes from.

    Its `attempts_max` is that of the entry of the chain, where the policy says so.
    """

    policy: RetryPolicy
    declared: bool
    requirements: PolicyRequirements | None
    """Of the policy, or of the model's policy that it replaces."""


class Wait(Struct, frozen=True, kw_only=True):
    """The legal wait before one retry.

    Attributes:
        retry_number: 1-based, within the policy.
        exact: whether it comes from Retry-After.
        nominal_ns: the middle of the interval.
        basis: where it comes from, in words.
        timing: how exactly the trace has it.
    """

    retry_number: int
    interval: Interval
    exact: bool
    nominal_ns: int
    basis: str
    timing: Timing = VIRTUAL


class Step(Struct, frozen=True, kw_only=True):
    """One attempt, what it was, what had to come next, and what came.

    Attributes:
        act: `retry`, `end` (terminal by its disposition), `exhausted` (its attempts are used up),
            `unjudged` (the document does not say), `none` (it was good, or has not ended).
        failures: how many failures count against the policy by now, this one included.
        next: the attempt that followed at the same provider.
        failover: the attempt that followed at another one.
    """

    attempt: Attempt
    next: Attempt | None
    act: Act
    classification: Classification | None = None
    ruling: Ruling | None = None
    failures: int = 0
    wait: Wait | None = None
    failover: Attempt | None = None

    @property
    def waited_ns(self) -> int | None:
        """The wait that was observed; None when there was none, or its start is not known."""
        return None if self.next is None else waited(self.attempt, self.next)

    @property
    def requirements(self) -> PolicyRequirements | None:
        """The requirements of the model's policy that governs the failure."""
        return None if self.ruling is None else self.ruling.requirements

    @property
    def events(self) -> tuple[int, ...]:
        """`seq` of the events that show the attempt, and the one that followed."""
        return (*self.attempt.events, *(() if self.next is None else self.next.events))


def step_legal(step: Step) -> bool:
    """Return whether the wait of a step that had to be retried is legal, within its slack.

    Where a failure could be known from a status before its body had arrived, both instants are
    legal to count from. In real time no wait is too long.
    """
    attempt = step.attempt
    longest_ns = None if step.next is None else wait_before(attempt, step.next)
    if step.wait is None or longest_ns is None or step.waited_ns is None:
        return step.act in ("retry", "unjudged", "none")
    timing = step.wait.timing
    if attempt.signal is not None and attempt.signal.kind == "deadline":
        # The wait begins with the subject's own close, which was seen when it was seen.
        longest_ns += timing.late_ns
    shortest_ns = step.waited_ns if timing.exact else 0
    return in_time(step.wait.interval, longest_ns, shortest_ns, timing.slack_ns)


def plan(
    model: ErrorModel,
    subject: SubjectInfo,
    request: Request,
    entries: Mapping[str, int | None],
    timing: Timing,
) -> Iterator[Step]:
    """Yield one Step for each attempt of `request`, in order.

    Args:
        entries: attempts that the chain grants each provider; None: what the policy has.
        timing: how exactly the trace has times.
    """
    failures: Counter[tuple[str, str]] = Counter()
    honored: Counter[tuple[str, str]] = Counter()
    # A runner owns the retries, so an adapter by itself has none.
    forbidden = model.adapter_retries == "forbidden" and subject.role == "provider_adapter"
    followers = (*request.attempts, None)[1:]
    for attempt, following in zip(request.attempts, followers, strict=True):
        moves = following is not None and following.provider != attempt.provider
        step = Step(
            attempt=attempt,
            next=None if moves else following,
            act="none",
            failover=following if moves else None,
        )
        if attempt.signal is None:
            yield step
            continue
        seen = classify(model, attempt.signal)
        if forbidden:
            yield replace(step, act="end", classification=seen, failures=attempt.number)
            continue
        ruling = request_ruling(model, subject, seen, entries.get(attempt.provider))
        together = model.mixed_failures == "per_call"
        policy = "" if together or ruling is None else ruling.policy.id
        account = (attempt.provider, policy)
        failures[account] += 1
        limit = None if ruling is None else ruling.policy.attempts_max
        step = replace(
            step,
            act=act_of(seen.disposition, limit, failures[account]),
            classification=seen,
            ruling=ruling,
            failures=failures[account],
        )
        if step.act != "retry" or ruling is None or attempt.known_ns is None:
            yield step
            continue
        skipped = 0 if model.retry_after.advances_schedule else honored[account]
        known_ns = attempt.known_ns + timing.ahead_ns
        wait = _wait(model, step, ruling, known_ns, failures[account] - skipped)
        honored[account] += wait.exact
        yield replace(step, wait=replace(wait, timing=timing))


def request_ruling(
    model: ErrorModel, subject: SubjectInfo, seen: Classification, entry: int | None = None
) -> Ruling | None:
    """Return what governs the failure of a request; None where nothing does.

    Args:
        entry: the attempts that the chain grants the provider.
    """
    if seen.pair is None or seen.disposition != "retry":
        return None
    own = model.policy_for(*seen.pair, layer="transport")
    if own is not None and own.attempts_from == "entry" and entry is not None:
        own = own.model_copy(update={"attempts_max": entry})
    return ruling_of(model, subject, seen.pair, own)


def ruling_of(
    model: ErrorModel, subject: SubjectInfo, pair: tuple[str, str], own: RetryPolicy | None
) -> Ruling | None:
    """Return what governs a failure of class and code `pair`; None where nothing does.

    Args:
        own: the policy that the model has for it; one that the subject declares may replace it.
    """
    requirements = None if own is None else own.requirements
    declared = subject.retry_policies if model.declared_policies == "allowed" else ()
    policy = next((policy for policy in declared if policy.covers(*pair)), None)
    if policy is not None:
        return Ruling(policy=policy, declared=True, requirements=requirements)
    return None if own is None else Ruling(policy=own, declared=False, requirements=requirements)


def _wait(model: ErrorModel, step: Step, ruling: Ruling, known_ns: int, retry_number: int) -> Wait:
    policy, signal = ruling.policy, step.attempt.signal
    suffix = ", declared by the subject" if ruling.declared else ""
    if policy.retry_after == "honor" and signal is not None:
        asked = asked_wait(signal.headers, model.retry_after, known_ns)
        if asked is not None:
            return Wait(
                retry_number=step.failures,
                interval=Interval(low_ns=asked.wait_ns, high_ns=asked.wait_ns),
                exact=True,
                nominal_ns=asked.wait_ns,
                basis=asked.basis + suffix,
            )
    interval = policy.interval(retry_number)
    nominal_ns = policy.backoff.nominal_ns(retry_number)
    basis = f"{format_duration(nominal_ns)}{_width(policy.jitter)}"
    if retry_number <= len(policy.waits):
        nominal_ns, basis = interval.low_ns, f"wait {retry_number} of the table"
    return Wait(
        retry_number=retry_number,
        interval=interval,
        exact=False,
        nominal_ns=nominal_ns,
        basis=f"{basis}{suffix}",
    )


def _width(jitter: Jitter) -> str:
    if jitter.up_to is not None:
        return f" and up to {format_duration(jitter.up_to)} more"
    return f" ±{jitter.percent} %" if jitter.percent else ""
