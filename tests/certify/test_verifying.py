"""What is installed here is held against what was certified."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from faultclock.certify.verifying import verify, with_code, with_libraries
from tests.certify.conftest import Certificate
from tests.certify.small import frozen


def test_a_library_that_is_another_one(copied: Certificate) -> None:
    """It ran beside the subject: with another one the runs say nothing of what is installed."""
    with frozen():
        found = verify(copied.root, trusted=copied.key.public)
    assert found.artifact is not None
    other = found.artifact.model_copy(update={"distributions": {"click": "0" * 64}})
    told = with_libraries(replace(found, artifact=other)).verification
    assert told.verdict == "refused"
    assert "the library click that is installed is another one" in told.faults[0].what


def test_code_that_is_loaded_now_and_was_not_certified(
    copied: Certificate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What would be run again is another subject than the one that was certified."""
    with frozen():
        found = verify(copied.root, trusted=copied.key.public)
    before = dict(sys.modules)
    assert with_code(found, before, None).verification.verdict == "verified"
    (tmp_path / "stranger_to_certify.py").write_bytes(b"X = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    __import__("stranger_to_certify")
    try:
        told = with_code(found, before, None).verification
    finally:
        del sys.modules["stranger_to_certify"]
    assert told.verdict == "refused"
    assert "stranger_to_certify.py is loaded now, and was not certified" in told.faults[0].what
