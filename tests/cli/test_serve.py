"""`faultclock serve`, from the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from faultclock.cli.serve import told
from tests.cli.command_line import faultclock
from tests.live.programs import ASK, command

_SCENARIO = """\
id: tests/limited
title: Limited once
why: It is short.
provider:
  think_time: 20ms
  faults:
    - id: limited
      when: {attempts: 1}
      then:
        kind: http_error
        status: 429
        error: rate_limit_exceeded
        headers: {retry-after: "0.2"}
"""


@pytest.fixture
def limited(tmp_path: Path) -> str:
    """A scenario file."""
    path = tmp_path / "limited.yaml"
    path.write_text(_SCENARIO, encoding="utf-8")
    return str(path)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_program_that_waits_conforms(limited: str, tmp_path: Path) -> None:
    """Its trace is written, says that its time is real, and is judged again by `judge`."""
    result = faultclock("serve", limited, "--trace", "served.jsonl", "--", *command(ASK))
    assert result.exit_code == 0, result.output
    assert "1 pass" in result.stdout
    assert "of real time" in result.stdout
    header = json.loads((tmp_path / "served.jsonl").read_text("utf-8").splitlines()[0])["header"]
    assert (header["time_base"], header["subject"]["id"]) == ("wall", "program")
    again = faultclock("judge", "served.jsonl")
    assert again.exit_code == 0, again.output


def test_a_program_that_does_not_wait_fails_exactly_that(
    limited: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wait that was too short is a finding in real time, too."""
    monkeypatch.setenv("WAIT_S", "0.01")
    words = ("--model", "stud-cli", "--json", "-", "-q")
    result = faultclock("serve", limited, *words, "--", *command(ASK))
    assert result.exit_code == 1, result.output
    report = json.loads(result.stdout)
    (run,) = report["runs"]
    assert run["time_base"] == "wall"
    failed = {item["check"] for item in run["findings"] if item["verdict"] == "FAIL"}
    assert failed == {"backoff.retry-after"}


def test_what_a_program_prints_can_be_its_reply(limited: str, tmp_path: Path) -> None:
    """Then it is held against what the provider said; the page tells of real time."""
    words = ("--reply-from-stdout", "--html", "report.html", "--name", "asker")
    result = faultclock("serve", limited, *words, "--", *command(ASK))
    assert result.exit_code == 0, result.output
    assert "Hello from the simulated provider." in result.stdout
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "Recorded in real time" in page
    assert "asker" in page
    lying = ASK.replace('json.load(answer)["choices"][0]["message"]["content"]', '"Hi."')
    words = ("--model", "stud-cli", "--reply-from-stdout")
    result = faultclock("serve", limited, *words, "--", *command(lying))
    assert result.exit_code == 1
    assert "swallow.silent" in result.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("no-such/scenario",), "unknown"),
        (("rate-limits",), "one can be served at a time"),
        (("provider-transient/connect-refused-then-ok",), "cannot be served"),
        (("afk/good-run",), "is for role runtime"),
        (("rate-limits/retry-after-integer", "--dialect", "klingon"), "unknown dialect"),
        (("rate-limits/retry-after-integer", "--reply-from-stdout"), "goes with a COMMAND"),
        (("rate-limits/retry-after-integer", "--", "no-such-program"), "cannot be started"),
    ],
)
def test_what_cannot_be_served_is_told_in_a_sentence(words: tuple[str, ...], said: str) -> None:
    """With exit code 2, and at once."""
    result = faultclock("serve", *words)
    assert result.exit_code == 2, result.output
    assert said in result.output


def test_help_teaches_by_examples() -> None:
    """Each option that it shows exists."""
    result = faultclock("serve", "--help")
    assert result.exit_code == 0
    shown = set(re.findall(r"--[a-z][a-z-]+", result.stdout))
    assert {"--port", "--trace", "--once", "--html", "--reply-from-stdout"} <= shown
    assert "time_base: wall" in result.stdout


def test_a_trace_in_real_time_is_not_replayed(limited: str) -> None:
    """Nobody can have that time again."""
    faultclock("serve", limited, "--trace", "served.jsonl", "-q", "--", *command(ASK))
    result = faultclock("replay", "served.jsonl")
    assert result.exit_code == 2
    assert "was recorded in real time" in result.output


@pytest.mark.parametrize(
    ("kind", "payload", "line"),
    [
        (
            "http.request",
            {"call": "ask/1", "method": "POST", "target": "/v1/x", "attempt": 2},
            "    1.500s  ask/1  POST /v1/x, attempt 2",
        ),
        (
            "http.response",
            {
                "call": None,
                "status": 429,
                "error": {"code": "rate_limit_exceeded"},
                "retry_after": "7",
            },
            "    1.500s  no call  answered 429 rate_limit_exceeded, Retry-After: 7",
        ),
        ("http.exchange_ended", {"call": "ask/1", "how": "complete"}, ""),
        ("http.exchange_ended", {"call": "ask/1", "how": "eof"}, "    1.500s  ask/1  ended: eof"),
        (
            "call.left",
            {"call": "ask/1", "exit_code": None, "signal": "SIGKILL"},
            "    1.500s  ask/1  the program ended with SIGKILL",
        ),
        ("net.sent", {"call": "ask/1"}, ""),
    ],
)
def test_progress_is_a_line_for_what_matters(
    kind: str, payload: dict[str, object], line: str
) -> None:
    """Requests, faults, answers and ends."""
    assert told((1, 1_500_000_000, "provider", kind, payload)) == line
