"""`faultclock judge`: stored traces and foreign logs, from the command line."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command_line import faultclock
from tests.load.foreign_logs import ROOT

PAGE = (Path(__file__).parents[2] / "docs" / "foreign-traces.md").read_text("utf-8")
(MAP,) = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
(LOG,) = re.findall(r"^```json\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
#: The checks that the page says find something in its log.
TOLD = {"ordering.step-before-llm", "backoff.declared", "audience.user"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the map and the log of the page, which is the working folder."""
    (tmp_path / "shop.yaml").write_text(MAP, encoding="utf-8")
    (tmp_path / "shop.jsonl").write_text(LOG, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def report(*words: str) -> dict[str, Any]:
    """Judge, and return the report."""
    result = faultclock("judge", *words, "--json", "-")
    assert result.exit_code in (0, 1, 3), result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def failed(of: dict[str, Any]) -> set[str]:
    """Return the checks that found something."""
    return {
        finding["check"]
        for run in of["runs"]
        for finding in run["findings"]
        if finding["verdict"] in ("FAIL", "WARN")
    }


def test_the_example_of_the_page_is_right(folder: Path) -> None:
    """Its map is one, and its log has the three faults that the page tells of."""
    assert "map shop of 7 events" in faultclock("validate", "shop.yaml").stdout
    result = faultclock("judge", "shop.jsonl", "--map", "shop.yaml")
    assert result.exit_code == 1
    assert failed(report("shop.jsonl", "--map", "shop.yaml")) == TOLD
    assert "sk-3f9a27c41b80" not in result.output


def test_what_is_named_once_more_finds_the_same(folder: Path) -> None:
    """With every option that mattered."""
    first = report("shop.jsonl", "--map", "shop.yaml", "--complete")
    command = shlex.split(first["runs"][0]["replay"])
    assert command[:2] == ["faultclock", "judge"]
    assert command[2:] == [
        "shop.jsonl",
        "--model",
        "afk",
        "--map",
        "shop.yaml",
        "--complete",
    ]
    assert report(*command[2:]) == first


def test_a_report_names_no_absolute_path(folder: Path) -> None:
    """Also where the files were named by one."""
    text = json.dumps(report(str(folder / "shop.jsonl"), "--map", str(folder / "shop.yaml")))
    assert str(folder) not in text
    assert "--map shop.yaml" in text


def test_a_model_beside_the_map_is_found_again(folder: Path) -> None:
    """By the map, and by the command that is named once more."""
    from faultclock.load.resources import error_models_root

    model = (error_models_root() / "afk.yaml").read_text("utf-8")
    (folder / "ours.yaml").write_text(model, encoding="utf-8")
    (folder / "shop.yaml").write_text(MAP.replace("model: afk ", "model: ours.yaml "), "utf-8")
    first = report("shop.jsonl", "--map", "shop.yaml")
    assert failed(first) == TOLD
    assert "--model ours.yaml" in first["runs"][0]["replay"]
    assert faultclock("validate", "shop.yaml").exit_code == 0


def test_each_log_has_its_own_name_in_the_report() -> None:
    """Several of one format are judged at once."""
    logs = [str(ROOT / "afk" / name) for name in ("good-degraded.jsonl", "good-approval.jsonl")]
    assert [run["scenario"] for run in report(*logs, "--map", "afk")["runs"]] == [
        "foreign/afk/good-degraded.jsonl",
        "foreign/afk/good-approval.jsonl",
    ]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("good-run-failed", "--map", "relavium"), 0),
        (("bad-two-ends", "--map", "relavium"), 1),
        (("cut-after-retrying", "--map", "relavium"), 3),
        (("cut-after-retrying", "--map", "relavium", "--complete"), 1),
        (("good-tool-call", "--map", "relavium", "--model", "stud-cli"), 3),
        (("good-run-failed",), 2),
        (("good-run-failed", "--complete"), 2),
        (("good-run-failed", "--map", "relavum"), 2),
        (("good-run-failed", "--map", "afk"), 2),
    ],
)
def test_the_exit_code_says_what_it_came_to(words: tuple[str, ...], code: int) -> None:
    """A log that shows nothing is no success."""
    log, *options = words
    result = faultclock("judge", str(ROOT / "relavium" / f"{log}.jsonl"), *options)
    assert result.exit_code == code, result.output


def test_a_foreign_log_without_a_map_is_told_what_it_needs() -> None:
    """Whoever has a log of another system is led to the option."""
    result = faultclock("judge", str(ROOT / "afk" / "good-approval.jsonl"))
    assert "faultclock judge --map" in result.output


def test_a_map_that_its_model_does_not_know_is_refused(folder: Path) -> None:
    """At its place, and before anything is judged by it."""
    text = MAP.replace("name: run_failed", "name: run_broke")
    (folder / "shop.yaml").write_text(text, encoding="utf-8")
    for words in (("validate", "shop.yaml"), ("judge", "shop.jsonl", "--map", "shop.yaml")):
        result = faultclock(*words)
        assert result.exit_code == 2
        assert "the error model afk knows no event 'run_broke'" in result.output
        assert re.search(r"shop\.yaml:\d+:\d+: ", result.output)


def test_logs_of_two_systems_are_two_reports() -> None:
    """A report is about one subject."""
    result = faultclock(
        "judge",
        *(str(path) for path in sorted((ROOT.parent / "golden-traces").glob("*reference*.jsonl"))),
    )
    assert result.exit_code == 2
    assert "judge the others in a command of their own" in result.output


def test_a_run_that_is_judged_again_comes_to_the_same(tmp_path: Path) -> None:
    """The findings of the run and those of its stored trace are equal, word for word."""
    made = faultclock(
        "run",
        "rate-limits/retry-after-integer",
        "--subject",
        "mini-ignores-retry-after",
        "--trace-dir",
        str(tmp_path),
        "--json",
        str(tmp_path / "run.json"),
    )
    assert made.exit_code == 1, made.output
    ran = json.loads((tmp_path / "run.json").read_text("utf-8"))["runs"]
    traces = sorted(map(str, tmp_path.rglob("*.jsonl")))
    judged = report(*traces)["runs"]
    assert len(traces) == len(ran) == len(judged)
    by_digest = {run["trace_digest"]: run for run in ran}
    for run in judged:
        assert run["findings"] == by_digest[run["trace_digest"]]["findings"]
        assert run["verdict"] == by_digest[run["trace_digest"]]["verdict"]


def test_the_shipped_maps_are_listed() -> None:
    """For people, and as data."""
    assert re.search(r"^afk +for afk +AFK run events: ", faultclock("list", "maps").stdout)
    listed = json.loads(faultclock("list", "maps", "--json").stdout)
    assert {item["id"] for item in listed} == {path.name for path in ROOT.iterdir()}
    assert all(item["events"] for item in listed)


def test_the_schema_of_a_map_knows_its_keys() -> None:
    """An editor completes them, and a name alone is an entry."""
    schema = json.loads(faultclock("schema", "map").stdout)
    assert {"id", "title", "model", "source", "name"} == set(schema["required"])
    assert {"type": "null"} in schema["properties"]["events"]["additionalProperties"]["anyOf"]


def test_an_event_that_nobody_names_is_noted(folder: Path) -> None:
    """A slip in a name must not take a finding away without a word."""
    (folder / "slip.jsonl").write_text(LOG.replace('"ask"', '"aks"'), encoding="utf-8")
    result = faultclock("judge", "slip.jsonl", "--map", "shop.yaml")
    assert result.stderr == "note: slip.jsonl: named by neither map nor error model: aks (1)\n"
    assert faultclock("judge", "shop.jsonl", "--map", "shop.yaml").stderr == ""
