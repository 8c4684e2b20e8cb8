"""`faultclock mutate`: what it prints, what it writes, and what it exits with."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from faultclock.model.report.kill_matrix import KillMatrix
from tests.cli.command_line import faultclock
from tests.kills.conftest import page_files

SUBJECT = ("--subject", "client.py:subject")
MENDED = ("other: {kinds: [call.started]}", "other: {kinds: [attempt.failed]}")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files of the page, which is the working folder."""
    for name, text in page_files().items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def change(path: Path, before: str, after: str) -> None:
    """Replace a text of a file that is there."""
    text = path.read_text("utf-8")
    assert before in text
    path.write_text(text.replace(before, after), encoding="utf-8")


def test_a_rule_that_nothing_kills_exits_with_1_and_stands_first(folder: Path) -> None:
    """The totals stand last, and both files hold the same."""
    result = faultclock(
        "mutate", "courier.yaml", "scenarios", *SUBJECT, "--html", "k.html", "--json", "k.json"
    )
    assert result.exit_code == 1, result.output
    lines = result.stdout.splitlines()
    assert lines[:2] == [
        "Rules that nothing kills",
        "  COURIER-3 (MUST), ordering.announced-after-a-failure",
    ]
    assert any(line.startswith("4 rules: 3 killed and 1 that nothing kills. ") for line in lines)
    assert lines[-2:] == ["  written: k.html", "  written: k.json"]
    written = (folder / "k.json").read_text("utf-8")
    matrix = KillMatrix.model_validate_json(written)
    assert [rule.requirement for rule in matrix.unkilled] == ["COURIER-3"]
    schema = json.loads(faultclock("schema", "kills").stdout)
    jsonschema.validate(json.loads(written), schema)
    page = (folder / "k.html").read_text("utf-8")
    assert "A retry is announced only after an attempt has failed." in page


def test_a_model_whose_rules_are_all_killed_exits_with_0(folder: Path) -> None:
    """With -q, one line says so."""
    change(folder / "courier.yaml", *MENDED)
    result = faultclock("mutate", "courier.yaml", "scenarios", *SUBJECT, "-q")
    assert result.exit_code == 0, result.output
    (line,) = result.stdout.splitlines()
    assert line.startswith("4 rules: 4 killed. ")


def test_json_on_standard_output_is_alone_there(folder: Path) -> None:
    """The words for people go to the other stream; a draw says how much it left out."""
    words = ("mutate", "courier.yaml", "scenarios", *SUBJECT, "--json", "-", "--limit", "5")
    result = faultclock(*words)
    matrix = KillMatrix.model_validate_json(result.stdout)
    assert len(matrix.mutants) == 5
    assert f"5 of {5 + matrix.left_out} mutants" in result.stderr
    assert all("were not drawn" in rule.hint for rule in matrix.rules if rule.status == "survives")
    assert result.stdout == faultclock(*words, "--jobs", "1").stdout


def test_a_subject_that_breaks_a_rule_itself_measures_nothing(folder: Path) -> None:
    """One sentence names the rule and the scenario, and the exit code is 2."""
    change(folder / "client.py", "time.sleep(3)", "time.sleep(1)")
    result = faultclock("mutate", "courier.yaml", "scenarios", *SUBJECT)
    assert result.exit_code == 2
    assert "itself breaks rules of courier" in " ".join(result.stderr.split())
    assert "backoff.wait (COURIER-1)" in " ".join(result.stderr.split())
    assert result.stdout == ""


def test_where_no_rule_is_judged_nothing_is_shown(folder: Path) -> None:
    """A client that announces nothing, in a world in which nothing fails."""
    (folder / "calm.yaml").write_text("id: courier/calm\ntitle: t\nwhy: w\n", encoding="utf-8")
    result = faultclock("mutate", "courier.yaml", "calm.yaml", *SUBJECT, "--limit", "3")
    assert result.exit_code == 3, result.output
    assert "not judged here" in result.stdout


def test_a_model_without_a_rule_shows_nothing(folder: Path) -> None:
    """Nothing that is left of it can be broken, and nothing is called killed."""
    text = (folder / "courier.yaml").read_text("utf-8")
    head = text[: text.index("classes:")]
    (folder / "empty.yaml").write_text(f"{head}classes: []\nrequirements: []\n", encoding="utf-8")
    result = faultclock("mutate", "empty.yaml", "scenarios", *SUBJECT, "--limit", "2", "-q")
    assert result.exit_code == 3, result.output
    assert result.stdout.startswith("0 rules. ")


def test_a_sentence_that_names_no_check_is_refused(folder: Path) -> None:
    """It would not be listed among the rules, and so could not be killed."""
    change(
        folder / "courier.yaml",
        "[backoff.attempts, backoff.wait]",
        "[backoff.attempts, backoff.wait, b.x]",
    )
    result = faultclock("mutate", "courier.yaml", "scenarios", *SUBJECT)
    assert result.exit_code == 2
    assert "COURIER-1: there is no check 'b.x'" in result.stderr


NOISY = """
import os
import time
from pathlib import Path

from client import subject as right
from faultclock import provider_adapter


# What a run opens is its own; this one is open before.
place = os.open(Path(__file__).with_suffix(".count"), os.O_RDWR | os.O_CREAT)


@provider_adapter(declares=("events",), inline=True)
def counts(request):
    number = os.fstat(place).st_size
    os.pwrite(place, b"x", number)
    request.host.event("counted", number=number)
    return right.function(request)


@provider_adapter(declares=("events",))
def prints(request):
    print("to standard output", flush=True)
    os.write(1, b"behind its back")
    return right.function(request)


@provider_adapter(declares=("events",))
def gives_up(request):
    raise RuntimeError("not today")
"""


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("counts", "two runs of the subject with one seed differ"),
        ("gives_up", "no request met it"),
    ],
)
def test_a_subject_whose_runs_show_nothing_says_why(folder: Path, name: str, why: str) -> None:
    """No mutant is tried, and none of them counts as one without effect."""
    (folder / "noisy.py").write_text(NOISY, encoding="utf-8")
    words = ("mutate", "courier.yaml", "scenarios", "--subject", f"noisy.py:{name}")
    result = faultclock(*words, "--limit", "3")
    assert result.exit_code == 3, result.output
    assert "Scenarios that show nothing: 2" in result.stdout
    assert why in result.stdout
    assert "no run of the subject proves anything" in " ".join(result.stdout.split())
    assert "mutants: 3 not tried. 0 scenarios, 0 trials" in result.stdout


def test_what_a_subject_prints_is_not_in_the_json(folder: Path) -> None:
    """Neither what goes through Python nor what goes past it."""
    (folder / "noisy.py").write_text(NOISY, encoding="utf-8")
    words = ("mutate", "courier.yaml", "scenarios", "--subject", "noisy.py:prints")
    result = faultclock(*words, "--limit", "2", "--json", "-")
    assert KillMatrix.model_validate_json(result.stdout).is_proof


def test_an_interrupted_search_writes_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was there before stays as it was."""
    (folder / "k.json").write_text("old", encoding="utf-8")

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("faultclock.kills.search.search", interrupted)
    words = ("mutate", "courier.yaml", "scenarios", *SUBJECT, "--json", "k.json")
    assert faultclock(*words, "--html", "k.html").exit_code != 0
    assert sorted(path.name for path in folder.glob("*k.*")) == ["k.json"]
    assert (folder / "k.json").read_text("utf-8") == "old"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("courier.yaml", "scenarios"), "no subject"),
        (("none.yaml", *SUBJECT), "none.yaml"),
        (("courier.yaml", "none", *SUBJECT), "none"),
        (("courier.yaml", *SUBJECT, "--limit", "0"), "--limit"),
        (("courier.yaml", *SUBJECT, "--json", ""), "folder"),
        (("courier.yaml", *SUBJECT, "--html", "a", "--json", "a"), "one place"),
        (("courier.yaml", *SUBJECT, "--html", "a", "--json", "./a"), "one place"),
    ],
)
def test_wrong_usage_exits_with_2(folder: Path, words: tuple[str, ...], told: str) -> None:
    """And says what is wrong, before anything is run."""
    result = faultclock("mutate", *words)
    assert result.exit_code == 2
    assert told in result.stderr
    assert result.stdout == ""
