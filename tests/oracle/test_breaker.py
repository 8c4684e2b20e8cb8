"""Circuit breakers: what opens them, what is refused meanwhile, and how they close again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.model.duration import SECOND_NS
from faultclock.model.error_model.failure_rules import BreakerRules
from faultclock.oracle.facts.history import History
from faultclock.oracle.retries.breaker_fold import BreakerFold, Met, Result
from faultclock.oracle.retries.breaker_refusals import breaker_refusals
from tests.oracle.chain_builder import ChainBuilder, turn_name
from tests.oracle.small_model import CHAIN, found, judged, small_model
from tests.oracle.turn_builder import TurnBuilder

RULES: dict[str, Any] = {
    "failures": 2,
    "open_for": "30s",
    "counts": ["Llm/Overload"],
    "refusal": "Run/Open",
    "requirements": {
        "opens": "SMALL-OPENS",
        "refuses": "SMALL-REFUSES",
        "half_open": "SMALL-HALF",
        "closes": "SMALL-CLOSES",
    },
}
MODEL = small_model(breaker=RULES)
WITH_CHAIN = small_model(breaker=RULES, chain=CHAIN)
CHECKS = ("breaker.opens", "breaker.refuses", "breaker.half-open", "breaker.closes")
Build = Callable[[], TurnBuilder]


class Turns(TurnBuilder):
    """Turns of one process, one after the other."""

    def __init__(self, **scenario: Any) -> None:
        super().__init__(**scenario)
        self.opens()
        self._turns = 0

    def turn_(self, status: int | None = 500) -> Turns:
        """Let a turn fail with one attempt; None: let it be good."""
        self._next()
        if status is None:
            self.says().ends()
        else:
            pair = {401: "Llm/Auth", 429: "Llm/Rate"}.get(status, "Llm/Overload")
            self.fails(status, call=self.call).ends(pair)
        return self

    def refused_(self, pair: str = "Run/Open") -> Turns:
        """Let a turn be refused at once."""
        self._next().ends(pair)
        return self

    def cancelled_(self) -> Turns:
        """Let a turn be cancelled while its attempt is under way."""
        self._next()
        connection = self.connect(self.call)
        self.ask(connection, self.call)
        self.cancels("turn", cancel=f"stop-{self._turns}").close(connection)
        self.ends("Cancellation/TurnCancelled")
        return self

    def later(self, duration: str = "30s") -> Turns:
        """Let time pass."""
        self.after(duration)
        return self

    def _next(self) -> Turns:
        self._turns += 1
        self.begins(turn_name(self._turns))
        return self


def opened() -> Turns:
    """Return turns after which the breaker is open."""
    return Turns().turn_().turn_()


PASSES: dict[str, tuple[tuple[str, ...], Build]] = {
    "refused while it is open": (
        ("breaker.opens", "breaker.refuses"),
        lambda: opened().refused_(),
    ),
    "probed when the time is over": (
        ("breaker.half-open",),
        lambda: opened().later().turn_(),
    ),
    "refused again after a bad probe": (
        ("breaker.half-open", "breaker.refuses"),
        lambda: opened().later().turn_().refused_(),
    ),
    "closed by a good probe": (
        ("breaker.half-open", "breaker.closes"),
        lambda: opened().later().turn_(None).turn_(None),
    ),
    "usable after a cancelled probe": (
        ("breaker.half-open",),
        lambda: opened().later().cancelled_().turn_(None),
    ),
    "usable after a probe that does not count": (
        ("breaker.half-open",),
        lambda: opened().later().turn_(401).turn_(None),
    ),
    "a good answer between them": ((), lambda: Turns().turn_().turn_(None).turn_().turn_(None)),
    "what does not count": ((), lambda: Turns().turn_(401).turn_(429).turn_(401).turn_(None)),
    "a cancel between them changes nothing": (
        ("breaker.opens", "breaker.refuses"),
        lambda: Turns().turn_().cancelled_().turn_().refused_(),
    ),
}


@pytest.mark.parametrize("case", PASSES)
def test_what_is_as_it_should_be_passes(case: str) -> None:
    """The checks that are named, and no other ones, have looked at something."""
    checks, build = PASSES[case]
    for check in CHECKS:
        assert (judged(MODEL, build(), check) > 0) is (check in checks)


WEDGED = "a request was refused while the breaker had to let it through"
FAILS: dict[str, tuple[str, str, Build]] = {
    "it does not open": (
        "breaker.opens",
        "a request was sent 0s after it opened",
        lambda: opened().turn_(None),
    ),
    "it opens too soon": ("breaker.opens", WEDGED, lambda: Turns().turn_().refused_()),
    "it counts what does not count": (
        "breaker.opens",
        WEDGED,
        lambda: Turns().turn_().turn_(401).refused_(),
    ),
    "it closes too soon": (
        "breaker.opens",
        "a request was sent 29s after it opened",
        lambda: opened().later("29s").turn_(None),
    ),
    "it refuses under another name": (
        "breaker.refuses",
        "it ended failed with Llm/Overload",
        lambda: opened().refused_("Llm/Overload"),
    ),
    "it stays open": ("breaker.half-open", WEDGED, lambda: opened().later("31s").refused_()),
    "a bad probe does not open it": (
        "breaker.half-open",
        "a request was sent 0s after it opened",
        lambda: opened().later().turn_().turn_(None),
    ),
    "a cancelled probe wedges it": (
        "breaker.half-open",
        WEDGED,
        lambda: opened().later().cancelled_().refused_(),
    ),
    "a probe that does not count wedges it": (
        "breaker.half-open",
        WEDGED,
        lambda: opened().later().turn_(401).refused_(),
    ),
    "a good probe does not close it": (
        "breaker.closes",
        WEDGED,
        lambda: opened().later().turn_(None).refused_(),
    ),
}


@pytest.mark.parametrize("case", FAILS)
def test_what_is_not_fails(case: str) -> None:
    """One finding, by the check whose rule was broken, and by no other one of the breaker."""
    check, observed, build = FAILS[case]
    assert found(MODEL, build(), check) == [observed]
    assert [other for other in CHECKS if other != check and found(MODEL, build(), other)] == []


def test_one_probe_at_a_time() -> None:
    """A second request beside the first probe is one too many."""
    built = opened().later()
    built.begins("a/1")
    first = built.connect("a/1")
    built.ask(first, "a/1")
    built.begins("b/1").says().ends()
    assert found(MODEL, built, "breaker.half-open") == ["another one was sent beside 1"]


def test_what_was_under_way_when_it_opened_no_longer_counts() -> None:
    """Neither its failure nor its success says anything of the time after it."""
    for result in ("good", "counted"):
        fold = BreakerFold(BreakerRules.model_validate(RULES))
        for number in (1, 2, 3):
            assert fold.begins(number, 0) == "free"
        fold.ends(1, "counted", SECOND_NS, SECOND_NS)
        fold.ends(2, "counted", SECOND_NS, SECOND_NS)
        before = fold.now
        fold.ends(3, result, 2 * SECOND_NS, 2 * SECOND_NS)
        assert fold.now == before


def test_several_probes_where_the_model_lets_them() -> None:
    """So many at once, and one more when one of them has ended without counting."""
    fold = BreakerFold(BreakerRules.model_validate({**RULES, "failures": 1, "half_open_probes": 2}))
    fold.begins(1, 0)
    fold.ends(1, "counted", 0, 0)
    later = 30 * SECOND_NS + 2_000
    assert [fold.begins(number, later) for number in (2, 3, 4)] == ["probe", "probe", "crowded"]
    fold.ends(4, "good", later, later)
    fold.ends(2, "other", later, later)
    assert [fold.begins(number, later) for number in (5, 6)] == ["probe", "crowded"]
    fold.ends(3, "good", later, later)
    assert fold.begins(7, later) == "free"
    fold.ends(5, "counted", later, later)
    assert fold.now.state == "closed"


def test_a_failure_is_known_from_its_status_or_from_its_end() -> None:
    """Between the two the end of the open time may lie on either side."""
    fold = BreakerFold(BreakerRules.model_validate({**RULES, "failures": 1}))
    fold.begins(1, 0)
    fold.ends(1, "counted", SECOND_NS, 2 * SECOND_NS)
    gates = [fold.now.gate(at * SECOND_NS // 2, 1) for at in (61, 63, 65)]
    assert gates == ["shut", "either", "free"]


def test_a_fresh_process_has_a_closed_breaker() -> None:
    """Its state is the memory of one life."""
    built = opened()
    built.begins("late/1").crashes().opens()
    assert found(MODEL, built.turn_(None), "breaker.opens") == []


def chained() -> ChainBuilder:
    """Return turns with a chain, after which the breaker of the first provider is open."""
    built = ChainBuilder()
    built.opens()
    for number in (1, 2):
        built.another(number).at().bad(500).at("second").says().ends()
    return built


def test_a_chain_goes_on_past_an_open_breaker() -> None:
    """Where the model's chain advances on the refusal, the next provider is asked instead."""
    built = chained().another(3).at("second")
    built.says().ends()
    assert judged(WITH_CHAIN, built, "breaker.refuses") == 1
    assert found(WITH_CHAIN, built, "chain.advances") == []
    (refusal,) = breaker_refusals(History(built.build()), WITH_CHAIN)
    assert (refusal.call, refusal.provider, refusal.moved) == ("ask3/1", "", True)
    ended = chained().another(3)
    ended.ends("Run/Open")
    assert found(WITH_CHAIN, ended, "breaker.refuses") == ["none was asked"]


def test_what_is_said_of_a_refusal_comes_after_it_on_an_open_connection_as_well() -> None:
    """Between the word and the next request there need not be a connect."""
    built = chained().another(3)
    told = built.event("subject", "declared.audit", call="ask3/1", record={"code": "Open"})
    built.event("subject", "entropy", call="ask3/1", source="os.urandom", bytes_count=16)
    built.at("second").says().ends()
    (refusal,) = breaker_refusals(History(built.build()), WITH_CHAIN)
    assert refusal.seq < told


def test_a_refusal_is_published_with_its_turn() -> None:
    """Others make a failure of it."""
    built = opened().refused_()
    (refusal,) = breaker_refusals(History(built.build()), MODEL)
    assert (refusal.call, refusal.told, refusal.moved) == ("ask3/1", True, False)


def test_a_retry_that_an_open_breaker_keeps_back_is_not_due() -> None:
    """Nobody can retry what must not be sent; the refusal may be told in place of the failure."""
    model = small_model(breaker=RULES, policy={"attempts_from": "policy", "attempts_max": 5})
    built = Turns()
    built.begins("ask/1").fails(500, call="ask/1").after("1s").fails(500, call="ask/1")
    built.ends("Run/Open")
    assert found(model, built, "backoff.attempts") == []
    assert found(model, built, "classification.declared") == []
    assert [item.call for item in breaker_refusals(History(built.build()), model)] == ["ask/1"]


@pytest.mark.parametrize("check", CHECKS)
def test_what_shows_nothing_earns_nothing(check: str) -> None:
    """Nothing happened, too little did, the trace ends too soon, or the model is silent."""
    assert judged(MODEL, Turns(), check) == 0
    assert judged(MODEL, Turns().turn_().turn_(None), check) == 0
    assert judged(MODEL, opened(), check) == 0
    assert judged(small_model(), opened().refused_(), check) == 0


@given(
    st.lists(
        st.tuples(st.integers(0, 40), st.sampled_from(["good", "counted", "other", "cancelled"])),
        max_size=40,
    ),
    st.integers(1, 4),
)
def test_the_fold_agrees_with_a_naive_breaker(
    course: list[tuple[int, Result]], failures: int
) -> None:
    """Attempts one after the other: the naive one looks back over all that was let through."""
    rules = BreakerRules.model_validate({**RULES, "failures": failures})
    fold = BreakerFold(rules)
    at_ns = 0
    let_by: list[tuple[int, Result]] = []
    for number, (gap, result) in enumerate(course):
        # Odd instants keep clear of the very end of the open time.
        at_ns += gap * SECOND_NS + SECOND_NS // 2 * (number % 2)
        met = fold.begins(number, at_ns)
        assert met in _naive(let_by, failures, at_ns)
        fold.ends(number, result, at_ns, at_ns)
        if met != "open":
            let_by.append((at_ns, result))


def _naive(let_by: list[tuple[int, Result]], failures: int, at_ns: int) -> set[Met]:
    """Return what the next attempt may meet: a long-hand walk over those that were let through."""
    opened_ns: int | None = None
    row = 0
    for when_ns, result in let_by:
        if opened_ns is not None:
            # It was a probe.
            if result == "good":
                opened_ns, row = None, 0
            elif result == "counted":
                opened_ns = when_ns
        elif result == "good":
            row = 0
        elif result == "counted":
            row += 1
            opened_ns = when_ns if row == failures else None
    if opened_ns is None:
        return {"free"}
    left_ns = opened_ns + 30 * SECOND_NS - at_ns
    if left_ns > 1_000:
        # A probe that failed without counting leaves it half open.
        return {"probe"} if _probed_since(let_by, opened_ns) else {"open"}
    return {"probe"}


def _probed_since(let_by: list[tuple[int, Result]], opened_ns: int) -> bool:
    return any(when_ns >= opened_ns + 30 * SECOND_NS for when_ns, _ in let_by)
