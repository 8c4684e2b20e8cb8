"""The fold over a provider's accounts: who is refused, what is told, what coming early costs."""

from __future__ import annotations

import pickle
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from faultclock.fakes.provider.accounts import Arrival, LimitsState, Rules, Ruling
from faultclock.fakes.provider.buckets import UNIT
from faultclock.fakes.provider.limits import ended, new_life, rule_on
from faultclock.model.duration import MILLISECOND_NS, SECOND_NS
from faultclock.model.scenario.provider_limits import Overload, ProviderLimits

S = SECOND_NS
MINUTE = 60 * S


def rules(limits: dict[str, Any] | None = None, overload: dict[str, Any] | None = None) -> Rules:
    """Return the rules that a file would say like this."""
    return Rules(
        limits=None if limits is None else ProviderLimits.model_validate(limits),
        overload=None if overload is None else Overload.model_validate(overload),
    )


class Desk:
    """A provider that is asked one thing after the other."""

    def __init__(self, of: Rules) -> None:
        self.rules, self.state, self.count = of, LimitsState(), 0

    def ask(self, now_ns: int, caller: str = "ask/1", **changes: Any) -> Ruling:
        """Ask at `now_ns` and return the ruling."""
        self.count += 1
        values: dict[str, Any] = {"key": "k", "tokens": 10, "exchange": f"x{self.count}"}
        arrival = Arrival(caller=caller, now_ns=now_ns, **(values | changes))
        self.state, ruling = rule_on(self.rules, self.state, arrival)
        return ruling


def told(ruling: Ruling) -> int | None:
    """Return what a refusal tells; -1 where there is none."""
    return -1 if ruling.refused is None else ruling.refused.retry_after_ns


def test_a_crowd_shares_the_bucket_of_its_key() -> None:
    """Three of five are answered; the others hear of the same instant, and one is served then."""
    desk = Desk(rules({"requests": {"per_minute": 20, "burst": 3}}))
    assert [told(desk.ask(0, f"ask/{n}")) for n in range(5)] == [-1, -1, -1, 3 * S, 3 * S]
    assert told(desk.ask(3 * S, "ask/3")) == -1
    assert told(desk.ask(3 * S, "ask/4")) == 3 * S


def test_each_key_has_its_own_bucket_unless_all_share_one() -> None:
    """`per` says which; accounts are numbered in the order in which they came."""
    own = Desk(rules({"requests": {"per_minute": 1}}))
    assert [(own.ask(0, key=key).account, told(own.ask(1, key=key))) for key in "ab"] == [
        (1, MINUTE),
        (2, MINUTE),
    ]
    shared = Desk(rules({"requests": {"per_minute": 1}, "per": "provider"}))
    assert [told(shared.ask(0, key=key)) for key in "ab"] == [-1, MINUTE]


def test_a_refused_request_counts_unless_the_provider_forgives() -> None:
    """Half a request was there; who asks in between starts again from nothing."""
    counted = Desk(rules({"requests": {"per_minute": 6, "burst": 1}}))
    assert [told(counted.ask(at)) for at in (0, 5 * S, 10 * S, 20 * S)] == [-1, 10 * S, 10 * S, -1]
    free = Desk(rules({"requests": {"per_minute": 6, "burst": 1}, "refused": "free"}))
    assert [told(free.ask(at)) for at in (0, 5 * S, 10 * S)] == [-1, 5 * S, -1]


def test_the_limit_that_needs_longest_names_the_refusal() -> None:
    """Both lack something; the told wait is enough for both."""
    of = rules({"requests": {"per_minute": 20, "burst": 1}, "tokens": {"per_minute": 60}})
    desk = Desk(of)
    desk.ask(0, tokens=60)
    refused = desk.ask(0, tokens=30).refused
    assert refused is not None
    assert (refused.rule.id, refused.retry_after_ns) == ("tokens-per-minute", 30 * S)
    refused = desk.ask(0, tokens=1).refused
    assert refused is not None
    assert (refused.rule.id, refused.retry_after_ns) == ("requests-per-minute", 3 * S)


def test_a_refused_request_uses_no_tokens() -> None:
    """It made none."""
    desk = Desk(rules({"tokens": {"per_minute": 60}}))
    desk.ask(0, tokens=40)
    assert told(desk.ask(0, tokens=30)) == 10 * S
    assert told(desk.ask(0, tokens=20)) == -1


def test_the_standing_tells_what_is_left_and_when_all_is_there_again() -> None:
    """Of every answer, also of a good one."""
    desk = Desk(rules({"requests": {"per_minute": 20, "burst": 3}, "tokens": {"per_minute": 600}}))
    standing = desk.ask(0, tokens=100).standing
    assert standing.requests is not None
    assert standing.tokens is not None
    requests, tokens = standing.requests, standing.tokens
    assert (requests.limit, requests.remaining, requests.reset_ns) == (20, 2, 3 * S)
    assert (tokens.limit, tokens.remaining, tokens.reset_ns) == (600, 500, 10 * S)
    assert standing.retry_after_ns is None


def test_coming_early_costs_the_penalty_each_time() -> None:
    """One minute is told; at ten seconds it is a minute and a half from the start, and so on."""
    desk = Desk(rules({"requests": {"per_minute": 1}, "early_penalty": "30s", "refused": "free"}))
    assert told(desk.ask(0)) == -1
    assert told(desk.ask(0)) == 60 * S
    early = desk.ask(10 * S).refused
    assert early is not None
    assert (early.early_ns, early.pushed_back_ns, early.retry_after_ns) == (50 * S, 30 * S, 80 * S)
    again = desk.ask(20 * S).refused
    assert again is not None
    assert (again.early_ns, again.retry_after_ns) == (70 * S, 100 * S)
    # Who shares the bucket has to wait as well, and was told nothing before: not early.
    other = desk.ask(100 * S, "ask/2").refused
    assert other is not None
    assert (other.early_ns, other.pushed_back_ns, other.retry_after_ns) == (None, 0, 20 * S)
    assert told(desk.ask(120 * S)) == -1


def test_while_it_is_pushed_back_the_headers_show_nothing_left() -> None:
    """The bucket may be full by then; what can be taken is nothing."""
    desk = Desk(rules({"requests": {"per_minute": 60, "burst": 1}, "early_penalty": "1h"}))
    desk.ask(0)
    desk.ask(0)
    standing = desk.ask(0).standing
    assert standing.requests is not None
    assert standing.requests.remaining == 0
    assert standing.requests.reset_ns == standing.retry_after_ns == 3601 * S


def test_a_quota_counts_good_answers_and_never_comes_back() -> None:
    """Nothing is told, because no wait helps."""
    desk = Desk(rules({"quota": {"requests": 2}}))
    rulings = [desk.ask(at) for at in (0, 1, 2, 10**6 * S)]
    assert [told(ruling) for ruling in rulings] == [-1, -1, None, None]
    assert rulings[2].refused is not None
    assert rulings[2].refused.rule.fault_kind == "quota_exhausted"


def test_a_quota_of_tokens_pays_for_the_answer_that_goes_beyond_it() -> None:
    """It is asked before the answer is known."""
    desk = Desk(rules({"quota": {"tokens": 100}}))
    assert [told(desk.ask(0, tokens=60)) for _ in range(3)] == [-1, -1, None]


def test_a_quota_begins_anew_some_time_after_its_first_answer() -> None:
    """And the new one is counted from its own first answer."""
    desk = Desk(rules({"quota": {"requests": 1, "resets_after": "1m"}}))
    at = (5 * S, 64 * S, 65 * S, 66 * S, 125 * S)
    assert [told(desk.ask(ns)) for ns in at] == [-1, None, -1, None, -1]


def test_an_overload_holds_in_its_time_and_tells_when_it_ends() -> None:
    """It begins and ends with the instants that the file says."""
    of = {"from_time": "1s", "until_time": "9s", "percent": 100}
    desk = Desk(rules(None, of | {"tells_when": True}))
    assert [told(desk.ask(at)) for at in (0, 1 * S, 8 * S, 9 * S)] == [-1, 8 * S, 1 * S, -1]
    silent = Desk(rules(None, of))
    assert told(silent.ask(1 * S)) is None


def test_an_overload_of_some_is_decided_by_what_was_drawn() -> None:
    """A third: 0 to 32 are refused."""
    desk = Desk(rules(None, {"percent": 33, "until_time": "1m"}))
    assert [told(desk.ask(0, percent=drawn)) for drawn in (0, 32, 33, 99)] == [None, None, -1, -1]


def test_an_overload_by_load_heals_when_an_exchange_is_over() -> None:
    """Refused requests are no load, and those of a dead process are none either."""
    desk = Desk(rules(None, {"at_once": 2}))
    assert [told(desk.ask(0)) for _ in range(4)] == [-1, -1, None, None]
    desk.state = ended(desk.state, "x1")
    assert told(desk.ask(0)) == -1
    assert told(desk.ask(0)) is None
    desk.state = ended(new_life(desk.state), "x2")
    assert [told(desk.ask(0)) for _ in range(3)] == [-1, -1, None]


def test_a_fault_of_the_plan_wins_and_is_counted_all_the_same() -> None:
    """A failure as a failed request, an answer that began well with all that it costs."""
    limits = {
        "requests": {"per_minute": 1},
        "tokens": {"per_minute": 60},
        "quota": {"requests": 1},
    }
    desk = Desk(rules(limits))
    failed = desk.ask(0, planned="failed")
    assert failed.refused is None
    assert (failed.standing.requests, failed.standing.tokens) != (None, None)
    account = desk.state.accounts["k"]
    assert account.requests is not None
    assert account.tokens is not None
    assert (account.requests.units, account.tokens.units, account.spent) == (0, 60, 0)
    answered = desk.ask(0, planned="answered")
    assert answered.refused is None
    account = desk.state.accounts["k"]
    assert account.tokens is not None
    assert (account.tokens.units, account.spent) == (50, 1)


def test_limits_are_asked_before_the_overload() -> None:
    """A provider knows who asks before it looks at what it has to do."""
    of = rules({"requests": {"per_minute": 1}}, {"percent": 100, "until_time": "1h"})
    desk = Desk(of)
    kinds = [
        ruling.refused and ruling.refused.rule.fault_kind for ruling in (desk.ask(0), desk.ask(0))
    ]
    assert kinds == ["overloaded", "rate_limited"]


def test_the_state_is_plain_data() -> None:
    """A fresh life of the subject finds it as it was left."""
    desk = Desk(rules({"requests": {"per_minute": 1}, "quota": {"requests": 5}}))
    desk.ask(0)
    desk.ask(1)
    assert pickle.loads(pickle.dumps(desk.state)) == desk.state


WAITS = st.lists(
    st.tuples(st.integers(0, 30 * S), st.integers(1, 400), st.sampled_from("abc")),
    min_size=1,
    max_size=60,
)


@st.composite
def _limits(draw: st.DrawFn) -> dict[str, Any]:
    requests, tokens = draw(st.integers(1, 120)), draw(st.integers(1, 1_000))
    return {
        "requests": {"per_minute": requests, "burst": draw(st.integers(1, requests))},
        "tokens": {"per_minute": tokens, "burst": draw(st.integers(1, tokens))},
        "refused": draw(st.sampled_from(["count", "free"])),
    }


@given(limits=_limits(), waits=WAITS)
def test_no_minute_grants_more_than_its_limit_and_a_burst(
    limits: dict[str, Any], waits: list[tuple[int, int, str]]
) -> None:
    """Any minute: one begins with each grant."""
    desk, now_ns = Desk(rules(limits)), 0
    granted: list[tuple[int, int]] = []
    tokens_size = limits["tokens"]["burst"]
    for after_ns, tokens, caller in waits:
        now_ns += after_ns
        if desk.ask(now_ns, caller, tokens=tokens).refused is None:
            granted.append((now_ns, min(tokens, tokens_size)))
        account = desk.state.accounts["k"]
        assert account.requests is not None
        assert account.tokens is not None
        assert 0 <= account.requests.parts <= account.requests.size * UNIT
        assert 0 <= account.tokens.parts <= account.tokens.size * UNIT
    for begun_ns, _ in granted:
        window = [cost for at, cost in granted if begun_ns <= at <= begun_ns + MINUTE]
        assert len(window) <= limits["requests"]["per_minute"] + limits["requests"]["burst"]
        assert sum(window) <= limits["tokens"]["per_minute"] + tokens_size


@given(limits=_limits(), waits=WAITS)
def test_what_is_told_is_enough_and_not_a_millisecond_too_much(
    limits: dict[str, Any], waits: list[tuple[int, int, str]]
) -> None:
    """The same request passes then, also in whole milliseconds; before, it does not."""
    of, now_ns = rules(limits), 0
    desk = Desk(of)
    for after_ns, tokens, caller in waits:
        now_ns += after_ns
        wait_ns = told(desk.ask(now_ns, caller, tokens=tokens))
        if wait_ns is None or wait_ns < 0:
            continue

        def passes(at_ns: int, tokens: int = tokens) -> bool:
            arrival = Arrival(exchange="x", key="k", caller="z", now_ns=at_ns, tokens=tokens)
            return rule_on(of, desk.state, arrival)[1].refused is None

        whole_ms = -(-wait_ns // MILLISECOND_NS) * MILLISECOND_NS
        assert passes(now_ns + wait_ns)
        assert passes(now_ns + whole_ms)
        assert not passes(now_ns + wait_ns - 1)
        assert not passes(now_ns + whole_ms - MILLISECOND_NS)


@given(
    limits=_limits(),
    penalty_s=st.integers(1, 90),
    waits=st.lists(st.integers(1, 10 * S), min_size=1, max_size=12),
)
def test_every_early_attempt_moves_the_instant_further_away(
    limits: dict[str, Any], penalty_s: int, waits: list[int]
) -> None:
    """By the penalty at least, and whoever comes early is refused."""
    desk, now_ns = Desk(rules(limits | {"early_penalty": f"{penalty_s}s"})), 0
    ruling = desk.ask(now_ns)
    while ruling.refused is None:
        ruling = desk.ask(now_ns)
    assert ruling.refused.retry_after_ns is not None
    until_ns = now_ns + ruling.refused.retry_after_ns
    for after_ns in waits:
        now_ns += after_ns
        ruling = desk.ask(now_ns)
        if now_ns >= until_ns:
            assert ruling.refused is None
            return
        assert ruling.refused is not None
        assert ruling.refused.early_ns == until_ns - now_ns
        assert ruling.refused.retry_after_ns is not None
        assert now_ns + ruling.refused.retry_after_ns >= until_ns + penalty_s * S
        until_ns = now_ns + ruling.refused.retry_after_ns
