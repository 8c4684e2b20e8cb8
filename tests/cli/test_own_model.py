"""The page on error models is true: a model of somebody's own goes through the whole harness."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.command_line import faultclock

PAGE = (Path(__file__).parents[2] / "docs" / "error-models.md").read_text("utf-8")
MODEL, SCENARIO = re.findall(r"^```ya?ml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
(AGENT,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = [
    line.removeprefix("$ faultclock ").split()
    for line in re.findall(r"^\$ faultclock .*acme.*$", PAGE, re.MULTILINE)
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the three files of the page, which is the working folder."""
    (tmp_path / "acme").mkdir()
    (tmp_path / "acme.yaml").write_text(MODEL, encoding="utf-8")
    (tmp_path / "acme" / "busy-then-broken.yaml").write_text(SCENARIO, encoding="utf-8")
    (tmp_path / "acme_agent.py").write_text(AGENT, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_command_of_the_page_succeeds(folder: Path) -> None:
    """In a folder that knows nothing of this checkout."""
    assert len(COMMANDS) == 3
    for words in COMMANDS:
        result = faultclock(*words)
        assert result.exit_code == 0, result.output


def test_the_report_covers_exactly_its_sentences(folder: Path) -> None:
    """Two are tested, one is excluded, and nothing of another model is there."""
    result = faultclock(*COMMANDS[-1], "--json", "report.json", "--html", "report.html")
    assert result.exit_code == 0, result.output
    report = json.loads((folder / "report.json").read_text("utf-8"))
    assert {item["id"]: item["status"] for item in report["coverage"]} == {
        "ACME-1": "tested",
        "ACME-2": "tested",
        "ACME-3": "excluded",
    }
    page = (folder / "report.html").read_text("utf-8")
    assert "A busy provider is asked once more, after three seconds." in page
    assert "STUD-" not in page


@pytest.mark.parametrize(
    ("before", "after", "check", "requirement"),
    [
        ("asyncio.sleep(3)", "asyncio.sleep(1)", "backoff.wait", "ACME-1"),
        ("if last:", "if True:", "classification.disposition", "ACME-1"),
        ("except Exception:", "except KeyError:", "failures.outcome", "ACME-2"),
        ('{"failed": True, "why": "the tool broke"}', "None", "failures.told-model", "ACME-2"),
    ],
)
def test_an_agent_that_breaks_a_sentence_fails_with_it(
    folder: Path, before: str, after: str, check: str, requirement: str
) -> None:
    """As the page says, and the finding quotes the handbook."""
    assert before in AGENT
    (folder / "acme_agent.py").write_text(AGENT.replace(before, after), encoding="utf-8")
    result = faultclock(*COMMANDS[-1], "--json", "report.json")
    assert result.exit_code == 1, result.output
    report = json.loads((folder / "report.json").read_text("utf-8"))
    failed = [
        (item["check"], item["requirement"])
        for item in report["runs"][0]["findings"]
        if item["verdict"] == "FAIL"
    ]
    assert (check, requirement) in failed


def test_the_command_that_repeats_a_run_names_the_file_of_the_model(folder: Path) -> None:
    """No id leads to it; and a report names no absolute path."""
    (folder / "acme_agent.py").write_text(AGENT.replace("sleep(3)", "sleep(1)"), encoding="utf-8")
    *words, model = COMMANDS[-1]
    first = faultclock(*words, str(folder / model))
    (again,) = re.findall(r"reproduce: faultclock (.*)", first.output)
    assert "--model acme.yaml" in again
    assert faultclock(*again.split()).exit_code == first.exit_code == 1
