"""`faultclock verify`: what can be said of a certificate, offline."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.exits import INCONCLUSIVE, NONCONFORMING, OK
from harness.cli.key_options import day, require_certify, today
from harness.cli.options import jobs_option

if TYPE_CHECKING:
    from harness.certify.verifying import Verified
    from harness.model.certificate import Verification

__all__ = ["command"]

_EPILOG = """\
DIR is a folder that `faultclock certify` has written. Every byte of it is compared with what was
signed, and the stored traces are judged again: no network is needed, and nothing of the subject
is run. With --rerun all is run again, and compared with the traces.

Without --key nobody vouches for who signed: anybody can make a key.

\b
Examples:
  faultclock verify certificate --key team.key.pub
  faultclock verify certificate --key team.key.pub --artifact my_package-1.0-py3-none-any.whl
  faultclock verify certificate --key team.key.pub --rerun --subject my_adapter.py:subject
  faultclock verify certificate --json - | jq .verdict

\b
Exit codes: 0 verified, 1 refused: something was changed, is not what the traces say, or was
signed by another key, 2 wrong usage or a key that cannot be used, 3 nothing is wrong, but no
key was given, or this version of Faultclock cannot judge it.
"""


@click.command(name="verify", epilog=_EPILOG)
@click.argument("folder", metavar="DIR")
@click.option("--key", metavar="FILE", help="Public key of whom you trust.")
@click.option(
    "--at",
    callback=day,
    metavar="DATE",
    help="Day on which the key has to be valid. The default is today.",
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
    from harness.certify.keys import load_public_key, require_in_time
    from harness.certify.verifying import verify, with_artifact

    trusted = None
    if key is not None:
        trusted = load_public_key(key)
        require_in_time(key, trusted.expires, at or today())
    root = Path(folder)
    verified = verify(root, trusted=trusted)
    if artifact is not None:
        verified = with_artifact(verified, Path(artifact))
    if rerun and verified.evidence is not None:
        verified = _again(verified, root, subject, jobs=jobs, quiet=quiet)
    return _told(verified.verification, root, json_file)


def _again(
    verified: Verified, root: Path, subject: str | None, *, jobs: int, quiet: bool
) -> Verified:
    from harness.certify.making import package_of
    from harness.certify.rerunning import rerun
    from harness.certify.verifying import with_code, with_libraries, with_rerun
    from harness.certify.watching import Watch
    from harness.cli.steps import steps
    from harness.errors import InputError
    from harness.run.prepare import prepare

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
        binding = prepare(spec)
        # What it is held against is ours, or whoever is loaded has the last word.
        watch.check_untouched()
        verified = with_code(with_libraries(verified), watch.before, package_of(spec))
        if verified.evidence is None:
            return verified
        with steps(quiet=quiet) as on_progress:
            again = rerun(root, evidence, binding, spec, jobs=jobs, on_progress=on_progress)
        watch.check_untouched()
    return with_rerun(verified, again)


def _told(found: Verification, root: Path, json_file: str | None) -> int:
    if json_file is not None:
        from harness.load.files import write_text_atomically

        text = found.model_dump_json(indent=2) + "\n"
        if json_file == "-":
            click.echo(text, nl=False)
        else:
            write_text_atomically(json_file, text)
    codes = {"verified": OK, "refused": NONCONFORMING, "not known": INCONCLUSIVE}
    words = {"verified": "verified", "refused": "REFUSED", "not known": "intact, but not verified"}
    err = json_file == "-"

    def say(text: str) -> None:
        from harness.render.wording import visible

        click.echo(visible(text), err=err)

    say(f"{words[found.verdict]}: {root}")
    if found.claim and not found.faults:
        say(f"  claim      {found.claim}")
    if found.subject is not None and not found.faults:
        say(f"  artifact   {found.subject.name}  sha256 {found.subject.digest['sha256']}")
    if found.signer:
        whose = "the key that you trust" if found.vouched else "a key that nobody vouches for"
        say(f"  signed by  {found.signer}, {whose}")
    again = f", {found.reruns} run again" if found.reruns else ""
    say(f"  compared   {found.files} files, {found.traces} traces judged again{again}")
    for fault in found.faults:
        say(f"  wrong      {fault.file + ': ' if fault.file else ''}{fault.what}")
    for text in found.open:
        say(f"  open       {text}")
    for text in found.notes:
        say(f"  not shown  {text}")
    return codes[found.verdict]
