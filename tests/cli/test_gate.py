"""Gating, parts and differences on the command line, from a run to its exit code."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from faultclock.cli.exits import INCONCLUSIVE, NONCONFORMING, OK, USAGE
from faultclock.cli.replay_at import of_finding
from faultclock.errors import InputError
from faultclock.model.report.finding import Report, Verdict
from faultclock.render.json_text import json_report
from tests.cli.command_line import faultclock
from tests.history.drawn import SCENARIOS, finding, report_of, run

DAY = ("--today", "2027-01-31")
WORDS = ("--reason", "see #41", "--owner", "team", "--expires", "2027-03-31")
RUN = (
    "run",
    "rate-limits/retry-after-zero",
    "--subject",
    "mini-ignores-retry-after",
    "--inline",
    "-q",
)


def stored(folder: Path, name: str, report: Report) -> str:
    """Write a report, and return its path."""
    path = folder / name
    path.write_text(json_report(report))
    return str(path)


FAILS = report_of([run(SCENARIOS[0], finding(Verdict.FAIL, requirement="R-1"))])
PASSES = report_of([run(SCENARIOS[0], finding(Verdict.PASS, requirement="R-1"))])


def test_a_baseline_is_made_checked_and_cleared(tmp_path: Path) -> None:
    """What fails is known from then on; once it passes, the entry has to go."""
    fails, passes = stored(tmp_path, "f.json", FAILS), stored(tmp_path, "p.json", PASSES)
    known = str(tmp_path / "known.yaml")
    made = faultclock("baseline", "update", known, fails, *DAY, *WORDS)
    assert (made.exit_code, "made: 1 added" in made.output) == (OK, True)
    checked = faultclock("baseline", "check", known, fails, *DAY)
    assert checked.exit_code == OK
    assert "open: it does not conform, and all that fails is known" in checked.output
    assert "see #41 (team, until 2027-03-31)" in checked.output
    assert "once more" not in checked.output
    late = faultclock("baseline", "check", known, fails, "--today", "2027-04-01")
    assert (late.exit_code, "1 entry overdue" in late.output) == (NONCONFORMING, True)
    mended = faultclock("baseline", "check", known, passes, *DAY)
    assert (mended.exit_code, "1 entry passing now" in mended.output) == (NONCONFORMING, True)
    cleared = faultclock("baseline", "update", known, passes, *DAY)
    assert "f/one: backoff.wait (R-1): passes now" in cleared.output
    assert "deviations: []" in Path(known).read_text()
    assert faultclock("baseline", "check", known, passes, *DAY).exit_code == OK
    assert "nothing to change" in faultclock("baseline", "update", known, passes, *DAY).output


def test_a_dry_run_shows_the_difference_and_writes_nothing(tmp_path: Path) -> None:
    """As `diff -u` does, on standard output alone."""
    known = tmp_path / "known.yaml"
    fails = stored(tmp_path, "f.json", FAILS)
    shown = faultclock("baseline", "update", str(known), fails, *DAY, *WORDS, "--dry-run")
    assert shown.exit_code == OK
    assert "+  - scenario: f/one\n" in shown.stdout
    assert "would be made: 1 added" in shown.stderr
    assert not known.exists()


def test_what_is_overdue_is_put_off_by_name_only(tmp_path: Path) -> None:
    """Without it, the update says so and leaves 1."""
    fails, known = stored(tmp_path, "f.json", FAILS), str(tmp_path / "known.yaml")
    faultclock("baseline", "update", known, fails, *DAY, *WORDS)
    later = ("--today", "2027-05-01", "--expires", "2027-06-30")
    told = faultclock("baseline", "update", known, fails, *later[:2])
    assert (told.exit_code, "overdue  f/one" in told.output) == (NONCONFORMING, True)
    renewed = faultclock("baseline", "update", known, fails, *later, "--renew")
    assert renewed.exit_code == OK
    assert "was until 2027-03-31, now until 2027-06-30" in renewed.output
    assert "reason: 'see #41'" in Path(known).read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("baseline", "update", "k.yaml", "f.json", *DAY), "1 new entry, without a reason"),
        (
            ("baseline", "update", "k.yaml", "f.json", "--reason", "r"),
            "a new entry needs --owner and --expires, too",
        ),
        (
            ("baseline", "update", "k.yaml", "f.json", *WORDS, "--today", "2028-01-01"),
            "the last day 2027-03-31 is over: today is",
        ),
        (
            ("baseline", "update", "k.yaml", "f.json", *WORDS, "--owner", " "),
            "a new entry needs --owner, too",
        ),
        (("baseline", "check", "none.yaml", "f.json"), "none.yaml: there is no such file"),
        ((*RUN, "--baseline", "none.yaml"), "faultclock baseline update none.yaml REPORT"),
        (("baseline", "check", "bad.yaml", "f.json"), "bad.yaml:1:1: the key `model` is missing"),
        (("baseline", "check", "other.yaml", "f.json"), "is about the subject other"),
        (("baseline", "check", "k.yaml", "bad.yaml"), "no such file"),
        (("baseline", "check", "other.yaml", "bad.yaml"), "bad.yaml: this is not JSON"),
        (("baseline", "check", "other.yaml", "f.json", "--today", "soon"), "'soon' is no day"),
        (("merge", "f.json", "./f.json"), "./f.json is there twice"),
        (("merge", "f.json", "p.json"), "f/one was run in f.json and in p.json"),
        (("diff", "-", "-"), "standard input can be only one"),
        (("diff", "f.json", "none.json"), "none.json: there is no such file"),
        ((*RUN, "--today", "2027-01-01"), "--today goes with --baseline"),
        ((*RUN, "--shard", "3/2"), "'3/2' is not a part of a whole"),
        ((*RUN, "--shard", "0/2"), "'0/2' is not a part of a whole"),
        (
            (*RUN, "--baseline", "other.yaml"),
            "other.yaml: this baseline is about the subject other",
        ),
    ],
)
def test_what_is_wrong_is_one_sentence_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], message: str
) -> None:
    """With exit code 2."""
    monkeypatch.chdir(tmp_path)
    stored(tmp_path, "f.json", FAILS)
    stored(tmp_path, "p.json", PASSES)
    Path("bad.yaml").write_text("subject: s\n")
    Path("other.yaml").write_text("subject: other\nmodel: stud-cli\n")
    before = sorted(path.name for path in tmp_path.iterdir())
    result = faultclock(*words)
    assert result.exit_code == USAGE
    assert message in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    "changes",
    [
        {"verdict": "PASS"},
        {"verdict": "PASS", "runs": []},
        {"verdict": "PASS", "runs": [], "totals": {}},
        {"verdict": "PASS", "totals": {"PASS": 1}, "verdicts": "PASS"},
        {"totals": {"PASS": 4}},
        {"verdict": "FAIL", "totals": {"FAIL": 1}, "findings": []},
    ],
)
@pytest.mark.parametrize("command", ["check", "update", "merge", "diff"])
def test_a_report_that_was_changed_by_hand_is_refused(
    tmp_path: Path, changes: dict[str, Any], command: str
) -> None:
    """Whole, runs and findings have to say the same: each command goes by another of them."""
    value = json.loads(json_report(FAILS))
    for run_ in value["runs"]:
        run_["verdict"] = changes.get("verdicts", run_["verdict"])
        run_["findings"] = changes.get("findings", run_["findings"])
    value |= {name: item for name, item in changes.items() if name in value}
    changed = tmp_path / "changed.json"
    changed.write_text(json.dumps(value))
    known = tmp_path / "k.yaml"
    known.write_text("subject: s\nmodel: stud-cli\n")
    words = {
        "check": ("baseline", "check", str(known), str(changed)),
        "update": ("baseline", "update", str(known), str(changed), *WORDS),
        "merge": ("merge", str(changed)),
        "diff": ("diff", stored(tmp_path, "f.json", FAILS), str(changed)),
    }
    result = faultclock(*words[command])
    assert result.exit_code == USAGE
    assert "it was changed after it was written" in result.stderr


def test_a_difference_is_told_and_chooses_the_exit_code(tmp_path: Path) -> None:
    """0 nothing got worse, 1 something did, 3 it cannot be told."""
    fails, passes = stored(tmp_path, "f.json", FAILS), stored(tmp_path, "p.json", PASSES)
    other = stored(
        tmp_path, "o.json", report_of([run(SCENARIOS[1], finding(Verdict.PASS, requirement="R-1"))])
    )
    worse = faultclock("diff", passes, fails)
    assert (worse.exit_code, "newly failing (1)" in worse.output) == (NONCONFORMING, True)
    better = faultclock("diff", fails, passes, "--json", "-", "-q")
    assert better.exit_code == OK
    assert json.loads(better.stdout)["verdict"] == "not worse"
    gone = faultclock("diff", fails, other)
    assert (gone.exit_code, "gone, which is never better (1)" in gone.output) == (
        INCONCLUSIVE,
        True,
    )
    assert "nothing changed" in faultclock("diff", fails, fails).output


def test_parts_of_a_run_are_joined_to_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside one baseline they come to one gate; an empty part is not green by itself."""
    monkeypatch.chdir(tmp_path)
    selected = ("run", "rate-limits/retry-after-zero", "rate-limits/retry-after-integer")
    options = ("--subject", "mini-ignores-retry-after", "--model", "stud-cli")
    options += ("--inline", "-q", "--jobs", "1")
    assert faultclock(*selected, *options, "--json", "whole.json").exit_code == NONCONFORMING
    codes = [
        faultclock(*selected, *options, "--shard", f"{number}/3", "--json", f"{number}.json")
        for number in (1, 2, 3)
    ]
    assert [code.exit_code for code in codes] == [NONCONFORMING, NONCONFORMING, INCONCLUSIVE]
    assert "part 3 of 3 has nothing to run" in codes[2].output
    parts = ("2.json", "3.json", "1.json")
    assert faultclock("merge", *parts, "-q", "--json", "all.json").exit_code == NONCONFORMING
    assert Path("all.json").read_bytes() == Path("whole.json").read_bytes()
    faultclock("baseline", "update", "known.yaml", "all.json", *DAY, *WORDS)
    gate = ("--baseline", "known.yaml", *DAY)
    assert faultclock(*selected, *options, *gate, "--json", "whole.json").exit_code == OK
    assert faultclock("merge", *parts, *gate, "-q", "--json", "all.json").exit_code == OK
    assert Path("all.json").read_bytes() == Path("whole.json").read_bytes()
    assert json.loads(Path("all.json").read_text())["gate"]["today"] == str(date(2027, 1, 31))


def test_a_verdict_over_seeds_is_not_taken_for_a_run(tmp_path: Path) -> None:
    """It has an id for baselines; what leads to it again is all of its runs."""
    over = finding(Verdict.FAIL, scenario=SCENARIOS[0])
    report = report_of([run(SCENARIOS[0], finding(Verdict.PASS))], [over])
    path = stored(tmp_path, "r.json", report)
    with pytest.raises(InputError, match="a verdict over all seeds of f/one"):
        of_finding(report.seeds_findings[0].id, path)
