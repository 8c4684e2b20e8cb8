"""Report to text: HTML for people, JSON for programs, and what build servers and reviews read.

Every function here is pure: a `Report` or an `Exploration` in, a text out. Nothing here decides
about conformance, reads a clock, opens a network connection or writes a file; the same value always
gives the same bytes.
"""

from __future__ import annotations

from harness.render.diff_text import diff_json, diff_lines
from harness.render.exploration import exploration_html, exploration_json
from harness.render.exploration_text import exploration_lines
from harness.render.github_text import github_annotations, github_summary
from harness.render.gitlab_text import gitlab_report
from harness.render.html_text import html_report
from harness.render.json_text import json_report
from harness.render.junit_text import junit_report
from harness.render.sarif_text import sarif_report

__all__ = [
    "diff_json",
    "diff_lines",
    "exploration_html",
    "exploration_json",
    "exploration_lines",
    "github_annotations",
    "github_summary",
    "gitlab_report",
    "html_report",
    "json_report",
    "junit_report",
    "sarif_report",
]
