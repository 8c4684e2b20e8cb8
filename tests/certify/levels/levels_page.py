"""Writes the figures of the page on levels: `python -m tests.certify.levels.levels_page`.

They are made from the sets, and stand on the page between the two marks; a test compares them.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from faultclock.load.requirement_set import load_requirement_set, set_ids
from faultclock.model.report.conformance import RoleSet

PAGE = Path(__file__).parents[3] / "docs/conformance-levels.md"
BEGINS, ENDS = "<!-- figures: begin -->\n", "<!-- figures: end -->\n"
_HEAD = (
    "| model | role | reference | MUST | SHOULD | MAY | elsewhere | excluded | scenarios | runs"
    " | swept | jitter |"
)


def table() -> str:
    """Return the table of all shipped sets."""
    rows = [_HEAD, "|---|---|---|" + "---:|" * 9]
    for model in set_ids():
        set_ = load_requirement_set(model)
        named = f"{model}, set {set_.revision}"
        rows += [_row(named, role, of) for role, of in set_.roles.items()]
    return "\n".join(rows) + "\n"


def _row(model: str, role: str, of: RoleSet) -> str:
    levels = Counter(item.level for item in of.requirements)
    cells = (
        model,
        role.replace("_", " "),
        f"`{of.reference}`",
        levels["MUST"],
        levels["SHOULD"],
        levels["MAY"],
        len(of.elsewhere),
        len(of.excluded),
        len(of.scenarios),
        sum(item.runs for item in of.scenarios),
        len(of.hardening.crash_sweep),
        len(of.hardening.jitter),
    )
    return "| " + " | ".join(map(str, cells)) + " |"


def main() -> None:
    """Put the table where it belongs."""
    before, _, rest = PAGE.read_text("utf-8").partition(BEGINS)
    _, _, after = rest.partition(ENDS)
    PAGE.write_text(before + BEGINS + table() + ENDS + after, "utf-8")
    sys.stdout.write(table())


if __name__ == "__main__":
    main()
