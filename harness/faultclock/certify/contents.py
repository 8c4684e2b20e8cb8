"""What a certificate consists of, each file from what it says, and nothing from anywhere else.

`certify` writes these files, and `verify` makes them again from the traces and compares: so there
is one place that says what belongs into them. Pure: no file, no clock.

    certificate.json    the envelope: statement and signature     (these five say the same)
    statement.json      what is signed
    predicate.json      of it, for other signers (GitHub, sigstore)
    signed.bin          the very bytes that the signature is of
    signature.bin       64 bytes
    SHA256SUMS          of all files below and of the traces; its own digest is in the statement
    key.pub             who signed
    artifact.json       what the certificate is about
    evidence.json       what was run
    appraisal.json      what it comes to, sentence by sentence
    requirement-set.json  by which
    report.json, report.html, badge.json, badge.svg, traces/...
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import date
from typing import Any

from msgspec import Struct

from faultclock.certify.envelope import Signed, canonical
from faultclock.certify.keys import PublicKey
from faultclock.model.canonical import canonical_text
from faultclock.model.report.certificate import Artifact, Resource, Statement, Subject, TestResult
from faultclock.model.report.conformance import Appraisal, RequirementSet
from faultclock.model.report.evidence import Evidence
from faultclock.model.report.finding import Report, Verdict
from faultclock.render.badge import badge_json, badge_svg
from faultclock.render.html_text import html_report
from faultclock.render.json_text import json_report

CERTIFICATE = "certificate.json"
STATEMENT = "statement.json"
PREDICATE = "predicate.json"
SIGNED = "signed.bin"
SIGNATURE = "signature.bin"
#: What follows from statement and signature alone.
DERIVED = (CERTIFICATE, STATEMENT, PREDICATE, SIGNED, SIGNATURE)
SUMS = "SHA256SUMS"
KEY = "key.pub"
TRACES = "traces/"
#: The largest trace that is read; the log of a run is cut long before that.
TRACE_BYTES_MAX = 256_000_000
_TRACE_SUFFIX = ".jsonl"


class Contents(Struct, frozen=True, kw_only=True):
    """What a certificate says, before anybody signs it.

    Attributes:
        faultclock: version and digest of the package that made it: nothing else shows them.
        issued: the day that it shall say; None: it says none.
    """

    artifact: Artifact
    evidence: Evidence
    report: Report
    appraisal: Appraisal
    requirements: RequirementSet
    requirements_digest: str
    faultclock: tuple[str, str]
    issued: date | None
    key: PublicKey

    def files(self) -> dict[str, bytes]:
        """Return the files that lie beside the statement, but for the traces."""
        return {
            KEY: self.key.content,
            "appraisal.json": _json(self.appraisal),
            "artifact.json": _json(self.artifact),
            "badge.json": badge_json(self.appraisal).encode("utf-8"),
            "badge.svg": badge_svg(self.appraisal).encode("utf-8"),
            "evidence.json": _json(self.evidence),
            "report.html": html_report(self.report).encode("utf-8"),
            "report.json": json_report(self.report).encode("utf-8"),
            "requirement-set.json": _json(self.requirements),
        }


def trace_name(name: str) -> str:
    """Return the file that a trace of the evidence lies in."""
    return f"{TRACES}{name}{_TRACE_SUFFIX}"


def sums_of(digests: Mapping[str, str]) -> bytes:
    """Return the list of files with their SHA-256 (hex), as `sha256sum -c` reads it."""
    ordered = sorted(digests, key=lambda name: name.encode("utf-8"))
    return "".join(f"{digests[name]}  {name}\n" for name in ordered).encode("utf-8")


def statement_of(contents: Contents, digests: Mapping[str, str]) -> Statement:
    """Return what is to be signed.

    Args:
        digests: SHA-256 (hex) of each file beside it, traces included.
    """
    appraisal = contents.appraisal
    passed, warned = _tests(contents.report, appraisal)
    return Statement(
        subject=(
            Subject(name=contents.artifact.name, digest={"sha256": contents.artifact.digest}),
        ),
        predicate=TestResult(
            result="WARNED" if appraisal.verdict is Verdict.WARN else "PASSED",
            configuration=_configuration(contents, digests),
            passedTests=passed,
            warnedTests=warned,
        ),
    )


def derived_files(signed: Signed, statement: Statement) -> dict[str, bytes]:
    """Return the files that follow from statement and signature alone."""
    value = payload_value(statement)
    return {
        CERTIFICATE: signed.envelope(),
        STATEMENT: signed.payload,
        PREDICATE: canonical(value["predicate"]),
        SIGNED: signed.signed_bytes(),
        SIGNATURE: signed.signature,
    }


def payload_value(statement: Statement) -> dict[str, Any]:
    """Return a statement as JSON-able data, with the names of in-toto."""
    return statement.model_dump(mode="json", by_alias=True)


def _configuration(contents: Contents, digests: Mapping[str, str]) -> tuple[Resource, ...]:
    artifact, evidence, set_ = contents.artifact, contents.evidence, contents.requirements
    version, package = contents.faultclock
    sums = sums_of(digests)
    issued = {} if contents.issued is None else {"issued": contents.issued.isoformat()}
    expires, created = contents.key.expires, contents.key.created
    files: dict[str, dict[str, Any]] = {
        "appraisal.json": {"verdict": contents.appraisal.verdict.value},
        "artifact.json": {"kind": artifact.kind, "files": len(artifact.files)},
        "evidence.json": {
            "runs": len(evidence.traces),
            "seeds": sorted({item.seed for item in evidence.traces}),
            "doubles": len(evidence.doubles),
            "explored": _explored(evidence),
        },
        KEY: {
            "keyid": contents.key.key.keyid,
            "public": contents.key.key.keyval["public"],
            "expires": None if expires is None else expires.isoformat(),
            **({} if created is None else {"created": created.isoformat()}),
        },
        "report.json": {},
    }
    return (
        _resource("faultclock", package, version=version),
        _resource(
            "error-model",
            set_.model_digest,
            id=set_.model,
            revision=set_.model_revision,
            readings=dict(contents.report.readings),
        ),
        _resource(
            "requirement-set",
            contents.requirements_digest,
            model=set_.model,
            revision=set_.revision,
            role=evidence.role,
            level=contents.appraisal.level,
        ),
        _resource(SUMS, hashlib.sha256(sums).hexdigest(), files=len(digests), **issued),
        *(_resource(name, digests[name], **notes) for name, notes in files.items()),
        *(
            _resource(
                f"distribution:{name}", digest, version=evidence.subject.distributions.get(name)
            )
            for name, digest in sorted(artifact.distributions.items())
        ),
    )


def _explored(evidence: Evidence) -> int:
    return 0 if evidence.explored is None else evidence.explored.exploration.runs


def _resource(name: str, digest: str, **annotations: Any) -> Resource:
    return Resource(name=name, digest={"sha256": digest}, annotations=annotations)


def _tests(report: Report, appraisal: Appraisal) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of what passed and of what passed with a warning."""
    verdicts: dict[str, set[Verdict]] = {}
    for run in report.runs:
        verdicts.setdefault(f"scenario:{run.scenario}", set()).add(run.verdict)
    words = {"kept": Verdict.PASS, "warned": Verdict.WARN}
    for item in appraisal.obligations:
        if item.status in words:
            verdicts[f"requirement:{item.requirement}"] = {words[item.status]}
    warned = {name for name, found in verdicts.items() if Verdict.WARN in found}
    passed = {name for name, found in verdicts.items() if Verdict.PASS in found} - warned
    return tuple(sorted(passed)), tuple(sorted(warned))


def _json(value: Artifact | Appraisal | Evidence | RequirementSet) -> bytes:
    # Not by RFC 8785, whose numbers are those of JavaScript: nanoseconds may be larger.
    return f"{canonical_text(value)}\n".encode("ascii")
