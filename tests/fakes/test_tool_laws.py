"""Laws of fake tools: effect and reply are independent, cancels are exact, styles are alike."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultclock.sim.patches import installed
from faultclock.subjects.ports import CancelSignal
from tests.fakes.tool_life import KEY, MS, ONCE, SECOND, Life, fault, script

KINDS = (
    "partial",
    "timeout",
    "resource_busy",
    "input_rejected",
    "output_malformed",
    "forbidden",
    "not_found",
    "exception",
    "hang",
)


@pytest.fixture(autouse=True, scope="module")
def _patched() -> Iterator[None]:
    with installed():
        yield


EFFECTS = st.sampled_from(("none", "committed", "late"))
OUTCOMES = st.none() | st.builds(
    lambda kind, effect, takes: fault(kind, effect=effect, effect_after="2s", takes=takes),
    st.sampled_from(KINDS),
    EFFECTS,
    st.sampled_from((None, "0s", "1s")),
)


async def _patiently(execution: Coroutine[Any, Any, Any]) -> None:
    """Wait for one execution, whatever becomes of it, but not for ever."""
    await asyncio.gather(asyncio.wait_for(execution, 10.0), return_exceptions=True)


@settings(max_examples=60, deadline=None)
@given(st.lists(OUTCOMES, min_size=1, max_size=5), st.sampled_from(("stops", "goes_on")))
def test_the_ledger_counts_effects_whatever_is_replied(
    outcomes: list[dict[str, Any] | None], on_cancel: str
) -> None:
    """One for each good execution and for each whose rule says committed or late; no others."""
    rules = [
        {**outcome, "when": {"executions": number}}
        for number, outcome in enumerate(outcomes, 1)
        if outcome is not None
    ]
    life = Life(script(*rules, on_cancel=on_cancel))

    async def subject() -> None:
        for _ in outcomes:
            await _patiently(life.tool.execute(**ONCE))

    life.value(subject)
    life.tool.seal()
    wanted = sum(outcome is None or outcome["then"]["effect"] != "none" for outcome in outcomes)
    assert life.state.counts.effects.get(KEY, 0) == wanted
    assert len(life.facts("tool.effect")) == wanted
    assert (life.state.pending, life.facts("fault.unmet")) == ({}, [])
    hangs = sum(outcome is not None and "hang" in str(outcome) for outcome in outcomes)
    ended = ("tool.replied", "tool.raised", "tool.stopped", "tool.unfinished")
    assert sum(len(life.facts(kind)) for kind in ended) == len(outcomes)
    assert len(life.facts("tool.stopped")) + len(life.facts("tool.unfinished")) == hangs


@settings(max_examples=60, deadline=None)
@given(
    OUTCOMES,
    st.sampled_from(("stops", "goes_on")),
    st.integers(0, 30).map(lambda tenths: tenths * 50 * MS),
    st.booleans(),
)
def test_a_cancel_stops_exactly_what_had_not_happened(
    outcome: dict[str, Any] | None, on_cancel: str, cancel_ns: int, by_signal: bool
) -> None:
    """At any instant: a stopped execution has the effects that it had before, and no reply."""
    life = Life(script(*([outcome] if outcome else []), on_cancel=on_cancel))
    signal = CancelSignal() if by_signal else None

    async def subject() -> None:
        task = asyncio.ensure_future(life.tool.execute(**ONCE, signal=signal))
        await asyncio.sleep(cancel_ns / SECOND)
        (task if signal is None else signal).cancel()
        await asyncio.wait([task], timeout=10.0)

    life.value(subject)
    kinds = [kind for _, kind in life.story()]
    if "tool.stopped" in kinds:
        assert on_cancel == "stops"
        assert kinds[-1] == "tool.stopped"
        assert "tool.replied" not in kinds
    elif "tool.called" in kinds:
        effect = "committed" if outcome is None else outcome["then"]["effect"]
        assert kinds.count("tool.effect") == (effect != "none")


@settings(max_examples=30, deadline=None)
@given(st.lists(OUTCOMES, min_size=1, max_size=4))
def test_both_styles_have_the_same_facts(outcomes: list[dict[str, Any] | None]) -> None:
    """What a tool does does not depend on how its caller waits."""
    rules = [
        {**outcome, "when": {"executions": number}}
        for number, outcome in enumerate(outcomes, 1)
        if outcome is not None
    ]
    tool = script(*rules)
    asynchronous, blocking = Life(tool), Life(tool, "sync")

    async def tasks() -> None:
        for _ in outcomes:
            with suppress(RuntimeError):
                await asynchronous.tool.execute(**ONCE)

    def in_order() -> None:
        for _ in outcomes:
            with suppress(RuntimeError):
                blocking.tool.execute(**ONCE)

    asynchronous.run(tasks)
    blocking.run(in_order)
    assert asynchronous.facts() == blocking.facts()
