"""An exploration as a page and as JSON: pure, and equal bytes for equal explorations."""

from __future__ import annotations

import hashlib

from faultclock.model.report.exploration import Exploration
from faultclock.render import exploration_view as view
from faultclock.render.json_text import canonical_json
from faultclock.render.page import asset, environment, policy
from faultclock.render.verdict_words import GLOSSARY, LOOKS


def exploration_json(exploration: Exploration) -> str:
    """Return `exploration` as canonical JSON: sorted keys, ASCII, one line with its end.

    `faultclock.load.report` reads it back. The member `format` grows when a reader of the old
    shape would misread the new one, never for a member that may be ignored.
    """
    return canonical_json(exploration)


def exploration_html(exploration: Exploration) -> str:
    """Return `exploration` as one self-contained HTML document."""
    style, script = asset("report.css", "exploration.css"), asset("report.js")
    page = environment().get_template("exploration.html.j2")
    coverage = exploration.coverage
    return page.render(
        exploration=exploration,
        view=view,
        groups=view.group_views(exploration),
        scenarios=view.scenario_rows(exploration),
        no_results=view.no_result_rows(exploration),
        kinds=view.coverage_kinds(exploration),
        known={*coverage.requirements, *coverage.requirements_never},
        style=style,
        script=script,
        policy=policy(style, script),
        glossary=[(verdict, LOOKS[verdict]) for verdict in GLOSSARY],
        digest=hashlib.sha256(exploration_json(exploration).encode("ascii")).hexdigest(),
    )
