"""A difference in lines: the worst first, and what a scenario's checks share is told once."""

from __future__ import annotations

import json

from faultclock.history.gate.diff import difference
from faultclock.model.report.finding import Verdict
from faultclock.model.report.report_diff import ReportDiff
from faultclock.render.diff_text import diff_lines
from faultclock.render.json_text import canonical_json
from tests.history.drawn import CHECKS, SCENARIOS, finding, report_of, run

FAIL, PASS, INCONCLUSIVE = Verdict.FAIL, Verdict.PASS, Verdict.INCONCLUSIVE
ONE, TWO, THREE = SCENARIOS


def sample() -> ReportDiff:
    """Return a difference with something of everything."""
    failing = finding(FAIL, requirement="R-1", observed="too soon")
    spoilt = [finding(INCONCLUSIVE, check, reason="a leak") for check in CHECKS]
    before = report_of(
        [
            *(run(ONE, finding(PASS, requirement="R-1"), seed=seed) for seed in range(4)),
            run(TWO, *(finding(PASS, check) for check in CHECKS)),
            run(THREE, failing),
        ]
    )
    after = report_of(
        [*(run(ONE, failing, seed=seed) for seed in (0, 1, 3)), run(TWO, *spoilt)],
        model_revision="2",
    )
    return difference(before, after)


def test_the_worst_comes_first() -> None:
    """With the seeds that it is in, and what changed."""
    assert list(diff_lines(sample())) == [
        "stud-cli: got worse",
        "  4 runs compared, 0 of them failing in both, 1 inconclusive now",
        "  changed beside the verdicts (1)",
        "    revision of stud-cli: 1 -> 2",
        "  newly failing (1)",
        "    f/one, 3 seeds from 0 to 3: backoff.wait (R-1), pass -> fail: too soon",
        "  gone, which is never better (2)",
        "    f/one, seed 2: was pass, other seeds are in both",
        "    g/three, seed 0: was fail",
        "  not judged any more, which is no pass (1)",
        "    f/two, seed 0: backoff.wait, backoff.jitter, wrapping.identity,"
        " pass -> inconclusive: a leak",
    ]


def test_json_has_all_of_it_in_one_spelling() -> None:
    """It is read back as it was."""
    text = canonical_json(sample())
    assert ReportDiff.model_validate(json.loads(text)) == sample()
    assert text.endswith("\n")
    assert json.dumps(json.loads(text), sort_keys=True, separators=(",", ":")) + "\n" == text
