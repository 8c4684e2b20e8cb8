"""What is installed here is held against what was certified."""

from __future__ import annotations

from dataclasses import replace

from harness.certify.verifying import verify, with_libraries
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
