"""Only what was proved is green."""

from __future__ import annotations

import pytest

from faultclock.model.report.finding import Verdict, overall

P, F, W = Verdict.PASS, Verdict.FAIL, Verdict.WARN
I, N = Verdict.INCONCLUSIVE, Verdict.NOT_APPLICABLE  # noqa: E741


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ((), I),
        ((N,), I),
        ((N, N), I),
        ((P, N), P),
        ((P, W), W),
        ((P, I), I),
        ((W, I), I),
        ((P, I, F, W), F),
    ],
)
def test_verdicts_fold_to_the_worst_and_nothing_judged_is_inconclusive(
    verdicts: tuple[Verdict, ...], expected: Verdict
) -> None:
    """An empty set of verdicts has proved nothing."""
    assert overall(verdicts) is expected
