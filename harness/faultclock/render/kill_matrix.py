"""A kill matrix as a page: pure, and equal bytes for equal matrices."""

from __future__ import annotations

from collections import Counter

from faultclock.model.report.kill_matrix import KillMatrix, RuleStatus
from faultclock.render.json_text import canonical_digest
from faultclock.render.kill_matrix_text import FATES, groups_of
from faultclock.render.page import environment, frame

#: Status to the key of its sign and to what the page calls it, the worst first.
_STATUSES: dict[RuleStatus, tuple[str, str]] = {
    "survives": ("fail", "nothing kills it"),
    "not judged": ("open", "not judged in the selected scenarios"),
    "cited elsewhere": ("none", "broken, and the findings cite another sentence"),
    "killed": ("pass", "killed"),
    "not for this subject": ("none", "not for this subject"),
}


def kill_matrix_html(matrix: KillMatrix) -> str:
    """Return `matrix` as one self-contained HTML document."""
    counted = Counter(rule.status for rule in matrix.rules)
    fates = Counter(item.fate for item in matrix.mutants)
    return (
        environment()
        .get_template("kill_matrix.html.j2")
        .render(
            matrix=matrix,
            **frame(),
            statuses=[
                (key, words, matrix.of_status(status), counted[status])
                for status, (key, words) in _STATUSES.items()
                if counted[status]
            ],
            does={item.id: item.does for item in matrix.mutants},
            fates=[(words, fates[fate]) for fate, words in FATES.items() if fates[fate]],
            unnoticed=groups_of(matrix, "unnoticed"),
            idle=groups_of(matrix, "no effect"),
            unproven=groups_of(matrix, "unproven"),
            untried=groups_of(matrix, "untried"),
            digest=canonical_digest(matrix),
        )
    )
