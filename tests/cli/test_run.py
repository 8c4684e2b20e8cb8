"""`run` and `replay` as a person meets them: real processes, real subjects, real files."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.command_line import faultclock
from tests.cli.process import process

ONE = "rate-limits/retry-after-integer"
ADAPTER = """\
import http.client
import json

from faultclock import provider_adapter


@provider_adapter
def subject(request):
    '''One attempt, no retry.'''
    connection = http.client.HTTPSConnection("api.openai.com")
    body = {"model": request.model, "messages": list(request.messages), "stream": False}
    connection.request(
        "POST",
        "/v1/chat/completions",
        json.dumps(body),
        {"content-type": "application/json", "authorization": "Bearer key"},
    )
    answer = json.loads(connection.getresponse().read())
    return answer["choices"][0]["message"]["content"]
"""


def test_a_subject_that_conforms_exits_with_0(tmp_path: Path) -> None:
    """The table has the scenario, and the totals say what it took."""
    done = process(tmp_path, "run", ONE, "--subject", "reference")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{ONE}  ✓ pass" in done.stdout
    assert "✓ reference against common: 1 run, 1 pass" in done.stdout
    assert done.stderr == ""


def test_a_subject_that_does_not_conform_exits_with_1_and_the_way_back(tmp_path: Path) -> None:
    """The command that is shown runs exactly that again."""
    done = process(tmp_path, "run", ONE, "--subject", "mini-ignores-retry-after")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "✗ fail" in done.stdout
    assert "retries.floor: " in done.stdout
    (command,) = [line for line in done.stdout.splitlines() if "reproduce: " in line]
    words = shlex.split(command.partition("reproduce: ")[2])
    again = process(tmp_path, *words[1:])
    assert again.returncode == 1
    assert [line for line in again.stdout.splitlines() if ONE in line][:1] == [
        line for line in done.stdout.splitlines() if ONE in line
    ][:1]


def test_a_run_that_proves_nothing_exits_with_3(tmp_path: Path) -> None:
    """A fault that nobody met is never green."""
    done = process(tmp_path, "run", ONE, "--subject", "mini-never-calls")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "? inconclusive" in done.stdout


def test_an_unknown_subject_is_met_with_near_names(tmp_path: Path) -> None:
    """Code 2: nothing has been judged."""
    done = process(tmp_path, "run", ONE, "--subject", "refrence")
    assert done.returncode == 2
    assert "did you mean 'reference'" in done.stderr


def test_all_reports_and_traces_are_of_the_same_runs(tmp_path: Path) -> None:
    """JSON on standard output is alone there; words for people go to standard error."""
    done = process(
        tmp_path,
        *("run", ONE, "--subject", "reference", "--seeds", "2", "--json", "-"),
        *("--html", "out/r.html", "--junit", "out/r.xml", "--trace-dir", "traces"),
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert [run["seed"] for run in report["runs"]] == [0, 1]
    assert f"{ONE} ×2" in done.stderr
    assert ONE in (tmp_path / "out" / "r.html").read_text("utf-8")
    assert ElementTree.parse(tmp_path / "out" / "r.xml").getroot() is not None
    for run in report["runs"]:
        assert (tmp_path / "out" / run["trace_file"]).is_file()


def test_a_stored_trace_replays_and_a_changed_one_does_not(tmp_path: Path) -> None:
    """Identical says the digest; different says which field of which event."""
    process(tmp_path, "run", ONE, "--subject", "reference", "--trace-dir", "t", "-q")
    path = tmp_path / "t" / f"{ONE}.seed-0.jsonl"
    same = process(tmp_path, "replay", str(path))
    assert same.returncode == 0, same.stdout + same.stderr
    assert same.stdout.startswith(f"identical: {ONE}, seed 0, reference: ")
    other = process(tmp_path, "replay", str(path), "--subject", "mini-sleeps-short")
    assert other.returncode == 1, other.stdout + other.stderr
    assert "is the first that differs" in other.stdout
    assert ": recorded " in other.stdout


def test_a_file_of_ones_own_is_a_subject(tmp_path: Path) -> None:
    """Its trace holds no path, so a replay asks where it is."""
    (tmp_path / "mine.py").write_text(ADAPTER)
    done = process(tmp_path, "run", ONE, "--subject", "mine.py:subject", "--trace-dir", "t")
    assert done.returncode == 1, done.stdout + done.stderr
    trace = f"t/{ONE}.seed-0.jsonl"
    refused = process(tmp_path, "replay", trace)
    assert refused.returncode == 2
    assert "say where it is now: --subject" in refused.stderr
    same = process(tmp_path, "replay", trace, "--subject", "mine.py:subject")
    assert same.returncode == 0, same.stdout + same.stderr


#: Above a subject: a token bucket, a cool-down and a generator of jitter, made at the import.
KEPT = """\
import random
import time

tokens, filled_at = 3.0, time.monotonic()
cools_until = time.time() - 1
chance = random.Random()


def take():
    global tokens, filled_at
    assert time.time() >= cools_until
    while tokens < 1:
        time.sleep(chance.uniform(0.1, 0.5))
        now = time.monotonic()
        tokens, filled_at = min(3.0, tokens + (now - filled_at) / 10), now
    tokens -= 1


"""
TAKES = '    connection = http.client.HTTPSConnection("api.openai.com")\n'


def test_what_a_module_makes_of_time_and_chance_when_it_is_imported_is_of_the_world(
    tmp_path: Path,
) -> None:
    """A bucket that is filled from then on is full at once, and two commands make the same runs."""
    taking = f"    for _ in range(5):\n        take()\n{TAKES}"
    (tmp_path / "mine.py").write_text(KEPT + ADAPTER.replace(TAKES, taking))
    scenario = ("run", ONE, "--subject", "mine.py:subject")
    found = [process(tmp_path, *scenario, "--trace-dir", name) for name in ("one", "two")]
    assert found[0].returncode == found[1].returncode != 2, found[0].stderr
    one, two = (next((tmp_path / name).rglob("*.jsonl")).read_bytes() for name in ("one", "two"))
    assert one == two
    # It waited for two of five tokens, a tenth of one a second.
    connects = next(
        event for event in map(json.loads, one.splitlines()[1:]) if "net." in event["kind"]
    )
    assert 20e9 <= connects["at_ns"] < 25e9


def test_a_scenario_of_ones_own_is_run_again_by_its_path(tmp_path: Path) -> None:
    """No id leads to it."""
    (tmp_path / "mine.yaml").write_text(
        "id: mine/one\ntitle: A title\nwhy: A reason\nprovider:\n  faults:\n"
        "    - id: limited\n      when: {attempts: 1}\n"
        "      then:\n"
        "        {kind: http_error, status: 429, error: rate_limit_exceeded,"
        " headers: {retry-after: '7'}}\n"
    )
    subject = "mini-common-ignores-retry-after"
    done = process(tmp_path, "run", "mine.yaml", "--subject", subject)
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"reproduce: faultclock run mine.yaml --subject {subject}" in done.stdout


def test_the_command_that_reproduces_a_run_repeats_its_limits(tmp_path: Path) -> None:
    """A run that needs more than the default would end otherwise."""
    limits = ("--wall-limit", "90s", "--memory-limit", "4096")
    subject = "mini-common-ignores-retry-after"
    done = process(tmp_path, "run", ONE, "--subject", subject, *limits)
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"--seeds 1 {' '.join(limits)}\n" in done.stdout


def test_inline_and_parallel_runs_say_the_same(tmp_path: Path) -> None:
    """How runs are spread over processes is not part of the result, but that they shared one is."""
    reports = []
    for options in (("--inline", "--jobs", "1"), ("--jobs", "2"), ("--jobs", "1")):
        selected = (ONE, "rate-limits/five-failures-then-ok", "--subject", "reference")
        done = process(tmp_path, "run", *selected, "--json", "-", *options)
        assert done.returncode == 0, done.stderr
        reports.append(done.stdout)
    inline = '"inline":true,'
    assert reports[0].count(inline) == 1
    assert reports[0].replace(inline, "") == reports[1] == reports[2]


def test_doctor_makes_a_healthy_call(tmp_path: Path) -> None:
    """What it finds is said of the subject, not of a scenario."""
    done = process(tmp_path, "doctor", "--subject", "reference")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "✓ tried: a plain answer: it returns" in done.stdout
    (tmp_path / "mine.py").write_text(ADAPTER)
    done = process(tmp_path, "doctor", "mine.py:subject")
    assert done.returncode == 1
    assert "it ignores request.stream" in done.stdout


def test_an_interrupt_leaves_no_half_written_file(tmp_path: Path) -> None:
    """The reports of a run that did not end are not there at all."""
    words = ("run", "--subject", "reference", "--seeds", "2000", "--html", "r.html")
    child = subprocess.Popen(
        [sys.executable, "-m", "faultclock.cli", *words, "--jobs", "1", "--trace-dir", "t"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
        stderr=subprocess.PIPE,
        text=True,
        # A build server may have started these tests with the signal ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    deadline_s = time.monotonic() + 60
    while not list(tmp_path.glob("t/*/*.jsonl")) and time.monotonic() < deadline_s:
        os.sched_yield()
    child.send_signal(signal.SIGINT)
    told = child.communicate(timeout=60)[1]
    assert child.returncode == 130
    assert "interrupted" in told
    assert "Traceback" not in told
    assert not (tmp_path / "r.html").exists()
    assert [path for path in tmp_path.rglob("*") if path.name.endswith(".tmp")] == []


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("run",), "no subject: name the code whose error handling is tested"),
        (("run", "rate-limit", "--subject", "reference"), "did you mean 'rate-limits'"),
        (("run", "--subject", "reference", "--model", "stud"), "unknown error model 'stud'"),
        (("run", "--subject", "reference", "--reading", "x"), "is not SWITCH=OPTION"),
        (("run", "--subject", "reference", "--reading", "x=y"), "unknown switch 'x'"),
        (("run", "--subject", "reference", "--html", "."), "this is a folder"),
        (("run", "--subject", "reference", "--seed", "-1"), "Invalid value for '--seed'"),
        (("replay", "no.jsonl"), "there is no such file"),
    ],
)
def test_what_is_wrong_is_told_before_anything_runs(words: tuple[str, ...], told: str) -> None:
    """Code 2, and a sentence on standard error."""
    result = faultclock(*words)
    assert result.exit_code == 2
    assert told in result.stderr
    assert result.stdout == ""


def test_a_scenario_for_another_role_is_refused_in_one_sentence(tmp_path: Path) -> None:
    """With exit code 2; a whole family of them, too."""
    done = process(tmp_path, "run", ONE, "--subject", "reference-runtime")
    assert done.returncode == 2
    assert f"{ONE} is a scenario for role provider_adapter" in done.stderr
    assert done.stdout == ""
    done = process(tmp_path, "run", "approvals", "--subject", "reference")
    assert done.returncode == 2
    assert "no scenario fits: the subject reference is for role provider_adapter" in done.stderr


def test_a_crash_point_of_a_sweep_is_run_again_by_its_command(tmp_path: Path) -> None:
    """The same trace, from the words that the report gives."""
    words = ("resume-drift/crash-after-each-event", "--subject", "reference-runtime")
    done = process(tmp_path, "run", *words, "-q", "--trace-dir", "all", "--json", "r.json")
    assert "crash points and " in done.stdout
    swept = json.loads((tmp_path / "r.json").read_text())["runs"][20]
    again = shlex.split(swept["replay"])
    process(tmp_path, *again[1:], "-q", "--trace-dir", "one", "--json", "one.json")
    (run,) = json.loads((tmp_path / "one.json").read_text())["runs"]
    assert run["crash_point"] == swept["crash_point"] is not None
    assert run["trace_digest"] == swept["trace_digest"]


def test_what_cannot_be_played_for_a_subject_is_told_in_every_output(tmp_path: Path) -> None:
    """Selected by its folder and passed over: nobody is to take it for a pass."""
    folder = tmp_path / "mine"
    folder.mkdir()
    for name, dialect in (("plain", ""), ("foreign", "provider: {dialect: anthropic-messages}\n")):
        text = f"id: own/{name}\ntitle: A {name} one\nwhy: To see it.\n{dialect}"
        (folder / f"{name}.yaml").write_text(text)
    outputs = ("--json", "report.json", "--html", "report.html")
    families = ("mine", "extension-contract")
    done = process(tmp_path, "run", *families, "--subject", "reference", *outputs)
    assert done.returncode == 0, done.stdout + done.stderr
    because = "it is in the dialect anthropic-messages, and the subject speaks openai-chat"
    assert f"own/foreign: {because}" in done.stdout
    listed = json.loads((tmp_path / "report.json").read_text())["passed_over"]
    passed_over = {item["scenario"]: item["because"] for item in listed}
    assert f"passed over, not run: {len(passed_over)} scenarios" in done.stdout
    assert passed_over["own/foreign"].startswith(because)
    assert passed_over["extension-contract/dispose-unused"] == "for role extension"
    assert because in (tmp_path / "report.html").read_text()


def test_what_a_subject_writes_is_shown_only_where_it_is_asked_for(tmp_path: Path) -> None:
    """With its run, its virtual time and its source; in the report it is in any case."""
    printing = ADAPTER.replace("    '''One", "    print('\\x1b[31mhello')\n    '''One")
    (tmp_path / "mine.py").write_text(printing)
    words = ("run", ONE, "--subject", "mine.py:subject", "--json", "report.json")
    silent = process(tmp_path, *words)
    assert "hello" not in silent.stdout.partition("output ")[0] + silent.stderr
    (run,) = json.loads((tmp_path / "report.json").read_text())["runs"]
    assert [line["text"] for line in run["notes"]["output"]] == ["\x1b[31mhello"]
    shown = process(tmp_path, *words, "--show-output", "-q")
    assert f"{ONE} seed 0 | 0 s stdout: \\x1b[31mhello\n" in shown.stdout


@pytest.mark.parametrize("closed", ["2>&-", "<&- 2>&-", "<&-"])
def test_a_stream_that_is_closed_takes_nothing_from_the_others(tmp_path: Path, closed: str) -> None:
    """A service manager may close what nobody reads; the next open file would take its place."""
    command = f"{sys.executable} -m faultclock.cli run {ONE} --subject reference --json - {closed}"
    done = subprocess.run(
        ["sh", "-c", command], cwd=tmp_path, stdout=subprocess.PIPE, text=True, check=False
    )
    assert done.returncode == 0
    assert json.loads(done.stdout)["runs"]
