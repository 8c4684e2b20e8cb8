"""What was noted of a run stands beside its findings, in every format, and never as markup."""

from __future__ import annotations

import json
from typing import Any

from faultclock.model.report.finding import Finding, Report, SourcePlace, Verdict
from faultclock.model.trace.notes import Frame, OutputLine, RaisedError, RunNotes, WaitingPlace
from faultclock.render.finding_text import finding_lines
from faultclock.render.github_text import github_annotations
from faultclock.render.gitlab_text import gitlab_report
from faultclock.render.html_text import html_report
from faultclock.render.junit_text import junit_report
from faultclock.render.notes_text import NOTHING_NOTED, shown_with
from faultclock.render.sarif_text import sarif_report
from tests.render import sample_report as sample
from tests.render.ci_formats import code_quality_errors, junit_errors, sarif_errors

SECOND = 1_000_000_000
OUTER = Frame(file="my/client.py", line=22, function="ask", code="return await send(request)")
INNER = Frame(file="my/client.py", line=31, function="send", code='float(headers["retry-after"])')
LIBRARY = Frame(file="json/decoder.py", line=355, function="raw_decode", own=False)
RAISED = RaisedError(
    call="ask/1",
    type="ValueError",
    message="not a number: '\x1b[31m<b>soon</b>'\nsecond line",
    frames=(OUTER, INNER),
    raised_by="operation",
)
WAITED = WaitingPlace(call="ask/1", from_ns=0, until_ns=7 * SECOND, frames=(OUTER, INNER))
HANGS = WaitingPlace(call="ask/1", from_ns=SECOND, until_ns=None, frames=(OUTER,), hangs=True)
LOGGED = OutputLine(
    at_ns=SECOND,
    stream="log",
    text="<script>alert(1)</script>",
    call="ask/1",
    level="WARNING",
    logger="my.client",
)


def finding(**changes: Any) -> Finding:
    """Return a finding of call `ask/1`, changed as asked."""
    values: dict[str, Any] = {"check": "a.b", "verdict": Verdict.FAIL, "call": "ask/1"}
    return Finding(**(values | changes))


def noted_report() -> Report:
    """Return a report of one run, whose failing findings point at a line."""
    run = sample.sdk_schedule()
    place = SourcePlace(file="my/client.py", line=31)
    calls = {item.call for item in run.findings if item.call}
    raised = tuple(RAISED.model_copy(update={"call": call}) for call in sorted(calls))
    output = tuple(
        OutputLine(at_ns=number, stream="stdout", text=f"printed {number}") for number in range(12)
    )
    notes = RunNotes(raised=raised, output=(*output, LOGGED.model_copy(update={"call": None})))
    findings = tuple(
        item.model_copy(update={"source": place}) if item.verdict is Verdict.FAIL else item
        for item in run.findings
    )
    return sample.report([run.model_copy(update={"findings": findings, "notes": notes})])


def test_a_traceback_is_shown_as_python_shows_one() -> None:
    """The outermost line first, the message last; control characters are visible."""
    noted = shown_with(finding(), RunNotes(raised=(RAISED,)))
    assert noted.raised == (
        "my/client.py:22: return await send(request)",
        'my/client.py:31: float(headers["retry-after"])',
        r"ValueError: not a number: '\x1b[31m<b>soon</b>'",
        "  second line",
    )


def test_a_line_without_its_source_names_its_function() -> None:
    """The innermost line of a library may be all that there is."""
    error = RAISED.model_copy(update={"frames": (LIBRARY,), "message": ""})
    noted = shown_with(finding(), RunNotes(raised=(error,)))
    assert noted.raised == ("json/decoder.py:355 in raw_decode", "ValueError")


def test_what_belongs_to_another_call_is_not_shown() -> None:
    """But what belongs to no call may be of this one."""
    other = RAISED.model_copy(update={"call": "ask/2"})
    lines = (LOGGED.model_copy(update={"call": "ask/2"}), LOGGED.model_copy(update={"call": None}))
    noted = shown_with(finding(), RunNotes(raised=(other,), output=lines))
    assert (noted.raised, len(noted.output)) == ((), 1)
    assert len(shown_with(finding(call=None), RunNotes(raised=(RAISED, other))).raised) == 8


def test_a_wait_is_shown_where_the_finding_points_at_it() -> None:
    """With how long it was; a hang is shown in any case."""
    notes = RunNotes(waits=(WAITED, HANGS))
    here = shown_with(finding(source=SourcePlace(file="my/client.py", line=31)), notes)
    assert here.waited[0] == "7 s, from 0 s on"
    assert here.hangs == (
        "never went on, call ask/1",
        "my/client.py:22: return await send(request)",
    )
    assert shown_with(finding(), notes).waited == ()


def test_only_the_last_lines_of_a_log_are_shown() -> None:
    """And how many came before them, those that were never kept included."""
    notes = RunNotes(output=(LOGGED,) * 20, output_cut=5)
    noted = shown_with(finding(), notes)
    assert (len(noted.output), noted.output_left_out) == (8, 17)
    assert noted.said[0] == "… 17 earlier lines"
    assert noted.said[-1] == "1 s WARNING my.client: <script>alert(1)</script>"


def test_a_run_without_notes_shows_nothing() -> None:
    """So a report of a trace without them looks as it always did."""
    assert shown_with(finding(), None) == NOTHING_NOTED
    assert NOTHING_NOTED.blocks == ()


def test_a_finding_in_full_has_line_and_traceback() -> None:
    """In the width of the terminal: a long source line is wrapped, and a very long one is cut."""
    long = INNER.model_copy(update={"code": "x" * 300})
    noted = shown_with(finding(), RunNotes(raised=(RAISED.model_copy(update={"frames": (long,)}),)))
    place = SourcePlace(file="my/client.py", line=31)
    lines = finding_lines(finding(source=place), "a/b", 80, noted)
    assert "      line       my/client.py:31" in lines
    first = next(n for n, line in enumerate(lines) if line.startswith("      raised     my/client"))
    assert max(map(len, lines)) <= 80
    wrapped = "".join(line.strip() for line in lines[first : first + 4])
    assert wrapped.endswith("…")
    assert 150 < wrapped.count("x") < 300
    assert all("\x1b" not in line for line in lines)


def test_the_page_shows_the_traceback_and_the_log_beside_the_events() -> None:
    """Escaped: what a subject writes is text."""
    page = html_report(noted_report())
    assert "float(headers[&#34;retry-after&#34;])" in page
    assert "log · 1 s</i> WARNING my.client:" in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script>alert(1)" not in page
    assert "\x1b" not in page


def test_junit_has_traceback_and_output_of_the_testcase() -> None:
    """The traceback in the failure, what was printed and what was logged where servers show it."""
    text = junit_report(noted_report())
    assert junit_errors(text) == []
    assert "ValueError: not a number" in text
    assert "line: my/client.py:31" in text
    out = text.partition("<system-out>")[2].partition("</system-out>")[0]
    err = text.partition("<system-err>")[2].partition("</system-err>")[0]
    assert "stdout: printed 11" in out
    assert "WARNING my.client: &lt;script&gt;" in err


def test_sarif_points_at_the_users_line() -> None:
    """And its message has the traceback; without a line it is the subject, as before."""
    text = sarif_report(noted_report())
    assert sarif_errors(text) == []
    (run,) = json.loads(text)["runs"]
    failing = [item for item in run["results"] if item["level"] == "error"]
    assert failing
    for result in failing:
        (location,) = result["locations"]
        place = location["physicalLocation"]
        assert place["artifactLocation"]["uri"] == "my/client.py"
        assert place["region"]["startLine"] == 31
        assert "my/client.py:22: return await send(request)" in result["message"]["text"]


def test_annotations_and_code_quality_point_there_too() -> None:
    """A reviewer sees the finding beside the line."""
    report = noted_report()
    assert "::error file=my/client.py,line=31," in github_annotations(report)
    text = gitlab_report(report)
    assert code_quality_errors(text) == []
    places = [entry["location"] for entry in json.loads(text) if entry["severity"] == "critical"]
    assert places
    assert all(item == {"path": "my/client.py", "lines": {"begin": 31}} for item in places)
