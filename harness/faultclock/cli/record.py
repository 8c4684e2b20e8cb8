"""`faultclock record`: a program's exchanges with its providers become a cassette and scenarios."""

from __future__ import annotations

import json as json_
import os
import re
import shlex
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from faultclock.cli.exits import INTERRUPTED, OK
from faultclock.cli.say import machine, say
from faultclock.errors import InputError

if TYPE_CHECKING:
    from faultclock.live.record.running import Recorded
    from faultclock.recordings.importing import Imported

_EPILOG = """\
COMMAND is run as it is, with its own input, output and errors; what we say goes to standard error.
Every Python process that it starts is recorded by vcrpy, which has to be installed there (pip
install 'vcrpy>=9.4,<10'), with the instants that vcrpy drops: of each request, of the head of its
answer, of every piece of a body, and of connections that fail. Clients on httpx, httpx2, aiohttp
and http.client (requests, urllib3, boto3) get their streams piece by piece, as ever. Clients on
tornado get each answer whole, when it has ended, and without its instants.

DIR gets NAME.cassette, which vcrpy loads, and a scenario for each session in it. Keys, cookies, ids
of requests, people, organisations and projects are replaced before anything is written, even to a
temporary file; prompts and answers too, unless --keep-texts is given. What was exchanged with other
hosts than providers is in the cassette alone. A program that is killed loses what was not over.

\b
Examples:
  faultclock record -o incidents -- python agent.py --ticket 4711
  faultclock record -o incidents --name nightly -- pytest tests/live
  faultclock run incidents/agent.yaml --subject openai-async

Exit codes: 0 a recording was written, and COMMAND's own exit code is shown; 2 nothing was written,
with the reason; 130 you interrupted it, and what was recorded until then was written.
"""


@click.command(name="record", epilog=_EPILOG)
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND...")
@click.option(
    "-o",
    "--output",
    default="recordings",
    metavar="DIR",
    help="Where the files go. The default is recordings.",
)
@click.option("--name", metavar="NAME", help="Of the files. The default is made of COMMAND.")
@click.option("--force", is_flag=True, help="Replace files that are there already.")
@click.option("--keep-texts", is_flag=True, help="Keep prompts and answers, scrubbed of secrets.")
@click.option(
    "--dialect",
    metavar="NAME",
    help="API that hosts on this machine speak, where the path fits several, such as openai-chat.",
)
@click.option("--json", metavar="FILE", help="Write what was found as JSON; - is standard output.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but what went wrong.")
def command(
    program: tuple[str, ...],
    output: str,
    name: str | None,
    force: bool,
    keep_texts: bool,
    dialect: str | None,
    json: str | None,
    quiet: bool,
) -> int:
    """Run a Python program and turn what it exchanged with providers into scenarios."""
    from faultclock.cli.drafts import write_all
    from faultclock.live.record.running import record

    slug = _slug(name, program)
    _check(program, output, slug, dialect, json, force=force)
    recorded = record(program)
    _tell_end(recorded, program, quiet=quiet)
    if not recorded.takes:
        raise _nothing(recorded, program)

    from faultclock.recordings.tape import tape_text

    cassette = str(Path(output, f"{slug}.cassette"))
    text = tape_text(recorded.takes, dialect=dialect, texts_kept=keep_texts)
    imported = _imported(text, cassette, slug, output, keep_texts=keep_texts)
    texts = {cassette: text}
    for written in imported.scenarios:
        texts[str(Path(output, f"{written.slug}.yaml"))] = written.text
    report = json_.dumps(_report(recorded, imported, cassette, program, output), indent=2) + "\n"
    if json not in (None, "-"):
        texts[json] = report
    write_all(texts, replace=force, always=() if json is None else (json,))
    if json == "-":
        machine(report)
    if not quiet:
        _tell_files(imported, cassette, output)
    return INTERRUPTED if recorded.interrupted else OK


# ---------------------------------------------------------------------- before the program runs


def _slug(name: str | None, program: tuple[str, ...]) -> str:
    """Return the name of the files: that of the script or module that is run.

    Raises:
        InputError: `name` cannot be the last part of a scenario's id.
    """
    from faultclock.recordings.importing import slug_of

    if name is not None:
        if slug_of(name) != name:
            raise InputError(
                f"--name {name}: scenarios are named with lower-case letters, digits and hyphens",
                hint=f"such as --name {slug_of(name)}",
            )
        return name
    first, *words = program
    stem = Path(first).stem
    if re.fullmatch(r"python[\d.]*w?", Path(first).name):
        while words and words[0].startswith("-") and words[0] not in ("-c", "-m"):
            # These two options of Python are followed by a word of their own.
            del words[: 2 if words[0] in ("-X", "-W") else 1]
        if words[:1] == ["-m"]:
            stem = "".join(words[1:2]).partition(".")[0]
        elif words and words[0] != "-c":
            stem = Path(words[0]).stem
    return slug_of(stem)


def _check(
    program: tuple[str, ...],
    output: str,
    slug: str,
    dialect: str | None,
    json: str | None,
    *,
    force: bool,
) -> None:
    """Find out what would go wrong in the end, before the program does what cannot be repeated.

    Raises:
        InputError: a file is there already or cannot be written, there is no such dialect, or the
            program's Python is ours and has no vcrpy.
    """
    from faultclock.cli.import_ import family_of
    from faultclock.fakes.dialects import dialect_named
    from faultclock.load.files import check_output_file

    if dialect is not None:
        dialect_named(dialect)
    if _is_here(program) and find_spec("vcr") is None:
        raise _no_vcrpy(program)
    family_of(output)
    folder = Path(output)
    check_output_file(str(folder / f"{slug}.cassette"))
    if json not in (None, "-"):
        check_output_file(json)
    if force:
        return
    ours = re.compile(rf"{re.escape(slug)}(?:\.cassette|(?:-\d+)?\.yaml)")
    for path in sorted(folder.iterdir()):
        if ours.fullmatch(path.name):
            raise InputError(
                f"{path}: this file is there already",
                hint="--force replaces it, and --name names another",
            )


def _is_here(program: tuple[str, ...]) -> bool:
    """Return whether a program stands beside our own Python, so that it has what we have."""
    found = shutil.which(program[0])
    return found is not None and Path(found).parent == Path(sys.executable).parent


def _no_vcrpy(program: tuple[str, ...]) -> InputError:
    return InputError(
        f"{shlex.join(program)}: the Python that runs it has no vcrpy: nothing was recorded",
        hint="pip install 'vcrpy>=9.4,<10' there, or 'faultclock[record]'",
    )


# ---------------------------------------------------------------------- after it has ended


def _nothing(recorded: Recorded, program: tuple[str, ...]) -> InputError:
    """Return why there is nothing to write."""
    shown = shlex.join(program)
    if recorded.troubles:
        if "no-vcrpy" in recorded.troubles:
            return _no_vcrpy(program)
        return InputError(f"{shown}: nothing was recorded: {recorded.troubles[0]}")
    if not recorded.pythons:
        return InputError(
            f"{shown}: this is no Python program, or its Python was started with -S, -I or -E:"
            " nothing was recorded",
            hint="`faultclock serve` is for programs of other languages",
        )
    return InputError(
        f"{shown}: nothing was recorded: it made no request with an HTTP library that vcrpy knows"
    )


def _imported(text: str, path: str, slug: str, output: str, *, keep_texts: bool) -> Imported:
    from faultclock.cli.import_ import dialect_or_none, family_of
    from faultclock.recordings.importing import Options, import_recording

    return import_recording(
        text.encode(),
        path,
        family=family_of(output),
        dialects=dialect_or_none,
        options=Options(texts_kept=keep_texts),
        slug=slug,
    )


def _tell_end(recorded: Recorded, program: tuple[str, ...], *, quiet: bool) -> None:
    if not quiet:
        _say(f"{shlex.join(program)} {_ending(recorded)}")
    for trouble in recorded.troubles if recorded.takes else ():
        what = "it has no vcrpy" if trouble == "no-vcrpy" else trouble
        _say(f"one of its processes was not recorded: {what}")
    if recorded.broken:
        _say("a process was killed while it sent an exchange: that one is lost")


def _ending(recorded: Recorded) -> str:
    ended = (
        f"was ended by {recorded.signal}"
        if recorded.signal is not None
        else f"exited with {recorded.exit_code}"
    )
    return f"{ended}, interrupted" if recorded.interrupted else ended


def _tell_files(imported: Imported, cassette: str, output: str) -> None:
    left = f", {imported.left_out} of them in no scenario" if imported.left_out else ""
    noun = "exchange" if imported.exchanges == 1 else "exchanges"
    _say(f"{cassette}: {imported.exchanges} {noun}{left}")
    for written in imported.scenarios:
        _say(f"{Path(output, f'{written.slug}.yaml')}: {written.scenario.title}")
    if not imported.scenarios:
        _say("there is no exchange with a provider that could be a scenario:")
        for oddity in imported.oddities:
            _say(f"  {cassette}:{oddity.place.line}: {oddity.message}")


def _report(
    recorded: Recorded, imported: Imported, cassette: str, program: tuple[str, ...], output: str
) -> dict[str, Any]:
    from faultclock.cli.import_ import scenario_rows

    return {
        "program": {
            "name": os.path.basename(program[0]),  # noqa: PTH119 - arguments may hold secrets
            "exit_code": recorded.exit_code,
            "signal": recorded.signal,
            "interrupted": recorded.interrupted,
        },
        "cassette": cassette,
        "exchanges": len(recorded.takes),
        "without_response": sum(take.status is None for take in recorded.takes),
        "processes": len({take.process for take in recorded.takes}),
        "lost": recorded.broken,
        "troubles": list(recorded.troubles),
        "scenarios": scenario_rows(imported, output),
        "oddities": [
            {"kind": str(oddity.kind), "line": oddity.place.line, "message": oddity.message}
            for oddity in imported.oddities
        ],
    }


def _say(text: str) -> None:
    say(f"faultclock: {text}", err=True)
