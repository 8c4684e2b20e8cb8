"""A chain of providers: the next one is asked where that is right, and nobody where it is not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from faultclock.model.scenario.provider_script import FallbackProvider
from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.wire.attempts import observe, places_of
from tests.oracle.chain_builder import ChainBuilder
from tests.oracle.small_model import CHAIN, found, judged, small_model

MODEL = small_model(chain=CHAIN)
Build = Callable[[], ChainBuilder]


def turn(attempts: tuple[int, int, int] = (1, 1, 1)) -> ChainBuilder:
    """Return an open turn."""
    built = ChainBuilder(attempts=attempts)
    built.turn()
    return built


def _ended(built: ChainBuilder) -> ChainBuilder:
    built.says().ends()
    return built


def test_an_attempt_knows_where_it_went() -> None:
    """The host tells, also for a connection that is used again."""
    built = turn().bad(500).at("second").bad(500).at("third")
    built.says().ends()
    call = next(call for call in observe(built.build()).calls if call.is_turn)
    assert [attempt.provider for attempt in call.attempts] == ["", "second", "third"]
    assert FallbackProvider(id="second").host_name == "second.example.com"


def test_a_kept_connection_stays_with_its_provider() -> None:
    """Only the first use of it names the host."""
    built = ChainBuilder().at("second")
    built.turn()
    connection = built.connect(built.call)
    for _ in range(2):
        exchange = built.ask(connection, built.call)
        built.answer(connection, exchange, status=500, call=built.call)
        built.end_exchange(connection, exchange, "complete", call=built.call)
        built.deliver(connection)
    call = next(call for call in observe(built.build()).calls if call.is_turn)
    assert [attempt.provider for attempt in call.attempts] == ["second", "second"]


def test_a_lookup_that_fails_is_an_attempt_at_its_host() -> None:
    """Nothing else was seen of it."""
    built = ChainBuilder()
    built.turn().event(
        "network", "net.resolve", host="Third.example.com", call=built.call, error="no such host"
    )
    call = next(call for call in observe(built.build()).calls if call.is_turn)
    assert [attempt.provider for attempt in call.attempts] == ["third"]


def test_a_log_without_hosts_says_who_was_asked() -> None:
    """Then the request itself has the provider; an unknown one is the first."""
    places = places_of(ChainBuilder().header.scenario)
    for named, provider in (("second", "second"), ("nobody", ""), (None, "")):
        request = TraceEvent(1, 0, "provider", "http.request", {"provider": named})
        assert places.provider("", request) == provider
    assert places.provider("second.example.com", None) == "second"


@pytest.mark.parametrize(("pieces", "content"), [(1, False), (2, True)])
def test_the_error_of_a_stream_is_no_content(pieces: int, content: bool) -> None:
    """Nor is the piece that opens it."""
    built = ChainBuilder()
    built.turn()
    built.stream = True
    connection = built.connect(built.call)
    exchange = built.ask(connection, built.call)
    built.answer(connection, exchange, call=built.call)
    for _ in range(pieces):
        built.deliver(connection)
    error = {"code": None, "type": "server_error", "message": "no"}
    built.event(
        "provider",
        "http.stream_error",
        exchange=exchange,
        connection=connection,
        call=built.call,
        error=error,
    )
    built.end_exchange(connection, exchange, "complete", call=built.call)
    built.deliver(connection)
    call = next(call for call in observe(built.build()).calls if call.is_turn)
    assert [attempt.content for attempt in call.attempts] == [content]


PASSES: dict[str, tuple[str, Build]] = {
    "the next one is asked": (
        "chain.advances",
        lambda: _ended(turn().bad(500).at("second")),
    ),
    "both are asked in order": (
        "chain.advances",
        lambda: _ended(turn().bad(500).at("second").bad(503).at("third")),
    ),
    "the entry's own attempts come first": (
        "chain.advances",
        lambda: _ended(turn((3, 1, 1)).bad(500, 500, 500).at("second")),
    ),
    "a fatal failure ends it": (
        "chain.stops",
        lambda: turn().bad(401).ends("Llm/Auth"),
    ),
    "a fatal failure at a fallback ends it": (
        "chain.stops",
        lambda: turn().bad(500).at("second").bad(401).ends("Llm/Auth"),
    ),
    "after content it ends": (
        "chain.after-content",
        lambda: turn().cut(3).ends("Llm/Overload"),
    ),
    "before content it goes on": (
        "chain.advances",
        lambda: _ended(turn().cut(1).at("second")),
    ),
    "a parked provider is passed over": (
        "chain.parks",
        lambda: _ended(_ended(turn().bad(429).at("second")).another(2).at("second")),
    ),
}


@pytest.mark.parametrize("case", PASSES)
def test_what_is_as_it_should_be_passes(case: str) -> None:
    """It has been judged, and nothing else is wrong either."""
    check, build = PASSES[case]
    assert judged(MODEL, build(), check) > 0
    for other in ("chain.advances", "chain.stops", "chain.after-content", "chain.parks"):
        assert found(MODEL, build(), other) == []
    assert found(MODEL, build(), "classification.disposition") == []
    assert found(MODEL, build(), "backoff.attempts") == []


FAILS: dict[str, tuple[str, str, Build]] = {
    "nobody is asked": (
        "chain.advances",
        "no other provider was asked",
        lambda: turn().bad(500).ends("Llm/Overload"),
    ),
    "one is left out": (
        "chain.advances",
        "the provider third was asked",
        lambda: _ended(turn().bad(500).at("third")),
    ),
    "it goes back": (
        "chain.advances",
        "the first provider was asked",
        lambda: _ended(turn().bad(500).at("second").bad(500).at()),
    ),
    "it begins with a fallback": (
        "chain.advances",
        "the provider second was asked",
        lambda: _ended(turn().at("second")),
    ),
    "the first failure is raised in the end": (
        "chain.advances",
        "it ended failed with Llm/Overload, although that provider had answered",
        lambda: turn().bad(500).at("second").says().ends("Llm/Overload"),
    ),
    "it goes on after a fatal failure": (
        "chain.stops",
        "the provider second was asked",
        lambda: _ended(turn().bad(401).at("second")),
    ),
    "it goes on after content": (
        "chain.after-content",
        "the provider second was asked",
        lambda: _ended(turn().cut(3).at("second")),
    ),
    "a parked provider is asked in the next turn": (
        "chain.parks",
        "it was asked",
        lambda: _ended(_ended(turn().bad(429).at("second")).another(2).at()),
    ),
    "the run ends because one is parked": (
        "chain.parks",
        "it ended failed with Llm/Rate, and none was asked",
        lambda: _ended(turn().bad(429).at("second")).another(2).ends("Llm/Rate"),
    ),
}


@pytest.mark.parametrize("case", FAILS)
def test_what_is_not_fails(case: str) -> None:
    """One finding, by the check whose rule was broken, and by no other one of the chain."""
    check, observed, build = FAILS[case]
    assert found(MODEL, build(), check) == [observed]
    for other in {"chain.advances", "chain.stops", "chain.after-content", "chain.parks"} - {check}:
        assert found(MODEL, build(), other) == []


def test_a_parked_provider_is_asked_again_when_its_time_is_over() -> None:
    """To leave it out for good is as wrong as to ask it too soon."""
    built = _ended(turn().bad(429).at("second")).after("40s")
    assert found(MODEL, _ended(built.another(2).at()), "chain.parks") == []
    built = _ended(turn().bad(429).at("second")).after("40s")
    late = _ended(built.another(2).at("second"))
    assert found(MODEL, late, "chain.advances") == ["the provider second was asked"]


def test_a_fresh_process_knows_of_no_parking() -> None:
    """What was parked is the memory of one life."""
    built = _ended(turn().bad(429).at("second"))
    built.begins("ask2/1").crashes().opens().begins("ask3/1")
    assert found(MODEL, _ended(built.at()), "chain.parks") == []


COUNTS: dict[str, tuple[str, Build]] = {
    "one too many at the first": (
        "3 attempts were made",
        lambda: _ended(turn((2, 1, 1)).bad(500, 500, 500).at("second")),
    ),
    "one too few at the first": (
        "gave up after 2",
        lambda: _ended(turn((3, 1, 1)).bad(500, 500).at("second")),
    ),
    "one too many at the last": (
        "3 attempts were made",
        lambda: _third(turn((1, 1, 2))).bad(500, 500, 500).ends("Llm/Overload"),
    ),
}


def _third(built: ChainBuilder) -> ChainBuilder:
    return built.bad(500).at("second").bad(500).at("third")


@pytest.mark.parametrize("case", COUNTS)
def test_each_provider_gets_the_attempts_of_its_entry(case: str) -> None:
    """To move on is no retry; a retry too many, or too few, is still seen."""
    observed, build = COUNTS[case]
    assert found(MODEL, build(), "backoff.attempts") == [observed]


def test_a_retry_of_what_is_fatal_is_still_seen_beside_a_failover() -> None:
    """Only the move to another provider is none."""
    built = turn().bad(500).at("second").bad(401, 401).ends("Llm/Auth")
    assert found(MODEL, built, "classification.disposition") == ["attempt 3 was made"]


NOTHING: dict[str, Build] = {
    "nothing happened": turn,
    "the trace ends too soon": lambda: turn().bad(500),
    "a crash": lambda: turn().bad(500).crashes().opens(),
    "a cancel": lambda: turn().bad(500).cancels("turn").ends("Cancellation/TurnCancelled"),
    "a failure without a class": lambda: turn().bad(404).ends(),
}


@pytest.mark.parametrize("case", NOTHING)
def test_what_shows_nothing_earns_nothing(case: str) -> None:
    """No check passes what it has not looked at."""
    for check in ("chain.advances", "chain.stops", "chain.after-content", "chain.parks"):
        assert judged(MODEL, NOTHING[case](), check) == 0


def test_a_model_without_a_chain_has_no_opinion() -> None:
    """Nor has a scenario with one provider."""
    built = _ended(turn().bad(500).at("second"))
    assert judged(small_model(), built, "chain.advances") == 0
