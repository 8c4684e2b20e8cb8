"""`faultclock conform`: the retry tables of others, put to a subject row by row."""

from __future__ import annotations

import click

from faultclock.cli.elsewhere import python_option
from faultclock.cli.exits import INCONCLUSIVE, NONCONFORMING, OK
from faultclock.cli.say import say
from faultclock.cli.target_options import subject_options

_EPILOG = """\
VECTORS is a shipped table or a YAML file of your own: rows of what a provider answers, the lowest
and the highest wait after that, and how the call comes out, with the public source.

\b
  anthropic-python  the tests of the Anthropic SDK for Python
  aws-conditions    the tests of what botocore's standard mode retries
  aws-standard      the tests of botocore's standard retries 2.1
  gcs-retry         the retry conformance tests of Google Cloud Storage
  openai-python     the tests of the OpenAI SDK for Python

A table says what its authors want of their client, and not what is right: the tables contradict
each other. Each row is a scenario and an error model of its own, so a run is judged as by
`faultclock run`. What no scenario can say is listed as inexpressible.

\b
Examples:
  faultclock conform openai-python --subject openai-async
  faultclock conform gcs-retry --subject my_client.py:ask --json conform.json
  faultclock conform my/table.yaml --subject my_client.py:ask

\b
Exit codes: 0 every row that can be expressed is reproduced; 1 a row is not;
2 wrong usage, or a file or a subject is wrong; 3 no row is contradicted, but
not every one was met, or none can be expressed.
"""


@click.command(name="conform", epilog=_EPILOG)
@click.argument("vectors", metavar="VECTORS")
@click.option("--subject", required=True, metavar="SUBJECT", help="What is asked.")
@subject_options
@python_option
@click.option("--json", metavar="FILE", help="Write the rows as JSON; - is standard output.")
@click.option("-q", "--quiet", is_flag=True, help="Only the first line, and no progress.")
def command(vectors: str, subject: str, json: str | None, quiet: bool) -> int:
    """Put a retry table of others to a subject, and say which rows it reproduces."""
    from faultclock.cli.finding_text import columns
    from faultclock.cli.places import places_of
    from faultclock.cli.preparing import prepared
    from faultclock.cli.progress import bar
    from faultclock.load.vectors import load_vectors
    from faultclock.profile.vectors import conform
    from faultclock.render.json_text import canonical_json
    from faultclock.render.vectors import vectors_lines

    places = places_of({"json": json})
    table = load_vectors(vectors)
    binding = prepared(subject).binding
    with bar(len(table.rows), quiet=quiet) as advance:
        report = conform(vectors, table, binding, subject, on_row=advance)
    places.write(report, json=canonical_json)
    for number, line in enumerate(vectors_lines(report, columns())):
        if number == 0 or not quiet:
            say(line, out=places.out)
    return {"not reproduced": NONCONFORMING, "unclear": INCONCLUSIVE, "reproduced": OK}[
        report.verdict
    ]
