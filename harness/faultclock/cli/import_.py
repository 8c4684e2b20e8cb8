"""`faultclock import`: recordings of real exchanges become scenarios."""

from __future__ import annotations

import json as json_
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from faultclock.cli.exits import OK
from faultclock.cli.say import machine, say
from faultclock.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from faultclock.recordings.importing import Imported, Options, Written
    from faultclock.recordings.outcome import Hearing

_EPILOG = """\
FILE is a cassette of vcrpy, VCR (Ruby), Betamax or go-vcr, a HAR file, a recording of nock (JSON),
a trace of httprr, or stub mappings of WireMock. Each session in it (one program, one provider, one
key, no pause over ten minutes) becomes one scenario in DIR, ready to run. Times come from Date
headers, which have whole seconds, where the recorder has none that are finer. Calls follow one
another unless the recording shows that they overlapped. What is odd is reported as file:line.

The name of a scenario ends with the first digits of the recording's SHA-256. --force replaces what
was imported from the same recording, and nothing else.

Keys, cookies, ids of requests, people, organisations and projects, addresses and signatures are
replaced before anything is written, equal values by equal words. Prompts and answers are replaced
by a neutral text with their length and digest; --keep-texts keeps them. A name in the middle of an
error message looks like any other word, and stays: read what was written before you share it.

\b
Examples:
  faultclock import tests/cassettes/*.yaml -o scenarios/incidents
  faultclock import incident.har -o incidents --json -
  faultclock run incidents/incident.yaml --subject my_adapter.py:subject
  faultclock explore incidents --subject my_adapter.py:subject --vary-everything
"""


#: Characters that are shown of what is odd about an exchange.
_DETAIL_MAX = 120


@click.command(name="import", epilog=_EPILOG)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("-o", "--output", required=True, metavar="DIR", help="Where the scenarios go.")
@click.option("--force", is_flag=True, help="Replace what came of the same recordings before.")
@click.option("--errors-only", is_flag=True, help="Leave out calls in which nothing failed.")
@click.option(
    "--for-runtimes",
    is_flag=True,
    help="Write each session for agent runtimes as well: turns with tools, in place of calls.",
)
@click.option(
    "--dialect",
    metavar="NAME",
    help="API that hosts on the recording machine speak, and stubs without a host.",
)
@click.option("--keep-texts", is_flag=True, help="Keep prompts and answers, scrubbed of secrets.")
@click.option("--json", metavar="FILE", help="Write what was found as JSON; - is standard output.")
@click.option("-q", "--quiet", is_flag=True, help="Only the totals: no oddities.")
def command(
    files: tuple[str, ...],
    output: str,
    force: bool,
    errors_only: bool,
    for_runtimes: bool,
    dialect: str | None,
    keep_texts: bool,
    json: str | None,
    quiet: bool,
) -> int:
    """Turn recordings (cassettes, HAR files) into scenarios, with their secrets taken out."""
    from faultclock.cli.drafts import write_all
    from faultclock.fakes.dialects import dialect_named
    from faultclock.recordings.importing import Options

    if dialect is not None:
        dialect_named(dialect)
    options = Options(
        texts_kept=keep_texts,
        errors_only=errors_only,
        for_runtimes=for_runtimes,
        dialect=dialect,
    )
    takes_stdout = json == "-"
    imported = _imported(tuple(dict.fromkeys(files)), family_of(output), options, takes_stdout)
    texts = {
        str(Path(output, f"{written.slug}.yaml")): written.text
        for one in imported
        for written in one.scenarios
    }
    _tell(imported, quiet=quiet, aside=takes_stdout)
    if not texts:
        what = "failed" if errors_only else "could be imported"
        raise InputError(
            f"nothing was written: there is no exchange with a provider that {what}",
            hint="the oddities above say what was left out, and why",
        )
    if force:
        _check_sources(imported, output)
    report = json_.dumps(_report(imported, output), indent=2, ensure_ascii=False) + "\n"
    if json is not None and not takes_stdout:
        texts[json] = report
    write_all(texts, replace=force, always=() if json is None else (json,))
    _tell_written(imported, output, aside=takes_stdout)
    if takes_stdout:
        machine(report)
    else:
        scenarios = sum(len(one.scenarios) for one in imported)
        say(f"{_counted(scenarios, 'scenario')} written to {output}")
    return OK


def family_of(output: str) -> str:
    """Return the first part of the ids: where the folder lies below `scenarios`, or `recorded`.

    Raises:
        InputError: the folder lies below `scenarios` under a name that no id can have.
    """
    from faultclock.recordings.importing import slug_of

    parts = Path(output).absolute().parts
    if "scenarios" not in parts:
        return "recorded"
    last = len(parts) - 1 - parts[::-1].index("scenarios")
    below = [part for part in parts[last + 1 :] if part != "."]
    for part in below:
        if slug_of(part) != part:
            raise InputError(
                f"{output}: the ids of scenarios below it would contain {part!r}",
                hint="name folders below scenarios/ with lower-case letters, digits and hyphens",
            )
    return "/".join(below) or "recorded"


def _imported(files: tuple[str, ...], family: str, options: Options, aside: bool) -> list[Imported]:
    from faultclock.load.located.tree import RECORDINGS
    from faultclock.load.yaml_file import read_bytes
    from faultclock.recordings.importing import import_recording

    imported: list[Imported] = []
    for path in files:
        one = import_recording(
            read_bytes(path, bytes_max=RECORDINGS.bytes_max),
            path,
            family=family,
            dialects=dialect_or_none,
            options=options,
        )
        # A recording of another name in which the same stands is imported under its own name.
        same = next((it for it in imported if (it.stem, it.digest) == (one.stem, one.digest)), None)
        if same is None:
            imported.append(one)
        else:
            say(f"{path}: the same recording as {same.path}: it is imported once", err=aside)
    return imported


def _check_sources(imported: list[Imported], output: str) -> None:
    """Check that what --force would replace came of the same recordings.

    Raises:
        InputError: one of the files is something else.
    """
    from faultclock.recordings.importing import comes_from

    for one in imported:
        for written in one.scenarios:
            path = Path(output, f"{written.slug}.yaml")
            try:
                there = path.read_text("utf-8", "replace") if path.exists() else None
            except OSError as error:
                raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
            if there is not None and not comes_from(there, one.digest):
                raise InputError(
                    f"{path}: this file was not imported from {one.path}: --force does not"
                    " replace it",
                    hint="move it away, or import into another folder",
                )


def dialect_or_none(name: str) -> Hearing | None:
    """Return the dialect of a name, None where there is none."""
    from faultclock.fakes.dialects import dialect_named

    try:
        return dialect_named(name)
    except UnknownNameError:
        return None


def _tell(imported: list[Imported], *, quiet: bool, aside: bool) -> None:
    """Say what was found; `aside`, on standard error, where a report takes standard output."""
    for one in imported:
        if not quiet:
            for oddity in one.oddities:
                shown = "" if oddity.detail is None else f" ({oddity.detail[:_DETAIL_MAX]})"
                line = f"{one.path}:{oddity.place.line}: {oddity.message}{shown}"
                say(line, err=aside)
        left = f", {one.left_out} left out" if one.left_out else ""
        say(
            f"{one.path}: {one.format}: {_counted(one.exchanges, 'exchange')}{left}, "
            f"{_counted(len(one.scenarios), 'scenario')}, "
            f"{len(one.oddities)} {'oddity' if len(one.oddities) == 1 else 'oddities'}",
            err=aside,
        )


def _tell_written(imported: list[Imported], output: str, *, aside: bool) -> None:
    """Name the scenarios, once they are written, and what to run next."""
    for one in imported:
        for written in one.scenarios:
            path = Path(output, f"{written.slug}.yaml")
            say(f"{path}: {written.scenario.title}", err=aside)
    own = _own_subject()
    if own is not None:
        for words in (("run",), ("explore", "--vary-everything")):
            command = ["faultclock", words[0], output, "--subject", own, *words[1:]]
            say(f"next: {shlex.join(command)}", err=aside)
        return
    dialects = {_dialect_of(written) for one in imported for written in one.scenarios}
    for client in sorted({_client_of(dialect) for dialect in dialects} - {""}):
        say(f"next: faultclock run {shlex.quote(output)} --subject {client}", err=aside)
    say("  with your own code: --subject path/to/file.py:name", err=aside)


def _own_subject() -> str | None:
    """Return the subject that the configuration names; None where there is none that can be read.

    The scenarios are written by then, so a mistake in the configuration is no reason to fail.
    """
    from faultclock.load.config import as_seen_from, find_config

    try:
        found = find_config(".")
    except InputError:
        return None
    return None if found is None else as_seen_from(Path.cwd(), *found).subject


def _dialect_of(written: Written) -> str:
    from faultclock.model.scenario.provider_script import DEFAULT_DIALECT

    return written.scenario.provider.dialect or DEFAULT_DIALECT


def _client_of(dialect: str) -> str:
    """Return a shipped client that speaks `dialect`, rather one that is installed; "" for none."""
    from faultclock.subjects.ports import OPENAI_ALIKE
    from faultclock.subjects.registry import catalog

    speak = [item for item in catalog() if item.kind == "client" and item.dialect == dialect]
    speak.sort(key=lambda item: (item.role != "provider_adapter", not item.available))
    if speak:
        return speak[0].id
    return "openai-async" if dialect in OPENAI_ALIKE else ""


def _report(imported: list[Imported], output: str) -> dict[str, Any]:
    return {
        "files": [
            {
                "path": one.path,
                "format": one.format,
                "exchanges": one.exchanges,
                "left_out": one.left_out,
                "scenarios": scenario_rows(one, output),
                "oddities": [
                    {
                        "kind": str(oddity.kind),
                        "line": oddity.place.line,
                        "column": oddity.place.column,
                        "message": oddity.message,
                    }
                    for oddity in one.oddities
                ],
            }
            for one in imported
        ]
    }


def scenario_rows(imported: Imported, output: str) -> list[dict[str, Any]]:
    """Return what a report says of the scenarios of one recording."""
    return [
        {
            "path": str(Path(output, f"{written.slug}.yaml")),
            "id": written.scenario.id,
            "title": written.scenario.title,
            "exchanges": written.exchanges,
        }
        for written in imported.scenarios
    ]


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
