"""No trick of a subject that fails makes it look as if it did not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command_line import faultclock
from tests.hostile.lies import CALLED, LOADED, subject

_SCENARIO = "rate-limits/retry-after-integer"
_NOT_GREEN = (1, 2, 3)


def _exit_code(tmp_path: Path, text: str) -> tuple[int, str]:
    file = tmp_path / "client.py"
    file.write_text(text)
    done = faultclock("run", _SCENARIO, "--subject", f"{file}:subject", "--wall-limit", "2s")
    return done.exit_code, done.output


def test_without_a_trick_it_fails(tmp_path: Path) -> None:
    """It asks again at once, where it was told to wait seven seconds."""
    code, said = _exit_code(tmp_path, subject())
    assert code == 1, said


def test_there_are_more_than_forty() -> None:
    """What a subject can do when it is imported, and when it is called."""
    assert len(LOADED) + len(CALLED) >= 43


@pytest.mark.parametrize("trick", LOADED)
def test_a_trick_when_it_is_loaded(tmp_path: Path, trick: str) -> None:
    """The run fails, proves nothing, or is refused in words; it is never green, nor our bug."""
    code, said = _exit_code(tmp_path, subject(loaded=LOADED[trick]))
    assert code in _NOT_GREEN, said
    assert "Traceback" not in said


@pytest.mark.parametrize("trick", CALLED)
def test_a_trick_when_it_is_called(tmp_path: Path, trick: str) -> None:
    """The run fails or proves nothing; it is never green, nor our bug."""
    code, said = _exit_code(tmp_path, subject(called=CALLED[trick]))
    assert code in _NOT_GREEN, said
    assert "Traceback" not in said
