"""The documentation as a test: links lead somewhere, tables are complete.

That its commands and snippets work is a test of `tests/docs/`.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from faultclock.cli import exits
from faultclock.model.scenario.fault import Fault
from faultclock.model.scenario.rule import AttemptRange
from faultclock.model.scenario.scenario import Scenario
from tests.architecture.source_tree import PROJECT
from tests.architecture.test_import_direction import ROOMS

PAGES = sorted(
    path.relative_to(PROJECT).as_posix()
    for path in [
        *PROJECT.glob("*.md"),
        *PROJECT.glob("docs/**/*.md"),
        *(
            PROJECT / folder / "README.md"
            for folder in ("fixtures", "reports", "scenarios", "tests")
        ),
    ]
)
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def _page(name: str) -> str:
    return (PROJECT / name).read_text("utf-8")


def _blocks(page: str, language: str) -> Iterator[str]:
    return (match[2] for match in _FENCE.finditer(_page(page)) if match[1] == language)


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_something_that_exists(page: str) -> None:
    """Files are there, and so are the headings that a link names."""
    broken = []
    for link in _LINK.findall(_page(page)):
        if "://" in link:
            continue
        name, _, anchor = link.partition("#")
        target = (PROJECT / page).parent / name if name else PROJECT / page
        if not target.exists() or (anchor and anchor not in _anchors(target)):
            broken.append(link)
    assert broken == []


def test_every_page_is_found_from_the_first_one() -> None:
    """A page that nothing leads to is read by nobody."""
    found: set[Path] = set()
    waiting = [PROJECT / "docs" / "README.md"]
    while waiting:
        page = waiting.pop()
        if page not in found:
            found.add(page)
            links = _LINK.findall(page.read_text("utf-8"))
            names = {link.partition("#")[0] for link in links if "://" not in link}
            targets = {(page.parent / name).resolve() for name in names if name.endswith(".md")}
            waiting += [target for target in targets if target.exists()]
    assert set(PROJECT.glob("docs/**/*.md")) - found == set()


@pytest.mark.parametrize("page", PAGES)
def test_lines_are_as_short_as_in_the_code(page: str) -> None:
    """A page is read in an editor and in a diff, too; tables and what is printed may be wider."""
    as_printed = re.sub(
        r"^```console\n.*?^```$",
        lambda match: "\n" * match[0].count("\n"),
        _page(page),
        flags=re.MULTILINE | re.DOTALL,
    )
    long = [
        number
        for number, line in enumerate(as_printed.splitlines(), start=1)
        if len(line) > 100 and not line.startswith(("|", "<!--"))
    ]
    assert long == []


def _models_below(model: Any) -> Iterator[type[BaseModel]]:
    """Yield `model` and every model that a field of it, or of one below it, may hold."""
    todo: list[Any] = [model]
    seen: set[type[BaseModel]] = set()
    while todo:
        kind = todo.pop()
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            if kind not in seen:
                seen.add(kind)
                yield kind
                todo += [field.annotation for field in kind.model_fields.values()]
        else:
            todo += get_args(kind)


@pytest.mark.parametrize(
    "model",
    # A range of attempts is written as one text.
    sorted(set(_models_below(Scenario)) - {AttemptRange}, key=lambda m: m.__name__),
    ids=lambda m: m.__name__,
)
def test_every_key_of_a_scenario_is_explained(model: type[BaseModel]) -> None:
    """The guide to the format names each key that a file may hold."""
    page = _page("docs/scenarios.md")
    keys = [field.alias or name for name, field in model.model_fields.items()]
    assert [key for key in keys if not re.search(rf"[`{{]{key}[`:]", page)] == []


def test_every_fault_and_its_keys_are_explained() -> None:
    """The table of faults is that of the model."""
    page = _page("docs/scenarios.md")
    for member in get_args(get_args(Fault)[0]):
        kind = get_args(member.model_fields["kind"].annotation)[0]
        assert f"| `{kind}` |" in page
        assert [name for name in member.model_fields if f"`{name}`" not in page] == []


def test_the_table_of_rooms_is_the_one_that_is_enforced() -> None:
    """Whoever reads the architecture reads the rules that the tests hold."""
    page = _page("docs/architecture.md")
    named = re.findall(r"^\| `([a-z_/]+)` \|", page, re.MULTILINE)
    rooms = {name.rstrip("/").replace("/", ".") for name in named if "tests" not in name}
    assert rooms == {room for room in ROOMS if not room.startswith("__")}


def test_files_that_the_architecture_names_exist() -> None:
    """The guided tour does not lead into walls."""
    page = _page("docs/architecture.md")
    named = set(re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.(?:py|yaml))`", page))
    missing = {
        name
        for name in named
        if not any((root / name).exists() for root in (PROJECT, PROJECT / "harness/faultclock"))
    }
    assert missing == set()


def test_the_front_page_is_short() -> None:
    """A newcomer reads it to the end."""
    assert len(_page("README.md").split()) <= 700


def test_the_client_of_the_front_page_is_the_one_that_the_demo_checks() -> None:
    """The front page, the page of check and the file hold the same lines."""
    shown = next(_blocks("README.md", "python"))
    assert shown == next(_blocks("docs/check.md", "python"))
    assert _page("fixtures/clients/ordinary.py").endswith(shown)


def test_the_finding_that_is_explained_is_a_real_one() -> None:
    """What the page shows is what the command says today, word for word."""
    example = next(text for text in _blocks("docs/reports.md", "text") if text.startswith("FAIL"))
    scenario = re.search(r"in (\S+)$", example, re.MULTILINE)
    assert scenario is not None
    words = ["run", scenario[1], "--subject", "openai-async", "--json", "-", "--quiet"]
    done = subprocess.run(
        [sys.executable, "-m", "faultclock.cli", *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == exits.NONCONFORMING, done.stderr
    findings = json.loads(done.stdout)["runs"][0]["findings"]
    (failed,) = (finding for finding in findings if finding["verdict"] == "FAIL")
    shown = " ".join(example.split())
    for part in ("check", "place", "level", "sentence", "expected", "observed"):
        assert failed[part] in shown, part
    assert ", ".join(map(str, failed["events"])) in example


def _anchors(path: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", path.read_text("utf-8"), re.MULTILINE)
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings
    }


def test_versions_of_libraries_are_the_pinned_ones() -> None:
    """What a page or a binding says of a library was seen with the version that is installed here.

    The field report names the versions of each environment, and has a test of its own; the page
    about drifts is about other versions.
    """
    pins: dict[str, set[str]] = {}
    for path in (PROJECT / "requirements").glob("*.txt"):
        for name, version in re.findall(r"^([a-z0-9.-]+)==(\S+)", path.read_text(), re.MULTILINE):
            pins.setdefault(name, set()).add(version)
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = [item for extra in project["optional-dependencies"].values() for item in extra]
    named = {re.split(r"[\[<>=!]", item)[0] for item in extras} & pins.keys()
    names = "|".join(sorted(named, key=len, reverse=True))
    said = re.compile(rf"(?<![\w-])({names})`?\s(\d+(?:\.\d+)+)(?!\S*[=<>])")
    clients = sorted((PROJECT / "harness/faultclock/subjects/clients").glob("*.py"))
    wrong = [
        f"{path.name}: {library} {version}; pinned: {', '.join(sorted(pins[library]))}"
        for path in (*(PROJECT / name for name in PAGES), *clients)
        if path.name not in ("field-report.md", "drift.md")
        for library, version in said.findall(path.read_text("utf-8"))
        if not any(f"{pin}.".startswith(f"{version}.") for pin in pins[library])
    ]
    assert wrong == []
