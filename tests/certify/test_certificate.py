"""A certificate: the same bytes each time, readable by others, and given to nobody undeserving."""

from __future__ import annotations

import base64
import filecmp
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from faultclock.certify.contents import CERTIFICATE, KEY, SIGNATURE, STATEMENT
from faultclock.certify.folder import Draft, check_place
from faultclock.certify.rerunning import rerun
from faultclock.certify.verifying import verify, with_artifact, with_rerun
from faultclock.errors import InputError
from faultclock.run.prepare import prepare
from tests.architecture.source_tree import PROJECT
from tests.certify.conftest import Certificate
from tests.certify.small import frozen, made_in

OPENSSL = shutil.which("openssl")


def _differing(one: Path, other: Path) -> list[str]:
    names = {p.relative_to(root) for root in (one, other) for p in root.rglob("*") if p.is_file()}
    _, mismatch, errors = filecmp.cmpfiles(one, other, map(str, names), shallow=False)
    return [*mismatch, *errors]


def test_the_same_inputs_give_the_same_bytes_elsewhere(
    original: Certificate, tmp_path: Path
) -> None:
    """Another process with another hash seed, in another folder, under another name."""
    adapter = tmp_path / "deeper" / "adapter.py"
    adapter.parent.mkdir()
    shutil.copy(original.adapter, adapter)
    environment = {
        **os.environ, "PYTHONHASHSEED": "4242", "PYTHONPATH": str(PROJECT), "USER": "other",
    }  # fmt: skip
    subprocess.run(
        [sys.executable, "-m", "tests.certify.small", original.key_file, adapter, "other"],
        cwd=tmp_path,
        env=environment,
        check=True,
    )
    assert _differing(original.root, tmp_path / "other") == []


def test_it_holds_and_says_who_conforms_to_what(original: Certificate) -> None:
    """With the key of the signer there is nothing against it."""
    found = original.verified()
    assert found.verdict == "verified"
    assert found.vouched
    assert found.claim.startswith(
        "mine (provider adapter) conforms to stud-cli 1 at the level core"
    )
    assert found.traces == 2


def test_without_a_key_nobody_vouches_for_it(original: Certificate) -> None:
    """It is intact, and that is not the same."""
    found = original.verified(trust=False)
    assert found.verdict == "not known"
    assert not found.vouched
    assert "anyone can make one" in found.open[0]


def test_nothing_of_the_machine_or_the_key_stands_in_it(original: Certificate) -> None:
    """No path, no user, no host, no day, and nothing of the private key."""
    secret = original.key_file.read_text().split("-----")[2].strip()
    # As a word: the short name of a machine is part of many others.
    host = re.compile(rf"(?<!\w){re.escape(os.uname().nodename)}(?!\w)".encode())
    # What is signed stands in the statement in plain text; signature and key are chance.
    contents = {
        path.name: path.read_bytes()
        for path in original.root.rglob("*")
        if path.is_file() and path.name not in {CERTIFICATE, SIGNATURE, KEY}
    }
    assert STATEMENT in contents
    for name, content in contents.items():
        assert not host.search(content), name
        for words in (str(original.adapter.parent), secret, "/home/"):
            assert words.encode() not in content, name


def test_what_is_signed_is_a_statement_that_others_can_read(original: Certificate) -> None:
    """The names and types are those of in-toto: Statement v1, test-result v0.1."""
    envelope = json.loads((original.root / "certificate.json").read_bytes())
    assert envelope.keys() == {"payload", "payloadType", "signatures"}
    assert envelope["payloadType"] == "application/vnd.in-toto+json"
    value = json.loads(base64.b64decode(envelope["payload"]))
    assert value.keys() == {"_type", "subject", "predicateType", "predicate"}
    assert value["_type"] == "https://in-toto.io/Statement/v1"
    assert value["predicateType"] == "https://in-toto.io/attestation/test-result/v0.1"
    digest = hashlib.sha256(original.adapter.read_bytes()).hexdigest()
    assert value["subject"] == [{"name": "adapter.py", "digest": {"sha256": digest}}]
    predicate = value["predicate"]
    assert predicate["result"] == "PASSED"
    assert predicate["failedTests"] == []
    assert "scenario:rate-limits/retry-after-integer" in predicate["passedTests"]
    for item in predicate["configuration"]:
        assert item.keys() <= {"name", "digest", "annotations"}
    assert json.loads((original.root / "predicate.json").read_bytes()) == predicate


def test_the_badge_names_the_set(original: Certificate) -> None:
    """Both forms say level, revision and digest, and the drawing asks for nothing."""
    badge = json.loads((original.root / "badge.json").read_bytes())
    appraisal = json.loads((original.root / "appraisal.json").read_bytes())
    assert badge["schemaVersion"] == 1
    assert badge["label"] == "conforms to stud-cli"
    assert badge["message"] == f"core, set 1 ({appraisal['set_digest'][:8]})"
    drawing = (original.root / "badge.svg").read_text()
    assert ElementTree.fromstring(drawing).tag == "{http://www.w3.org/2000/svg}svg"
    assert badge["message"] in drawing
    assert "href" not in drawing


@pytest.mark.skipif(OPENSSL is None, reason="openssl is not installed")
def test_openssl_verifies_the_signature(copied: Certificate) -> None:
    """Nobody needs Faultclock to see that it was signed."""
    command = [
        str(OPENSSL), "pkeyutl", "-verify", "-rawin", "-pubin", "-inkey", "key.pub",
        "-in", "signed.bin", "-sigfile", "signature.bin",
    ]  # fmt: skip
    good = subprocess.run(command, cwd=copied.root, capture_output=True, text=True)
    assert good.stdout == "Signature Verified Successfully\n"
    signed = copied.root / "signed.bin"
    signed.write_bytes(signed.read_bytes().replace(b"PASSED", b"WARNED"))
    assert subprocess.run(command, cwd=copied.root, capture_output=True).returncode == 1


def test_it_holds_when_all_is_run_again(original: Certificate) -> None:
    """Every trace is the same, and the artifact too."""
    with frozen():
        verified = verify(original.root, trusted=original.key.public)
        assert verified.evidence is not None
        spec = f"{original.adapter}:subject"
        again = rerun(original.root, verified.evidence, prepare(spec), spec)
        found = with_rerun(with_artifact(verified, original.adapter), again, {}).verification
    assert found.verdict == "verified"
    assert found.reruns == 2
    assert found.notes == ()


def test_another_subject_is_not_what_was_certified(original: Certificate, tmp_path: Path) -> None:
    """A file with a comment more is another artifact, and its traces name another file."""
    other = tmp_path / "adapter.py"
    other.write_text(original.adapter.read_text() + "# changed\n")
    with frozen():
        verified = verify(original.root, trusted=original.key.public)
        assert verified.evidence is not None
        found = with_artifact(verified, other).verification
        assert found.verdict == "refused"
        assert "is not what was certified: other is adapter.py" in found.faults[0].what
        spec = f"{other}:subject"
        again = rerun(original.root, verified.evidence, prepare(spec), spec)
    assert with_rerun(verified, again, {}).verification.verdict == "refused"
    assert "the subject's file is not the one that was recorded" in again.faults[0].what


def test_a_subject_that_does_not_reach_the_level_gets_nothing(
    original: Certificate, tmp_path: Path
) -> None:
    """The objections are told, and not a file is left behind."""
    adapter = tmp_path / "adapter.py"
    adapter.write_text(
        "from faultclock import provider_adapter\n\n\n@provider_adapter\ndef subject(request):\n"
        "    return 'fine'\n"
    )
    made = made_in(tmp_path / "certificate", adapter, original.key)
    assert not made.appraisal.is_reached
    assert made.appraisal.objections
    assert [path.name for path in tmp_path.iterdir() if "certificate" in path.name] == []


def test_code_that_changes_while_it_runs_is_not_certified(
    original: Certificate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What ran and what is digested would be two things."""
    adapter = tmp_path / "adapter.py"
    shutil.copy(original.adapter, adapter)
    from faultclock.certify import making

    gather = making.gather

    def gather_and_write(*args: object, **options: object) -> object:
        gathered = gather(*args, **options)  # type: ignore[arg-type]
        adapter.write_text(adapter.read_text() + "# better\n")
        return gathered

    monkeypatch.setattr(making, "gather", gather_and_write)
    with pytest.raises(InputError, match="was changed while the subject ran"):
        made_in(tmp_path / "certificate", adapter, original.key)
    assert not (tmp_path / "certificate").exists()


def test_a_certificate_is_never_written_over_anything(
    original: Certificate, tmp_path: Path
) -> None:
    """An empty folder may be there; another certificate, a file or a link may not."""
    (tmp_path / "empty").mkdir()
    check_place(tmp_path / "empty")
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "empty")
    for taken in (original.root, tmp_path / "file", tmp_path / "link"):
        with pytest.raises(InputError):
            check_place(taken)


def test_half_a_certificate_is_never_seen(tmp_path: Path) -> None:
    """It has its name when all of it is there, and not before."""
    target = tmp_path / "certificate"
    with Draft(target) as draft:
        draft.write("traces/a.jsonl", b"1")
        assert not target.exists()
        draft.finish()
    assert (target / "traces" / "a.jsonl").read_bytes() == b"1"
    assert [path.name for path in tmp_path.iterdir()] == ["certificate"]
