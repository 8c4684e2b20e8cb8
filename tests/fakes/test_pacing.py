"""Delays from draws: their shapes, their bounds, and what they make of an answer's tempo."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from faultclock.fakes.provider.pacing import Pacing, delay_of, tokens_in
from faultclock.fakes.wire.answer import Answer
from faultclock.fakes.wire.delivery import Step, Tempo, Wait, steps_of
from faultclock.model.duration import MILLISECOND_NS, SECOND_NS
from faultclock.model.scenario.fault import Fault
from faultclock.model.scenario.provider_limits import Delay
from faultclock.model.scenario.provider_script import ProviderScript
from faultclock.sim.kernel.streams import DRAW_BITS, Streams

MS, S = MILLISECOND_NS, SECOND_NS
DELAY: TypeAdapter[Any] = TypeAdapter(Delay)
FAULT: TypeAdapter[Any] = TypeAdapter(Fault)
DRAWS = st.integers(0, 2**DRAW_BITS - 1)
LOGNORMAL = DELAY.validate_python(
    {"kind": "lognormal", "median": "800ms", "p99": "6s", "cap": "20s"}
)
PARETO = DELAY.validate_python({"kind": "pareto", "minimum": "300ms", "p99": "20s", "cap": "5m"})
UNIFORM = DELAY.validate_python({"kind": "uniform", "low": "1s", "high": "3s"})
STREAM = Answer(
    status=200,
    headers=(),
    chunks=(b"role;", b"one;", b"two;", b"finish;"),
    end_marker=b"DONE",
    stream=True,
    chunks_before_finish=3,
    finish_reason="stop",
    text="one two",
)
#: What seed 1 gives its first three answers, noted when this was written.
LOGNORMAL_AS_EVER = [325_709_501, 753_496_702, 480_450_420]
PARETO_AS_EVER = [347_833_776, 537_520_221, 403_780_906]
WHOLE = Answer(status=200, headers=(), chunks=(b"{}",), finish_reason="stop", text="one two three")


def at(chance: float) -> int:
    """Return the draw below which `chance` of all draws are."""
    return int(chance * 2**DRAW_BITS)


def test_a_constant_is_one() -> None:
    """Whatever is drawn."""
    constant = DELAY.validate_python({"kind": "constant", "value": "7ms"})
    assert {delay_of(constant, drawn) for drawn in (0, at(0.5), at(1) - 1)} == {7 * MS}


def test_a_uniform_delay_reaches_both_of_its_ends() -> None:
    """And its middle in the middle."""
    assert [delay_of(UNIFORM, drawn) for drawn in (0, at(0.5), at(1) - 1)] == [1 * S, 2 * S, 3 * S]


@pytest.mark.parametrize(
    ("delay", "chance", "expected_ns"),
    [
        (LOGNORMAL, 0.5, 800 * MS),
        (LOGNORMAL, 0.99, 6 * S),
        # As far below the median as the last one is above: 0.8 * 0.8 / 6 s.
        (LOGNORMAL, 0.01, 106_666_667),
        (LOGNORMAL, 0.999999, 20 * S),
        (PARETO, 0.0, 300 * MS),
        (PARETO, 0.99, 20 * S),
        # Half way to one in a hundred, counted in powers of ten: sqrt(0.3 * 20) s.
        (PARETO, 0.9, 2_449_489_743),
        (PARETO, 0.9999999, 300 * S),
    ],
)
def test_a_tail_goes_through_the_figures_of_the_file(
    delay: Delay, chance: float, expected_ns: int
) -> None:
    """Worked by hand from the median or the minimum, p99 and the cap."""
    assert abs(delay_of(delay, at(chance)) - expected_ns) <= 1_000


@pytest.mark.parametrize("delay", [UNIFORM, LOGNORMAL, PARETO], ids=lambda delay: delay.kind)
@given(one=DRAWS, other=DRAWS)
def test_a_delay_grows_with_the_draw_and_stays_within_its_bounds(
    delay: Any, one: int, other: int
) -> None:
    """Whole nanoseconds, never above the cap, never below what is least."""
    short, long = sorted((one, other))
    assert delay_of(delay, short) <= delay_of(delay, long)
    least = {"uniform": S, "lognormal": 0, "pareto": 300 * MS}[delay.kind]
    most = {"uniform": 3 * S, "lognormal": 20 * S, "pareto": 300 * S}[delay.kind]
    assert least <= delay_of(delay, one) <= most
    assert type(delay_of(delay, one)) is int


def test_the_delays_of_a_draw_never_change() -> None:
    """To the nanosecond, on every machine: a stored seed has to mean the same for ever."""
    draws = [Streams(1).draw("pace/first/first-token", number) for number in range(3)]
    assert [delay_of(LOGNORMAL, drawn) for drawn in draws] == LOGNORMAL_AS_EVER
    assert [delay_of(PARETO, drawn) for drawn in draws] == PARETO_AS_EVER


def pacing(seed: int = 0, provider: str = "first", **script: Any) -> Pacing:
    """Return what paces the answers of a script."""
    made = ProviderScript.model_validate(script)
    return Pacing(script=made, streams=Streams(seed), provider=provider)


def test_without_a_pace_the_script_says_it_all() -> None:
    """Nothing is drawn."""
    steady = pacing(think_time="1s", chunk_interval="2ms")
    assert steady.tempo(STREAM, 3) == Tempo(think_ns=1 * S, chunk_interval_ns=2 * MS)


def test_a_stream_waits_between_its_chunks_and_a_whole_answer_before_it_begins() -> None:
    """Four chunks have three gaps; three tokens come one, two gaps after the first."""
    paced = pacing(pace={"tokens_per_second": 50})
    assert paced.tempo(STREAM, 0).gaps_ns == (20 * MS,) * 3
    assert tokens_in(WHOLE) == 3
    assert paced.tempo(WHOLE, 0) == Tempo(think_ns=140 * MS, chunk_interval_ns=20 * MS)


def test_each_answer_and_each_token_has_a_draw_of_its_own() -> None:
    """Of another stream than everybody else's."""
    uniform = UNIFORM.model_dump(mode="json")
    pace = {"first_token": uniform, "token": uniform}
    paced = pacing(pace=pace)
    first, second = paced.tempo(STREAM, 0), paced.tempo(STREAM, 1)
    assert len({first.think_ns, second.think_ns, *first.gaps_ns, *second.gaps_ns}) == 8
    assert paced.tempo(STREAM, 0) == first
    assert pacing(seed=1, pace=pace).tempo(STREAM, 0) != first
    assert pacing(provider="second", pace=pace).tempo(STREAM, 0) != first


def test_the_length_of_a_text_shifts_no_other_answer() -> None:
    """So a smaller scenario still has the same slow answer."""
    pace = {"token": UNIFORM.model_dump(mode="json")}
    longer = Answer(
        status=200, headers=(), chunks=(*STREAM.chunks, b"more;"), stream=True, text="x"
    )
    paced = pacing(pace=pace)
    assert paced.tempo(longer, 0).gaps_ns[:3] == paced.tempo(STREAM, 0).gaps_ns


def _steps(**fault: Any) -> list[Step]:
    tempo = Tempo(think_ns=100, chunk_interval_ns=9, gaps_ns=(1, 2, 3))
    parsed = FAULT.validate_python(fault) if fault else None
    return list(steps_of(STREAM, parsed, tempo, (b"error;", {})))


def _waits(steps: list[Step]) -> list[int]:
    return [step.delay_ns for step in steps if isinstance(step, Wait)]


@pytest.mark.parametrize(
    ("fault", "waits"),
    [
        ({}, [100, 1, 2, 3]),
        ({"kind": "truncate", "how": "reset", "after_chunks": 2}, [100, 1, 2]),
        ({"kind": "truncate", "how": "eof", "after_chunks": 0}, [100, 9]),
        ({"kind": "stream_error", "after_chunks": 3, "error": "x"}, [100, 1, 2, 3]),
        ({"kind": "stream_error", "after_chunks": 4, "error": "x"}, [100, 1, 2, 3, 9]),
        ({"kind": "stall", "after_chunks": 2, "resume_after": "50ns"}, [100, 1, 50, 3]),
        ({"kind": "slow_drip", "bytes_per_step": 20, "every": "7ns"}, [100, 7]),
    ],
)
def test_a_fault_strikes_when_the_next_piece_was_due(
    fault: dict[str, Any], waits: list[int]
) -> None:
    """Each gap stays where it was, however much of the answer is sent."""
    assert _waits(_steps(**fault)) == waits
