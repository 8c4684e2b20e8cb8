"""`python -m tests.field.systems`: build the systems, measure them, and write the page."""

from __future__ import annotations

import argparse
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

from faultclock.load.files import write_text_atomically
from tests.field.systems.building import SYSTEMS, Missing, build
from tests.field.systems.measuring import measure
from tests.field.systems.page import PAGE, kept, page


def main() -> None:
    """Measure what can be had, and keep what was measured of the others."""
    parser = argparse.ArgumentParser(prog="python -m tests.field.systems")
    for system in SYSTEMS:
        parser.add_argument(f"--{system.id}", type=Path, required=True, metavar="CHECKOUT")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    today = datetime.now(UTC).date()
    for system in SYSTEMS:
        try:
            build(system, getattr(given, system.id))
            sys.stderr.write(f"==> {system.title}\n")
            measured = measure(system, on=today, jobs=given.jobs)
        except Missing as error:
            sys.stderr.write(f"==> passed over: {error}\n")
        else:
            write_text_atomically(kept(system), measured.written())
    write_text_atomically(PAGE, page())


if __name__ == "__main__":
    main()
