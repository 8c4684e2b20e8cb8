"""Every changed byte of any file is detected, and the file named."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from faultclock.certify.intact import examined
from faultclock.errors import InputError
from tests.certify.conftest import Certificate
from tests.certify.flipping import flip_all


def _files(root: Path) -> list[str]:
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())


def _named(certificate: Certificate, *, trust: bool = True) -> set[str]:
    trusted = certificate.key.public if trust else None
    return {fault.file for fault in examined(certificate.root, trusted).faults}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(data=st.data())
def test_any_changed_byte_of_any_file_is_detected_and_named(
    copied: Certificate, data: st.DataObject
) -> None:
    """One bit is enough, in whatever file, whether or not the verifier has a key."""
    name = data.draw(st.sampled_from(_files(copied.root)))
    path = copied.root / name
    content = path.read_bytes()
    place = data.draw(st.integers(0, len(content) - 1))
    changed = bytearray(content)
    changed[place] ^= data.draw(st.integers(1, 255))
    path.write_bytes(changed)
    try:
        assert _named(copied, trust=data.draw(st.booleans())) == {name}
    finally:
        path.write_bytes(content)


def test_each_byte_of_the_signature_counts(copied: Certificate) -> None:
    """What the program does for all files, for the smallest one."""
    counts = dict(flip_all(copied.root, copied.key.public, each_below=100, random_each=1))
    assert counts["signature.bin"].flipped == counts["signature.bin"].named == 64
    assert all(count.flipped == count.named for count in counts.values())


def test_every_missing_file_is_named(copied: Certificate) -> None:
    """None of them can be left out."""
    for name in _files(copied.root):
        content = (copied.root / name).read_bytes()
        (copied.root / name).unlink()
        # A folder that has nothing else in it is empty then, and named as well.
        assert _named(copied) - {Path(name).parent.as_posix()} == {name}
        (copied.root / name).write_bytes(content)


def test_bytes_that_are_added_or_cut_off_are_named(copied: Certificate) -> None:
    """White space at the end says nothing, and is not what was signed."""
    for name in _files(copied.root):
        path = copied.root / name
        content = path.read_bytes()
        for other in (content + b"\n", content + b" ", content[:-1], b""):
            path.write_bytes(other)
            assert _named(copied) == {name}
        path.write_bytes(content)


def test_another_spelling_of_the_envelope_is_named(copied: Certificate) -> None:
    """The same JSON with other white space, or with another order, is another file."""
    path = copied.root / "certificate.json"
    value = json.loads(path.read_bytes())
    for text in (
        json.dumps(value, indent=2),
        json.dumps(dict(reversed(value.items())), separators=(",", ":")),
        json.dumps({**value, "more": 1}, separators=(",", ":"), sort_keys=True),
    ):
        path.write_text(text)
        assert _named(copied) == {"certificate.json"}


def _add(root: Path) -> None:
    (root / "notes.txt").write_text("well done")


def _add_trace(root: Path) -> None:
    (root / "traces" / "more.jsonl").write_text("")


def _hide(root: Path) -> None:
    (root / ".hidden").write_text("")


def _link(root: Path) -> None:
    (root / "report.html").rename(root.parent / "report.html")
    (root / "report.html").symlink_to(root.parent / "report.html")


def _link_folder(root: Path) -> None:
    (root / "traces").rename(root.parent / "traces")
    (root / "traces").symlink_to(root.parent / "traces")


def _pipe(root: Path) -> None:
    (root / "report.json").unlink()
    os.mkfifo(root / "report.json")


def _folder(root: Path) -> None:
    (root / "empty").mkdir()


def _swap(root: Path) -> None:
    (root / "report.json").rename(root / "x")
    (root / "appraisal.json").rename(root / "report.json")
    (root / "x").rename(root / "appraisal.json")


def _rename(root: Path) -> None:
    (root / "badge.svg").rename(root / "Badge.svg")


def _folder_for_file(root: Path) -> None:
    (root / "key.pub").unlink()
    (root / "key.pub").mkdir()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (_add, {"notes.txt"}),
        (_add_trace, {"traces/more.jsonl"}),
        (_hide, {".hidden"}),
        (_link, {"report.html"}),
        (_pipe, {"report.json"}),
        (_folder, {"empty"}),
        (_swap, {"report.json", "appraisal.json"}),
        (_rename, {"badge.svg", "Badge.svg"}),
        (_folder_for_file, {"key.pub"}),
    ],
    ids=lambda value: value.__name__.strip("_") if callable(value) else "-",
)
def test_what_a_folder_can_have_wrong_is_named(
    copied: Certificate, change: Callable[[Path], None], named: set[str]
) -> None:
    """More files, links, pipes, folders, files that changed their places or names."""
    change(copied.root)
    assert _named(copied) == named
    assert _named(copied, trust=False) == named


def test_a_folder_of_traces_that_is_a_link_is_named_with_all_traces(copied: Certificate) -> None:
    """What lies behind a link is not in the folder, whatever its bytes are."""
    traces = {name for name in _files(copied.root) if name.startswith("traces/")}
    _link_folder(copied.root)
    assert _named(copied) == {"traces", *traces}


def test_what_is_no_certificate_is_told_in_a_sentence(tmp_path: Path) -> None:
    """An empty folder, one with other things in it, and none."""
    (tmp_path / "other.txt").write_text("")
    assert "not a certificate" in examined(tmp_path).faults[0].what
    with pytest.raises(InputError, match="no such folder"):
        examined(tmp_path / "none")
    with pytest.raises(InputError, match="no such folder"):
        examined(tmp_path / "other.txt")


@pytest.mark.parametrize(
    "content",
    [
        b"[]", b"{}", b'{"payload":1,"signatures":[{"sig":2,"keyid":3}]}', b"[" * 100_000,
        b'{"payload":"","payloadType":"x","signatures":[]}', b"\xff\xfe", b"null",
    ],
    ids=range(7),
)  # fmt: skip
def test_hostile_files_lead_to_faults_and_to_nothing_else(
    copied: Certificate, content: bytes
) -> None:
    """All that repeats the statement holds the same nonsense."""
    for name in ("certificate.json", "statement.json", "signed.bin", "predicate.json"):
        (copied.root / name).write_bytes(content)
    found = examined(copied.root, copied.key.public)
    assert found.signed is None
    assert {fault.file for fault in found.faults} == {"certificate.json"}
