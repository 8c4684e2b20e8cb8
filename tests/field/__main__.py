"""`python -m tests.field`: measure the agents whose frameworks are installed, write the page."""

from __future__ import annotations

import sys
from datetime import UTC, datetime

from faultclock.load.files import write_text_atomically
from tests.field.report import AGENTS, MEASURED, PAGE, Measured, installed, measure, page


def main() -> None:
    """Measure what can be, and keep what was measured of the others."""
    today = datetime.now(UTC).date()
    for name in sys.argv[1:] or AGENTS:
        if installed(name):
            sys.stderr.write(f"==> {AGENTS[name][0]}\n")
            write_text_atomically(MEASURED / f"{name}.json", measure(name, on=today).written())
    found = [MEASURED / f"{name}.json" for name in AGENTS]
    write_text_atomically(PAGE, page(tuple(Measured.read(path) for path in found if path.exists())))


if __name__ == "__main__":
    main()
