"""HTML: one self-contained file that works from a disk, with scripts off, in light and dark.

All content is rendered here; the script only filters, copies and unfolds. What makes the page
self-contained and safe is in `page`.
"""

from __future__ import annotations

from harness.model.finding import Report
from harness.render.gate import make_gate
from harness.render.json_text import json_digest
from harness.render.matrix import make_matrix
from harness.render.overview import make_overview
from harness.render.page import asset, environment, policy
from harness.render.sections import make_sections
from harness.render.verdict_words import GLOSSARY, LOOKS

__all__ = ["html_report"]


def html_report(report: Report) -> str:
    """Return `report` as one HTML document; equal reports give equal text."""
    sections = make_sections(report)
    style, script = asset("report.css"), asset("report.js")
    page = environment().get_template("report.html.j2")
    return page.render(
        report=report,
        overview=make_overview(report, sections),
        matrix=make_matrix(sections),
        sections=sections,
        gate=make_gate(report),
        anchors={section.scenario: section.anchor for section in sections},
        requirements=frozenset(item.id for item in report.coverage),
        known_checks=frozenset(entry.id for entry in report.checks),
        style=style,
        script=script,
        policy=policy(style, script),
        glossary=[(verdict, LOOKS[verdict]) for verdict in GLOSSARY],
        report_digest=json_digest(report),
    )
