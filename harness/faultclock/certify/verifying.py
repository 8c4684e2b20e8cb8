"""Verifies a certificate: what is wrong with it, who vouches for it, and what stays open.

    verify(folder, trusted=key)     # offline, and nothing of the subject is run

In this order: every byte is compared with what was signed (`intact`), the traces are judged again
(`rejudging`), and on demand the artifact is digested and the runs are made again (`rerunning`).
What comes later is not asked for as long as something before it is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path

from msgspec import Struct

from faultclock.certify.artifact import loaded_code_of, of_distributions, of_package, of_path
from faultclock.certify.contents import KEY, STATEMENT, SUMS
from faultclock.certify.folder import read_file
from faultclock.certify.intact import Intact, examined
from faultclock.certify.keys import PublicKey, parse_public_key
from faultclock.certify.rejudging import Rejudged, rejudged
from faultclock.certify.rerunning import Rerun
from faultclock.errors import InputError
from faultclock.model.report.certificate import (
    Artifact,
    Fault,
    Subject,
    Verification,
    VerificationVerdict,
)
from faultclock.model.report.evidence import Evidence
from faultclock.model.report.finding import Verdict
from faultclock.subjects.binding import Binding

_ONLY_RERUN = (
    "that the subject does what its traces say: only running it again shows that (--rerun)"
)
_NOT_STORED = (
    "that each run is the same twice, and what the explored runs came to: they are not stored"
    " (--rerun)"
)
#: Of a key file.
_KEY_MAX = 16_384
_NO_ARTIFACT = "that the artifact is the one you have (--artifact PATH)"


class Verified(Struct, frozen=True, kw_only=True):
    """What can be said, and what a further step goes on from.

    Attributes:
        evidence: None: something is wrong, and there is no further step.
    """

    verification: Verification
    evidence: Evidence | None = None
    artifact: Artifact | None = None


def verify(root: Path, *, trusted: PublicKey | None = None, day: date | None = None) -> Verified:
    """Return what can be said of the certificate in the folder `root`.

    Args:
        trusted: the key that the verifier trusts; None: the signer is unknown.
        day: that of the verifier, or the one on which an old certificate has to be valid; None:
            nothing is compared with it.

    Raises:
        InputError: there is no such folder.
    """
    intact = examined(root, trusted)
    faults = list(intact.faults)
    signer = intact.key.key.keyid if intact.key is not None else ""
    vouched = trusted is not None and signer == trusted.key.keyid
    if trusted is not None and signer and not vouched:
        faults.append(
            Fault(file="", what=f"it was signed by another key ({signer}), not by the one given")
        )
    again = Rejudged()
    if not faults:
        faults += _out_of_time(root, intact, trusted, day)
    if not faults:
        again = rejudged(root, intact)
        faults += again.faults
    open_ = list(again.open)
    if not faults and trusted is None:
        open_.append(
            "the key is not trusted: anyone can make one. Name the signer's key: --key PATH.pub"
        )
    verification = Verification(
        verdict=_verdict(faults, open_),
        signer=signer,
        vouched=vouched,
        subject=_subject(intact),
        claim=_claim(again),
        faults=tuple(faults),
        open=tuple(open_),
        notes=_notes(again) if not faults else (),
        files=intact.files,
        traces=again.traces,
    )
    sound = not faults and again.appraisal is not None
    return Verified(
        verification=verification,
        evidence=again.evidence if sound else None,
        artifact=again.artifact,
    )


def with_artifact(verified: Verified, path: Path) -> Verified:
    """Return what can be said when the artifact at `path` is held against the certificate's.

    Raises:
        InputError: it cannot be read.
    """
    artifact = verified.artifact
    if artifact is None or verified.evidence is None:
        return verified
    found = of_path(path, name=artifact.name)
    faults: list[Fault] = []
    if found.digest != artifact.digest:
        other = sorted(
            name
            for name in found.files.keys() | artifact.files.keys()
            if found.files.get(name) != artifact.files.get(name)
        )
        shown = f": other is {other[0]}" if other else ""
        faults.append(Fault(file="artifact.json", what=f"{path} is not what was certified{shown}"))
    return _extended(verified, faults, without=(_NO_ARTIFACT,))


def with_libraries(verified: Verified) -> Verified:
    """Return what can be said when the installed libraries are held against the certificate's.

    Raises:
        InputError: one is not installed.
    """
    artifact = verified.artifact
    if artifact is None or verified.evidence is None:
        return verified
    found = of_distributions(artifact.distributions)
    faults = [
        Fault(file="artifact.json", what=f"the library {name} that is installed is another one")
        for name, digest in found.items()
        if artifact.distributions[name] != digest
    ]
    return _extended(verified, faults)


def with_code(verified: Verified, binding: Binding, package: str | None) -> Verified:
    """Return what can be said when the loaded code is compared with what was certified.

    Args:
        package: top-level package of the subject, if it is named by one.

    Raises:
        InputError: a module was not loaded from the file that it names.
    """
    artifact = verified.artifact
    if artifact is None or verified.evidence is None:
        return verified
    if artifact.kind == "shipped":
        same = artifact.digest == of_package()
        what = "the installed package of Faultclock is another one"
        return _extended(verified, [] if same else [Fault(file="artifact.json", what=what)])
    certified = {artifact.files[name] for name in artifact.loaded}
    faults = [
        Fault(file="artifact.json", what=f"{item.path} is loaded now, and was not certified")
        for item in loaded_code_of(binding, package)
        if item.digest not in certified
    ]
    return _extended(verified, faults)


def with_rerun(verified: Verified, again: Rerun, read: Mapping[str, str]) -> Verified:
    """Return what can be said when all was run again.

    Args:
        read: what the subject read meanwhile, as `data_read` says it.
    """
    assert verified.artifact is not None, "it was read with the evidence"
    certified = verified.artifact.read
    faults = [
        Fault(file="artifact.json", what=f"{name} is read now, and was not certified as it is")
        for name, digest in read.items()
        if certified.get(name) != digest and verified.artifact.kind != "shipped"
    ]
    notes = (_ONLY_RERUN, _NOT_STORED, _not_yours(certified))
    extended = _extended(verified, [*again.faults, *faults], without=notes)
    verification = extended.verification.model_copy(update={"reruns": again.runs})
    return Verified(
        verification=verification, evidence=extended.evidence, artifact=extended.artifact
    )


def _notes(again: Rejudged) -> tuple[str, ...]:
    hardened = again.evidence is not None and again.evidence.level == "hardened"
    artifact = again.artifact
    read = (_not_yours(artifact.read),) if artifact is not None and artifact.read else ()
    names = ", ".join(artifact.variables) if artifact is not None else ""
    unset = (f"which values it was certified with of the variables that it reads: {names}",)
    hardened_only = (_NOT_STORED,) if hardened else ()
    return (_ONLY_RERUN, *hardened_only, _NO_ARTIFACT, *read, *(unset if names else ()))


def _not_yours(read: Mapping[str, str]) -> str:
    return f"that the files it reads are those you have: {', '.join(read)} (--rerun)"


def _extended(
    verified: Verified, faults: list[Fault], *, without: tuple[str, ...] = ()
) -> Verified:
    old = verified.verification
    faults = [*old.faults, *faults]
    verification = old.model_copy(
        update={
            "faults": tuple(faults),
            "notes": tuple(note for note in old.notes if note not in without),
            "verdict": _verdict(faults, list(old.open)),
        }
    )
    return Verified(
        verification=verification,
        evidence=None if faults else verified.evidence,
        artifact=verified.artifact,
    )


def _out_of_time(
    root: Path, intact: Intact, trusted: PublicKey | None, day: date | None
) -> list[Fault]:
    """Return what is wrong with the days: of the certificate, of its key, and of the verifier."""
    assert intact.statement is not None, "it is intact"
    try:
        own = parse_public_key(read_file(root, KEY, bytes_max=_KEY_MAX) or b"", KEY)
        sums = intact.statement.resource(SUMS)
        said = sums.annotations.get("issued") if sums is not None else None
        issued = None if said is None else date.fromisoformat(said)
    except (InputError, TypeError, ValueError):
        # `rejudged` says what it is.
        return []
    keys = (own,) if trusted is None else (own, trusted)
    last = min((key.expires for key in keys if key.expires is not None), default=None)
    first = max((key.created for key in keys if key.created is not None), default=None)
    found = []
    if day is not None and last is not None and day > last:
        found.append(Fault(file=KEY, what=f"this key expired: its last day was {last}"))
    if issued is not None:
        was = f"it says that it was issued on {issued}"
        if last is not None and issued > last:
            found.append(
                Fault(file=STATEMENT, what=f"{was}, after the last day of its key, {last}")
            )
        if first is not None and issued < first:
            found.append(Fault(file=STATEMENT, what=f"{was}, before its key was made on {first}"))
        if day is not None and issued > day:
            found.append(Fault(file=STATEMENT, what=f"{was}, and it is verified for {day}"))
    return found


def _verdict(faults: list[Fault], open_: list[str]) -> VerificationVerdict:
    if faults:
        return "refused"
    return "not known" if open_ else "verified"


def _subject(intact: Intact) -> Subject | None:
    return intact.statement.subject[0] if intact.statement is not None else None


def _claim(again: Rejudged) -> str:
    """Return who conforms to what, where the traces that were judged again bear it out."""
    appraisal, evidence = again.appraisal, again.evidence
    if appraisal is None or evidence is None or not appraisal.is_reached:
        return ""
    warned = ", with warnings" if appraisal.verdict is Verdict.WARN else ""
    return (
        f"{evidence.subject.id} ({evidence.role.replace('_', ' ')}) conforms to"
        f" {appraisal.model} {appraisal.model_revision} at the level {appraisal.level},"
        f" requirement set {appraisal.set_revision} ({appraisal.set_digest[:12]}){warned}"
    )
