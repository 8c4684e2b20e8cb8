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
    "what",
    type=click.Choice(["scenario", "model", "map", "census"]),
    metavar="scenario|model|map|census",
)
def command(what: str) -> None:
    """Print the JSON Schema of scenarios, error models, maps of foreign logs or a census."""
    from harness.load import schema

    schemas = {
        "scenario": schema.scenario_schema,
        "model": schema.error_model_schema,
        "map": schema.foreign_map_schema,
        "census": schema.census_schema,
    }
    click.echo(schemas[what](), nl=False)
