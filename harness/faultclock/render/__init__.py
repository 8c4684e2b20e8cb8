"""Report to text: HTML for people, JSON for programs, and what build servers and reviews read.

Every function here is pure: a `Report` or an `Exploration` in, a text out. Nothing here decides
about conformance, reads a clock, opens a network connection or writes a file that has a name; the
same value always gives the same bytes.
"""

from __future__ import annotations

from faultclock.render.diff_text import diff_json, diff_lines
from faultclock.render.exploration import exploration_html, exploration_json
from faultclock.render.exploration_text import exploration_lines
from faultclock.render.github_text import github_annotations, github_summary
from faultclock.render.gitlab_text import gitlab_report
from faultclock.render.html_text import html_report
from faultclock.render.json_text import json_pieces, json_report
from faultclock.render.junit_text import junit_pieces, junit_report
from faultclock.render.sarif_text import sarif_report

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
    "json_pieces",
    "json_report",
    "junit_pieces",
    "junit_report",
    "sarif_report",
]
