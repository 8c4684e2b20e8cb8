"""GitLab code quality: what is not green, as its merge request widget reads it.

GitLab shows one entry for each fingerprint, so no two are alike. Each entry needs a file: what
belongs to none of the person's own is told under the name of the scenario.
"""

from __future__ import annotations

import json

from faultclock.model.report.finding import Report
from faultclock.render.notices import Gravity, Notice, notices
from faultclock.render.wording import visible

#: GitLab's words, worst first: blocker, critical, major, minor, info.
_SEVERITY = {
    Gravity.FAILS: "critical",
    Gravity.OPEN: "major",
    Gravity.WARNS: "minor",
    Gravity.KNOWN: "info",
}


def gitlab_report(report: Report) -> str:
    """Return what is not green in `report` as a code quality report, newline at the end."""
    entries = [_entry(notice) for notice in notices(report)]
    return json.dumps(entries, indent=1, sort_keys=True) + "\n"


def _entry(notice: Notice) -> dict[str, object]:
    place = notice.place
    path = place.file if place is not None else notice.scenario or "faultclock"
    return {
        "description": _description(notice),
        "check_name": visible(notice.rule),
        "fingerprint": notice.fingerprint,
        "severity": _SEVERITY[notice.gravity],
        "location": {
            "path": visible(path),
            "lines": {"begin": place.line if place is not None else 1},
        },
    }


def _description(notice: Notice) -> str:
    parts = [notice.subject, notice.summary]
    if notice.known is not None:
        until = notice.known.expires.isoformat()
        parts.append(f"known until {until}: {notice.known.reason}")
    return visible(" · ".join(" ".join(part.split()) for part in parts if part))
