"""A signature says who claims something, not that it is true: lies with a valid signature.

Each test is a signer who signs lies: all bytes are as they were signed, by the key that the
verifier trusts, and the certificate is refused for what it says.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from faultclock.certify.contents import derived_files, trace_name
from faultclock.certify.envelope import sign
from faultclock.certify.keys import make_keys
from faultclock.model.report.certificate import Statement
from faultclock.model.trace.trace import TraceEvent
from faultclock.run.prepare import prepare
from faultclock.run.suite import run_one
from tests.certify.conftest import Certificate
from tests.certify.forging import (
    KEPT,
    bytes_of,
    json_of,
    refused,
    resealed,
    trace_of,
    with_trace,
)
from tests.certify.small import frozen, resigned, small_set


def test_the_way_of_forging_is_sound(copied: Certificate) -> None:
    """Signing again without a lie changes nothing: what is refused below is the lie."""
    before = (copied.root / "certificate.json").read_bytes()
    resigned(copied.root, copied.key, {})
    assert (copied.root / "certificate.json").read_bytes() == before
    assert copied.verified().verdict == "verified"


def test_a_report_that_says_pass_where_a_trace_says_fail(copied: Certificate) -> None:
    """The traces are of a subject that does not wait; all that is said of them is good."""
    scenario = next(
        item.header.scenario
        for item in [trace_of(copied)]
        if "retry-after" in item.header.scenario.id
    )
    bad = run_one(scenario, prepare("mini-retries-at-once"), 0, isolate=False)
    subject = trace_of(copied).header.subject
    resigned(copied.root, copied.key, with_trace(copied, resealed(bad, subject=subject)))
    said = refused(copied, "appraisal.json")
    assert "the level is not reached: backoff.retry-after" in said


def test_a_trace_that_was_mended_by_hand(copied: Certificate) -> None:
    """A wait that was made longer fits no more to what is said of it."""
    trace = trace_of(copied)
    later = tuple(
        TraceEvent(e.seq, e.at_ns + (1 if e.seq > 20 else 0), e.actor, e.kind, e.payload)
        for e in trace.events
    )
    mended = resealed(trace, later)
    resigned(copied.root, copied.key, with_trace(copied, mended))
    assert copied.verified().verdict == "refused"


@pytest.mark.parametrize("level", ["full", "hardened"])
def test_a_level_that_was_raised(copied: Certificate, level: str) -> None:
    """Saying so in every place does not make the runs that it needs."""
    evidence = {**json_of(copied, "evidence.json"), "level": level}
    appraisal = {**json_of(copied, "appraisal.json"), "level": level}

    def lie(value: dict[str, Any]) -> None:
        for item in value["predicate"]["configuration"]:
            if item["name"] == "requirement-set":
                item["annotations"]["level"] = level

    changes = {"evidence.json": bytes_of(evidence), "appraisal.json": bytes_of(appraisal)}
    resigned(copied.root, copied.key, changes, lie)
    if level == "hardened":
        assert "made once" in refused(copied, "appraisal.json")
    else:
        # The runs of `core` are those of `full`: only the words beside it betray the lie.
        assert refused(copied, "badge.json", "badge.svg")


def test_a_file_that_nobody_checks(copied: Certificate) -> None:
    """It is signed with the others, and would be taken for one of them."""
    resigned(copied.root, copied.key, {"report-hardened.html": b"<h1>conforms</h1>"})
    assert "has no such file" in refused(copied, "report-hardened.html")


def test_a_scenario_that_was_left_out(copied: Certificate) -> None:
    """Neither its trace nor a word of it is there."""
    evidence = json_of(copied, "evidence.json")
    evidence["traces"] = [item for item in evidence["traces"] if item["name"] != KEPT]
    changes: dict[str, bytes | None] = {
        trace_name(KEPT): None,
        "evidence.json": bytes_of(evidence),
    }
    resigned(copied.root, copied.key, changes)
    assert "rate-limits/retry-after-integer: it was run 0 times" in refused(
        copied, "appraisal.json"
    )


def test_a_scenario_that_is_said_not_to_be_playable(copied: Certificate) -> None:
    """Which scenarios can be played follows from the dialects, whatever the evidence says."""
    evidence = json_of(copied, "evidence.json")
    evidence["traces"] = [item for item in evidence["traces"] if item["name"] != KEPT]
    evidence["passed_over"] = [
        {"scenario": "rate-limits/retry-after-integer", "because": "another dialect"}
    ]
    changes: dict[str, bytes | None] = {
        trace_name(KEPT): None,
        "evidence.json": bytes_of(evidence),
    }
    resigned(copied.root, copied.key, changes)
    refused(copied, "appraisal.json")


def test_a_trace_of_another_seed(copied: Certificate) -> None:
    """A seed that suits better is not the one of the set."""
    scenario = trace_of(copied).header.scenario
    other = run_one(scenario, prepare("reference"), 7, isolate=False)
    other = resealed(other, subject=trace_of(copied).header.subject)
    resigned(copied.root, copied.key, with_trace(copied, other))
    assert "the set has no run with the seed 7" in refused(copied, "appraisal.json")


def test_a_trace_of_another_subject(copied: Certificate) -> None:
    """The reference passes, and is not what is certified."""
    other = run_one(trace_of(copied).header.scenario, prepare("reference"), 0, isolate=False)
    resigned(copied.root, copied.key, with_trace(copied, other))
    assert "it is of another subject" in refused(copied, "appraisal.json")


def test_a_scenario_that_was_made_easier(copied: Certificate) -> None:
    """The fault of the frozen scenario never comes."""
    trace = trace_of(copied)
    provider = trace.header.scenario.provider.model_copy(update={"faults": ()})
    easier = trace.header.scenario.model_copy(update={"provider": provider})
    other = run_one(easier, prepare("reference"), 0, isolate=False)
    other = resealed(other, subject=trace.header.subject)
    resigned(copied.root, copied.key, with_trace(copied, other))
    assert "is not what the set has frozen" in refused(copied, "appraisal.json")


def test_one_trace_that_stands_for_two_runs(copied: Certificate) -> None:
    """A good run cannot be counted twice."""
    evidence = json_of(copied, "evidence.json")
    entry = next(item for item in evidence["traces"] if item["name"] == KEPT)
    evidence["traces"] = [*evidence["traces"], {**entry, "name": f"{KEPT}-b"}]
    changes: dict[str, bytes | None] = {
        trace_name(f"{KEPT}-b"): (copied.root / trace_name(KEPT)).read_bytes(),
        "evidence.json": bytes_of(evidence),
    }
    resigned(copied.root, copied.key, changes)
    assert "another trace is of the same run" in refused(copied, "appraisal.json")


def test_a_trace_that_is_named_twice(copied: Certificate) -> None:
    """One file cannot stand for two entries of the evidence either."""
    evidence = json_of(copied, "evidence.json")
    evidence["traces"] = [*evidence["traces"], evidence["traces"][-1]]
    resigned(copied.root, copied.key, {"evidence.json": bytes_of(evidence)})
    assert "names a trace twice" in refused(copied, "evidence.json")


def test_a_statement_in_another_spelling(copied: Certificate) -> None:
    """Of two spellings of one statement, two readers could read two things."""
    value = json_of(copied, "statement.json")
    signed = sign(json.dumps(value, indent=1).encode(), copied.key)
    for name, content in derived_files(signed, Statement.model_validate(value)).items():
        (copied.root / name).write_bytes(content)
    assert "the signed statement is of an unknown kind" in refused(copied, "statement.json")


def test_a_trace_that_the_evidence_does_not_name(copied: Certificate) -> None:
    """Whatever it is there for, it is judged by nobody."""
    name = trace_name("more.seed-0")
    resigned(copied.root, copied.key, {name: (copied.root / trace_name(KEPT)).read_bytes()})
    refused(copied, name)


def test_a_requirement_set_of_the_signers_own(copied: Certificate) -> None:
    """A weaker set with a digest of its own is none of Faultclock's."""
    from faultclock.load.requirement_set import set_digest

    set_ = small_set()
    role = set_.roles["provider_adapter"]
    weak = set_.model_copy(
        update={
            "roles": {
                "provider_adapter": role.model_copy(update={"requirements": role.requirements[:1]})
            }
        }
    )
    evidence = {**json_of(copied, "evidence.json"), "set_digest": set_digest(weak)}
    changes = {
        "requirement-set.json": bytes_of(weak.model_dump(mode="json")),
        "evidence.json": bytes_of(evidence),
    }
    resigned(copied.root, copied.key, changes)
    assert "this set is not one of Faultclock's" in refused(copied, "requirement-set.json")


def test_a_model_whose_name_leads_to_a_file_of_the_signers(
    copied: Certificate, tmp_path: Path
) -> None:
    """What is in a certificate never says which file is read."""
    evil = tmp_path / "evil.yaml"
    evil.write_text("model: evil\n")
    set_ = small_set().model_copy(update={"model": str(evil)})
    from faultclock.load.requirement_set import set_digest

    evidence = {
        **json_of(copied, "evidence.json"),
        "model": str(evil),
        "set_digest": set_digest(set_),
    }
    changes = {
        "requirement-set.json": bytes_of(set_.model_dump(mode="json")),
        "evidence.json": bytes_of(evidence),
    }
    resigned(copied.root, copied.key, changes)
    assert "no requirement set of that error model" in refused(copied, "requirement-set.json")


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("badge.svg", b"core", b"full"),
        ("badge.json", b"core", b"hardened"),
        ("report.html", b"</title>", b" (excellent)</title>"),
        ("report.json", b'"title":', b'"title": '),
        ("appraisal.json", b'"kept"', b'"kept" '),
        ("report.json", b'"judged":1', b'"judged":9'),
    ],
)
def test_a_page_that_says_more_than_the_traces(
    copied: Certificate, name: str, old: bytes, new: bytes
) -> None:
    """What people look at is made again, and compared byte by byte."""
    content = (copied.root / name).read_bytes()
    assert old in content
    resigned(copied.root, copied.key, {name: content.replace(old, new, 1)})
    refused(copied, name)


def _another_artifact(value: dict[str, Any]) -> None:
    value["subject"][0]["digest"]["sha256"] = "0" * 64


def _another_name(value: dict[str, Any]) -> None:
    value["subject"][0]["name"] = "better.py"


def _two_subjects(value: dict[str, Any]) -> None:
    value["subject"].append({"name": "also.py", "digest": {"sha256": "0" * 64}})


def _more_tests(value: dict[str, Any]) -> None:
    value["predicate"]["passedTests"].append("scenario:all/of-them")


def _more_seeds(value: dict[str, Any]) -> None:
    for item in value["predicate"]["configuration"]:
        if item["name"] == "evidence.json":
            item["annotations"]["seeds"] = list(range(1000))


def _one_more_note(value: dict[str, Any]) -> None:
    value["predicate"]["configuration"][0]["annotations"]["award"] = "best of 2026"


def _another_model(value: dict[str, Any]) -> None:
    for item in value["predicate"]["configuration"]:
        if item["name"] == "error-model":
            item["digest"]["sha256"] = "0" * 64


@pytest.mark.parametrize(
    "lie",
    [
        _another_artifact, _another_name, _two_subjects, _more_tests, _more_seeds, _one_more_note,
        _another_model,
    ],
    ids=lambda lie: lie.__name__.strip("_"),
)  # fmt: skip
def test_a_statement_that_says_more_than_the_files(
    copied: Certificate, lie: Callable[[dict[str, Any]], None]
) -> None:
    """Every word of it is made again."""
    resigned(copied.root, copied.key, {}, lie)
    refused(copied, "statement.json")


def _without_source(artifact: dict[str, Any]) -> None:
    artifact["files"] = {"adapter.py": "0" * 64}
    artifact["digest"] = "0" * 64


def _shipped(artifact: dict[str, Any]) -> None:
    artifact["kind"] = "shipped"


def _other_digest(artifact: dict[str, Any]) -> None:
    artifact["digest"] = "0" * 64


def _more_loaded(artifact: dict[str, Any]) -> None:
    artifact["loaded"] = ["adapter.py", "helper.py"]


def _libraries(artifact: dict[str, Any]) -> None:
    artifact["distributions"] = {"openai": "0" * 64}


def _tree(artifact: dict[str, Any]) -> None:
    artifact["kind"] = "tree"


@pytest.mark.parametrize(
    ("lie", "words"),
    [
        (_without_source, "was not loaded from it"),
        (_shipped, "another package than the Faultclock that judged it"),
        (_tree, "the digest of the tree is not that of its files"),
        (_other_digest, "the digest of the file is not that of its one file"),
        (_more_loaded, "files were loaded which it does not hold"),
        (_libraries, "its libraries are not those that the subject names"),
    ],
)
def test_an_artifact_that_is_not_what_ran(
    copied: Certificate, lie: Callable[[dict[str, Any]], None], words: str
) -> None:
    """The traces say by digest which file the subject was loaded from."""
    artifact = json_of(copied, "artifact.json")
    lie(artifact)

    def same(value: dict[str, Any]) -> None:
        value["subject"][0]["digest"]["sha256"] = artifact["digest"]

    resigned(copied.root, copied.key, {"artifact.json": bytes_of(artifact)}, same)
    assert words in refused(copied, "artifact.json")


def test_another_faultclock_is_no_excuse(copied: Certificate) -> None:
    """Whoever says that another version made it gets no green: what differs stays open."""

    def lie(value: dict[str, Any]) -> None:
        value["predicate"]["configuration"][0]["annotations"]["version"] = "99.0"

    badge = (copied.root / "badge.svg").read_bytes().replace(b"core", b"full")
    resigned(copied.root, copied.key, {"badge.svg": badge}, lie)
    found = copied.verified()
    assert found.verdict == "not known"
    assert "badge.svg" in found.open[0]
    assert "cannot be made again by this Faultclock" in found.open[0]


def test_an_older_set_is_told_apart_from_none(copied: Certificate) -> None:
    """It was frozen once, and this version cannot judge by it."""
    from faultclock.load.requirement_set import set_digest
    from faultclock.model.report.conformance import PastSet

    old = small_set()
    new = old.model_copy(
        update={"revision": 2, "history": (PastSet(revision=1, digest=set_digest(old)),)}
    )
    from faultclock.certify.verifying import verify

    with frozen(new):
        found = verify(copied.root, trusted=copied.key.public).verification
    assert found.verdict == "not known"
    assert "requirement set 1" in found.open[0]
    assert "verify it with the Faultclock that made it" in found.open[0]


def test_a_set_that_tells_of_other_sets_before_it(copied: Certificate) -> None:
    """No digest holds that part of a set, so it is compared as it is."""
    from faultclock.certify.verifying import verify
    from faultclock.model.report.conformance import PastSet

    known = small_set().model_copy(update={"history": (PastSet(revision=1, digest="0" * 64),)})
    with frozen(known):
        found = verify(copied.root, trusted=copied.key.public).verification
    assert [fault.file for fault in found.faults] == ["requirement-set.json"]
    assert "other earlier sets" in found.faults[0].what


def test_another_signer_is_refused(copied: Certificate, tmp_path: Path) -> None:
    """A certificate may be perfect, and by somebody else."""
    from faultclock.certify.keys import load_public_key
    from faultclock.certify.verifying import verify

    other = load_public_key(make_keys(tmp_path / "other.key").public)
    found = verify(copied.root, trusted=other).verification
    assert found.verdict == "refused"
    assert "it was signed by another key" in found.faults[0].what


def test_the_public_key_of_somebody_else_in_the_folder(copied: Certificate, tmp_path: Path) -> None:
    """Signed by one and showing the key of another."""
    other = make_keys(tmp_path / "other.key").public.read_bytes()
    resigned(copied.root, copied.key, {"key.pub": other})
    assert copied.verified().verdict == "refused"
