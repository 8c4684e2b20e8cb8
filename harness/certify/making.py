"""Gives a certificate, or says why not.

    asked = Request(...)
    result = certify(asked)         # runs all that the level needs
    result.objections               # none: it was given

What is refused leaves nothing behind. What a certificate says comes from the traces that it holds;
no clock is read, and no path, user or host of this machine stands in it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import harness
from harness.certify.artifact import (
    loaded_code,
    of_distributions,
    of_package,
    of_path,
    of_shipped,
    ran,
)
from harness.certify.contents import (
    SUMS,
    Contents,
    derived_files,
    payload_value,
    statement_of,
    sums_of,
    trace_name,
)
from harness.certify.envelope import canonical, sign
from harness.certify.folder import Draft
from harness.certify.imports import check_declared
from harness.certify.keys import SigningKey
from harness.certify.watching import Watch
from harness.conformance.appraisal import appraise
from harness.conformance.evidence import Gathered, gather
from harness.errors import InputError
from harness.load.requirement_set import set_digest
from harness.model.certificate import Artifact
from harness.model.conformance import Appraisal, LevelName, RequirementSet
from harness.model.error_model import ErrorModel
from harness.model.finding import Report
from harness.model.trace import Trace, trace_lines
from harness.subjects.binding import Binding
from harness.subjects.registry import shipped_ids

__all__ = [
    "Made",
    "Request",
    "Source",
    "certify",
    "package_of",
    "source_of",
    "write_contents",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a subject comes from.

    Attributes:
        artifact: without the files that were loaded: those are known when it has run.
        place: of the artifact on this machine; None: it is installed.
        told_as: how the subject is named in what others read: without a path of this machine.
        package: its top-level package, if it is named by one.
    """

    artifact: Artifact
    place: Path | None
    told_as: str
    package: str | None = None

    @property
    def root(self) -> Path | None:
        """The file or folder that files are loaded from; None: an archive, or it is installed."""
        return self.place if self.artifact.kind in ("file", "tree") else None

    def as_it_ran(self, binding: Binding, watch: Watch) -> Artifact:
        """Return the artifact, with what was loaded of it and the libraries beside it.

        Raises:
            InputError: other code ran than it holds, or it has changed meanwhile.
        """
        libraries = of_distributions(binding.distributions)
        name = self.artifact.name
        now = of_shipped(self.told_as) if self.place is None else of_path(self.place, name=name)
        if now != self.artifact:
            raise InputError(
                f"{self.artifact.name}: it was changed while the subject ran",
                hint="run it again, and let nothing write there meanwhile",
            )
        if self.place is not None:
            loaded = loaded_code(watch.before, self.package, watch.opened())
            now = ran(now, loaded, root=self.root)
            check_declared(loaded, binding.distributions)
            if binding.source_digest not in {now.files[name] for name in now.loaded}:
                raise InputError(f"{now.name} holds another file than the one that was bound")
        return now.model_copy(update={"distributions": libraries})


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is to be certified.

    Attributes:
        subject_spec: how it is loaded in another process.
        source: see `source_of`.
        watch: made before the subject was loaded.
        issued: the day that the certificate says; None: it says none.
        target: folder that is made; an empty one may be there.
    """

    binding: Binding
    subject_spec: str
    source: Source
    watch: Watch
    model: ErrorModel
    requirements: RequirementSet
    level: LevelName
    key: SigningKey
    target: Path
    issued: date | None = None
    jobs: int = 1
    on_progress: Callable[[str, int, int], None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What came of it: `appraisal.is_reached` says whether there is a certificate."""

    appraisal: Appraisal
    report: Report
    traces: int


def source_of(spec: str, binding: Binding, artifact: Path | None) -> Source:
    """Return where the subject that `spec` names comes from.

    Args:
        artifact: a file, folder, wheel or sdist that a person names; None: what is at hand, the
            subject's own file or package.

    Raises:
        InputError: it cannot be read, or a shipped subject is said to be of another artifact.
    """
    if spec in shipped_ids():
        if artifact is not None:
            raise InputError(
                f"{spec} comes with Faultclock, so its artifact is the installed package",
                hint="leave --artifact out",
            )
        return Source(artifact=of_shipped(spec), place=None, told_as=spec)
    place, _, name = spec.rpartition(":")
    file = Path(place).expanduser()
    package = package_of(spec)
    if package is not None:
        at = artifact or _place_of(package)
        return Source(artifact=of_path(at, name=package), place=at, told_as=spec, package=package)
    at = artifact or file
    told = file.name
    if at.is_dir() and file.resolve().is_relative_to(at.resolve()):
        told = file.resolve().relative_to(at.resolve()).as_posix()
    return Source(artifact=of_path(at, name=binding.id), place=at, told_as=f"{told}:{name}")


def package_of(spec: str) -> str | None:
    """Return the top-level package that a subject is named by; None: by an id or a file."""
    place, colon, _ = spec.rpartition(":")
    if not colon or place.endswith(".py") or "/" in place or "\\" in place:
        return None
    return place.partition(".")[0]


def certify(request: Request) -> Made:
    """Run what the level needs, and write a certificate if it is reached.

    Raises:
        InputError: the artifact does not hold what ran, or the folder cannot be written.
    """
    # Told before all is run, and looked at once more after it.
    request.source.as_it_ran(request.binding, request.watch)
    with Draft(request.target) as draft:

        def keep(name: str, trace: Trace) -> None:
            draft.write(trace_name(name), "".join(trace_lines(trace)).encode("utf-8"))

        gathered = gather(
            request.binding,
            request.subject_spec,
            request.model,
            request.requirements,
            request.level,
            jobs=request.jobs,
            on_trace=keep,
            on_progress=request.on_progress,
            told_as=request.source.told_as,
        )
        appraisal = appraise(
            request.requirements, request.model, gathered.evidence, gathered.judged
        )
        if appraisal.is_reached:
            _write(request, gathered, appraisal, draft)
    return Made(
        appraisal=appraisal,
        report=gathered.judged.report,
        traces=len(gathered.evidence.traces),
    )


def _write(request: Request, gathered: Gathered, appraisal: Appraisal, draft: Draft) -> None:
    request.watch.check_untouched()
    contents = Contents(
        artifact=request.source.as_it_ran(request.binding, request.watch),
        evidence=gathered.evidence,
        report=gathered.judged.report,
        appraisal=appraisal,
        requirements=request.requirements,
        requirements_digest=set_digest(request.requirements),
        faultclock=(harness.__version__, of_package()),
        issued=request.issued,
        key=request.key.public,
    )
    write_contents(contents, request.key, draft)
    draft.finish()


def write_contents(contents: Contents, key: SigningKey, draft: Draft) -> None:
    """Write all files but the traces, which `draft` has already, and sign."""
    for name, content in contents.files().items():
        draft.write(name, content)
    digests = dict(draft.digests)
    statement = statement_of(contents, digests)
    draft.write(SUMS, sums_of(digests))
    signed = sign(canonical(payload_value(statement)), key)
    for name, content in derived_files(signed, statement).items():
        draft.write(name, content)


def _place_of(package: str) -> Path:
    module = sys.modules[package]
    folders = list(getattr(module, "__path__", ()))
    if len(folders) == 1:
        return Path(folders[0])
    if module.__file__ is None or folders:
        raise InputError(
            f"{package} is in more than one folder, so it is not clear what is certified",
            hint="name what holds it: --artifact FOLDER, WHEEL or SDIST",
        )
    return Path(module.__file__)
