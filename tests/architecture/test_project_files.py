"""The files around the package: pinned requirements, licence, changelog, what CI runs."""

from __future__ import annotations

import os
import re
import tomllib
from typing import Any

import pytest

import faultclock
import tests.__main__ as everything
from faultclock.subjects.clients.catalog import CLIENTS
from faultclock.subjects.frameworks.known import FRAMEWORKS
from tests.architecture.source_tree import PROJECT

#: Pinned files that agree: what one of them holds is what the others have tested.
AGREE = ("demo", "dev", "bench")
PINNED = (*AGREE, "openai2", "agents", "crewai")
#: Groups and extras of `pyproject.toml` that each holds beside the package's own dependencies.
GROUPS = {
    "demo": ("build",),
    "dev": ("build", "dev"),
    "bench": ("build", "bench"),
    "openai2": ("build", "apart"),
    "agents": ("build", "apart"),
    "crewai": ("build", "apart"),
}
#: Extras that cannot stand with all others, by their environment.
APART = {
    "openai2": ("litellm", "openai-agents", "llama-index", "strands"),
    "agents": ("agno", "autogen", "google-adk", "smolagents"),
    "crewai": ("crewai", "langchain-mcp"),
}
EXTRAS = {"demo": ("openai",), "dev": ("all",), "bench": ("openai",), **APART}
_NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]*")


#: What stands at the top of the repository, but for what git ignores.
TOP = {
    *("CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md"),
    *("action.yml", "pyproject.toml"),
    *("benchmarks", "docs", "fixtures", "harness", "integrations"),
    *("reports", "requirements", "scenarios", "tests"),
}
IGNORED = {"build", "dist", "__pycache__"}


def test_nothing_else_stands_at_the_top() -> None:
    """A command that was tried in the checkout leaves its traces there."""
    found = {path.name for path in PROJECT.iterdir() if not path.name.startswith(".")}
    assert found - IGNORED == TOP


def _pyproject() -> dict[str, Any]:
    return tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))


def _name(requirement: str) -> str:
    match = _NAME.match(requirement)
    assert match is not None, requirement
    return re.sub(r"[-_.]+", "-", match[0]).lower()


def _extra(name: str) -> tuple[set[str], set[str]]:
    """Return what an extra asks for, and the names of the extras that it is made of."""
    asked, extras = set(), {name}
    for item in _pyproject()["project"]["optional-dependencies"][name]:
        ours = re.fullmatch(r"faultclock\[([\w,-]+)\]", item)
        if ours is None:
            asked.add(_name(item))
        for inner in ours[1].split(",") if ours is not None else ():
            more, named = _extra(inner)
            asked, extras = asked | more, extras | named
    return asked, extras


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
        *(item for group in GROUPS[name] for item in project["dependency-groups"][group]),
    ]
    of_extras = set().union(*(_extra(extra)[0] for extra in EXTRAS[name]))
    assert {_name(item) for item in asked} | of_extras <= set(_pinned(name))


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
    for name in AGREE:
        for package, entry in _pinned(name).items():
            versions.setdefault(package, set()).update(re.findall(r"==([\w.]+)\s", entry)[:1])
    assert {package: found for package, found in versions.items() if len(found) > 1} == {}


def test_the_extra_all_installs_every_extra_that_can_stand_with_the_others() -> None:
    """One word brings them together."""
    extras = _pyproject()["project"]["optional-dependencies"]
    assert _extra("all")[1] == set(extras) - {name for names in APART.values() for name in names}


def test_of_what_has_many_versions_all_asks_for_the_newest() -> None:
    """After a release that fits nothing, pip would try hundreds; the floors move with the pins."""
    asked = _pyproject()["project"]["optional-dependencies"]["all"]
    floors = dict(item.split(">=") for item in asked if ">=" in item)
    assert {"boto3", "openai", "pydantic-ai-slim"} <= set(floors)
    for name, floor in floors.items():
        pinned = re.search(r"==(\d+)\.(\d+)", _pinned("dev")[name])
        major, minor = map(int, floor.split("."))
        assert pinned is not None
        assert int(pinned[1]) == major, name
        assert minor <= int(pinned[2]) <= minor + 12, name


def test_each_framework_that_stands_apart_is_tried_in_the_environment_that_has_it() -> None:
    """`make frameworks` names each."""
    apart = {f"{place}/{name}" for place, names in APART.items() for name in names}
    makefile = (PROJECT / "Makefile").read_text("utf-8").replace("\\\n", " ")
    (tried,) = re.findall(r"^FRAMEWORKS \?= (.*)$", makefile, re.MULTILINE)
    clients = {f"openai2/{name}" for name in ("litellm", "openai-agents")}
    assert set(tried.split()) == apart - clients


def test_every_client_that_comes_bound_has_its_extra() -> None:
    """What the list of subjects tells a person to install can be installed."""
    extras = _pyproject()["project"]["optional-dependencies"]
    named = {entry.extra for entry in CLIENTS.values()}
    named |= {known.extra for known in FRAMEWORKS if known.extra}
    assert named <= set(extras)
    assert set(extras) - named <= {"all", "certify", "dask", "langchain-mcp", "record", "sdk"}


def test_clients_that_cannot_stand_with_the_others_are_tested_apart() -> None:
    """Their tests are run by name, in their own environment, and collected nowhere else."""
    assert "openai==3." in _pinned("dev")["openai"]
    assert "openai==2." in _pinned("openai2")["openai"]
    assert everything.APART["clients_openai2"] == "openai2"
    assert "clients_openai2" in _pyproject()["tool"]["pytest"]["norecursedirs"]
    tested = "".join(
        path.read_text("utf-8") for path in (PROJECT / "tests" / "clients_openai2").glob("*.py")
    )
    for id_, entry in CLIENTS.items():
        if entry.extra in APART["openai2"]:
            assert f'"{id_}"' in tested, id_


def test_no_test_is_left_out() -> None:
    """`make test` runs the folders that have tests, and all of them."""
    assert "python -m tests " in (PROJECT / "Makefile").read_text("utf-8")
    files = {path.parent for path in (PROJECT / "tests").rglob("test_*.py")}
    folders = everything.folders()
    assert {PROJECT / "tests" / folder for folder in folders} == files
    assert len(folders) == len(files)


@pytest.mark.parametrize(
    ("ends", "code"),
    [
        ([(0, "3 passed in 1.00s"), (5, "no tests ran in 0.01s")], 0),
        ([(0, "3 passed in 1.00s"), (1, "1 failed, 2 passed in 1.00s")], 1),
        ([(0, "3 passed in 1.00s"), (2, "interrupted")], 1),
        ([(0, "2 skipped in 1.00s"), (5, "no tests ran in 0.01s")], 1),
    ],
)
def test_all_folders_are_well_or_the_run_is_not(ends: list[tuple[int, str]], code: int) -> None:
    """A folder that fails, or stops, is named at the end; where nothing passed, nothing is well."""
    done = [everything.Folder(f"room-{ended}", ended, ["a line", last]) for ended, last in ends]
    lines, found = everything.together(done)
    assert found == code
    assert lines[:-1] == [f"failed: {folder}" for folder in done if folder.code in (1, 2)]


def test_what_is_said_after_the_last_test_is_shown_and_hides_no_count() -> None:
    """Python may complain while it ends."""
    folder = everything.Folder("room", 0, ["....", "4 passed in 1.00s", "Exception ignored in"])
    assert folder.shown() == ["Exception ignored in", "tests/room: 4 passed in 1.00s"]
    assert everything.together([folder]) == (["4 passed"], 0)


def test_the_version_is_one_and_has_its_changes() -> None:
    """Package, metadata and changelog agree."""
    assert _pyproject()["project"]["version"] == faultclock.__version__
    assert f"\n## {faultclock.__version__}\n" in (PROJECT / "CHANGELOG.md").read_text("utf-8")


def test_each_python_that_is_claimed_is_tried() -> None:
    """That of all tests and of the pinned files, and others on which `make pythons` plays."""
    said = "Programming Language :: Python :: "
    classifiers = _pyproject()["project"]["classifiers"]
    claimed = {item.removeprefix(said) for item in classifiers if item.startswith(said)}
    makefile = (PROJECT / "Makefile").read_text("utf-8")
    pinned = set(re.findall(r"--python-version (3\.\d+)", makefile))
    (looked_for,) = re.findall(r"^PYTHONS \?= .* for it in ([^;]*);", makefile, re.MULTILINE)
    assert claimed == {*pinned, "3.13"}
    assert claimed - pinned <= {name.removeprefix("python") for name in looked_for.split()}


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
