"""`faultclock check` on small targets, from the command line to the exit code."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import jsonschema
import pytest

from faultclock.cli.exits import INCONCLUSIVE, OK, USAGE, exit_code_of_checkup
from faultclock.load.schema import schema_of
from tests.check.samples import checkup, run
from tests.cli.command_line import faultclock
from tests.cli.process import process

BLOCKING = '''\
import json
import time
import urllib.error
import urllib.request

URL = "https://api.openai.com/v1/chat/completions"
HEADERS = {"Authorization": "Bearer sk-test", "Content-Type": "application/json"}


def ask(prompt):
    """Ask, and try again when the provider is busy."""
    body = {"model": "gpt-5-mini", "messages": [{"role": "user", "content": prompt}]}
    request = urllib.request.Request(URL, json.dumps(body).encode(), HEADERS)
    for attempt in range(3):
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.load(answer)["choices"][0]["message"]["content"]
        except urllib.error.HTTPError as error:
            if error.code not in (429, 500, 502, 503, 504) or attempt == 2:
                raise
            wait = float(error.headers.get("retry-after", 2**attempt))
        time.sleep(wait)
'''
CRASHES = 'wait = float(error.headers.get("retry-after", 2**attempt))'
MENDED = "wait = seconds(error.headers, 2**attempt)"
SECONDS = '''\


def seconds(headers, otherwise):
    """Return what the header asks for, in any form that it may have."""
    import email.utils

    text = headers.get("retry-after", "")
    if text.isdigit():
        return float(text)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    except (TypeError, ValueError):
        return otherwise
'''
ASYNC = """\
import asyncio

import httpx2

URL = "https://api.openai.com/v1/chat/completions"
HEADERS = {"Authorization": "Bearer sk-test", "Content-Type": "application/json"}


async def ask(prompt):
    body = {"model": "gpt-5-mini", "messages": [{"role": "user", "content": prompt}]}
    async with httpx2.AsyncClient(timeout=30) as client:
        for attempt in range(3):
            answer = await client.post(URL, json=body, headers=HEADERS)
            if answer.status_code == 429 and attempt < 2:
                await asyncio.sleep(float(answer.headers.get("retry-after", 2**attempt)))
                continue
            answer.raise_for_status()
            return answer.json()["choices"][0]["message"]["content"]
"""
#: Situations that show the crash, and one that shows none.
FEW = (
    "--only",
    "rate-limits/retry-after-http-date",
    "--only",
    "rate-limits/retry-after-integer",
    "--jobs",
    "1",
)
CRASH = "1.  ValueError: could not convert string to float: "


def _written(folder: Path, text: str) -> Path:
    (folder / "client.py").write_text(text)
    return folder


def test_the_api_that_is_named_is_the_one_that_is_played(tmp_path: Path) -> None:
    """Several APIs are asked at the same path: what a person says of it counts."""
    folder = _written(tmp_path, BLOCKING)
    words = ("check", "client.py:ask", "--dialect", "deepseek", *FEW)
    said = process(folder, *words).stdout.partition("\n")[0]
    assert said == "client.py:ask@deepseek: a blocking function of a prompt that speaks deepseek"


def test_a_crash_is_shown_with_its_line_and_gone_when_it_is_mended(tmp_path: Path) -> None:
    """This is what a person does on the first day: check, mend, check."""
    folder = _written(tmp_path, BLOCKING)
    before = process(folder, "check", "client.py:ask", *FEW)
    assert before.returncode == 1, before.stderr
    assert before.stdout.startswith("client.py:ask: a blocking function of a prompt")
    assert CRASH in before.stdout
    line = 1 + BLOCKING[: BLOCKING.index(CRASHES)].count("\n")
    assert f"at      client.py:{line} wait = float(" in before.stdout
    assert "found: ✗ crash in the handler" in before.stderr
    _written(tmp_path, BLOCKING.replace(CRASHES, MENDED) + SECONDS)
    after = process(folder, "check", "client.py:ask", *FEW)
    assert after.returncode == 0, after.stdout
    assert "ValueError" not in after.stdout
    assert "No problem in what was tried. These held:" in after.stdout


def test_the_command_of_a_problem_shows_it_again(tmp_path: Path) -> None:
    """It is pasted as it is, and names no model that is the default."""
    folder = _written(tmp_path, ASYNC)
    checked = process(folder, "check", "client.py:ask", *FEW, "--json", "check.json")
    assert checked.returncode == 1, checked.stderr
    assert checked.stdout.startswith("client.py:ask: an async function of a prompt")
    (problem, *_) = json.loads((folder / "check.json").read_text())["problems"]
    assert problem["title"].startswith("ValueError: ")
    words = shlex.split(problem["reproduce"])
    assert "--model" not in words
    again = process(folder, *words[1:])
    assert again.returncode == 1
    assert "ValueError" in again.stdout


def test_json_on_standard_output_is_alone_there_and_fits_its_schema(tmp_path: Path) -> None:
    """A program reads it without a person's words in between."""
    folder = _written(tmp_path, ASYNC)
    made = process(folder, "check", "client.py:ask", *FEW, "--json", "-", "--html", "c.html")
    value = json.loads(made.stdout)
    jsonschema.validate(value, json.loads(schema_of("checkup")))
    assert value["taken_for"]["target"] == "client.py:ask"
    assert "1.  ValueError" in made.stderr
    assert "ValueError" in (folder / "c.html").read_text("utf-8")
    assert str(tmp_path) not in made.stdout


def test_a_baseline_takes_a_known_problem_out_of_the_exit_code(tmp_path: Path) -> None:
    """A team that starts with problems gates on new ones."""
    folder = _written(tmp_path, ASYNC)
    process(folder, "check", "client.py:ask", *FEW, "--json", "check.json")
    words = ("--reason", "see #1", "--owner", "me", "--expires", "2999-01-01")
    made = process(folder, "baseline", "update", "known.yaml", "check.json", *words)
    assert made.returncode == 0, made.stderr
    gated = process(folder, "check", "client.py:ask", *FEW, "--baseline", "known.yaml")
    assert gated.returncode == 0, gated.stdout
    assert "Known by the baseline" in gated.stdout
    late = ("--baseline", "known.yaml", "--today", "2999-01-02")
    assert process(folder, "check", "client.py:ask", *FEW, *late).returncode == 1


@pytest.mark.parametrize(("fail_on", "code"), [("never", 0), ("serious", 1), ("any", 1)])
def test_which_problems_fail_is_a_choice(tmp_path: Path, fail_on: str, code: int) -> None:
    """A crash is serious; who only wants to look fails on nothing."""
    folder = _written(tmp_path, ASYNC)
    made = process(folder, "check", "client.py:ask", *FEW, "--fail-on", fail_on)
    assert made.returncode == code


def test_a_problem_that_is_not_serious_fails_only_where_any_does(tmp_path: Path) -> None:
    """An hour's sleep breaks a SHOULD."""
    folder = _written(tmp_path, BLOCKING)
    words = ("check", "client.py:ask", "--only", "rate-limits/retry-after-huge")
    assert process(folder, *words).returncode == 0
    assert process(folder, *words, "--fail-on", "any").returncode == 1


def test_what_the_target_prints_stays_off_the_terminal_unless_it_is_asked_for(
    tmp_path: Path,
) -> None:
    """Two hundred runs of a chatty client would bury the answer."""
    chatty = ASYNC.replace("    body = ", '    print("asking the model")\n    body = ', 1)
    folder = _written(tmp_path, chatty)
    quiet = process(folder, "check", "client.py:ask", *FEW)
    assert "asking the model" not in quiet.stdout + quiet.stderr
    shown = process(folder, "check", "client.py:ask", *FEW, "--show-output")
    assert "stdout  asking the model" in shown.stdout


def test_a_target_that_does_not_work_by_itself_is_refused_with_its_error(tmp_path: Path) -> None:
    """Nothing that it does about errors could be told apart from that."""
    folder = _written(tmp_path, "def ask(prompt):\n    return {}['answer']\n")
    made = process(folder, "check", "client.py:ask")
    assert made.returncode == 2
    assert "KeyError" in made.stderr
    assert "client.py:2" in made.stderr


def test_a_configured_subject_is_the_default_target(tmp_path: Path) -> None:
    """Who has set up a project types nothing."""
    folder = _written(tmp_path, ASYNC)
    (folder / "pyproject.toml").write_text('[tool.faultclock]\nsubject = "client.py:ask"\n')
    made = process(folder, "check", *FEW)
    assert made.returncode == 1, made.stderr
    assert "ValueError" in made.stdout


def test_a_tool_is_checked_as_a_tool(tmp_path: Path) -> None:
    """Every role has situations of its own, and nothing to infer where no model is asked."""
    made = process(tmp_path, "check", "reference-tool", "--only", "tool-contract/valid-input")
    assert made.returncode == 0, made.stdout + made.stderr
    assert "What it does" not in made.stdout
    assert "No problem in what was tried" in made.stdout


def test_a_loop_without_an_end_is_named_and_the_rest_is_not_waited_for(tmp_path: Path) -> None:
    """Each such run takes its whole limit of real time, so three are enough."""
    endless = BLOCKING.replace(CRASHES, "while error.code == 429: pass")
    folder = _written(tmp_path, endless)
    made = process(folder, "check", "client.py:ask", "--wall-limit", "1s", "--jobs", "1")
    assert made.returncode == 3, made.stdout + made.stderr
    assert "3 runs did not end" in made.stdout
    assert "client.py:21 while error.code == 429: pass (3 runs)" in made.stdout
    assert "not run, since earlier ones did not end" in " ".join(made.stdout.split())
    assert made.stdout.rstrip().endswith("faultclock check client.py:ask --wall-limit 1s")
    (folder / "known.yaml").write_text("subject: client:ask\nmodel: common\ndeviations: []\n")
    made = process(folder, *made.args[1:], "--baseline", "known.yaml")
    assert (made.returncode, "3 runs did not end" in made.stdout) == (3, True), made.stderr


def test_runs_that_left_the_simulation_are_not_green(tmp_path: Path) -> None:
    """A handler that starts a process hides what it does next, whatever the other runs show."""
    starts = BLOCKING.replace(CRASHES, "import os; os.fork()")
    made = process(_written(tmp_path, starts), "check", "client.py:ask", *FEW)
    assert made.returncode == 3, made.stdout + made.stderr
    assert "2 runs left the simulation" in made.stdout
    assert "os.fork at subject.client:21 (2 runs)" in made.stdout
    assert "0 others, 2 ended by force" in made.stdout


def test_nothing_shown_is_not_green() -> None:
    """Without one run that proves something there is no answer."""
    shown = checkup(run("one"))
    empty = shown.report.model_copy(update={"coverage": ()})
    nothing = shown.model_copy(update={"report": empty, "problems": ()})
    assert exit_code_of_checkup(shown, "serious") == OK
    assert exit_code_of_checkup(nothing, "serious") == INCONCLUSIVE


def test_brief_and_all_are_a_contradiction() -> None:
    """The message names both, and nothing runs."""
    done = faultclock("check", "reference", "--brief", "--all")
    assert done.exit_code == USAGE
    assert "--brief and --all cannot be given together" in done.stderr


def test_no_target_is_a_question_with_an_example() -> None:
    """The message says what to type."""
    made = faultclock("check")
    assert made.exit_code == 2
    assert "faultclock check path/to/client.py:function" in made.stderr


def test_check_is_the_first_command_of_the_help() -> None:
    """It is what a newcomer looks for."""
    shown = faultclock("--help").stdout
    assert shown.index("  check ") < shown.index("  init ") < shown.index("  run ")
