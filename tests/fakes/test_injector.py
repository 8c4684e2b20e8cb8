"""The fold over the fault plan: who counts, who fires, who stays unmet."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from faultclock.fakes.wire.injector import (
    AnswerShape,
    Connecting,
    InjectorState,
    Requesting,
    Resolving,
    decide,
    mark_met,
    task_of,
    unmet,
)
from faultclock.model.scenario.fault import FaultRule

PLAIN = AnswerShape(stream=False, body_bytes=400)
STREAM = AnswerShape(stream=True, body_bytes=900, chunks=9, chunks_before_finish=8)


def rule(kind: str, name: str = "one", when: dict[str, Any] | None = None, **fault: Any) -> Any:
    """Return a rule as a file would say it."""
    needs = {"http_error": {"status": 429, "error": "x"}, "ok_with_error_body": {"error": "x"}}
    then = {"kind": kind, **needs.get(kind, {}), **fault}
    return FaultRule.model_validate({"id": name, "when": when or {}, "then": then})


def request(
    call: str | None = "ask/1", now_ns: int = 0, answer: AnswerShape | None = PLAIN
) -> Requesting:
    """Return a request."""
    return Requesting(call=call, now_ns=now_ns, answer=answer)


def play(plan: tuple[FaultRule, ...], *happenings: Any) -> list[tuple[int, str | None]]:
    """Return attempt and fired rule of each happening."""
    state, fates = InjectorState(), []
    for happening in happenings:
        state, fate = decide(plan, state, happening)
        fates.append((fate.attempt, fate.rule.id if fate.rule else None))
    return fates


def test_attempts_are_counted_per_call() -> None:
    """A second client has its own first attempt."""
    plan = (rule("http_error", when={"attempts": 1}),)
    happenings = [request("ask/1"), request("ask/1"), request("ask/2"), request(None)]
    assert play(plan, *happenings) == [(1, "one"), (2, None), (1, "one"), (1, "one")]


def test_scope_provider_counts_over_all_calls() -> None:
    """The provider's second request is another call's first attempt."""
    plan = (rule("http_error", when={"attempts": 2, "scope": "provider"}),)
    happenings = [request("ask/1"), request("ask/2"), request("ask/1")]
    assert play(plan, *happenings) == [(1, None), (1, "one"), (2, None)]


def test_a_rule_for_some_requests_counts_those_alone() -> None:
    """The second `GET /now` is one of them, whatever was asked between."""
    plan = (rule("http_error", when={"request": "GET /now", "attempts": 2}),)
    now = replace(request(), named=("GET /now", "/now"))
    other = replace(request(), named=("GET /other", "/other"))
    happenings = [other, now, other, now, replace(now, call="ask/2")]
    assert play(plan, *happenings) == [(1, None), (2, None), (3, None), (4, "one"), (1, None)]


def test_a_refused_connection_is_an_attempt_and_an_accepted_one_is_not() -> None:
    """What ends at the connection takes the number; what goes on leaves it to the request."""
    plan = (rule("connect_refused", when={"attempts": "1-2"}),)
    connecting = Connecting(call="ask/1", now_ns=0)
    assert play(plan, connecting, connecting, connecting, request()) == [
        (1, "one"),
        (2, "one"),
        (3, None),
        (3, None),
    ]


def test_the_first_rule_claims_the_attempt_at_every_stage() -> None:
    """A later rule of the network does not overtake an earlier rule of the request."""
    plan = (rule("http_error", "first", {"attempts": 1}), rule("connect_refused", "second"))
    connecting = Connecting(call="ask/1", now_ns=0)
    fates = play(plan, Resolving(call="ask/1", now_ns=0), connecting, request(), connecting)
    assert fates == [(1, None), (1, None), (1, "first"), (2, "second")]


def test_a_lookup_fault_claims_nothing_once_the_name_is_known() -> None:
    """A client that caches names can still meet the next rule when it connects."""
    plan = (rule("dns_failure", "first"), rule("connect_refused", "second"))
    assert play(plan, Connecting(call="ask/1", now_ns=0)) == [(1, "second")]


def test_a_condition_on_streaming_holds_only_for_requests() -> None:
    """Before the request is read, nobody knows whether it asks for a stream."""
    plan = (rule("connect_refused", when={"stream": True}),)
    assert play(plan, Connecting(call="ask/1", now_ns=0)) == [(1, None)]
    plan = (rule("http_error", when={"stream": True}),)
    assert play(plan, request(), request(answer=STREAM)) == [(1, None), (2, "one")]


def test_conditions_on_task_and_time_hold_together() -> None:
    """from_time is included, until_time is not."""
    plan = (rule("http_error", when={"task": "b", "from_time": "1s", "until_time": "2s"}),)
    second = 1_000_000_000
    happenings = [
        request("b/1", second - 1),
        request("a/1", second),
        request("b/1", second),
        request("b/1", 2 * second),
    ]
    assert play(plan, *happenings) == [(1, None), (1, None), (2, "one"), (3, None)]


@pytest.mark.parametrize(
    ("fault", "plain", "stream"),
    [
        ({"kind": "stream_error", "after_chunks": 9, "error": "x"}, False, True),
        ({"kind": "stream_error", "after_chunks": 10, "error": "x"}, False, False),
        ({"kind": "truncate", "how": "eof", "after_chunks": 9}, False, True),
        ({"kind": "truncate", "how": "eof", "after_chunks": 10}, False, False),
        ({"kind": "truncate", "how": "clean_end", "after_chunks": 8}, False, True),
        ({"kind": "truncate", "how": "clean_end", "after_chunks": 9}, False, False),
        ({"kind": "truncate", "how": "reset", "after_body_bytes": 399}, True, True),
        ({"kind": "truncate", "how": "reset", "after_body_bytes": 400}, False, True),
        ({"kind": "stall"}, True, True),
        ({"kind": "stall", "after_chunks": 2}, False, True),
        ({"kind": "stall", "after_body_bytes": 900}, False, False),
        ({"kind": "corrupt_body", "at_byte": 400}, False, True),
        ({"kind": "slow_drip", "bytes_per_step": 1, "every": "1s"}, True, True),
        ({"kind": "reset_before_response"}, True, True),
        ({"kind": "connect_timeout"}, False, False),
    ],
)
def test_a_fault_that_does_not_fit_the_answer_does_not_fire(
    fault: dict[str, Any], plain: bool, stream: bool
) -> None:
    """A cut behind the end, or a stream's fault on a plain answer, stays unmet."""
    plan = (rule(**fault),)
    assert (play(plan, request())[0][1] is not None) == plain
    assert (play(plan, request(answer=STREAM))[0][1] is not None) == stream


def test_a_refused_request_is_an_attempt_that_no_rule_shapes() -> None:
    """A request without a key is answered by the provider itself."""
    assert play((rule("http_error"),), request(answer=None)) == [(1, None)]


def test_a_rule_is_met_when_its_effect_reaches_the_wire() -> None:
    """Deciding is not meeting, except at the network, where both are one."""
    plan = (rule("http_error", "a", {"attempts": 2}), rule("dns_failure", "b"))
    state, fate = decide(plan, InjectorState(), Resolving(call="ask/1", now_ns=0))
    assert (fate.rule, unmet(plan, state)) == (plan[1], (plan[0],))
    state, fate = decide(plan, state, request())
    assert (fate.rule, unmet(plan, state)) == (plan[0], (plan[0],))
    assert unmet(plan, mark_met(state, "a")) == ()


def test_the_task_is_what_stands_before_the_slash() -> None:
    """A call id is task/copy."""
    assert (task_of("ask/12"), task_of(None)) == ("ask", None)


WHEN = st.fixed_dictionaries(
    {
        "attempts": st.sampled_from([1, 2, "1-3", "3+", "every"]),
        "scope": st.sampled_from(["call", "provider"]),
    },
    optional={
        "task": st.sampled_from(["a", "b"]),
        "stream": st.booleans(),
        "from_time": st.sampled_from(["0s", "2ns"]),
        "until_time": st.sampled_from(["3ns", "4ns"]),
    },
)
FAULTS = st.sampled_from(
    [
        {"kind": "http_error"},
        {"kind": "dns_failure"},
        {"kind": "connect_refused"},
        {"kind": "stall"},
        {"kind": "stream_error", "after_chunks": 1, "error": "x"},
    ]
)
PLANS = st.lists(st.tuples(WHEN, FAULTS), max_size=4).map(
    lambda items: tuple(
        rule(**fault, name=f"r{index}", when=when) for index, (when, fault) in enumerate(items)
    )
)
HAPPENINGS = st.lists(
    st.builds(
        lambda make, call, now_ns: make(call, now_ns),
        st.sampled_from(
            [
                lambda call, now_ns: Resolving(call=call, now_ns=now_ns),
                lambda call, now_ns: Connecting(call=call, now_ns=now_ns),
                lambda call, now_ns: request(call, now_ns),
                lambda call, now_ns: request(call, now_ns, STREAM),
            ]
        ),
        st.sampled_from(["a/1", "a/2", "b/1", None]),
        st.integers(0, 6),
    ),
    max_size=12,
)


@given(PLANS, HAPPENINGS)
def test_the_fold_is_a_function_and_hands_out_every_number_once(
    plan: tuple[FaultRule, ...], happenings: list[Any]
) -> None:
    """Equal inputs give equal fates, and the attempts of each call are 1, 2, 3... without gaps."""
    state, taken = InjectorState(), {}
    for happening in happenings:
        before = state
        state, fate = decide(plan, before, happening)
        assert decide(plan, before, happening) == (state, fate)
        if isinstance(happening, Requesting) or fate.rule is not None:
            taken.setdefault(happening.call, []).append(fate.attempt)
        else:
            assert state == before
    for call, numbers in taken.items():
        assert numbers == list(range(1, len(numbers) + 1))
        assert state.attempts[call] == len(numbers)
    assert state.total == sum(map(len, taken.values()))


@given(PLANS, HAPPENINGS)
def test_rules_behind_the_one_that_fires_change_nothing(
    plan: tuple[FaultRule, ...], happenings: list[Any]
) -> None:
    """The first rule wins: cutting the plan behind it leaves the fate as it is."""
    state = InjectorState()
    for happening in happenings:
        after, fate = decide(plan, state, happening)
        if fate.rule is not None:
            shorter = plan[: plan.index(fate.rule) + 1]
            assert decide(shorter, state, happening)[1] == fate
        state = after
