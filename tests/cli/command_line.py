"""Runs a command line in this process, as the tests of `faultclock.cli` do."""

from __future__ import annotations

from click.testing import CliRunner, Result

from faultclock.cli.app import app


def faultclock(*words: str) -> Result:
    """Run `faultclock` with these words; output and error output are kept apart."""
    return CliRunner().invoke(app, words)
