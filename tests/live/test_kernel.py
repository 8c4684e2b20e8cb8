"""Real time as the provider knows it: a clock that never goes back, and facts for their time."""

from __future__ import annotations

from faultclock.live.kernel import LiveKernel
from tests.live.wires import ManualTime

_MS = 1_000_000


def test_time_counts_from_the_start_of_the_run() -> None:
    """And the wall clock of that instant is kept, for headers that have dates."""
    time = ManualTime()
    kernel = LiveKernel(time, time.clock, lambda: 77)
    assert (kernel.now_ns, kernel.epoch_ns, kernel.start_ns) == (0, 77, 5_000 * _MS)
    time.pass_ms(3)
    assert kernel.now_ns == 3 * _MS


def test_a_timer_never_shows_less_than_its_delay() -> None:
    """An event loop may fire a step of its clock too soon; what was played did take its time."""
    time = ManualTime()
    kernel = LiveKernel(time, time.clock)
    seen: list[int] = []
    kernel.call_after(10 * _MS, lambda: seen.append(kernel.now_ns))
    # The clock that is read is a step behind that of the timers.
    kernel._clock = lambda: time.now_ns - 1
    time.pass_ms(10)
    assert seen == [10 * _MS]
    assert kernel.now_ns == 10 * _MS


def test_a_late_timer_is_remembered() -> None:
    """So late may everything have been noticed that the world cannot time itself."""
    time = ManualTime()
    kernel = LiveKernel(time, time.clock)
    kernel.call_after(10 * _MS, lambda: None)
    kernel._clock = lambda: time.now_ns + 30 * _MS
    time.pass_ms(10)
    assert kernel.late_ns == 30 * _MS


def test_a_timer_that_is_cancelled_never_fires() -> None:
    """Cancelled twice it is no error."""
    time = ManualTime()
    kernel = LiveKernel(time, time.clock)
    waiting = kernel.call_after(_MS, kernel.record, "harness", "never")
    waiting.cancel()
    waiting.cancel()
    time.pass_ms(5)
    assert kernel.facts == []


def test_a_fact_may_be_recorded_for_an_instant_that_has_passed() -> None:
    """It is shown to whoever watches when it is recorded."""
    time, watched = ManualTime(), []
    kernel = LiveKernel(time, time.clock, watch=watched.append)
    time.pass_ms(9)
    assert kernel.record("network", "later", connection="c1") == 1
    assert kernel.record_at(2 * _MS, "network", "earlier") == 2
    assert kernel.facts == watched
    assert [(fact[1], fact[3]) for fact in watched] == [(9 * _MS, "later"), (2 * _MS, "earlier")]
