"""The shapes of waits at their edges: growth, rounds, crowds, and attempts that are numbered."""

from __future__ import annotations

import pytest

from tests.oracle.common_model import found, over_seeds, verdict
from tests.oracle.trace_builder import TraceBuilder


def again(*waits: str, seed: int = 0) -> TraceBuilder:
    """Return a call that fails, waits and fails again, and gives up at last."""
    built = TraceBuilder(seed=seed).start().asks_for("{}").fails(503)
    for wait in waits:
        built.wait(wait).fails(503)
    return built.raises("A/B")


def shape(check: str, *waits: str) -> str:
    """Return the verdict of a check on four seeds with the same waits."""
    return over_seeds([again(*waits, seed=seed) for seed in range(4)], check).verdict.value


@pytest.mark.parametrize(("last", "seen"), [("1199ms", "WARN"), ("1200ms", "PASS")])
def test_waits_that_grow_by_a_fifth_grow(last: str, seen: str) -> None:
    """A fifth is enough."""
    assert shape("retries.grow", "1s", "1s", last) == seen


def test_the_longest_of_the_later_waits_is_compared_with_the_first() -> None:
    """Waits may fall again after a ceiling or an answer of another kind."""
    assert shape("retries.grow", "1s", "2s", "1s") == "PASS"


def test_waits_with_a_hint_among_them_show_no_schedule() -> None:
    """One wait that an answer asked for makes the series one of the provider's."""
    runs = []
    for seed in range(4):
        built = TraceBuilder(seed=seed).start().asks_for("{}").fails(503, retry_after="1")
        for _ in range(3):
            built.wait("2s").fails(503)
        runs.append(built.raises("A/B"))
    assert over_seeds(runs, "retries.grow").verdict.value == "NOT_APPLICABLE"


def test_waits_of_which_one_is_unknown_show_no_schedule() -> None:
    """An attempt that was left open has no end to wait after."""
    runs = []
    for seed in range(4):
        built = TraceBuilder(seed=seed).start().asks_for("{}").fails(503).wait("2s").fails(503)
        built.wait("2s")
        built.ask(built.connect())
        built.wait("2s").fails(503).wait("2s").fails(503)
        runs.append(built.raises("A/B"))
    assert over_seeds(runs, "retries.grow").verdict.value == "NOT_APPLICABLE"


@pytest.mark.parametrize(
    ("waits", "seen"),
    [
        # Two rounds of two are three waits with a long one among them: that is chance.
        (("500ms", "4s", "500ms"), "PASS"),
        (("500ms", "4s", "500ms", "4s", "500ms"), "WARN"),
        # Two rounds of three are enough.
        (("500ms", "1s", "4s", "500ms", "1s"), "WARN"),
        # The wait between two rounds is half as long again as the longest one in a round.
        (("500ms", "1s", "1499ms", "500ms", "1s"), "PASS"),
        (("500ms", "1s", "1500ms", "500ms", "1s"), "WARN"),
        # A wait may be half or twice as long as in the first round.
        (("2s", "2s", "9s", "1s", "1s", "9s", "4s", "4s"), "WARN"),
        (("2s", "2s", "9s", "999ms", "1s", "9s", "4s", "4s"), "PASS"),
        (("2s", "2s", "9s", "1s", "1s", "9s", "4s", "4001ms"), "PASS"),
        # Of waits of nothing none is like another.
        (("0s", "0s", "4s", "0s", "0s"), "PASS"),
    ],
)
def test_waits_in_rounds_are_those_of_two_layers(waits: tuple[str, ...], seen: str) -> None:
    """Short waits, a longer one, and the same short ones again."""
    assert shape("retries.layers", *waits) == seen


def test_attempts_that_differ_in_number_over_seeds_are_no_rounds() -> None:
    """A layer has the same number of attempts in each run."""
    inner = ["500ms", "1s"]
    runs = [again(*inner, "4s", *inner, seed=seed) for seed in range(3)]
    runs.append(again(*inner, "4s", *inner, "4s", *inner, seed=3))
    assert over_seeds(runs, "retries.layers").verdict.value == "PASS"


def numbered(
    *counts: str | None, good: int | None = None, other: int | None = None
) -> TraceBuilder:
    """Return a call whose attempts say in a header which retry they are.

    One may be answered, and from one on they may ask for another model.
    """
    built = TraceBuilder().start().asks_for("{}")
    for number, count in enumerate(counts):
        if number == other:
            built.asks_for('{"model": "another"}')
        (built.good() if number == good else built.fails(503)).wait("1s")
        if count is not None:
            asked = next(item for item in reversed(built.events) if item.kind == "http.request")
            asked.payload["headers"] = {"x-stainless-retry-count": count}  # type: ignore[index]
    return built.raises("A/B")


def test_what_is_asked_again_after_a_good_answer_is_no_round_of_retries() -> None:
    """A graph does a step again, say, with the same prompt."""
    for good, expected in ((1, "PASS"), (0, "WARN")):
        assert verdict(numbered("0", "1", "0", good=good), "retries.layers") == expected


@pytest.mark.parametrize(("other", "seen"), [(2, "PASS"), (3, "WARN")])
def test_another_model_is_asked_from_the_beginning(other: int, seen: str) -> None:
    """Who falls back to it counts its attempts anew, and retries in one layer all the same."""
    assert verdict(numbered("0", "1", "0", "1", other=other), "retries.layers") == seen


def test_a_client_that_counts_its_retries_anew_has_a_layer_above_it() -> None:
    """The violation shows the first attempt, and each one that was counted as a first."""
    built = numbered("0", "1", "0", "1", "0", "1")
    finding = found(built, "retries.layers")
    assert finding.verdict.value == "WARN"
    assert finding.observed == (
        "6 attempts, in 3 rounds of the client's own retries: another layer retries as well"
    )
    begun = [event.seq for event in built.events if event.kind == "net.connect"]
    assert finding.events == (begun[0], begun[2], begun[4])


@pytest.mark.parametrize(
    ("counts", "seen"),
    [
        (("0", "1", "2"), "PASS"),
        (("0", "0"), "PASS"),
        (("1", "0"), "WARN"),
        (("2", "1"), "PASS"),
        (("0",), "NOT_APPLICABLE"),
        (("0", None), "NOT_APPLICABLE"),
        (("0", "one"), "NOT_APPLICABLE"),
        (("0", "\u0661"), "NOT_APPLICABLE"),
    ],
)
def test_numbers_that_go_on_show_one_layer(counts: tuple[str | None, ...], seen: str) -> None:
    """A request without a number, or with another text there, shows nothing."""
    assert verdict(numbered(*counts), "retries.layers") == seen


def crowd(size: int, together: int, *, good: bool = False) -> TraceBuilder:
    """Return calls that end an attempt at one instant, of which `together` come back at once."""
    built = TraceBuilder(copies=size).asks_for("{}")
    for number in range(1, size + 1):
        call = f"ask/{number}"
        built.now_ns = 0
        built.start(call)
        if good:
            built.good(call=call)
        else:
            built.fails(503, call=call)
        built.wait("1s" if number <= together else f"{1000 + 50 * number}ms")
        built.good(call=call).returns(call=call)
    built.events.sort(key=lambda event: event.at_ns)
    built.events[:] = [
        type(event)(number, event.at_ns, event.actor, event.kind, event.payload)
        for number, event in enumerate(built.events, 1)
    ]
    return built


@pytest.mark.parametrize(("together", "seen"), [(4, "PASS"), (5, "WARN")])
def test_a_crowd_is_one_when_more_than_half_comes_back_at_once(together: int, seen: str) -> None:
    """Four of eight may be chance."""
    built = crowd(8, together)
    finding = found(built, "retries.spread")
    assert finding.verdict.value == seen
    if seen == "WARN":
        assert finding.observed == "5 of 8 clients that failed together retried within 10ms"


def test_a_crowd_whose_first_attempts_were_good_has_not_failed() -> None:
    """What they ask again for is another check's matter."""
    assert verdict(crowd(8, 8, good=True), "retries.spread") == "NOT_APPLICABLE"
