"""`python -m harness.cli`: the command line where the `faultclock` script is not installed."""

from __future__ import annotations

from harness.cli import main

main()
