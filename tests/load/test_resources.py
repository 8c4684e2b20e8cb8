"""Shipped files are found in a wheel and in a checkout."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultclock.errors import InputError
from faultclock.load import resources


def test_a_checkout_has_them_beside_the_package() -> None:
    """An editable install has no `_bundled`."""
    assert resources.scenarios_root().is_dir()
    assert resources.fixtures_root().is_dir()
    assert (resources.error_models_root() / "stud-cli.yaml").is_file()


@pytest.mark.parametrize("name", ["scenarios_root", "fixtures_root"])
def test_a_wheel_has_them_inside_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """What is bundled wins over a folder that happens to lie beside the package."""
    package = tmp_path / "site-packages" / "faultclock"
    folder = name.removesuffix("_root")
    (package / "_bundled" / folder).mkdir(parents=True)
    (tmp_path / folder).mkdir()
    monkeypatch.setattr(resources, "_PACKAGE", package)
    assert getattr(resources, name)() == package / "_bundled" / folder


def test_an_incomplete_installation_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Better than an empty list of scenarios."""
    monkeypatch.setattr(resources, "_PACKAGE", tmp_path / "faultclock")
    with pytest.raises(InputError, match="the scenarios that come with Faultclock are missing"):
        resources.scenarios_root()
