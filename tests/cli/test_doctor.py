"""`doctor` finds what would spoil every run."""

from __future__ import annotations

from importlib import metadata

import pytest

from harness.cli.doctor import Line, installation
from tests.cli.command_line import faultclock


def found(text: str) -> Line:
    """Return the one line that speaks of `text`."""
    (line,) = [line for line in installation() if text in line.text]
    return line


def test_this_installation_is_sound() -> None:
    """Versions, shipped files and subjects are named."""
    result = faultclock("doctor")
    assert result.exit_code == 0, result.stdout
    for text in ("Python 3.", "pydantic ", "shipped scenarios", "5 shipped error models\n"):
        assert text in result.stdout
    assert result.stdout.endswith("all is well\n")


def test_another_owner_of_the_package_name_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """`harness` is a common name, and the later installation overwrites the earlier."""
    monkeypatch.setattr(
        metadata, "packages_distributions", lambda: {"harness": ["faultclock", "harness"]}
    )
    line = found("the package `harness`")
    assert not line.good
    assert line.hint == "pip uninstall harness, then install faultclock again"


def test_a_missing_dependency_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """With what to do about it, and code 1."""
    version = metadata.version

    def lacking(name: str) -> str:
        if name == "simpy":
            raise metadata.PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(metadata, "version", lacking)
    assert not found("simpy").good
    result = faultclock("doctor")
    assert result.exit_code == 1
    assert "✗ simpy is not installed\n    pip install faultclock" in result.stdout


def test_a_subject_without_its_library_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """Libraries are extras; the line says which to install."""
    monkeypatch.setattr("harness.subjects.registry._missing", lambda needs: needs)
    line = found("openai-async")
    assert line.good
    assert line.hint == "pip install 'faultclock[openai]'"
