"""`faultclock verify`: what can be said of a certificate, offline."""

from __future__ import annotations

from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from faultclock.cli.exits import INCONCLUSIVE, NONCONFORMING, OK
from faultclock.cli.key_options import day, require_certify, today
from faultclock.cli.options import jobs_option
from faultclock.cli.say import machine, say

if TYPE_CHECKING:
    from faultclock.certify.verifying import Verified
    from faultclock.model.report.certificate import Verification

_EPILOG = """\
DIR is a folder that `faultclock certify` has written. Every byte of it is compared with what was
signed, and the stored traces are judged again: no network is needed, and nothing of the subject
is run. With --rerun all is run again, and compared with the traces.

Without --key it is not known who signed: everyone can make a key.

\b
Examples:
  faultclock verify certificate --key team.key.pub
  faultclock verify certificate --key team.key.pub --artifact my_package-1.0-py3-none-any.whl
  faultclock verify certificate --key team.key.pub --rerun --subject my_adapter.py:subject
  faultclock verify certificate --json - | jq .verdict

Exit codes: 0 verified, 1 refused: something was changed, is not what the traces say, or was
signed by another key, 2 wrong usage or a key that cannot be used, 3 nothing is wrong, but no
key was given, or this version of Faultclock cannot judge it.
"""


@click.command(name="verify", epilog=_EPILOG)
@click.argument("folder", metavar="DIR")
@click.option("--key", metavar="FILE", help="Public key of the signer that you trust.")
@click.option(
    "--at",
    callback=day,
    metavar="DATE",
    help="Day on which the key has to be valid, and by which the certificate has to be issued, "
    "for an old certificate. The default is today.",
)
@click.option(
    "--artifact",
    metavar="PATH",
    help="Compare this wheel, sdist, folder or file with what was certified.",
)
@click.option("--rerun", is_flag=True, help="Run the subject again, and compare every trace.")
@click.option(
    "--subject",
    metavar="ID|FILE.py:NAME",
    help="Subject of --rerun. The default is the shipped one that was certified.",
)
@click.option(
    "--json",
    "json_file",
    metavar="FILE",
    help="Write what was found as JSON; - is standard output.",
)
@jobs_option("Worker processes of --rerun.")
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
def command(
    folder: str,
    key: str | None,
    at: date | None,
    artifact: str | None,
    rerun: bool,
    subject: str | None,
    json_file: str | None,
    jobs: int,
    quiet: bool,
) -> int:
    """Verify a certificate."""
    require_certify()
    if subject is not None and not rerun:
        raise click.UsageError("--subject goes with --rerun: nothing is run without it")
    from faultclock.certify.keys import load_public_key, require_in_time
    from faultclock.certify.verifying import verify, with_artifact

    trusted = None
    if key is not None:
        trusted = load_public_key(key)
        require_in_time(key, trusted.expires, at or today())
    root = Path(folder)
    verified = verify(root, trusted=trusted, day=at or today())
    if artifact is not None:
        verified = with_artifact(verified, Path(artifact))
    if rerun and verified.evidence is not None:
        verified = _again(verified, root, subject, jobs=jobs, quiet=quiet)
    return _told(verified.verification, root, json_file)


def _again(
    verified: Verified, root: Path, subject: str | None, *, jobs: int, quiet: bool
) -> Verified:
    from faultclock.certify.artifact import data_read
    from faultclock.certify.making import folder_of, package_of
    from faultclock.certify.rerunning import rerun
    from faultclock.certify.verifying import with_code, with_libraries, with_rerun
    from faultclock.certify.watching import Watch
    from faultclock.cli.preparing import prepared
    from faultclock.cli.steps import steps
    from faultclock.errors import InputError

    evidence, artifact = verified.evidence, verified.artifact
    assert evidence is not None, "what is refused is not run"
    assert artifact is not None, "it was read with the evidence"
    if subject is None and artifact.kind != "shipped":
        raise InputError(
            f"--rerun needs the subject: {evidence.subject.id} does not come with Faultclock",
            hint=f"--subject path/to/{evidence.subject_spec}",
        )
    spec = subject if subject is not None else evidence.subject_spec
    with Watch() as watch:
        binding = prepared(spec).binding
        verified = with_code(with_libraries(verified), binding, package_of(spec))
        if verified.evidence is None:
            return verified
        with steps(quiet=quiet) as on_progress:
            again = rerun(root, evidence, binding, spec, jobs=jobs, on_progress=on_progress)
        read = data_read(watch.reads(), folder_of(spec))
    return with_rerun(verified, again, read)


def _told(found: Verification, root: Path, json_file: str | None) -> int:
    if json_file is not None:
        from faultclock.load.files import write_text_atomically

        text = found.model_dump_json(indent=2) + "\n"
        if json_file == "-":
            machine(text)
        else:
            write_text_atomically(json_file, text)
    codes = {"verified": OK, "refused": NONCONFORMING, "not known": INCONCLUSIVE}
    words = {"verified": "verified", "refused": "REFUSED", "not known": "intact, but not verified"}
    tell = partial(say, err=json_file == "-")
    tell(f"{words[found.verdict]}: {root}")
    if found.claim and not found.faults:
        tell(f"  claim      {found.claim}")
    if found.subject is not None and not found.faults:
        tell(f"  artifact   {found.subject.name}  sha256 {found.subject.digest['sha256']}")
    if found.signer:
        key = "the key that you trust" if found.vouched else "a key that is not known"
        tell(f"  signed by  {found.signer}, {key}")
    again = f", {found.reruns} run again" if found.reruns else ""
    tell(f"  compared   {found.files} files, {found.traces} traces judged again{again}")
    for fault in found.faults:
        tell(f"  wrong      {fault.file + ': ' if fault.file else ''}{fault.what}")
    for text in found.open:
        tell(f"  open       {text}")
    for text in found.notes:
        tell(f"  not shown  {text}")
    return codes[found.verdict]
