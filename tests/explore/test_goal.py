"""A search for an exception: the exception alone is a failure, by its class and its line."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from faultclock.explore.fingerprint import marks_of
from faultclock.explore.goal import CHECK, SearchJudge, judge_for, verdict_of, why_inconclusive
from faultclock.load.sought import sought_of
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.finding import Finding, Verdict
from faultclock.model.trace.notes import Frame, OutputLine, RaisedError, RunNotes
from faultclock.model.trace.trace import EndingReason, Trace
from faultclock.run.suite import run_one
from faultclock.subjects.binding import Binding
from tests.cli.process import process, program
from tests.oracle.trace_builder import TraceBuilder
from tests.run.conftest import shipped_scenario

CLIENT = '''\
import http.client, json
from faultclock import provider_adapter


@provider_adapter
def subject(request):
    """Trusts every body but that of a 429."""
    for _ in range(3):
        connection = http.client.HTTPSConnection("api.openai.com")
        headers = {"content-type": "application/json", "authorization": "Bearer key"}
        body = {"model": request.model, "messages": list(request.messages)}
        connection.request("POST", "/v1/chat/completions", json.dumps(body), headers)
        answer = connection.getresponse()
        data = json.loads(answer.read())
        if answer.status != 429:
            return data["choices"][0]["message"]["content"]
    raise RuntimeError("limited")
'''
SCENARIO = """\
id: mine/limited-then-broken
title: A limit, and sometimes an error of the server
why: The body of the error has no choices.
tasks: [{id: ask, copies: 2}]
provider:
  faults:
    - id: limited
      when: {attempts: 1}
      then: {kind: http_error, status: 429, error: rate_limit_exceeded}
      optional: true
    - id: broken
      when: {attempts: 3}
      then: {kind: http_error, status: 500, error: server_error}
      optional: true
vary:
  values:
    provider.faults.broken.when.attempts: {from: 1, to: 3}
  may_lack: [limited, broken]
"""
PLACE = "client.py:16"


def noted(trace: Trace, *frames: tuple[str, int], **more: object) -> Trace:
    """Return a trace whose first exception was raised at these lines."""
    (event,) = trace.of_kind("call.raised")
    chain = event.payload["chain"]
    error = RaisedError(
        call=str(event.payload["call"]),
        type=chain[0]["type"],
        message=chain[0]["message"],
        frames=tuple(Frame(file=file, line=line, function="ask") for file, line in frames),
    )
    return replace(trace, notes=RunNotes.model_validate({"raised": (error,), **more}))


def searched(model: ErrorModel, trace: Trace, given: str) -> list[Finding]:
    """Return what the search itself says of a trace."""
    findings = SearchJudge(model, sought_of(given)).judge(trace).findings
    return [finding for finding in findings if finding.check == CHECK]


def crashed(kind: str = "KeyError", message: str = "'choices'", *behind: str) -> Trace:
    """Return the trace of a call that raises; `behind` are the classes behind the exception."""
    untyped = {"class": None, "code": None}
    chain = [{"type": kind, "message": message, "link": "outer", **untyped}]
    chain += [{"type": name, "message": "", "link": "cause", **untyped} for name in behind]
    return TraceBuilder().start().fails(500).raises(*chain).build()


@pytest.mark.parametrize(
    ("given", "is_found"),
    [
        ("KeyError", True),
        ("builtins.KeyError", True),
        ("KeyError: choices", True),
        ("KeyError: 'text'", False),
        ("ValueError", False),
        ("json.JSONDecodeError", True),
        ("choices", True),
        ("client.py:16", True),
        ("client.py:17", False),
        ("src/app/client.py:16", True),
        ("other/client.py:16", False),
        ("KeyError at helper.py:3", True),
        ("ValueError at client.py:16", False),
    ],
)
def test_an_exception_is_found_by_class_message_and_line(
    model: ErrorModel, given: str, is_found: bool
) -> None:
    """Each that is named has to match; the exceptions behind it count by their class."""
    trace = crashed("KeyError", "'choices'", "json.decoder.JSONDecodeError")
    trace = noted(trace, ("app/client.py", 16), ("app/helper.py", 3))
    (finding,) = searched(model, trace, given)
    assert finding.verdict is (Verdict.FAIL if is_found else Verdict.PASS)
    if is_found:
        assert finding.call == "ask/1"
        (raised,) = trace.of_kind("call.raised")
        assert finding.events == (raised.seq,)
        assert finding.source is not None
        assert (finding.source.file, finding.source.line) == ("app/helper.py", 3)
        assert finding.observed.startswith("ask/1 raises KeyError: 'choices' at app/helper.py:3")


@pytest.mark.parametrize(
    ("lines", "given", "is_found"),
    [
        (("lost the answer", "KeyError: 'choices'"), "KeyError", True),
        (("lost the answer", "KeyError: 'choices'"), "KeyError at client.py:9", True),
        (("lost the answer", "KeyError: 'choices'"), "client.py:8", False),
        (("all is well: KeyError is gone",), "KeyError", False),
    ],
)
def test_an_exception_that_is_logged_is_found_too(
    model: ErrorModel, lines: tuple[str, ...], given: str, is_found: bool
) -> None:
    """A subject may catch what it raises and log it."""
    output = tuple(
        OutputLine(at_ns=0, stream="log", text=text, call="ask/1", file="client.py", line=9)
        for text in lines
    )
    trace = replace(TraceBuilder().start().good().returns().build(), notes=RunNotes(output=output))
    (finding,) = searched(model, trace, given)
    assert finding.verdict is (Verdict.FAIL if is_found else Verdict.PASS)
    if is_found:
        assert finding.observed == "the log shows KeyError: 'choices' at client.py:9"


def test_a_traceback_on_standard_error_is_found_by_its_lines(model: ErrorModel) -> None:
    """As `traceback.print_exc` and the death of a thread write it."""
    printed = ("Traceback:", '  File "/x/app/client.py", line 16, in ask', "KeyError: 'choices'")
    output = tuple(OutputLine(at_ns=0, stream="stderr", text=text) for text in printed)
    trace = replace(TraceBuilder().start().returns().build(), notes=RunNotes(output=output))
    (finding,) = searched(model, trace, "KeyError at client.py:16")
    assert finding.verdict is Verdict.FAIL


def test_only_the_exception_is_a_failure_of_a_search(model: ErrorModel) -> None:
    """What breaks the model is none there, and a run without the exception passes."""
    trace = crashed()
    judgement = SearchJudge(model, sought_of("KeyError")).judge(trace)
    assert [mark.finding.check for mark in marks_of(trace, judgement)] == [CHECK]
    assert verdict_of(judgement.findings) is Verdict.FAIL
    other = SearchJudge(model, sought_of("ValueError")).judge(trace)
    assert marks_of(trace, other) == ()
    assert verdict_of(other.findings) is Verdict.PASS
    assert CHECK not in {item.check for item in judge_for(model, None).judge(trace).findings}


def test_a_run_that_proves_nothing_neither_raises_nor_passes(model: ErrorModel) -> None:
    """The watchdog ended it: what the subject would have raised is not known."""
    built = TraceBuilder().start().build("watchdog", "no end after 8 s of real time")
    (finding,) = searched(model, built, "KeyError")
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert finding.reason
    logged = OutputLine(at_ns=0, stream="log", text="KeyError: 'choices'", call="ask/1")
    (finding,) = searched(model, replace(built, notes=RunNotes(output=(logged,))), "KeyError")
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert finding.reason.endswith("; the log shows KeyError: 'choices' before that")


def test_a_call_that_asks_nothing_says_nothing_of_an_exception_that_it_does_not_raise(
    model: ErrorModel,
) -> None:
    """What would raise it never came; one that it does raise is found all the same."""
    asks_nothing = {"type": "KeyError", "message": "", "link": "outer", "class": None, "code": None}
    trace = TraceBuilder().start().raises(asks_nothing).build()
    (finding,) = searched(model, trace, "ValueError")
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert finding.reason == "it raised KeyError without a single attempt, so nothing was shown"
    assert searched(model, trace, "KeyError")[0].verdict is Verdict.FAIL


def test_a_call_that_does_not_end_may_still_raise_it(model: ErrorModel) -> None:
    """Whether it waits for ever or was cut off; what it has raised before is found."""
    trace = TraceBuilder().start().fails(500).stalls().build("virtual_time_limit")
    (finding,) = searched(model, trace, "KeyError")
    assert (finding.verdict, finding.reason) == (Verdict.INCONCLUSIVE, "ask/1 did not end")
    logged = OutputLine(at_ns=0, stream="log", text="KeyError: 'choices'", call="ask/1")
    (finding,) = searched(model, replace(trace, notes=RunNotes(output=(logged,))), "KeyError")
    assert finding.verdict is Verdict.FAIL


def test_a_call_that_a_crash_cuts_off_is_none_that_goes_on(
    model: ErrorModel, bound: Callable[[str], Binding]
) -> None:
    """Its process is gone, and what it would have raised with it."""
    scenario = shipped_scenario("approvals/crash-while-open")
    trace = run_one(scenario, bound("reference-runtime"), 0, isolate=False)
    assert trace.of_kind("process.crashed")
    assert searched(model, trace, "KeyError")[0].verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("raised", "sought", "is_found"),
    [
        ("subject.client.AskFailed", "client.AskFailed", True),
        ("subject.client.AskFailed", "subject.client.AskFailed", True),
        ("subject.client.AskFailed", "app.web.client.AskFailed", True),
        ("app.client.AskFailed", "client.AskFailed", True),
        ("openai._base.RateLimitError", "openai.RateLimitError", True),
        ("anthropic.RateLimitError", "openai.RateLimitError", False),
        ("subject.client.AskFailed", "client.NotAsked", False),
    ],
)
def test_a_class_is_known_by_its_name_in_the_program_that_it_is_part_of(
    model: ErrorModel, raised: str, sought: str, *, is_found: bool
) -> None:
    """A file that is loaded by itself is a module of another name than in a log."""
    (finding,) = searched(model, crashed(raised), sought)
    assert finding.verdict is (Verdict.FAIL if is_found else Verdict.PASS)


def test_the_same_exception_has_one_fingerprint_and_another_line_has_another(
    model: ErrorModel,
) -> None:
    """The message and the number of the call do not matter."""

    def fingerprint(message: str, line: int) -> str:
        trace = noted(crashed("KeyError", message), ("client.py", line))
        judgement = SearchJudge(model, sought_of("KeyError")).judge(trace)
        return marks_of(trace, judgement)[0].fingerprint

    assert fingerprint("'a'", 16) == fingerprint("'b'", 16)
    assert fingerprint("'a'", 16) != fingerprint("'a'", 17)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """Search for a KeyError in a process of its own; return the folder and the report."""
    folder = tmp_path_factory.mktemp("search")
    (folder / "client.py").write_text(CLIENT)
    (folder / "scenario.yaml").write_text(SCENARIO)
    (folder / "crash.log").write_text(
        f'Traceback (most recent call last):\n  File "/srv/app/client.py", line {PLACE[-2:]}, in'
        " subject\n    return data\nKeyError: 'choices'\n"
    )
    words = ("scenario.yaml", "--subject", "client.py:subject", "--runs", "30", "-o", "found")
    done = process(folder, "explore", *words, "--raises", "crash.log")
    assert done.returncode == 1, done.stdout + done.stderr
    exploration = json.loads((folder / "found/exploration.json").read_text("utf-8"))
    (group,) = exploration["groups"]
    assert 0 < group["runs"] < 30
    told = f"KeyError at {PLACE} found in {group['runs']} of 30 runs, at 1 place"
    assert told in done.stdout
    return folder, json.loads((folder / "found/exploration.json").read_text())


def test_a_traceback_leads_to_the_smallest_scenario_that_raises_it(
    found: tuple[Path, dict[str, Any]],
) -> None:
    """One call and one fault are left."""
    _, report = found
    assert report["sought"] == f"KeyError at {PLACE}"
    (group,) = report["groups"]
    assert f"raises KeyError: 'choices' at {PLACE}" in group["finding"]["observed"]
    assert group["shrunk"]["is_minimum"]
    assert group["shrunk"]["after"]["faults"] == 1
    assert group["shrunk"]["after"]["tasks"] == 1


def test_its_files_are_red_until_the_exception_is_gone(
    found: tuple[Path, dict[str, Any]],
) -> None:
    """The pytest file and the command search for the same exception."""
    folder, report = found
    (test,) = (folder / "found").glob("test_*.py")
    words = ("pytest", "-q", "-p", "no:cacheprovider", str(test))
    red = program(folder, *words)
    assert red.returncode == 1, red.stdout + red.stderr
    assert "raises KeyError" in red.stdout
    assert "--raises" in report["groups"][0]["command"]
    (folder / "client.py").write_text(CLIENT.replace("answer.status != 429", "answer.status < 400"))
    green = program(folder, *words)
    assert green.returncode == 0, green.stdout + green.stderr
    (folder / "client.py").write_text(CLIENT)


def test_its_run_is_made_again_in_the_same_search(found: tuple[Path, dict[str, Any]]) -> None:
    """By its command, its token or its id: a run that raises it is no success."""
    folder, report = found
    (group,) = report["groups"]
    _, *again = shlex.split(group["again"])
    by_id = ("replay", group["fingerprint"], "--report", "found/exploration.json")
    for words in (again, by_id):
        done = process(folder, *words)
        assert done.returncode == 1, done.stdout + done.stderr
        assert f"fail in the search for KeyError at {PLACE}" in done.stdout
    assert "raises" not in process(folder, *words, "--raises", "ValueError").stdout


def test_a_search_that_finds_nothing_says_so(found: tuple[Path, dict[str, Any]]) -> None:
    """Though the subject breaks the error model."""
    folder, _ = found
    words = ("scenario.yaml", "--subject", "client.py:subject", "--runs", "3")
    done = process(folder, "explore", *words, "--raises", "ValueError")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no ValueError in 3 runs" in done.stdout


@pytest.mark.parametrize(
    ("check", "call", "ending", "spoils"),
    [
        ("evidence.exercised", None, "completed", False),
        ("evidence.exercised", "ask/1", "completed", True),
        ("evidence.exercised", None, "deadlock", True),
        ("evidence.faults-met", None, "deadlock", False),
        ("evidence.whole", None, "completed", True),
    ],
)
def test_only_a_situation_that_does_not_come_about_takes_nothing_away(
    check: str, call: str | None, ending: EndingReason, *, spoils: bool
) -> None:
    """What a call leaves unshown, and what a limit cuts off, is more than that."""
    finding = Finding(
        check=check, verdict=Verdict.INCONCLUSIVE, call=call, expected="it", reason="it did not"
    )
    why = why_inconclusive((finding,), ending)
    assert why is not None
    assert (why.check, why.reason, why.spoils) == (check, "it did not", spoils)
    assert why_inconclusive((finding.model_copy(update={"verdict": Verdict.PASS}),), ending) is None
