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
@click.argument(
    "what", type=click.Choice(["scenario", "model", "map"]), metavar="scenario|model|map"
)
def command(what: str) -> None:
    """Print the JSON Schema of scenario files, of error models or of maps of foreign logs."""
    from harness.load.schema import error_model_schema, foreign_map_schema, scenario_schema

    schemas = {"scenario": scenario_schema, "model": error_model_schema, "map": foreign_map_schema}
    click.echo(schemas[what](), nl=False)
