"""Report to text: HTML for people, JSON for programs, JUnit XML for build servers.

Every function here is pure: a `Report` or an `Exploration` in, a text out. Nothing here decides
about conformance, reads a clock, opens a network connection or writes a file; the same value always
gives the same bytes.
"""

from __future__ import annotations

from harness.render.exploration import exploration_html, exploration_json
from harness.render.exploration_text import exploration_lines
from harness.render.html_text import html_report
from harness.render.json_text import json_report
from harness.render.junit_text import junit_report

__all__ = [
    "exploration_html",
    "exploration_json",
    "exploration_lines",
    "html_report",
    "json_report",
    "junit_report",
]
