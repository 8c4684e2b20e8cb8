"""`validate` names every problem of every file."""

from __future__ import annotations

from pathlib import Path

from faultclock.load.resources import error_models_root, scenarios_root
from tests.cli.command_line import faultclock

GOOD = "id: mine/one\ntitle: A title\nwhy: A reason\n"


def test_all_shipped_files_are_right() -> None:
    """Scenarios, and models under each reading."""
    result = faultclock("validate", str(scenarios_root()), str(error_models_root()))
    assert result.exit_code == 0, result.stderr
    assert "error model stud-cli, right under each of its" in result.stdout


def test_right_and_wrong_files_are_told_apart(tmp_path: Path) -> None:
    """Problems on standard error, one line each, and a count at the end."""
    (tmp_path / "a.yaml").write_text(GOOD)
    (tmp_path / "b.yaml").write_text(GOOD + "zz: 1\nseeds: 0\n")
    (tmp_path / "c.jsonl").write_text("{}\n")
    result = faultclock("validate", str(tmp_path))
    assert result.exit_code == 2
    assert result.stdout == f"{tmp_path}/a.yaml: scenario mine/one\n"
    lines = result.stderr.splitlines()
    assert lines[0] == f"{tmp_path}/b.yaml:4:1: unknown key `zz`"
    assert lines[2] == f"{tmp_path}/b.yaml:5:8: `seeds` should be at least 1, not 0"
    assert lines[3].startswith(f"{tmp_path}/c.jsonl:1:1: this is not a trace")
    assert lines[-1] == "3 problems in 2 files; 1 right"


def test_a_missing_file_is_one_more_problem(tmp_path: Path) -> None:
    """The other files are still looked at."""
    (tmp_path / "a.yaml").write_text(GOOD)
    result = faultclock("validate", "-q", str(tmp_path / "no.yaml"), str(tmp_path / "a.yaml"))
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "there is no such file" in result.stderr


def test_an_empty_folder_is_not_valid(tmp_path: Path) -> None:
    """Nothing looked at must not look green."""
    result = faultclock("validate", str(tmp_path))
    assert result.exit_code == 2
    assert "lies below this folder" in result.stderr


def test_every_combination_of_a_matrix_is_looked_at(tmp_path: Path) -> None:
    """A combination that is no scenario would show only in the run otherwise."""
    matrix = "matrix: {axes: {a: {x: {merge: {seeds: %s}}, y: {}}, b: {z: {}}}}\n"
    (tmp_path / "right.yaml").write_text(GOOD + matrix % "2")
    (tmp_path / "wrong.yaml").write_text(GOOD + matrix % "0")
    result = faultclock("validate", str(tmp_path))
    assert result.exit_code == 2
    assert "scenario mine/one, 2 of 2 combinations" in result.stdout
    assert "wrong.yaml:4:16: with a=x, b=z: seeds" in result.stderr


def test_a_sentence_that_names_no_check_is_a_problem(tmp_path: Path) -> None:
    """Its other checks would judge, and nobody would miss this one."""
    model = (error_models_root() / "afk.yaml").read_text("utf-8")
    (tmp_path / "mine.yaml").write_text(model.replace("[backoff.jitter", "[backoff.jiter", 1))
    result = faultclock("validate", str(tmp_path / "mine.yaml"))
    assert result.exit_code == 2
    assert "there is no check 'backoff.jiter'\n  did you mean `backoff.jitter`?" in result.stderr


def test_a_rule_whose_check_no_sentence_names_is_a_problem(tmp_path: Path) -> None:
    """The check would never be judged, and a wrong subject would pass."""
    model = (error_models_root() / "common.yaml").read_text("utf-8")
    wrong = model.replace("checks: [cancel.outcome]", "checks: [tools.paired]")
    (tmp_path / "mine.yaml").write_text(wrong)
    result = faultclock("validate", str(tmp_path / "mine.yaml"))
    assert result.exit_code == 2
    assert "no requirement names the check cancel.outcome among its `checks`" in result.stderr
    assert "add cancel.outcome to the `checks` of COMMON-CANCEL-02" in result.stderr


def test_a_scenario_for_a_model_that_is_not_shipped_says_so(tmp_path: Path) -> None:
    """It may be somebody's own, or a slip for which every run would pass the scenario over."""
    (tmp_path / "a.yaml").write_text(GOOD + "models: [afk, akf]\n")
    result = faultclock("validate", str(tmp_path / "a.yaml"))
    assert result.exit_code == 0
    assert result.stdout.endswith("mine/one, for an error model of your own: akf\n")


def test_what_a_run_would_refuse_to_play_is_refused_here_at_its_place(tmp_path: Path) -> None:
    """One function decides for both, so a file that is right here is right in a run."""
    path = tmp_path / "page.yaml"
    path.write_text(
        GOOD + "provider:\n  payloads:\n"
        "    page: {status: 502, source: made up, text: a page, content_type: text/html}\n"
        "  faults:\n"
        "    - {id: f, when: {attempts: 1}, then: {kind: ok_with_error_body, error: page}}\n"
        "    - id: g\n"
        "      when: {attempts: 2}\n"
        "      then: {kind: stream_error, error: page, after_chunks: 1}\n"
    )
    words = "fault 'g': the payload 'page' has no error object"
    result = faultclock("validate", str(path))
    assert result.exit_code == 2
    assert result.stderr.startswith(f"{path}:11:13: {words}")
    assert words in faultclock("run", str(path), "--subject", "reference").stderr
