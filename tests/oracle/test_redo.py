"""What failed is tried again as its policy says, whatever it is; the arithmetic is exact."""

from __future__ import annotations

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from faultclock.model.retry_policy import Backoff, Jitter, RetryPolicy
from faultclock.model.scenario.session_script import StageRetry
from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.check import outcome_of
from faultclock.oracle.retries.redo import (
    ATTEMPTS,
    DISPOSITION,
    Act,
    Series,
    Tried,
    Try,
    act_of,
    judge_series,
    judge_waits,
    judgements,
    policy_of,
)
from faultclock.oracle.wire.timing import SLACK_NS

S = 1_000_000_000
REQUIREMENTS = ("STUD-DEFAULT-02",)


def event(seq: int, at_ns: int) -> TraceEvent:
    """Return a fact of which only place and time count."""
    return TraceEvent(seq, at_ns, "tool", "tool.called", {})


def series(
    policy: RetryPolicy | None,
    *outcomes: Literal["good", "busy", "bad", "open"],
    waits: tuple[int, ...] = (),
    given_up: bool = True,
    busy: tuple[tuple[int, int], ...] = (),
    slack_ns: int = SLACK_NS,
) -> Series:
    """Return tries that take no time, with waits between them, in nanoseconds."""
    tries, at_ns = [], 0
    for number, outcome in enumerate(outcomes):
        begun, ended = event(2 * number + 1, at_ns), event(2 * number + 2, at_ns)
        tries.append(
            Try(
                begun=begun,
                ended=None if outcome == "open" else ended,
                outcome="failed" if outcome in ("busy", "bad") else outcome,  # type: ignore[arg-type]
                failure="it failed",
                retryable=outcome == "busy",
            )
        )
        at_ns += waits[number] if number < len(waits) else 0
    return Series(
        what="it",
        call="ask/1",
        tries=tuple(tries),
        policy=policy,
        source="its contract",
        given_up=event(99, at_ns) if given_up else None,
        slack_ns=slack_ns,
        requirements=REQUIREMENTS,
        busy=busy,
    )


def policy(attempts_max: int = 3, percent: int = 0) -> RetryPolicy:
    """Return a policy of 1 s, 2 s, 4 s..."""
    jitter = Jitter(kind="proportional", percent=percent) if percent else Jitter()
    backoff = Backoff(kind="exponential", base="1s")
    own = policy_of("p", StageRetry(attempts_max=attempts_max, backoff=backoff, jitter=jitter))
    assert own is not None
    return own


def faults(own: Series) -> dict[str, int]:
    """Return how many violations each judgement finds."""
    found = {}
    for name, verdicts in (
        ("disposition", judge_series(own, DISPOSITION)),
        ("attempts", judge_series(own, ATTEMPTS)),
        ("wait", judge_waits(own)),
    ):
        outcome = outcome_of(verdicts)
        assert all(item.events and item.expected for item in outcome.violations)
        found[name] = len(outcome.violations)
    return {name: count for name, count in found.items() if count}


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        (series(policy(), "busy", "good", waits=(S,)), {}),
        (series(policy(), "busy", "busy", "busy", waits=(S, 2 * S)), {}),
        (series(policy(), "busy"), {"disposition": 1}),
        (series(policy(), "busy", given_up=False), {}),
        (series(policy(), "busy", "open", waits=(S,)), {}),
        (series(policy(), "bad"), {}),
        (series(policy(), "bad", "good", waits=(S,)), {"disposition": 1}),
        (series(policy(), "good", "good"), {"disposition": 1}),
        (series(None, "busy"), {}),
        (series(None, "busy", "good"), {"attempts": 1}),
        (series(policy(), "busy", "busy", waits=(S,)), {"attempts": 1}),
        (series(policy(), "busy", "busy", waits=(S,), given_up=False), {}),
        (
            series(policy(), "busy", "busy", "busy", "good", waits=(S, 2 * S, 4 * S)),
            {"attempts": 1},
        ),
        (series(policy(), "busy", "good", waits=(S - 10 * SLACK_NS,)), {"wait": 1}),
        (series(policy(), "busy", "good", waits=(S + 10 * SLACK_NS,)), {"wait": 1}),
    ],
)
def test_each_fault_is_found_by_one_judgement(own: Series, expected: dict[str, int]) -> None:
    """Whether to, how often and how soon are three questions."""
    assert faults(own) == expected


@given(
    attempts=st.integers(1, 6),
    percent=st.integers(0, 100),
    shares=st.lists(st.integers(-100, 100), min_size=6, max_size=6),
)
def test_whatever_the_policy_allows_is_not_blamed(
    attempts: int, percent: int, shares: list[int]
) -> None:
    """Any wait inside its interval, in any number of tries up to the limit."""
    own = policy(attempts, percent)
    waits = []
    for number in range(1, attempts):
        nominal_ns = S * 2 ** (number - 1)
        waits.append(nominal_ns + nominal_ns * percent * shares[number] // 10_000)
    used_up = series(own, *["busy"] * attempts, waits=tuple(waits))
    assert faults(used_up) == {}
    recovered = series(own, *["busy"] * (attempts - 1), "good", waits=tuple(waits))
    assert faults(recovered) == {}


@given(percent=st.integers(0, 90), beyond=st.integers(1, 10**10), early=st.booleans())
def test_whatever_lies_outside_the_interval_is_blamed(
    percent: int, beyond: int, early: bool
) -> None:
    """By as little as the slack allows to tell."""
    own = policy(percent=percent)
    interval = own.interval(1)
    edge = interval.low_ns - SLACK_NS if early else interval.high_ns + SLACK_NS
    wait_ns = max(0, edge - beyond) if early else edge + beyond
    assert faults(series(own, "busy", "good", waits=(wait_ns,))) == {"wait": 1}


@pytest.mark.parametrize("slack_ns", [0, SLACK_NS, 15_600_000])
@pytest.mark.parametrize("early", [True, False])
def test_a_wait_may_miss_its_ends_by_the_slack_and_no_more(slack_ns: int, early: bool) -> None:
    """A host whose timers have a coarse step is not blamed for that step."""
    edge_ns, beyond = (S - slack_ns, -1) if early else (S + slack_ns, 1)
    at_edge = series(policy(), "busy", "good", waits=(edge_ns,), slack_ns=slack_ns)
    assert faults(at_edge) == {}
    past_it = series(policy(), "busy", "good", waits=(edge_ns + beyond,), slack_ns=slack_ns)
    assert faults(past_it) == {"wait": 1}


def test_what_else_a_runtime_waited_for_may_come_on_top_of_the_wait() -> None:
    """Such as a journal entry after the end, one before the next try, and a hook in between."""
    own = policy()
    wait_ns = S + 10_000_000
    busy = ((0, 5_000_000), (wait_ns - 5_000_000, wait_ns))
    assert faults(series(own, "busy", "good", waits=(wait_ns,), busy=busy)) == {}
    assert faults(series(own, "busy", "good", waits=(wait_ns,))) == {"wait": 1}
    in_between = ((100, 6_000_100), (6_000_000, 10_000_100))
    assert faults(series(own, "busy", "good", waits=(wait_ns,), busy=in_between)) == {}
    elsewhere = ((0, 1_000_000), (wait_ns, wait_ns + S))
    assert faults(series(own, "busy", "good", waits=(wait_ns,), busy=elsewhere)) == {"wait": 1}


def test_a_policy_without_backoff_tries_again_at_once() -> None:
    """As a stage does that names no waits."""
    own = policy_of("p", StageRetry(attempts_max=2))
    assert faults(series(own, "busy", "good", waits=(0,))) == {}
    assert faults(series(own, "busy", "good", waits=(S,))) == {"wait": 1}


def judged(*tries: tuple[Act, bool, str], given_up: bool = True) -> list[str]:
    """Return what is said of tries of one thing: what had to follow, whether it did, its policy."""
    own = (
        Tried(of=number, act=act, again=again, given_up=given_up, thing="it", policy=name)
        for number, (act, again, name) in enumerate(tries)
    )
    return [said for said, _ in judgements(own)]


def test_attempts_are_used_up_only_where_something_was_tried_again() -> None:
    """A policy of one attempt says nothing of how often a thing that retries is tried."""
    assert judged(("retry", True, "p"), ("exhausted", False, "p")) == ["retried", "used_up"]
    assert judged(("exhausted", False, "p")) == []


def test_to_give_up_too_soon_is_judged_for_each_policy() -> None:
    """A retry by one policy says nothing of the failure that another one is for."""
    assert judged(("retry", True, "p"), ("retry", False, "p")) == ["retried", "short"]
    assert judged(("retry", True, "p"), ("retry", False, "q")) == ["retried", "never"]


def test_too_many_tries_of_one_thing_are_one_fault() -> None:
    """The number of tries is told with the first one that was too many."""
    beyond = ("exhausted", True, "p")
    assert judged(("retry", True, "p"), beyond, beyond, beyond) == ["retried", "many"]


def test_nothing_is_said_where_the_end_is_not_known() -> None:
    """A run that was cut off may have gone on to try again."""
    for act in ("retry", "exhausted", "end", "unjudged", "none"):
        assert judged((act, False, "p"), given_up=False) == []


def test_what_has_to_follow_is_decided_by_disposition_and_count() -> None:
    """The last attempt that a policy gives is followed by none; no policy, no judgement."""
    assert [act_of("retry", 3, failures) for failures in (1, 2, 3, 4)] == [
        "retry",
        "retry",
        "exhausted",
        "exhausted",
    ]
    assert act_of("retry", None, 1) == act_of("owner_decides", 3, 1) == "unjudged"
    assert act_of("terminal", 3, 1) == act_of("degrade", None, 1) == "end"


def shown(own: Series) -> list[tuple[str, tuple[int, ...]]]:
    """Return what each violation of a series expected, and the events that show it."""
    verdicts = (*judge_series(own, DISPOSITION), *judge_series(own, ATTEMPTS))
    return [(item.expected, item.events) for item in outcome_of(verdicts).violations]


def test_a_violation_says_why_nothing_was_to_follow_and_cites_what_did() -> None:
    """A success, or a failure that no policy is for; the try that followed is evidence."""
    never = "it is not tried again: {}, by its contract"
    assert shown(series(policy(), "good", "good")) == [
        (never.format("it had succeeded"), (1, 2, 3, 4))
    ]
    assert shown(series(policy(), "bad", "good")) == [
        (never.format("it failed is not worth a retry"), (1, 2, 3, 4))
    ]
    assert shown(series(None, "busy", "good")) == [
        ("1 tries in all of it, by its contract", (1, 3, 99))
    ]


def test_each_wait_is_judged_whatever_is_said_of_those_before_it() -> None:
    """A hint, an end that is not known or a failure without a retry concerns one wait alone."""
    wrong_ns = 20 * S
    assert faults(series(policy(), "bad", "busy", "good", waits=(0, wrong_ns)))["wait"] == 1
    own = series(policy(4), "busy", "busy", "good", waits=(wrong_ns, wrong_ns))
    assert faults(own) == {"wait": 2}
    first, *later = own.tries
    assert faults(replace(own, tries=(replace(first, hinted=True), *later))) == {"wait": 1}
    assert faults(replace(own, tries=(replace(first, ended=None), *later))) == {"wait": 1}
