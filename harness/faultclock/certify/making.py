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
from datetime import date
from pathlib import Path

from msgspec import Struct

import faultclock
from faultclock.certify.artifact import (
    data_read,
    loaded_code_of,
    of_distributions,
    of_package,
    of_path,
    of_shipped,
    ran,
    variables_read,
)
from faultclock.certify.contents import (
    SUMS,
    Contents,
    derived_files,
    payload_value,
    statement_of,
    sums_of,
    trace_name,
)
from faultclock.certify.envelope import canonical, sign
from faultclock.certify.folder import Draft
from faultclock.certify.imports import check_declared
from faultclock.certify.keys import SigningKey
from faultclock.certify.levels.appraisal import appraise
from faultclock.certify.levels.evidence import Gathered, gather
from faultclock.certify.watching import Watch
from faultclock.errors import InputError
from faultclock.load.requirement_set import set_digest
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.certificate import Artifact
from faultclock.model.report.conformance import Appraisal, LevelName, RequirementSet
from faultclock.model.report.finding import Report
from faultclock.model.trace.trace import Trace, trace_lines
from faultclock.subjects.binding import Binding
from faultclock.subjects.registry import shipped_ids


class Source(Struct, frozen=True, kw_only=True):
    """Where a subject comes from.

    Attributes:
        artifact: without the files that were loaded: those are known when it has run.
        place: of the artifact on this machine; None: it is installed.
        told_as: how the subject is named in what others read: without a path of this machine.
        package: its top-level package, if it is named by one.
        folder: where its own files lie on this machine; None: between those of others.
    """

    artifact: Artifact
    place: Path | None
    told_as: str
    package: str | None = None
    folder: Path | None = None

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
        if self.place is None:
            return now.model_copy(update={"distributions": libraries})
        reads = watch.reads()
        loaded = loaded_code_of(binding, self.package, reads.sources)
        now = ran(now, loaded, root=self.root)
        check_declared(loaded, binding.distributions)
        if binding.source_digest not in {now.files[name] for name in now.loaded}:
            raise InputError(f"{now.name} holds another file than the one that was bound")
        return now.model_copy(
            update={
                "distributions": libraries,
                "read": data_read(reads, self.folder),
                "variables": variables_read(reads, self.folder),
            }
        )


class Request(Struct, frozen=True, kw_only=True):
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


class Made(Struct, frozen=True, kw_only=True):
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
        return Source(
            artifact=of_path(at, name=package),
            place=at,
            told_as=spec,
            package=package,
            folder=folder_of(spec),
        )
    at = artifact or file
    told = file.name
    if at.is_dir() and file.resolve().is_relative_to(at.resolve()):
        told = file.resolve().relative_to(at.resolve()).as_posix()
    return Source(
        artifact=of_path(at, name=binding.id),
        place=at,
        told_as=f"{told}:{name}",
        folder=folder_of(spec),
    )


def package_of(spec: str) -> str | None:
    """Return the top-level package that a subject is named by; None: by an id or a file."""
    place, colon, _ = spec.rpartition(":")
    if not colon or place.endswith(".py") or "/" in place or "\\" in place:
        return None
    return place.partition(".")[0]


def folder_of(spec: str) -> Path | None:
    """Return the folder of a loaded subject's own files; None: they lie between those of others."""
    package = package_of(spec)
    if package is None:
        place = spec.rpartition(":")[0]
        return Path(place).expanduser().parent if place else None
    folders = list(getattr(sys.modules[package], "__path__", ()))
    return Path(folders[0]) if len(folders) == 1 else None


def certify(request: Request) -> Made:
    """Run what the level needs, and write a certificate if it is reached.

    Raises:
        InputError: the artifact does not hold what ran, or the folder cannot be written.
    """
    _check_issued(request)
    # Read before all is run, and again after it.
    before = request.source.as_it_ran(request.binding, request.watch)
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
            _write(request, before, gathered, appraisal, draft)
    return Made(
        appraisal=appraisal,
        report=gathered.judged.report,
        traces=len(gathered.evidence.traces),
    )


def _check_issued(request: Request) -> None:
    """Refuse a day that no verifier would take."""
    issued, key = request.issued, request.key.public
    if issued is None:
        return
    if key.created is not None and issued < key.created:
        raise InputError(
            f"--issued says {issued}, and the key was made on {key.created}",
            hint="say another day; SOURCE_DATE_EPOCH says one, too",
        )
    if key.expires is not None and issued > key.expires:
        raise InputError(f"--issued says {issued}, and the last day of the key is {key.expires}")


def _write(
    request: Request, before: Artifact, gathered: Gathered, appraisal: Appraisal, draft: Draft
) -> None:
    artifact = request.source.as_it_ran(request.binding, request.watch)
    for name, digest in before.read.items():
        if artifact.read.get(name) != digest:
            raise InputError(
                f"{name}: the subject reads this file, and it was changed while the subject ran",
                hint="run it again, and let nothing write there meanwhile",
            )
    contents = Contents(
        artifact=artifact,
        evidence=gathered.evidence,
        report=gathered.judged.report,
        appraisal=appraisal,
        requirements=request.requirements,
        requirements_digest=set_digest(request.requirements),
        faultclock=(faultclock.__version__, of_package()),
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
