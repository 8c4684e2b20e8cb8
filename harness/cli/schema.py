"""`faultclock schema`: JSON Schemas for editors."""

from __future__ import annotations

import click

__all__ = ["command"]

_EPILOG = """\
\b
Example:
  faultclock schema scenario > scenarios/scenario.schema.json

\b
Then let the first line of a scenario name it (the path is relative to the file):
  # yaml-language-server: $schema=../scenario.schema.json
"""


@click.command(name="schema", epilog=_EPILOG)
@click.argument("what", type=click.Choice(["scenario", "model"]), metavar="scenario|model")
def command(what: str) -> None:
    """Print the JSON Schema of scenario files or of error model files."""
    from harness.load.schema import error_model_schema, scenario_schema

    click.echo(scenario_schema() if what == "scenario" else error_model_schema(), nl=False)
