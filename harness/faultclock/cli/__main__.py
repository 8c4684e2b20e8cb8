"""`python -m faultclock.cli`: the command line where the `faultclock` script is not installed."""

from __future__ import annotations

from faultclock.cli import main

main()
