"""`faultclock import`: recordings of real exchanges become scenarios."""

from __future__ import annotations

import json as json_
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.exits import OK
from harness.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from harness.recordings.importing import Imported, Written
    from harness.recordings.outcome import Hearing

__all__ = ["command", "dialect_or_none", "family_of"]

_EPILOG = """\
FILE is a cassette of vcrpy (YAML or JSON), a cassette of VCR (Ruby) or a HAR file. Each session in
it (one program, one provider, one key, no pause over ten minutes) becomes one scenario in DIR,
ready to run. Times come from Date headers, which have whole seconds, and are marked as unknown
where there are none. What is odd about a recording is told as file:line.

Keys, cookies, ids of requests, people, organisations and projects, addresses and signatures are
replaced before anything is written, equal values by equal words. Prompts and answers are replaced
by a neutral text with their length and digest; --keep-texts keeps them. A name in the middle of an
error message is not told from any other word: read what was written before you share it.

\b
Examples:
  faultclock import tests/cassettes/*.yaml -o scenarios/incidents
  faultclock import incident.har -o incidents --json -
  faultclock run incidents/incident.yaml --subject openai-async
"""


@click.command(name="import", epilog=_EPILOG)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("-o", "--output", required=True, metavar="DIR", help="Where the scenarios go.")
@click.option("--force", is_flag=True, help="Replace scenarios that are there already.")
@click.option("--keep-texts", is_flag=True, help="Keep prompts and answers, scrubbed of secrets.")
@click.option("--json", metavar="FILE", help="Write what was found as JSON; - is standard output.")
@click.option("-q", "--quiet", is_flag=True, help="Only the totals: no oddities.")
def command(
    files: tuple[str, ...],
    output: str,
    force: bool,
    keep_texts: bool,
    json: str | None,
    quiet: bool,
) -> int:
    """Turn recordings (cassettes, HAR files) into scenarios, with their secrets taken out."""
    from harness.cli.drafts import write_all

    family = family_of(output)
    imported = _imported(tuple(dict.fromkeys(files)), family, keep_texts=keep_texts)
    texts = {
        str(Path(output, f"{written.slug}.yaml")): written.text
        for one in imported
        for written in one.scenarios
    }
    takes_stdout = json == "-"
    _tell(imported, quiet=quiet, aside=takes_stdout)
    if not texts:
        raise InputError(
            "nothing was written: there is no exchange with a provider that could be imported",
            hint="the oddities above say what was left out, and why",
        )
    report = json_.dumps(_report(imported, output), indent=2, ensure_ascii=False) + "\n"
    if json is not None and not takes_stdout:
        texts[json] = report
    write_all(texts, replace=force, always=() if json is None else (json,))
    _tell_written(imported, output, aside=takes_stdout)
    if takes_stdout:
        click.echo(report, nl=False)
    else:
        scenarios = sum(len(one.scenarios) for one in imported)
        click.echo(f"{_counted(scenarios, 'scenario')} written to {output}")
    return OK


def family_of(output: str) -> str:
    """Return the first part of the ids: where the folder lies below `scenarios`, or `recorded`.

    Raises:
        InputError: the folder lies below `scenarios` under a name that no id can have.
    """
    from harness.recordings.importing import slug_of

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


def _imported(files: tuple[str, ...], family: str, *, keep_texts: bool) -> list[Imported]:
    from harness.load.yaml_file import read_bytes
    from harness.recordings.importing import (
        BYTES_OF_RECORDING_MAX,
        Options,
        import_recording,
    )

    imported: list[Imported] = []
    taken: set[str] = set()
    for path in files:
        content = read_bytes(path, bytes_max=BYTES_OF_RECORDING_MAX)
        one = import_recording(
            content,
            path,
            family=family,
            dialects=dialect_or_none,
            options=Options(texts_kept=keep_texts),
        )
        number, stem = 1, one.stem
        while taken & {written.slug for written in one.scenarios}:
            # Two recordings of one name in different folders.
            number += 1
            one = import_recording(
                content,
                path,
                family=family,
                dialects=dialect_or_none,
                options=Options(texts_kept=keep_texts),
                slug=f"{stem}-file-{number}",
            )
        taken |= {written.slug for written in one.scenarios}
        imported.append(one)
    return imported


def dialect_or_none(name: str) -> Hearing | None:
    """Return the dialect of a name, None where there is none."""
    from harness.fakes.dialects import dialect_named

    try:
        return dialect_named(name)
    except UnknownNameError:
        return None


def _tell(imported: list[Imported], *, quiet: bool, aside: bool) -> None:
    """Say what was found; `aside`, on standard error, where a report takes standard output."""
    for one in imported:
        if not quiet:
            for oddity in one.oddities:
                shown = "" if oddity.detail is None else f" ({_one_line(oddity.detail)})"
                line = f"{one.path}:{oddity.spot.line}: {oddity.message}{shown}"
                click.echo(line, err=aside)
        left = f", {one.left_out} left out" if one.left_out else ""
        click.echo(
            f"{one.path}: {one.format}: {_counted(one.exchanges, 'exchange')}{left}, "
            f"{_counted(len(one.scenarios), 'scenario')}, "
            f"{len(one.oddities)} {'oddity' if len(one.oddities) == 1 else 'oddities'}",
            err=aside,
        )


def _tell_written(imported: list[Imported], output: str, *, aside: bool) -> None:
    """Name the scenarios; only once they are there, so that nobody looks for one in vain."""
    for one in imported:
        for written in one.scenarios:
            path = Path(output, f"{written.slug}.yaml")
            click.echo(f"{path}: {written.scenario.title}", err=aside)
    dialects = {_dialect_of(written) for one in imported for written in one.scenarios}
    for client in sorted({_client_of(dialect) for dialect in dialects} - {""}):
        click.echo(f"next: faultclock run {output} --subject {client}", err=aside)


def _dialect_of(written: Written) -> str:
    from harness.model.scenario import DEFAULT_DIALECT

    return written.scenario.provider.dialect or DEFAULT_DIALECT


def _client_of(dialect: str) -> str:
    """Return a shipped client that speaks `dialect`, rather one that is installed; "" for none."""
    from harness.subjects.ports import OPENAI_ALIKE
    from harness.subjects.registry import catalog

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
                "scenarios": [
                    {
                        "path": str(Path(output, f"{written.slug}.yaml")),
                        "id": written.scenario.id,
                        "title": written.scenario.title,
                        "exchanges": written.exchanges,
                    }
                    for written in one.scenarios
                ],
                "oddities": [
                    {
                        "kind": str(oddity.kind),
                        "line": oddity.spot.line,
                        "column": oddity.spot.column,
                        "message": oddity.message,
                    }
                    for oddity in one.oddities
                ],
            }
            for one in imported
        ]
    }


def _one_line(text: str) -> str:
    from harness.render.wording import visible

    return visible(text)[:120]


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
