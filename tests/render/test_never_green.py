"""Every format for build servers is red where the exit code is not 0, and green where it is."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from xml.etree import ElementTree

import pytest

from faultclock.cli.exits import OK, exit_code_of
from faultclock.history.gate.baseline import gated
from faultclock.model.report.finding import Report, Verdict
from faultclock.model.report.gate import Baseline, Deviation
from faultclock.render.github_text import github_annotations, github_summary
from faultclock.render.gitlab_text import gitlab_report
from faultclock.render.junit_text import junit_report
from faultclock.render.sarif_text import sarif_report
from tests.history.drawn import CHECKS, KNOWN, SCENARIOS, TODAY, deviation, finding, report_of, run

FAIL, OPEN, PASS = Verdict.FAIL, Verdict.INCONCLUSIVE, Verdict.PASS
ONE, TWO, _ = SCENARIOS
GOOD = run(ONE, finding(PASS, requirement="R-1"))
BAD = run(ONE, finding(FAIL, requirement="R-1"))
NOTHING = run(TWO, finding(Verdict.NOT_APPLICABLE))


def _gated(report: Report, entry: Deviation | None = None) -> Report:
    baseline = Baseline(
        subject="s", model="stud-cli", deviations=(deviation() if entry is None else entry,)
    )
    return gated(report, baseline, file="b.yaml", today=TODAY, known_scenarios=KNOWN)


#: Reports with one thing each that they are not green for; of the last two, nothing.
REPORTS = {
    "a verdict over seeds": report_of([GOOD], [finding(FAIL, requirement="R-1", scenario=ONE)]),
    "an open one": report_of([GOOD], [finding(OPEN, requirement="R-1", scenario=ONE)]),
    "an open run": report_of([run(ONE, finding(OPEN))]),
    "nothing judged": report_of([NOTHING]),
    "nothing run": report_of([]),
    "only the evidence is whole": report_of([run(ONE, finding(PASS))]),
    "an entry that passes": _gated(report_of([GOOD])),
    "an entry of nothing": _gated(report_of([GOOD]), deviation("f/none")),
    "an overdue entry": _gated(report_of([BAD]), deviation(expires=TODAY - timedelta(days=1))),
    "an open finding beside a known one": _gated(
        report_of([run(ONE, finding(FAIL, requirement="R-1"), finding(OPEN, CHECKS[1]))])
    ),
    "an open run beside a known one": _gated(report_of([BAD, run(TWO, finding(OPEN))])),
    "a new verdict over seeds": _gated(
        report_of([BAD], [finding(FAIL, CHECKS[1], requirement="R-2", scenario=ONE)])
    ),
    "all is known": _gated(report_of([BAD])),
    "all is well": report_of([GOOD]),
}


def _junit(report: Report) -> bool:
    tree = ElementTree.fromstring(junit_report(report).encode())
    return any(item.tag in ("failure", "error") for item in tree.iter())


def _sarif(report: Report) -> bool:
    (of,) = json.loads(sarif_report(report))["runs"]
    return any(item["level"] == "error" and "suppressions" not in item for item in of["results"])


def _gitlab(report: Report) -> bool:
    return any(
        item["severity"] in ("critical", "major") for item in json.loads(gitlab_report(report))
    )


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize(
    "is_red",
    [
        _junit,
        _sarif,
        _gitlab,
        lambda report: "::error" in github_annotations(report),
        lambda report: ":white_check_mark:" not in github_summary(report),
    ],
    ids=["junit", "sarif", "gitlab", "annotations", "summary"],
)
def test_a_format_is_red_where_the_exit_code_is(
    name: str, is_red: Callable[[Report], bool]
) -> None:
    """Whatever it is for, and however many other things are green."""
    report = REPORTS[name]
    assert is_red(report) == (exit_code_of(report) != OK)
