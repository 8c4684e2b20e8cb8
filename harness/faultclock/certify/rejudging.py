"""Judges the traces of a certificate again, and compares all that it says with what comes out.

A valid signature says who made a claim, and not that it is true. A signer of a report that says
PASS where a trace says FAIL, raises a level or leaves a scenario out is found here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import TypeVar

from msgspec import Struct, field
from pydantic import BaseModel, ValidationError

import faultclock
from faultclock.certify.artifact import of_package
from faultclock.certify.contents import (
    KEY,
    STATEMENT,
    SUMS,
    TRACE_BYTES_MAX,
    TRACES,
    Contents,
    statement_of,
    trace_name,
)
from faultclock.certify.folder import read_file
from faultclock.certify.intact import Intact
from faultclock.certify.keys import parse_public_key
from faultclock.certify.levels.appraisal import appraise
from faultclock.certify.levels.judging import judged
from faultclock.certify.trees import digest_of_files
from faultclock.errors import HarnessError, InputError
from faultclock.load.error_model import load_error_model
from faultclock.load.requirement_set import load_requirement_set, set_digest, set_ids
from faultclock.load.trace_file import parse_trace
from faultclock.model.report.certificate import Artifact, Fault, Statement
from faultclock.model.report.conformance import Appraisal, RequirementSet
from faultclock.model.report.evidence import Evidence, Judged
from faultclock.model.trace.trace import Trace
from faultclock.subjects.registry import shipped_ids

_JSON_MAX = 512_000_000
_NO_RUN = "they say what no run can say, and cannot be judged"

ModelT = TypeVar("ModelT", bound=BaseModel)


class Rejudged(Struct):
    """What came out.

    Attributes:
        open: why something is unknown to this version of Faultclock.
        evidence: None: it could not be read.
    """

    faults: list[Fault] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    evidence: Evidence | None = None
    artifact: Artifact | None = None
    appraisal: Appraisal | None = None
    traces: int = 0

    def fault(self, file: str, what: str) -> None:
        """Note that something is wrong with `file`."""
        self.faults.append(Fault(file=file, what=what))


class _Claim(Struct, frozen=True, kw_only=True):
    """What the statement says and no file shows."""

    version: str
    package: str
    issued: date | None

    @property
    def is_of_this(self) -> bool:
        """Whether it was made by exactly this Faultclock."""
        return (self.version, self.package) == (faultclock.__version__, of_package())


def rejudged(root: Path, intact: Intact) -> Rejudged:
    """Judge again what lies in `root`, which is as it was signed."""
    result = Rejudged()
    assert intact.statement is not None
    claim = _claim(intact.statement, result)
    evidence = result.evidence = _read(root, "evidence.json", Evidence, result)
    artifact = result.artifact = _read(root, "artifact.json", Artifact, result)
    stored = _read(root, "requirement-set.json", RequirementSet, result)
    if claim is None or evidence is None or artifact is None or stored is None:
        return result
    _check_artifact(artifact, evidence, claim, result)
    _check_traces_named(evidence, intact, result)
    if not _is_known(stored, evidence, result) or result.faults:
        return result
    found = _judged(root, evidence, stored, result)
    if found is None:
        return result
    appraisal, _ = found
    result.appraisal = appraisal
    result.traces = len(evidence.traces)
    if not appraisal.is_reached:
        _tell_not_reached(appraisal, claim, result)
        return result
    try:
        contents = _contents(root, stored, found, claim, result)
        _compare(contents, claim, intact, result)
    except InputError as error:
        result.fault(KEY, error.message)
    except Exception as error:  # noqa: BLE001 - pages are drawn of what no run of ours can write
        result.fault(TRACES, f"{_NO_RUN} ({type(error).__name__})")
    return result


def _contents(
    root: Path,
    stored: RequirementSet,
    found: tuple[Appraisal, Judged],
    claim: _Claim,
    result: Rejudged,
) -> Contents:
    """Return what the certificate would say if it were made now."""
    assert result.artifact is not None
    assert result.evidence is not None
    appraisal, again = found
    return Contents(
        artifact=result.artifact,
        evidence=result.evidence,
        # The version that a report names is that of the Faultclock which made it.
        report=again.report.model_copy(update={"faultclock": claim.version}),
        appraisal=appraisal,
        requirements=stored,
        requirements_digest=set_digest(stored),
        faultclock=(claim.version, claim.package),
        issued=claim.issued,
        key=parse_public_key(read_file(root, KEY, bytes_max=_JSON_MAX) or b"", KEY),
    )


def _compare(contents: Contents, claim: _Claim, intact: Intact, result: Rejudged) -> None:
    """Compare what comes out with what was signed."""
    files = contents.files()
    other = [
        name
        for name, content in files.items()
        if intact.sums.get(name) != hashlib.sha256(content).hexdigest()
    ]
    # What is not checked must not lie beside what is checked, under the same signature.
    strange = [name for name in intact.sums if name not in files and not name.startswith(TRACES)]
    if claim.is_of_this:
        for name in strange:
            result.fault(name, "a certificate has no such file, and nothing says that it is true")
    else:
        other += strange
    if not other and statement_of(contents, intact.sums) != intact.statement:
        other.append(STATEMENT)
    if other and not claim.is_of_this:
        result.open.append(
            f"{' and '.join(other)} cannot be made again by this Faultclock: the certificate was"
            f" made by {claim.version} ({claim.package[:12]}). Its traces were judged again, and"
            " reach the level"
        )
        return
    for name in other:
        result.fault(name, "it does not say what comes out when the traces are judged")


def _judged(
    root: Path, evidence: Evidence, set_: RequirementSet, result: Rejudged
) -> tuple[Appraisal, Judged] | None:
    try:
        model = load_error_model(set_.model)
        again = judged(evidence, _traces(root, result), model=model, set_=set_)
        return appraise(set_, model, evidence, again), again
    except _TraceError:
        return None
    except HarnessError as error:
        result.open.append(f"it cannot be judged by this Faultclock: {error.message}")
    except Exception as error:  # noqa: BLE001 - rules meet facts that no run of ours can write
        result.fault(TRACES, f"{_NO_RUN} ({type(error).__name__})")
    return None


class _TraceError(Exception):
    """A trace that cannot be read; the fault is noted."""


def _traces(root: Path, result: Rejudged) -> Callable[[str], Trace]:
    def trace_of(name: str) -> Trace:
        file = trace_name(name)
        content = read_file(root, file, bytes_max=TRACE_BYTES_MAX)
        if content is None:
            result.fault(file, "it cannot be read, or is too large for a trace")
            raise _TraceError
        try:
            return parse_trace(content, file)
        except InputError as error:
            result.fault(file, f"this is not a trace: {error.message}")
            raise _TraceError from None

    return trace_of


def _check_traces_named(evidence: Evidence, intact: Intact, result: Rejudged) -> None:
    named = [trace_name(item.name) for item in evidence.traces]
    there = {name for name in intact.sums if name.startswith(TRACES)}
    for name in sorted(there - set(named)):
        result.fault(name, "the evidence names no such trace")
    for name in sorted(set(named) - there):
        result.fault(name, "the evidence names it, and it is not there")
    if len(set(named)) != len(named):
        result.fault("evidence.json", "it names a trace twice")


def _check_artifact(
    artifact: Artifact, evidence: Evidence, claim: _Claim, result: Rejudged
) -> None:
    """Check that the artifact is one, and that the subject of the traces was loaded from it."""
    name = "artifact.json"
    if artifact.kind in ("tree", "shipped"):
        if digest_of_files(artifact.files) != artifact.digest:
            result.fault(name, "the digest of the tree is not that of its files")
    elif artifact.kind == "file" and list(artifact.files.values()) != [artifact.digest]:
        result.fault(name, "the digest of the file is not that of its one file")
    if not set(artifact.loaded) <= set(artifact.files):
        result.fault(name, "it says that files were loaded which it does not hold")
        return
    source = evidence.subject.source_digest
    if artifact.kind == "shipped":
        if source is not None or evidence.subject.id not in _ids(evidence):
            result.fault(name, "the subject of the traces does not come with Faultclock")
        if artifact.digest != claim.package:
            result.fault(name, "it is another package than the Faultclock that judged it")
    elif source not in {artifact.files[item] for item in artifact.loaded}:
        result.fault(name, "the subject of the traces was not loaded from it")
    if set(artifact.distributions) != set(evidence.subject.distributions):
        result.fault(name, "its libraries are not those that the subject names")


def _ids(evidence: Evidence) -> tuple[str, ...]:
    """Return the ids that a shipped subject of this evidence may have."""
    return (evidence.subject_spec,) if evidence.subject_spec in shipped_ids() else ()


def _is_known(stored: RequirementSet, evidence: Evidence, result: Rejudged) -> bool:
    """Return whether `stored` is the set that this Faultclock has."""
    name = "requirement-set.json"
    digest = set_digest(stored)
    if (evidence.set_digest, evidence.set_revision) != (digest, stored.revision):
        result.fault(name, "it is not the set that the evidence was gathered for")
        return False
    # By its id alone: what a stranger wrote into a file must not lead to a set of their own.
    if stored.model not in set_ids():
        result.fault(name, "Faultclock has no requirement set of that error model")
        return False
    known = load_requirement_set(stored.model)
    if set_digest(known) == digest:
        # Beside what its digest is of, a set names those before it.
        if known != stored:
            result.fault(name, "it names other earlier sets than Faultclock does")
        return known == stored
    past = {(item.revision, item.digest) for item in known.history}
    if (stored.revision, digest) in past:
        result.open.append(
            f"it is of requirement set {stored.revision} of {stored.model}, and this Faultclock"
            f" judges by set {known.revision}: verify it with the Faultclock that made it"
        )
    elif stored.revision > known.revision:
        result.open.append(
            f"it is of requirement set {stored.revision} of {stored.model}, and this Faultclock"
            f" knows sets up to {known.revision}: verify it with a newer Faultclock"
        )
    else:
        result.fault(name, "this set is not one of Faultclock's")
    return False


def _claim(statement: Statement, result: Rejudged) -> _Claim | None:
    harness_ = statement.resource("faultclock")
    sums = statement.resource(SUMS)
    version = harness_.annotations.get("version") if harness_ is not None else None
    issued = sums.annotations.get("issued") if sums is not None else None
    if harness_ is None or not isinstance(version, str):
        result.fault(STATEMENT, "it does not say which Faultclock made it")
        return None
    try:
        day = date.fromisoformat(issued) if issued is not None else None
    except (TypeError, ValueError):
        result.fault(STATEMENT, "the day that it names is none")
        return None
    return _Claim(version=version, package=harness_.digest["sha256"], issued=day)


def _read(root: Path, name: str, kind: type[ModelT], result: Rejudged) -> ModelT | None:
    content = read_file(root, name, bytes_max=_JSON_MAX)
    if content is None:
        result.fault(name, "it is missing, or too large")
        return None
    try:
        return kind.model_validate_json(content)
    except (ValidationError, ValueError, RecursionError):
        result.fault(name, "it does not hold what a file of this name does")
        return None


def _tell_not_reached(appraisal: Appraisal, claim: _Claim, result: Rejudged) -> None:
    by = "" if claim.is_of_this else " by this Faultclock, which is not the one that made it"
    shown = appraisal.objections[:5]
    for item in shown:
        result.fault(
            "appraisal.json",
            f"judged again{by}, the level is not reached: {item.what}: {item.because}",
        )
    if len(appraisal.objections) > len(shown) or not shown:
        result.fault(
            "appraisal.json",
            f"judged again{by}, the level is not reached: {len(appraisal.objections)} objections",
        )
