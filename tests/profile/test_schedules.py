"""A schedule is read from the laws of its waits, and what they do not show stays unknown."""

from __future__ import annotations

from typing import Any

import pytest

from faultclock.model.report.inferred import Layer
from faultclock.profile.infer.laws import Law
from faultclock.profile.infer.layers import Loop, product_of
from faultclock.profile.infer.schedules import layer_of

_SECOND_NS = 1_000_000_000


def _read(*ends_s: tuple[float, float], how: Any = None) -> Layer:
    """Return what waits come to that lie between these seconds, both ends known unless said."""
    laws = tuple(
        Law(
            retry=number,
            low_ns=low_s * _SECOND_NS,
            high_ns=high_s * _SECOND_NS,
            how=how or ("constant" if low_s == high_s else "drawn"),
            seen_low_ns=round(low_s * _SECOND_NS),
            seen_high_ns=round(high_s * _SECOND_NS),
            values=16,
        )
        for number, (low_s, high_s) in enumerate(ends_s, start=1)
    )
    own = tuple(law.retry for law in laws)
    return layer_of(Loop(attempts=len(laws) + 1, laws=laws, own=own), 1)


def _seconds(value_ns: int | None) -> float | None:
    return None if value_ns is None else value_ns / _SECOND_NS


def _parts(*nominal_s: float, low: float, high: float) -> list[tuple[float, float]]:
    return [(wait * low, wait * high) for wait in nominal_s]


@pytest.mark.parametrize(
    ("ends_s", "jitter", "growth", "base_s", "factor", "step_s", "cap_s"),
    [
        (_parts(1, 2, 4, low=1, high=1), "none", "exponential", 1, 2, None, None),
        (_parts(1, 2, 4, 8, 8, low=1, high=1), "none", "exponential", 1, 2, None, 8),
        (_parts(1, 2, 3, 4, low=1, high=1), "none", "linear", 1, None, 1, None),
        (_parts(3, 3, 3, low=1, high=1), "none", "fixed", 3, None, None, None),
        (_parts(1, 3, 9, 10, 10, low=0, high=1), "full", "exponential", 1, 3, None, 10),
        (_parts(1, 2, 4, 8, low=0.5, high=1), "equal", "exponential", 1, 2, None, None),
        (_parts(1, 2, 4, 8, low=0.75, high=1), "proportional", "exponential", 1, 2, None, None),
        ([(1, 1.5), (2, 2.5), (4, 4.5)], "additive", "exponential", 1, 2, None, None),
    ],
)
def test_what_the_waits_show_is_told(
    ends_s: list[tuple[float, float]],
    jitter: str,
    growth: str,
    base_s: float,
    factor: float | None,
    step_s: float | None,
    cap_s: float | None,
) -> None:
    """Shape, growth, base, factor or step, and the cap that was reached."""
    layer = _read(*ends_s)
    told: Any = (layer.jitter.kind.value, layer.growth.value, _seconds(layer.base_ns.value))
    assert told == (jitter, growth, base_s)
    assert (layer.factor.value, _seconds(layer.step_ns.value)) == (factor, step_s)
    assert _seconds(layer.cap_ns.value) == cap_s


@pytest.mark.parametrize(
    ("waits_s", "reason"),
    [
        ((0.5, 1), "two different waits, 500ms, 1s: a factor of 2, steps of 500ms, or more"),
        ((1, 2, 3), "steps of 1s, or a factor of 2 cut off at 3s"),
        ((1, 2, 2), "a factor of 2 or more, or steps of 1s or more, cut off"),
        ((5,), "there is only one wait"),
    ],
)
def test_what_two_curves_explain_is_not_told(waits_s: tuple[float, ...], reason: str) -> None:
    """Neither growth, factor nor step is guessed; the reason names all that it may be."""
    layer = _read(*((wait, wait) for wait in waits_s))
    for answer in (layer.growth, layer.factor, layer.step_ns):
        assert answer.value is None
        assert reason in answer.reason


def test_jitter_of_waits_that_are_all_alike_has_no_shape() -> None:
    """In parts of the wait, or added to it: only waits of different length tell."""
    layer = _read((1, 2), (1, 2), (1, 2))
    assert layer.jitter.kind.value is None
    assert "look the same" in layer.jitter.kind.reason


def test_waits_that_no_draw_explains_are_said_below_the_longest() -> None:
    """Neither of the ends that were seen is the one that the code has."""
    layer = _read((0.4, 0.4913), (0.8, 0.9826), how="range")
    assert _seconds(layer.base_ns.value) == 0.4913
    assert layer.jitter.text == "each wait is 81 % to 100 % of that, as far as seen"
    assert layer.text.startswith("waits up to ")


def test_what_is_added_to_waits_is_said_beside_them() -> None:
    """The shortest ones are the waits as they are, so none is a longest one."""
    layer = _read((1, 1.5), (5, 5.5), (6, 6.5), (30, 30.5), how="range")
    assert layer.text == "waits 1s, 5s, 6s, 30s, up to 500ms added"


def test_attempts_of_loops_within_loops_are_multiplied() -> None:
    """A try of the outer loop is all tries of the inner one."""
    said = "2 retries (3 attempts) x 3 retries (4 attempts) = 12 attempts"
    assert product_of([3, 4]) == said
    assert product_of([3]) == ""
