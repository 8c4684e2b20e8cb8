"""Certificate: what is signed, and what lies beside it.

What is signed is a Statement of in-toto (v1) with the predicate `test-result` (v0.1), so that
other tools can read it: attestation/spec of in-toto, read 2026-11-22. The names of its fields
are theirs, which is why they are written as they are.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final, Literal

from pydantic import ConfigDict, Field, model_validator

from faultclock.model._base import Sha256, SparseValue, Value

PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT_TYPE: Final = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE: Final = "https://in-toto.io/attestation/test-result/v0.1"

ArtifactKind = Literal["file", "tree", "wheel", "sdist", "shipped"]


class Artifact(SparseValue):
    """What a certificate is about: a file, a tree of files, or a package."""

    SPARSE: ClassVar[frozenset[str]] = frozenset({"read", "variables"})

    format: int = 1
    kind: ArtifactKind
    name: str
    digest: Sha256
    """Of the file, wheel or sdist; of a tree, of what `sha256sum` prints for its files."""
    files: dict[str, Sha256]
    """Path in the artifact to what it holds there."""
    loaded: tuple[str, ...]
    """The files of it that the subject was loaded from: they ran, and had these very bytes."""
    distributions: dict[str, Sha256] = {}
    """Installed libraries that the subject names, with the digest of the tree of their files."""
    read: dict[str, Sha256] = {}
    """Files that the subject read and that are no code, with what they held: by their path below
    its folder, or below the working folder, which is then said."""
    variables: tuple[str, ...] = ()
    """Environment variables that its own code asked for. What they hold is in no digest: a short
    secret could be found by its digest."""


class Resource(SparseValue):
    """A `ResourceDescriptor`: something that the result rests on."""

    SPARSE: ClassVar[frozenset[str]] = frozenset({"annotations"})

    name: str
    digest: dict[Literal["sha256"], Sha256] = Field(min_length=1)
    annotations: dict[str, Any] = {}


class Subject(Value):
    """What the Statement is about."""

    name: str
    digest: dict[Literal["sha256"], Sha256] = Field(min_length=1)


class TestResult(Value):
    """The predicate: of which tests, run how, came what."""

    #: pytest would take the class for a test.
    __test__: ClassVar[bool] = False

    result: Literal["PASSED", "WARNED"]
    """There is no certificate of a failure."""
    configuration: tuple[Resource, ...]
    passedTests: tuple[str, ...]  # noqa: N815 - the name in the predicate
    warnedTests: tuple[str, ...]  # noqa: N815
    failedTests: tuple[()] = ()  # noqa: N815


class Statement(Value):
    """What is signed."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    type_: Literal["https://in-toto.io/Statement/v1"] = Field(default=STATEMENT_TYPE, alias="_type")
    subject: tuple[Subject, ...] = Field(min_length=1)
    predicateType: Literal[  # noqa: N815 - the name in the statement
        "https://in-toto.io/attestation/test-result/v0.1"
    ] = PREDICATE_TYPE
    predicate: TestResult

    @model_validator(mode="after")
    def _names_each_resource_once(self) -> Statement:
        names = [item.name for item in self.predicate.configuration]
        if len(set(names)) != len(names):
            raise ValueError("configuration names a resource twice")
        return self

    def resource(self, name: str) -> Resource | None:
        """Return the resource of the configuration that has this name."""
        found = (item for item in self.predicate.configuration if item.name == name)
        return next(found, None)


class Fault(Value):
    """Something about a certificate that is not as it was signed, or not as it must be."""

    file: str
    """In its folder; empty where it is of the whole."""
    what: str


VerificationVerdict = Literal["verified", "refused", "not known"]


class Verification(Value):
    """What can be said of a certificate, offline."""

    format: int = 1
    verdict: VerificationVerdict
    """`not known`: nothing is wrong, and something is missing or cannot be proved here."""
    signer: str = ""
    """Id of the key that signed; empty where none did."""
    vouched: bool = False
    """Whether that is the key that the verifier trusts."""
    subject: Subject | None = None
    claim: str = ""
    """In words: who conforms to what."""
    faults: tuple[Fault, ...] = ()
    open: tuple[str, ...] = ()
    """What keeps it from being verified without being a fault."""
    notes: tuple[str, ...] = ()
    """What was not part of this verification."""
    files: int = 0
    """How many were compared."""
    traces: int = 0
    """How many were judged again."""
    reruns: int = 0
    """How many were run again."""
