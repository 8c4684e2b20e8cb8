"""The command line: parse, call, write files, exit code. It decides nothing about conformance.

One module per command; `app` lists them and imports one only when it is called, so that
`faultclock --help` answers at once.
"""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Run the command line of this process and exit with its code."""
    from faultclock.cli.app import app

    app()
