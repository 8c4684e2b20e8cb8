"""What is noted of a run: the exception, the output and the waits, and never in the trace."""

from __future__ import annotations

import inspect
import logging
import sys
import sysconfig
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from faultclock.load.trace_file import notes_path, read_trace, write_trace
from faultclock.model.report.finding import SourcePlace
from faultclock.model.trace.notes import OutputLine, RunNotes, WaitingPlace
from faultclock.model.trace.trace import Trace, trace_lines
from faultclock.oracle.judge import Judge
from faultclock.run import lives
from faultclock.run.notes.frames import stack_of_lines
from faultclock.run.notes.taking import RawNotes
from faultclock.run.process import run_once as making
from faultclock.run.report import run_report
from faultclock.run.suite import run_one
from faultclock.subjects.bind_runtime import runtime
from faultclock.subjects.bind_tool import tool
from faultclock.subjects.binding import Binding
from faultclock.subjects.ports import Surroundings, ToolRequest
from faultclock.subjects.registry import load_subject
from tests.run.conftest import limited, loaded_model, small
from tests.run.runtime_runs import working
from tests.run.small_runtime import small_runtime

CLIENT = """\
import asyncio
import json
import logging
import os
import sys
import threading
import time
import warnings
from urllib.request import Request, urlopen
from urllib.error import HTTPError

from faultclock import provider_adapter

log = logging.getLogger("my.client")
KEPT = sys.stderr


def send(request):
    body = json.dumps({"model": request.model, "messages": list(request.messages)}).encode()
    headers = {"authorization": "Bearer " + request.api_key, "content-type": "application/json"}
    return urlopen(Request(request.base_url + "/chat/completions", body, headers), timeout=60)


def seconds(headers):
    return float(headers["retry-after"])  # reads


def bind_scenario(delay, key):
    log.warning("waiting %s s with %s", delay, key)
    warnings.warn("this is\\nold", stacklevel=2)
    print("sleeping", delay)
    print("to stderr", file=sys.stderr, end="")
    os.write(2, b"past python\\n")


@provider_adapter
def blocking(request):
    while True:
        try:
            return json.load(send(request))["choices"][0]["message"]["content"]
        except HTTPError as error:
            delay = seconds(error.headers)
            bind_scenario(delay, request.api_key)
            time.sleep(delay)  # sleeps


async def rest(delay):
    await asyncio.sleep(delay)  # rests


@provider_adapter
async def awaited(request):
    while True:
        try:
            answer = await asyncio.to_thread(send, request)
            return json.load(answer)["choices"][0]["message"]["content"]
        except HTTPError as error:
            delay = seconds(error.headers)
            bind_scenario(delay, request.api_key)
            await rest(delay)


@provider_adapter
async def hangs(request):
    await asyncio.Event().wait()  # waits


@provider_adapter
def hangs_blocking(request):
    threading.Event().wait()  # blocks


@provider_adapter
def spins(request):
    while True:
        pass  # spins


@provider_adapter
def dies(request):
    os.write(2, b"last words\\n")
    os.kill(os.getpid(), 9)


@provider_adapter
def talks(request):
    for number in range(1_000):
        print("line", number)
    raise LookupError("no more")  # raises


@provider_adapter
def decodes(request):
    json.loads("<html>")  # decodes


@provider_adapter
async def patient(request):
    event = asyncio.Event()
    try:
        await asyncio.wait_for(event.wait(), 5)  # patient
    except TimeoutError:
        pass
    try:
        async with asyncio.timeout(30):
            await asyncio.sleep(0.5)  # short
    except TimeoutError:
        pass
"""


#: As a process has them that no test has told to raise.
pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(autouse=True)
def _client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "client.py").write_text(CLIENT)
    monkeypatch.chdir(tmp_path)


def at(mark: str) -> int:
    """Return the number of the line of the client that ends with this comment."""
    (number,) = (
        number
        for number, line in enumerate(CLIENT.splitlines(), start=1)
        if line.endswith(f"# {mark}")
    )
    return number


def ran(name: str, *, isolate: bool = False, **header: str) -> Trace:
    """Run one call of a subject of the file, whose first answer is a 429 with these headers."""
    scenario = small(provider=limited(**header))
    return run_one(scenario, load_subject(f"client.py:{name}"), 0, isolate=isolate, wall_limit_s=3)


def noted(trace: Trace) -> RunNotes:
    """Return the notes of a run that has some."""
    assert trace.notes is not None
    return trace.notes


def own(frames: Any) -> list[tuple[str, int]]:
    """Return file and line of the user's own lines."""
    return [(frame.file, frame.line) for frame in frames if frame.own]


BOTH = pytest.mark.parametrize("isolate", [False, True], ids=["inline", "isolated"])
STYLES = pytest.mark.parametrize("name", ["blocking", "awaited"])


@BOTH
@STYLES
def test_an_exception_is_noted_with_the_users_own_lines(name: str, isolate: bool) -> None:
    """Type, message, and a traceback in which nothing of Python's or ours stands."""
    (error,) = noted(ran(name, isolate=isolate, retry_after="Thu, 01 Jan 2026")).raised
    assert (error.call, error.type, error.raised_by) == ("ask/1", "ValueError", "operation")
    assert "Thu, 01 Jan 2026" in error.message
    assert own(error.frames)[-1] == ("client.py", at("reads"))
    assert all(frame.own for frame in error.frames)
    assert error.frames[-1].code.startswith('return float(headers["retry-after"])')
    assert error.frames[-1].function == "seconds"


@BOTH
@STYLES
def test_output_is_noted_with_its_instant_and_its_call(
    name: str, isolate: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    """A log record, a warning and both streams; secrets are taken out, the terminal stays clean."""
    notes = noted(ran(name, isolate=isolate, retry_after="7"))
    lines = [line for line in notes.output if line.call is not None]
    assert [(line.stream, line.text) for line in lines] == [
        ("log", "waiting 7.0 s with <secret>"),
        ("warning", "this is"),
        ("warning", "old"),
        ("stdout", "sleeping 7.0"),
    ]
    (instant,) = {line.at_ns for line in lines}
    assert 0 < instant < 1_000_000_000
    log = lines[0]
    assert (log.level, log.logger, log.file, log.line) == ("WARNING", "my.client", "client.py", 29)
    late = [line.text for line in notes.output if line.call is None]
    assert late == (["to stderr", "past python"] if isolate else ["to stderr"])
    shown = capfd.readouterr()
    assert (shown.out, shown.err) == ("", "" if isolate else "past python\n")


@BOTH
@STYLES
def test_a_wait_names_the_line_that_slept(name: str, isolate: bool) -> None:
    """A wait for an answer is none: it came."""
    (wait,) = noted(ran(name, isolate=isolate, retry_after="7")).waits
    assert wait.call == "ask/1"
    assert wait.until_ns is not None
    assert wait.until_ns - wait.from_ns == 7_000_000_000
    assert own(wait.frames)[-1] == ("client.py", at("sleeps" if name == "blocking" else "rests"))
    assert not wait.hangs


def test_a_timeout_that_ends_is_a_wait_and_one_that_is_taken_back_is_none() -> None:
    """`wait_for` waited five seconds; the deadline around the sleep never came."""
    waits = noted(ran("patient")).waits
    assert [(own(wait.frames)[-1][1], wait.until_ns) for wait in waits] == [
        (at("patient"), 5_000_000_000),
        (at("short"), 5_500_000_000),
    ]


@BOTH
@pytest.mark.parametrize(("name", "mark"), [("hangs", "waits"), ("hangs_blocking", "blocks")])
def test_a_hang_names_the_line_that_waits(name: str, mark: str, isolate: bool) -> None:
    """For ever: it has no end."""
    trace = ran(name, isolate=isolate)
    assert trace.footer.ending == "deadlock"
    (wait,) = noted(trace).waits
    assert (wait.call, wait.hangs, wait.until_ns) == ("ask/1", True, None)
    assert own(wait.frames) == [("client.py", at(mark))]


def test_what_the_watchdog_ends_names_the_line_that_ran() -> None:
    """An endless loop waits for nothing, and is found all the same."""
    trace = ran("spins", isolate=True)
    assert trace.footer.ending == "watchdog"
    (wait,) = noted(trace).waits
    assert wait.hangs
    assert own(wait.frames)[-1][1] in (at("spins") - 1, at("spins"))


def test_the_last_words_of_a_process_that_died_are_kept() -> None:
    """Its own notes died with it; its descriptors lead to memory of ours."""
    trace = ran("dies", isolate=True)
    assert trace.footer.ending == "harness_error"
    assert [line.text for line in noted(trace).output] == ["last words"]


@BOTH
def test_much_output_is_cut_in_its_middle(isolate: bool) -> None:
    """The first lines and the last ones, and how many are missing."""
    notes = noted(ran("talks", isolate=isolate))
    texts = [line.text for line in notes.output]
    assert (texts[0], texts[-1]) == ("line 0", "line 999")
    assert len(texts) + notes.output_cut == 1_000
    assert len(texts) <= 200


@pytest.mark.parametrize(
    ("name", "mark", "raised_by", "last"),
    [
        ("talks", "raises", "raise", "client.py"),
        ("decodes", "decodes", "operation", "json/decoder.py"),
    ],
)
def test_a_raise_is_told_from_an_accident(name: str, mark: str, raised_by: str, last: str) -> None:
    """Python's own functions raise for what they are given; the innermost line says which."""
    (error,) = noted(ran(name)).raised
    assert own(error.frames)[-1] == ("client.py", at(mark))
    assert error.raised_by == raised_by
    assert error.frames[-1].file == last


def test_notes_change_no_byte_of_a_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    """With and without them, isolated and inline."""
    for name in ("blocking", "awaited", "patient", "hangs"):
        with_notes = ran(name, retry_after="7")
        apart = ran(name, isolate=True, retry_after="7")
        with monkeypatch.context() as patch:
            patch.setattr(lives, "noting", _no_notes)
            # It is no subject that replaces it.
            watched = tuple(item for item in making._OBSERVERS._kept if item[1] != "noting")
            patch.setattr(making._OBSERVERS, "_kept", watched)
            without = ran(name, retry_after="7")
        assert without.notes is None
        assert [*trace_lines(with_notes)] == [*trace_lines(without)] == [*trace_lines(apart)]
        assert with_notes == without


class _no_notes:
    """Takes no notes."""

    def __init__(self, kernel: object) -> None:
        """Leave the world as it is."""

    def __enter__(self) -> _no_notes:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is borrowed."""

    def taken(self) -> RawNotes:
        """Return nothing."""
        return RawNotes()


def test_the_process_is_left_as_it_was() -> None:
    """Streams, logging and warnings are only borrowed."""
    before = (sys.stdout, sys.stderr, logging.Logger.callHandlers, logging.lastResort)
    shown = warnings.showwarning
    ran("blocking", retry_after="7")
    assert before == (sys.stdout, sys.stderr, logging.Logger.callHandlers, logging.lastResort)
    assert warnings.showwarning is shown


@BOTH
def test_notes_of_several_lives_add_up(isolate: bool) -> None:
    """What the first process wrote is not lost with it, and it has no last words."""

    @runtime
    async def talks(around: Surroundings) -> Any:
        sys.stdout.write("resumed\n" if around.resume else "started\n")
        try:
            return await _made(small_runtime, around)
        finally:
            logging.getLogger("life").warning("made")

    crash = {"id": "dead", "on": {"kind": "tool.effect"}}
    trace = run_one(working(crashes=[crash]), talks, 0, isolate=isolate)
    assert [line.text for line in noted(trace).output] == ["started", "made", "resumed", "made"]


async def _made(binding: Binding, around: Surroundings) -> Any:
    made = binding.function(around)
    return await made if inspect.isawaitable(made) else made


@BOTH
def test_a_tool_is_noted_too(isolate: bool) -> None:
    """Its driver is another one, and tells what was raised as well."""
    tool_scenario = small(role="tool", provider={"dialect": "http-json"})

    @tool
    def breaks(call: ToolRequest) -> Any:
        raise KeyError("no such thing")

    (error,) = noted(run_one(tool_scenario, breaks, 0, isolate=isolate)).raised
    assert (error.call, error.type, error.raised_by) == ("ask/1", "KeyError", "raise")
    assert error.frames[-1].function == "breaks"


# ---------------------------------------------------------------------- beside a trace


def test_a_stored_trace_has_its_notes_beside_it(tmp_path: Path) -> None:
    """And a trace with other notes, or none, does not get those of the one before it."""
    trace = ran("blocking", retry_after="soon")
    path = tmp_path / "x.seed-1.jsonl"
    write_trace(path, trace)
    assert notes_path(path).name == "x.seed-1.notes.json"
    assert "notes" not in path.read_text()
    assert read_trace(path).notes == trace.notes
    other = ran("blocking", retry_after="7")
    path.write_text("".join(trace_lines(other)))
    assert read_trace(path).notes is None
    write_trace(path, replace(other, notes=None))
    assert not notes_path(path).exists()


# ---------------------------------------------------------------------- in a report


def reported(trace: Trace) -> Any:
    """Return the report of a run, judged by the model that waits are exact in."""
    judgement = Judge(loaded_model("stud-cli")).judge(trace)
    return run_report(trace, judgement, replay="", trace_file=None)


@pytest.mark.parametrize(
    ("name", "header", "mark"),
    [
        ("blocking", {"retry_after": "soon"}, "reads"),
        ("awaited", {"retry_after": "soon"}, "reads"),
        ("blocking", {"retry_after": "7"}, None),
        ("hangs", {}, "waits"),
        ("hangs_blocking", {}, "blocks"),
    ],
)
def test_a_finding_points_at_a_line(name: str, header: dict[str, Any], mark: str | None) -> None:
    """The line of the exception, or the one that still waits; a green one points nowhere."""
    report = reported(ran(name, **header))
    failing = [finding for finding in report.findings if finding.verdict == "FAIL"]
    places = {finding.source.line for finding in failing if finding.source is not None}
    assert places == ({at(mark)} if mark is not None else set())
    assert (report.notes is not None) == bool(failing)
    assert all(finding.source is None for finding in report.findings if finding.verdict == "PASS")


@pytest.mark.parametrize(("name", "mark"), [("awaited", "rests"), ("blocking", "sleeps")])
def test_a_finding_about_a_wait_points_at_the_line_that_slept(name: str, mark: str) -> None:
    """It asked again after a second, where seven were asked for."""
    Path("client.py").write_text(CLIENT.replace("delay = seconds(error.headers)", "delay = 1"))
    report = reported(ran(name, retry_after="7"))
    failing = [finding for finding in report.findings if finding.verdict == "FAIL"]
    places = {finding.check: finding.source for finding in failing}
    assert places["backoff.retry-after"] == SourcePlace(file="client.py", line=at(mark))


def test_a_report_keeps_the_notes_small() -> None:
    """The end of a long log is enough, and the longest waits."""
    trace = ran("talks")
    notes = noted(trace)
    line = OutputLine(at_ns=0, stream="stdout", text="x")
    waits = tuple(WaitingPlace(call="a", from_ns=n, until_ns=2 * n) for n in range(100))
    many = notes.model_copy(update={"output": (line,) * 200, "waits": waits})
    shown = reported(replace(trace, notes=many)).notes
    assert (len(shown.output), shown.output_cut) == (60, notes.output_cut + 140)
    assert [wait.from_ns for wait in shown.waits] == list(range(60, 100))


def test_a_file_elsewhere_names_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A report may be read by others than who ran it; and no reader can open such a place."""
    (tmp_path / "below").mkdir()
    binding = load_subject(str(tmp_path / "client.py") + ":talks")
    monkeypatch.chdir(tmp_path / "below")
    trace = run_one(small(), binding, 0, isolate=False)
    assert [frame.file for frame in noted(trace).raised[0].frames] == ["…/client.py"]
    assert {finding.source for finding in reported(trace).findings} == {None}


def test_the_command_that_began_a_run_is_no_line_of_the_users() -> None:
    """However it was named; a file of the user's in a folder that is called so is one."""
    scripts = sysconfig.get_path("scripts")
    near = "/".join(scripts.split("/")[-2:])
    mine = (f"{scripts}/mine.py", 1, "ask")
    for command in (f"{scripts}/faultclock", f"{near}/faultclock"):
        assert [line[0] for line in stack_of_lines([mine, (command, 8, "<module>")])] == [mine[0]]
