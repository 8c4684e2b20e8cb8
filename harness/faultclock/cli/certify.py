"""`faultclock certify`: run what a level of conformance needs, and sign what came of it."""

from __future__ import annotations

import os
import time
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import click

from faultclock.cli.exits import INCONCLUSIVE, NONCONFORMING, OK
from faultclock.cli.key_options import (
    day,
    passphrase_of,
    passphrase_option,
    require_certify,
    source_date,
    today,
)
from faultclock.cli.options import DEFAULT_MODEL, cluster_option, jobs_option
from faultclock.cli.outputs import Outputs
from faultclock.cli.report_options import report_options
from faultclock.cli.say import say
from faultclock.errors import InputError, UnknownNameError
from faultclock.render.wording import count

if TYPE_CHECKING:
    from faultclock.certify.making import Made, Request
    from faultclock.model.report.conformance import LevelName

#: Objections that are shown; the report has all of them.
_TOLD = 20

_EPILOG = """\
SUBJECT is a shipped subject, or yours as path/to/adapter.py:name or package.module:name.

The level `core` asks for every MUST that the error model has for the subject's role, `full` for
every SHOULD too, and `hardened` for exploration, crashes after every event, two runs of
everything and the jitter over many seeds besides. What is not shown is not reached: there is no
certificate from a run that proves nothing.

\b
Examples:
  faultclock keygen -o team.key
  faultclock certify my_adapter.py:subject --model stud-cli --level core --key team.key \\
      -o certificate
  faultclock certify my_package.client:subject --model relavium --level full --key team.key \\
      -o certificate --artifact dist/my_package-1.0-py3-none-any.whl
  faultclock certify my_adapter.py:subject --model stud-cli --level core --key team.key \\
      -o certificate --html why-not.html

Exit codes: 0 certified, 1 something is broken, 2 wrong usage, a wrong key or another
artifact than what ran, 3 nothing is broken but something was not shown.
"""


@click.command(name="certify", epilog=_EPILOG)
@click.argument("subject")
@click.option(
    "--model",
    default=DEFAULT_MODEL,
    show_default=True,
    metavar="ID",
    help="Error model, one that has levels.",
)
@click.option(
    "--level",
    required=True,
    type=click.Choice(["core", "full", "hardened"]),
    help="What is to be certified.",
)
@click.option("--key", required=True, metavar="FILE", help="Private key that signs.")
@passphrase_option
@click.option(
    "-o", "folder", required=True, metavar="DIR", help="Folder that is made; it must be new."
)
@click.option(
    "--artifact",
    metavar="PATH",
    help="Wheel, sdist, folder or file that holds the subject. The default is its own file or "
    "package.",
)
@click.option(
    "--issued",
    callback=day,
    metavar="DATE",
    help="Day that the certificate is to say. The default is that of SOURCE_DATE_EPOCH, or none.",
)
@report_options
@jobs_option("Worker processes.")
@cluster_option
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
def command(
    subject: str,
    model: str,
    level: LevelName,
    key: str,
    passphrase_env: str | None,
    folder: str,
    artifact: str | None,
    issued: date | None,
    reports: dict[str, str],
    jobs: int,
    quiet: bool,
) -> int:
    """Certify that a subject conforms to an error model, if it does."""
    require_certify()
    outputs = Outputs(reports=reports).check()
    started_s = time.perf_counter()
    with outputs.keeping_stdout():
        request = _request(
            subject,
            model,
            level,
            key=key,
            passphrase=passphrase_of(passphrase_env),
            folder=Path(folder),
            artifact=Path(artifact) if artifact is not None else None,
            issued=issued or source_date(),
            jobs=jobs,
        )
        with request.watch:
            made = _made(request, quiet=quiet)
    outputs.write(made.report)
    public = f"{key}.pub" if os.path.isfile(f"{key}.pub") else "PATH.pub"  # noqa: PTH113 - as given
    seconds = time.perf_counter() - started_s
    return _told(made, request, public, seconds, err=outputs.takes_stdout)


def _request(
    subject: str,
    model: str,
    level: LevelName,
    *,
    key: str,
    passphrase: str | None,
    folder: Path,
    artifact: Path | None,
    issued: date | None,
    jobs: int,
) -> Request:
    """Load what was named, the subject last: it is the slowest, and the rest may be wrong."""
    _check_has_levels(model)
    from faultclock.certify.folder import check_place
    from faultclock.certify.keys import load_private_key
    from faultclock.certify.watching import Watch
    from faultclock.cli.preparing import prepared
    from faultclock.run.process.hosting import Host
    from faultclock.subjects.abilities import ALL_ABILITIES

    watch = Watch()
    # Forked before the key is read: the subject is loaded in a process that has never had it.
    host = Host()
    if issued is not None and issued > today():
        raise InputError(
            f"--issued says {issued}, which is after today",
            hint="no verifier takes it before that day",
        )
    signing = load_private_key(key, today=today(), passphrase=passphrase)
    check_place(folder)

    from faultclock.load.error_model import load_error_model
    from faultclock.load.requirement_set import load_requirement_set

    requirements, error_model = load_requirement_set(model), load_error_model(model)

    from faultclock.certify.making import Request, source_of

    binding = prepared(subject, host=host).binding
    if binding.abilities != ALL_ABILITIES:
        words = ", ".join(binding.abilities.words(binding.role))
        raise InputError(
            f"{subject} declares {words}, and a level leaves nothing out",
            hint="take the declaration away; `faultclock run` leaves out by name what it is about",
        )
    return Request(
        binding=binding,
        subject_spec=subject,
        source=source_of(subject, binding, artifact),
        watch=watch,
        model=error_model,
        requirements=requirements,
        level=level,
        key=signing,
        target=folder,
        issued=issued,
        jobs=jobs,
    )


def _check_has_levels(model: str) -> None:
    """Refuse an error model without a frozen requirement set: there is no level to reach by it."""
    from faultclock.load.error_model import model_ids
    from faultclock.load.requirement_set import set_ids

    known = set_ids()
    if model in known:
        return
    if model not in model_ids():
        raise UnknownNameError("error model with levels", model, known)
    raise InputError(
        f"the error model {model!r} has no levels to certify by",
        hint=f"--model takes one that has: {', '.join(known)}",
    )


def _made(request: Request, *, quiet: bool) -> Made:
    from msgspec.structs import replace

    from faultclock.certify.making import certify
    from faultclock.cli.steps import steps

    with steps(quiet=quiet) as on_progress:
        return certify(replace(request, on_progress=on_progress))


def _told(made: Made, request: Request, public: str, seconds: float, *, err: bool) -> int:
    appraisal = made.appraisal
    level = f"{appraisal.model} {appraisal.level}"
    if appraisal.is_reached:
        warned = " with warnings" if appraisal.verdict.value == "WARN" else ""
        for text in (
            f"certified{warned}: {request.binding.id} conforms to {level}"
            f" (requirement set {appraisal.set_revision})",
            f"  artifact  {request.source.artifact.name}  sha256 {request.source.artifact.digest}",
            f"  traces    {made.traces}",
            f"  signed by {request.key.public.key.keyid}",
            f"  written   {request.target}   (verify it: faultclock verify {request.target}"
            f" --key {public})",
        ):
            say(text, err=err)
        for name in appraisal.passed_over:
            say(f"  not played in this dialect: {name}", err=err)
        say(f"  {seconds:.1f} s", err=True)
        return OK
    say(
        f"not certified: {request.binding.id} does not reach {level}"
        f" ({count(len(appraisal.objections), 'objection')})",
        err=err,
    )
    for item in appraisal.objections[:_TOLD]:
        say(f"  {item.what}: {item.because}", err=err)
        if item.hint:
            say(f"      {item.hint}", err=err)
    if len(appraisal.objections) > _TOLD:
        say(
            f"  and {len(appraisal.objections) - _TOLD} more; --html FILE has all findings", err=err
        )
    return NONCONFORMING if appraisal.verdict.value == "FAIL" else INCONCLUSIVE
