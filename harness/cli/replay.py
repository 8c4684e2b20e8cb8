"""`faultclock replay`: run a stored trace again, and name the first fact that differs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from harness.cli.exits import NONCONFORMING, OK
from harness.cli.options import inline_option
from harness.errors import InputError

if TYPE_CHECKING:
    from harness.model.trace import Trace
    from harness.run.replay import ReplayResult

__all__ = ["command", "differences", "other_circumstances"]

#: Where a header has the digest of a subject's file, which tells a person nothing.
_SOURCE = "header.subject.source_digest"

_EPILOG = """\
\b
Examples:
  faultclock run rate-limits --subject openai-async --trace-dir traces
  faultclock replay traces/rate-limits/retry-after-integer.seed-0.jsonl

The exit code is 0 when every byte is the same, and 1 when not. A trace names its subject; one
from a file of yours needs --subject, since a trace holds no paths.
"""


@click.command(name="replay", epilog=_EPILOG)
@click.argument("trace", metavar="TRACE")
@click.option(
    "--subject", metavar="ID|FILE.py:NAME", help="Subject to run, in place of the trace's own."
)
@inline_option
def command(trace: str, subject: str | None, inline: bool) -> int:
    """Run a stored trace again: identical, or the first event that differs."""
    from harness.load.trace_file import read_trace

    recorded = read_trace(trace)
    if recorded.header.time_base == "wall":
        raise InputError(
            f"{trace} was recorded in real time, which nobody can have again",
            hint="judge it: faultclock judge",
        )
    spec = subject or _own_subject(recorded)

    from harness.run.prepare import prepare
    from harness.run.replay import replay

    binding = prepare(spec)
    result = replay(recorded, binding, isolate=not inline)
    _tell(recorded, result)
    return OK if result.identical else NONCONFORMING


def _own_subject(trace: Trace) -> str:
    subject = trace.header.subject
    if subject.source_digest is not None:
        raise InputError(
            f"the trace is of {subject.id!r}, which came from a file",
            hint="say where it is now: --subject path/to/file.py:name",
        )
    return subject.id


def _tell(recorded: Trace, result: ReplayResult) -> None:
    header = recorded.header
    what = f"{header.scenario.id}, seed {header.seed}, {header.subject.id}"
    if result.identical:
        events = recorded.footer.events
        click.echo(f"identical: {what}: {events} events, digest {recorded.footer.digest[:12]}")
        return
    click.echo(f"different: {what}: line {result.line_number} is the first that differs")
    for line in differences(result.recorded, result.observed):
        click.echo(f"  {line}")
    for line in () if result.line_number == 1 else other_circumstances(recorded, result.trace):
        click.echo(f"  {line}")


def other_circumstances(recorded: Trace, observed: Trace) -> list[str]:
    """Return what the headers of two traces differ in: often the cause of all the rest."""
    from harness.model.trace import header_line

    was, now = (_flat(json.loads(header_line(trace.header))) for trace in (recorded, observed))
    told = []
    for key in sorted(was.keys() | now.keys()):
        before, after = was.get(key, "absent"), now.get(key, "absent")
        if before == after:
            continue
        if key == _SOURCE:
            told.append("the subject's file is not the one that was recorded")
        else:
            told.append(f"{key.removeprefix('header.')}: recorded {before}, observed {after}")
    return told


def differences(recorded: str | None, observed: str | None) -> list[str]:
    """Return the fields in which two trace lines differ, one text each."""
    if recorded is None or observed is None:
        only, line = ("observed", observed) if recorded is None else ("recorded", recorded)
        return [f"only the {only} trace has it: {(line or '').rstrip()}"]
    event = json.loads(recorded)
    before, after = _flat(event), _flat(json.loads(observed))
    told = []
    if "kind" in event:
        told.append(f"event {event['seq']}: {event['actor']} {event['kind']}")
    for key in sorted(before.keys() | after.keys()):
        was, now = before.get(key, "absent"), after.get(key, "absent")
        if was != now:
            told.append(f"{key}: recorded {was}, observed {now}")
    return told


def _flat(value: Any, prefix: str = "") -> dict[str, str]:
    """Return the leaves of a JSON value by dotted path, as JSON texts."""
    if isinstance(value, dict) and value:
        pairs = [(str(key), item) for key, item in value.items()]
    elif isinstance(value, list) and value:
        pairs = [(str(index), item) for index, item in enumerate(value)]
    else:
        return {prefix: json.dumps(value)}
    flat: dict[str, str] = {}
    for key, item in pairs:
        flat |= _flat(item, f"{prefix}.{key}" if prefix else key)
    return flat
