"""`faultclock schema`: JSON Schemas, for editors and for programs that read what we write."""

from __future__ import annotations

import click

from faultclock.cli.say import machine

_EPILOG = """\
\b
Example:
  faultclock schema scenario > scenarios/scenario.schema.json

\b
Then the first line of a scenario names it (relative to the file):
  # yaml-language-server: $schema=../scenario.schema.json

\b
What `--json` writes can be checked by any validator:
  faultclock schema report > report.schema.json
"""


_SCHEMAS = (
    *("scenario", "model", "map", "services", "vectors", "baseline", "config"),
    *("checkup", "report", "exploration", "census", "kills", "profile", "trace"),
)


@click.command(name="schema", epilog=_EPILOG)
@click.argument("what", type=click.Choice(_SCHEMAS), metavar="WHAT")
def command(what: str) -> None:
    """Print the JSON Schema of a format.

    Of files that people write: scenario, services (for --services), vectors (for `conform`), model
    (an error model), map (of a foreign log), baseline, config (the table [tool.faultclock]). Of
    what --json writes: checkup (of `check`), report, exploration, census, kills (of `mutate`),
    profile (of `infer`). Of each line of a trace: trace.
    """
    from faultclock.load.schema import schema_of

    machine(schema_of(what))
