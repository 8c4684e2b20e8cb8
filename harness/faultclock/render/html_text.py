"""HTML: one self-contained file that works from a disk, with scripts off, in light and dark.

All content is rendered here; the script only filters, copies and unfolds. What is folded stands in
a `<noscript>`: a browser that runs the script reads it as one text and makes elements of it when it
is opened, and any other shows it as it is. What makes the page self-contained and safe is in
`page`.
"""

from __future__ import annotations

from faultclock.model.report.finding import Report
from faultclock.model.report.problems import problems_in
from faultclock.model.report.unproved import unproved_in
from faultclock.render.gate import make_gate
from faultclock.render.json_text import json_digest
from faultclock.render.overview import make_overview
from faultclock.render.page import environment, frame
from faultclock.render.problem_list import make_problem_list
from faultclock.render.run_list import make_run_list
from faultclock.render.silences import Silences


def html_report(report: Report) -> str:
    """Return `report` as one HTML document; equal reports give equal text."""
    problems = make_problem_list(report, problems_in(report))
    sections = problems.sections
    page = environment().get_template("report.html.j2")
    return page.render(
        report=report,
        overview=make_overview(report),
        problems=problems,
        unproved=unproved_in(report),
        runs=make_run_list(sections),
        silences=Silences.of(sections),
        sections=sections,
        gate=make_gate(report),
        anchors={section.scenario: section.anchor for section in sections},
        requirements=frozenset(item.id for item in report.coverage),
        judged=frozenset(line.check for section in sections for line in section.judged),
        **frame(),
        report_digest=json_digest(report),
    )
