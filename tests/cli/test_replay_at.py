"""`replay` of a token and of a report's finding: real processes, real reports."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from faultclock.load.resources import scenarios_root
from faultclock.model.report.token import coordinates_of, token_of
from faultclock.model.tape import Tape
from tests.cli.command_line import faultclock
from tests.cli.process import process

ONE = "rate-limits/retry-after-integer"
FAILING = "mini-ignores-retry-after"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a scenario of one's own, its report and that of a shipped one."""
    folder = tmp_path_factory.mktemp("found")
    own = folder / "own.yaml"
    shutil.copy(scenarios_root() / f"{ONE}.yaml", own)
    own.write_text(re.sub("(?m)^id: .*", "id: mine/one", own.read_text("utf-8")), "utf-8")
    for name, scenario in (("shipped", ONE), ("own", "own.yaml")):
        done = process(
            folder, "run", scenario, "--subject", FAILING, "--json", f"{name}.json", "-q"
        )
        assert done.returncode == 1, done.stdout + done.stderr
    return folder


def first(report: Path) -> tuple[str, str]:
    """Return the id of a report's first finding and the token of its run."""
    run = json.loads(report.read_text("utf-8"))["runs"][0]
    return next(item["id"] for item in run["findings"] if "id" in item), run["token"]


def test_a_finding_of_a_report_is_run_again_twice_and_judged(found: Path) -> None:
    """Both digests, the verdict, the finding in full under the same id, and the trace."""
    name, _ = first(found / "shipped.json")
    words = ("--report", "shipped.json", "--trace-dir", "traces")
    done = process(found, "replay", name, *words)
    assert done.returncode == 1, done.stdout + done.stderr
    digests = re.findall(r"(?:first|second) +run: digest ([0-9a-f]{12}), \d+ events", done.stdout)
    assert len(digests) == 2
    assert len(set(digests)) == 1
    assert "identical: both runs are the same, byte for byte" in done.stdout
    assert "✗ fail against common" in done.stdout
    assert name in done.stdout
    (trace,) = found.glob("traces/**/*.jsonl")
    assert f"written: {trace.relative_to(found)}" in done.stdout
    assert process(found, "replay", str(trace)).returncode == 0


def test_a_token_leads_to_the_same_run_of_another_subject(found: Path) -> None:
    """One that conforms, with which it exits with 0."""
    _, token = first(found / "shipped.json")
    other = process(found, "replay", token, "--subject", "reference")
    assert other.returncode == 0, other.stdout + other.stderr
    assert "✓ pass against common" in other.stdout


def test_a_token_may_be_longer_than_the_name_of_a_file(found: Path) -> None:
    """And where its choices do not come up, a pass proves nothing of what they led to."""
    coordinates = coordinates_of(first(found / "shipped.json")[1])
    # Lanes that the run does not have, so it is what it was.
    order = {f"schedule/1/timer/1/{number:x}": {number: 1 + number} for number in range(100)}
    token = token_of(coordinates.model_copy(update={"tape": Tape.of(order)}))
    assert len(token) > 255
    done = process(found, "replay", token, "--subject", "reference")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "identical: both runs are the same" in done.stdout
    assert "another course: 100 choices on the tape did not come up" in done.stdout
    assert "✓ pass against common" in done.stdout


def test_a_scenario_of_ones_own_is_named_by_its_report_or_by_hand(found: Path) -> None:
    """A token holds no path."""
    name, token = first(found / "own.json")
    assert process(found, "replay", name, "--report", "own.json").returncode == 1
    refused = faultclock("replay", token)
    assert refused.exit_code == 2
    assert "no scenario that is shipped is called 'mine/one'" in refused.output
    assert "--scenario path/to/file.yaml" in refused.output
    assert process(found, "replay", token, "--scenario", "own.yaml").returncode == 1
    wrong = faultclock("replay", token, "--scenario", ONE)
    assert wrong.exit_code == 2
    assert f"the file holds {ONE}, but mine/one was asked for" in wrong.output


def test_a_scenario_that_was_changed_since_is_told_and_not_run(found: Path) -> None:
    """Both digests, in one message."""
    _, token = first(found / "own.json")
    text = (found / "own.yaml").read_text("utf-8").replace("title: ", "title: New ", 1)
    changed = found / "changed.yaml"
    changed.write_text(text, "utf-8")
    done = faultclock("replay", token, "--scenario", str(changed))
    assert done.exit_code == 2
    assert re.search("mine/one was changed since: its digest was .*, and is ", done.output)


def test_what_leads_nowhere_is_told_why(found: Path) -> None:
    """A typo, a finding that is not there, a report that is none, options that do not fit."""
    name, token = first(found / "shipped.json")
    report = str(found / "shipped.json")
    nothing = found / "nothing.json"
    nothing.write_text("{}", "utf-8")
    for words, told in (
        ((token[:-1],), "the token is mistyped"),
        (("fc9.abc",), "this Faultclock reads those with fc2."),
        (("F-0000000000", "--report", report), "has no finding F-0000000000"),
        (("hello", "--report", report), "'hello' is no id of a finding"),
        ((name, "--report", str(nothing)), "this is not a report"),
        ((name, "--report", "no.json"), "no.json"),
        ((name,), f"{name} is a finding, and no file"),
        (("f-0123456789ab",), "say which report has it: --report FILE"),
        ((token, "--inline"), "--inline goes with a trace"),
        (("trace.jsonl", "--model", "afk"), "--model goes with a token or a finding"),
        (("trace.jsonl", "--scenario", "x"), "--scenario goes with a token or a finding"),
    ):
        done = faultclock("replay", *words)
        assert done.exit_code == 2, (words, done.output)
        assert told in done.output, (words, done.output)


def test_a_subject_that_is_not_shipped_has_to_be_named(found: Path) -> None:
    """A token holds its id, and no path."""
    from faultclock.model.report.token import coordinates_of, token_of

    _, token = first(found / "shipped.json")
    where = coordinates_of(token).model_copy(update={"subject": "mine"})
    done = faultclock("replay", token_of(where))
    assert done.exit_code == 2
    assert "it is of the subject 'mine', which is none that is shipped" in done.output
