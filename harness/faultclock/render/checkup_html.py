"""A CheckUp as one self-contained page: the answer at the top, the runs that show it below.

Of each problem one run is drawn, the plainest that shows it; all others are in the JSON.
"""

from __future__ import annotations

from faultclock.model.report.checkup import CheckUp
from faultclock.model.report.finding import Verdict
from faultclock.render.json_text import canonical_digest
from faultclock.render.overview import make_overview
from faultclock.render.page import environment, frame
from faultclock.render.problem_list import make_problem_list
from faultclock.render.silences import Silences


def checkup_page(checkup: CheckUp) -> str:
    """Return `checkup` as one HTML document; equal answers give equal text."""
    problems = make_problem_list(checkup.report, checkup.problems, only_theirs=True)
    return (
        environment()
        .get_template("checkup.html.j2")
        .render(
            checkup=checkup,
            report=checkup.report,
            overview=make_overview(checkup.report),
            problems=problems,
            unproved=checkup.inconclusive,
            silences=Silences.of(problems.sections),
            worst=problems.worst or _unbroken(checkup),
            sections=problems.sections,
            judged=frozenset(
                line.check for section in problems.sections for line in section.judged
            ),
            requirements=frozenset(item.id for item in checkup.report.coverage),
            **frame(),
            digest=canonical_digest(checkup),
        )
    )


def _unbroken(checkup: CheckUp) -> Verdict:
    """Return what an answer without a new problem comes to: a pass only if something was tested."""
    tested = any(item.status == "tested" for item in checkup.report.coverage)
    return Verdict.PASS if tested else Verdict.INCONCLUSIVE
