"""How many processes of Node a subject starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultclock.subjects.node import program
from faultclock.subjects.node.program import NodeProgram


def test_only_a_subject_that_lives_again_has_its_next_process_started_ahead(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One run needs one process; the second run finds none ready, and each later one does."""
    started: list[Path] = []
    ended: list[object] = []

    class Counted:
        def __init__(self, file: Path, prepare: object) -> None:
            started.append(file)

        def end(self) -> None:
            ended.append(self)

    monkeypatch.setattr(program, "NodeProcess", Counted)
    module = NodeProgram(Path("agent.mjs"))
    seen = []
    for _ in range(4):
        with module.alive(lambda: None):
            seen.append(len(started))
    assert seen == [1, 3, 4, 5]
    assert len(ended) == len(set(ended)) == 4
