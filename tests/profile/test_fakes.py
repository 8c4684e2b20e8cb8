"""Inference finds the profile that a client was made with, whatever that is."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from faultclock.model.report.inferred import Layer, RetryProfile
from faultclock.profile.infer.battery import answered
from faultclock.profile.infer.ceilings import find_ceiling
from faultclock.profile.infer.header_forms import ALWAYS
from faultclock.profile.infer.kinds import kind_of
from faultclock.profile.infer.laws import SEEDS, laws_of
from faultclock.profile.infer.layers import loops_of
from faultclock.profile.infer.probes import Asker, Probe
from faultclock.profile.infer.profile import _reaction, infer_profile
from faultclock.profile.infer.running import Bench
from faultclock.profile.infer.schedules import layer_of
from faultclock.profile.infer.seen import Seen, read_run
from faultclock.subjects.binding import Binding
from faultclock.subjects.ports import ProviderRequest, Reply
from tests.profile.fakes import Hints, Loop, client

_SECOND_NS = 1_000_000_000


def _layers(binding: Binding, kind: str = "status-503") -> tuple[Layer, ...]:
    """Return the layers behind one kind of failure, from the runs of one schedule alone."""
    asker = Asker(binding.role, binding.dialect)
    with Bench(binding) as bench:
        probes = [asker.persistent(kind_of(kind), seed) for seed in SEEDS]
        runs = [
            read_run(probe.name, trace)
            for probe, trace in zip(probes, bench.run(probes), strict=True)
        ]
    return tuple(layer_of(loop, n) for n, loop in enumerate(loops_of(laws_of(runs)), 1))


def _infer(binding: Binding) -> RetryProfile:
    with Bench(binding) as bench:
        return infer_profile(binding, bench.run).profile


def _header(profile: RetryProfile, form: str) -> Any:
    return next(item for item in profile.headers if item.form == form)


_TENTHS = st.integers(1, 30).map(lambda number: number / 10)
_SHAPES = st.sampled_from(["none", "full", "equal", "proportional", "additive"])
_LOOPS = st.builds(
    Loop,
    attempts=st.integers(5, 7),
    base_s=_TENTHS,
    growth=st.sampled_from(["fixed", "linear", "exponential"]),
    factor=st.sampled_from([2.0, 3.0]),
    cap_s=st.none() | st.integers(60, 200).map(float),
    jitter=_SHAPES,
    width=st.sampled_from([0.1, 0.25]),
)


@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
@given(loop=_LOOPS)
def test_a_drawn_profile_is_found(loop: Loop) -> None:
    """Base, growth, factor, cap and jitter come out exactly, or are said to be unknown."""
    (layer,) = _layers(client(loop))
    assert layer.attempts.value == loop.attempts
    assert layer.growth.value == loop.growth
    if layer.jitter.kind.value is not None:
        assert layer.jitter.kind.value == loop.jitter
        assert layer.base_ns.value == pytest.approx(loop.base_s * _SECOND_NS, abs=20_000)
    else:
        # Of waits that are all alike, jitter in parts and jitter that is added look the same.
        assert loop.growth == "fixed"
        assert loop.jitter in ("proportional", "additive", "equal")
    if layer.factor.value is not None:
        assert layer.factor.value == loop.factor
    if layer.cap_ns.value is not None:
        assert layer.cap_ns.value == pytest.approx((loop.cap_s or 0) * _SECOND_NS, abs=20_000)


def test_full_jitter_with_a_factor_of_three_and_a_cap() -> None:
    """A schedule that is in no library is found as well as a usual one."""
    loop = Loop(attempts=7, base_s=0.3, factor=3.0, cap_s=20.0, jitter="full")
    (layer,) = _layers(client(loop))
    assert layer.base_ns.value == 300_000_000
    assert layer.factor.value == 3.0
    assert layer.cap_ns.value == 20 * _SECOND_NS
    assert (layer.jitter.kind.value, layer.jitter.kind.sure) == ("full", "exact")


def test_decorrelated_jitter_is_found_with_its_multiplier_and_cap() -> None:
    """Each wait depends on the one before it, and is cut off."""
    loop = Loop(attempts=8, base_s=0.5, factor=3.0, cap_s=6.0, jitter="decorrelated")
    (layer,) = _layers(client(loop))
    assert layer.jitter.kind.value == "decorrelated"
    assert layer.factor.value == 3.0
    assert layer.base_ns.value == 500_000_000
    assert layer.cap_ns.value == 6 * _SECOND_NS


@pytest.mark.parametrize("jitter", ["none", "full"])
def test_loops_within_loops_are_told_apart(jitter: Any) -> None:
    """Three attempts within five are fifteen, and each wait belongs to one loop."""
    inner = Loop(attempts=3, base_s=0.5, jitter=jitter)
    outer = Loop(attempts=5, base_s=4.0, jitter=jitter)
    first, second = _layers(client(inner, outer))
    assert (first.attempts.value, second.attempts.value) == (3, 5)
    assert first.retries == (1, 2, 4, 5, 7, 8, 10, 11, 13, 14)
    assert second.retries == (3, 6, 9, 12)
    assert second.base_ns.value == 4 * _SECOND_NS
    assert second.factor.value == 2.0


def test_two_waits_are_not_called_a_factor() -> None:
    """What two waits cannot show is said to be unknown, with what it may be."""
    (layer,) = _layers(client(Loop(attempts=3, base_s=0.5)))
    assert layer.base_ns.value == 500_000_000
    assert layer.factor.value is None
    assert "a factor of 2, steps of 500ms" in layer.factor.reason


def test_draws_of_the_system_are_known_too() -> None:
    """A client that does not use the module's generator is read just as exactly."""
    loop = Loop(attempts=4, base_s=1.0, jitter="full")
    (layer,) = _layers(client(loop, draw=random.SystemRandom().random))
    assert (layer.jitter.kind.value, layer.jitter.kind.sure) == ("full", "exact")
    assert layer.base_ns.value == _SECOND_NS


def test_what_no_draw_explains_is_only_a_range() -> None:
    """A wait that is no known function of a draw is bounded by what was seen, and says so."""
    loop = Loop(attempts=5, base_s=1.0, jitter="full")
    (layer,) = _layers(client(loop, draw=lambda: random.betavariate(1, 1)))
    assert layer.jitter.kind.sure != "exact"


def test_a_whole_profile_of_an_odd_client() -> None:
    """Retry-After for 429 alone, up to 47 s, and no attempt after 40 s in all."""
    profile = _infer(
        client(
            Loop(attempts=4, base_s=1.0, jitter="equal"),
            hints=Hints(statuses=frozenset({429}), ceiling_s=47.0, above="give up"),
            total_s=40.0,
        )
    )
    assert profile.honored_for == ("status-429",)
    assert profile.ignored_for == ("status-500", "status-503")
    assert _header(profile, "date").reading == "honored"
    assert _header(profile, "milliseconds").reading == "ignored"
    ceiling = profile.ceilings[0]
    assert ceiling.largest_ns.value == 47 * _SECOND_NS
    assert ceiling.above.value == "gives up"
    total = profile.deadlines[-1].after_ns
    assert total.value == 40 * _SECOND_NS
    assert total.sure == "bounded"
    by_kind = {item.kind: item for item in profile.reactions}
    assert by_kind["status-429"].attempts.value == 4
    assert by_kind["status-400"].retried.value is False
    assert all(item.attempts.evidence for item in profile.reactions)
    assert profile.model is None
    assert profile.differences == ()


@pytest.mark.parametrize("streams", [True, False])
def test_a_client_that_asks_for_no_stream_meets_no_failure_of_one(streams: bool) -> None:
    """The status reaches it, and says nothing of a stream."""
    asks = client(Loop(attempts=2, base_s=1.0))

    async def adapter(request: ProviderRequest) -> Reply:
        return await asks.invoke_async(replace(request, stream=streams and request.stream))

    probe = Asker(asks.role, asks.dialect).persistent(kind_of("stream-status-503"), 0)
    with Bench(replace(asks, function=adapter)) as bench:
        (trace,) = bench.run([probe])
    seen = read_run(probe.name, trace)
    assert len(seen.attempts) == 2
    assert seen.met is streams
    if not streams:
        reaction = _reaction("stream-status-503", seen, None)
        assert reaction.attempts.reason.endswith("it asks for no stream")


def test_a_longer_value_that_is_ignored() -> None:
    """Above the ceiling the client waits as it does without the header, and that is told."""
    binding = client(
        Loop(attempts=2), hints=Hints(statuses=frozenset({429}), ceiling_s=637.0, above="ignore")
    )
    asker, kind = Asker(binding.role, binding.dialect), kind_of("status-429")
    with Bench(binding) as bench:

        def asked(probes: Sequence[Probe]) -> list[Seen]:
            traces = bench.run(probes)
            return [read_run(p.name, trace) for p, trace in zip(probes, traces, strict=True)]

        (own,) = asked([asker.persistent(kind)])
        ceiling = answered(find_ceiling(asker, kind, ALWAYS, own, coarse=False), asked)
    assert ceiling.largest_ns.value == 637 * _SECOND_NS
    assert ceiling.above.value == "ignored: it waits as it does without the header"


@pytest.mark.parametrize(
    ("ceiling_s", "own_s", "above"),
    [(10.0, 1.0, "ignore"), (6.0, 7.0, "give up"), (4.0, 1.0, "cut down"), (None, 3.0, "ignore")],
)
def test_a_ceiling_below_the_one_probe_is_found(
    ceiling_s: float | None, own_s: float, above: Any
) -> None:
    """A client that reads nothing has none, even where it waits as long as a value asks for."""
    statuses = frozenset[int]() if ceiling_s is None else frozenset({429})
    hints = Hints(statuses=statuses, ceiling_s=ceiling_s, above=above)
    binding = client(Loop(attempts=2, base_s=own_s), hints=hints)
    asker, kind = Asker(binding.role, binding.dialect), kind_of("status-429")
    with Bench(binding) as bench:

        def asked(probes: Sequence[Probe]) -> list[Seen]:
            traces = bench.run(probes)
            return [read_run(p.name, trace) for p, trace in zip(probes, traces, strict=True)]

        (own,) = asked([asker.persistent(kind)])
        questions = find_ceiling(asker, kind, ALWAYS, own, coarse=False, low=True)
        found = answered(questions, asked).largest_ns.value
    assert found == (None if ceiling_s is None else ceiling_s * _SECOND_NS)


def test_a_wait_of_an_outer_loop_is_no_ceiling() -> None:
    """It waits longer than some values ask for, as long for each."""
    above: Any = "leave it to the next loop"
    hints = Hints(statuses=frozenset({429}), ceiling_s=120.0, above=above)
    loops = Loop(attempts=2), Loop(attempts=2, base_s=200.0)
    ceiling = _infer(client(*loops, retried=frozenset({429}), hints=hints)).ceilings[0]
    assert ceiling.largest_ns.value == 120 * _SECOND_NS
    assert ceiling.above.value == "it waits 3m20s, however much longer is asked"


def test_a_longer_value_is_cut_down_and_others_get_jitter_on_top() -> None:
    """Who waits as asked and a little more is told from who waits exactly as asked."""
    hints = Hints(statuses=frozenset({429}), ceiling_s=100.0, above="cut down", added=2.0)
    profile = _infer(client(Loop(attempts=2), retried=frozenset({429}), hints=hints))
    reading = _header(profile, "seconds")
    assert reading.reading == "honored_with_more"
    assert "0s to 2s more" in reading.text
    assert profile.ceilings[0].largest_ns.value == 100 * _SECOND_NS
    assert profile.ceilings[0].above.value == "cut down: it waits 1m40s"
