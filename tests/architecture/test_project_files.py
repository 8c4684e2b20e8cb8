"""The files around the package: pinned requirements, licence, changelog, what CI runs."""

from __future__ import annotations

import os
import re
import tomllib
from typing import Any

import pytest

import harness
from tests.architecture.source_tree import PROJECT

PINNED = ("demo", "dev", "bench")
#: Groups of `pyproject.toml` that each pinned file holds beside the package's own dependencies.
GROUPS = {"demo": ("build",), "dev": ("build", "dev"), "bench": ("build", "bench")}
_NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]*")


def _pyproject() -> dict[str, Any]:
    return tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))


def _name(requirement: str) -> str:
    match = _NAME.match(requirement)
    assert match is not None, requirement
    return re.sub(r"[-_.]+", "-", match[0]).lower()


def _pinned(name: str) -> dict[str, str]:
    """Return the pins of a file: name to the rest of its entry, hashes included."""
    text = (PROJECT / "requirements" / f"{name}.txt").read_text("utf-8")
    entries = re.split(r"^(?=[A-Za-z0-9])", text.replace("\\\n", " "), flags=re.MULTILINE)
    return {_name(entry): entry for entry in entries if not entry.startswith("#")}


@pytest.mark.parametrize("name", PINNED)
def test_everything_that_is_asked_for_is_pinned(name: str) -> None:
    """A dependency that was added and not locked is told here; `make lock` mends it."""
    project = _pyproject()
    asked = [
        *project["project"]["dependencies"],
        *project["project"]["optional-dependencies"]["openai"],
        *(item for group in GROUPS[name] for item in project["dependency-groups"][group]),
    ]
    assert {_name(item) for item in asked} <= set(_pinned(name))


@pytest.mark.parametrize("name", PINNED)
def test_each_pin_has_one_version_and_hashes_and_no_address(name: str) -> None:
    """What is installed is what was tested, from whatever index a machine has."""
    for package, entry in _pinned(name).items():
        assert re.search(r"==[\w.]+\s", entry), package
        assert "--hash=sha256:" in entry, package
        assert "://" not in entry, package


def test_the_pinned_files_agree() -> None:
    """What the demo shows is what the tests have tested and the benchmarks have measured."""
    versions: dict[str, set[str]] = {}
    for name in PINNED:
        for package, entry in _pinned(name).items():
            versions.setdefault(package, set()).update(re.findall(r"==([\w.]+)\s", entry)[:1])
    assert {package: found for package, found in versions.items() if len(found) > 1} == {}


def test_the_extra_all_installs_every_other_extra() -> None:
    """One word brings everything that can stand together."""
    extras = _pyproject()["project"]["optional-dependencies"]
    named = set(re.findall(r"\[([\w,-]+)\]", " ".join(extras["all"]))[0].split(","))
    assert named == set(extras) - {"all"}


def test_the_version_is_one_and_has_its_changes() -> None:
    """Package, metadata and changelog agree."""
    assert _pyproject()["project"]["version"] == harness.__version__
    assert f"\n## {harness.__version__}\n" in (PROJECT / "CHANGELOG.md").read_text("utf-8")


def test_the_licence_is_whole() -> None:
    """Apache 2.0, from its title to its appendix."""
    text = (PROJECT / "LICENSE").read_text("utf-8")
    for part in ("Version 2.0, January 2004", "END OF TERMS AND CONDITIONS", "APPENDIX"):
        assert part in text


def test_what_ci_runs_can_be_run() -> None:
    """The script is executable and does nothing that the Makefile does not."""
    script = PROJECT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert "make test" in script.read_text("utf-8")


def test_every_target_of_the_makefile_is_listed_or_a_part_of_one() -> None:
    """`make help` is complete: a target without a word about it is not for people."""
    makefile = (PROJECT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    told = set(re.findall(r"^([a-z]+):.*## ", makefile, re.MULTILINE))
    assert targets - told == {"lint", "types", "tests"}
    assert {"demo", "test", "bench", "check", "lock"} <= told
