"""Verifies a certificate: what is wrong with it, who vouches for it, and what stays open.

    verify(folder, trusted=key)     # offline, and nothing of the subject is run

In this order: every byte is compared with what was signed (`intact`), the traces are judged again
(`rejudging`), and on demand the artifact is digested and the runs are made again (`rerunning`).
What comes later is not asked for as long as something before it is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.certify.artifact import loaded_code, of_distributions, of_package, of_path
from harness.certify.intact import Intact, examined
from harness.certify.keys import PublicKey
from harness.certify.rejudging import Rejudged, rejudged
from harness.certify.rerunning import Rerun
from harness.model.certificate import Artifact, Fault, Subject, Verification, VerificationVerdict
from harness.model.evidence import Evidence
from harness.model.finding import Verdict

__all__ = [
    "Verified",
    "verify",
    "with_artifact",
    "with_code",
    "with_libraries",
    "with_rerun",
]

_ONLY_RERUN = (
    "that the subject does what its traces say: only running it again shows that (--rerun)"
)
_NOT_STORED = (
    "that each run is the same twice, and what the explored runs came to: they are not stored"
    " (--rerun)"
)
_NO_ARTIFACT = "that the artifact is the one you have (--artifact PATH)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What can be said, and what a further step goes on from.

    Attributes:
        evidence: None: something is wrong, and there is no further step.
    """

    verification: Verification
    evidence: Evidence | None = None
    artifact: Artifact | None = None


def verify(root: Path, *, trusted: PublicKey | None = None) -> Verified:
    """Return what can be said of the certificate in the folder `root`.

    Args:
        trusted: the key that the verifier trusts; None: nobody vouches for who signed.

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
        again = rejudged(root, intact)
        faults += again.faults
    open_ = list(again.open)
    if not faults and trusted is None:
        open_.append(
            "nobody vouches for the key: anybody can make one. Name the signer's: --key PATH.pub"
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


def with_code(verified: Verified, before: Mapping[str, object], package: str | None) -> Verified:
    """Return what can be said when the code that is loaded now is held against what was certified.

    Args:
        before: modules by name, as they were loaded before the subject was.
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
        for item in loaded_code(before, package)
        if item.digest not in certified
    ]
    return _extended(verified, faults)


def with_rerun(verified: Verified, again: Rerun) -> Verified:
    """Return what can be said when all was run again."""
    extended = _extended(verified, again.faults, without=(_ONLY_RERUN, _NOT_STORED))
    verification = extended.verification.model_copy(update={"reruns": again.runs})
    return Verified(
        verification=verification, evidence=extended.evidence, artifact=extended.artifact
    )


def _notes(again: Rejudged) -> tuple[str, ...]:
    hardened = again.evidence is not None and again.evidence.level == "hardened"
    return (_ONLY_RERUN, *((_NOT_STORED,) if hardened else ()), _NO_ARTIFACT)


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
