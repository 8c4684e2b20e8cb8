"""The table at the end of a run says what matters in one line per scenario."""

from __future__ import annotations

import io
import re

import pytest

from harness.cli.summary import rows_of, write_summary
from harness.model.finding import CrossingReport, Report, Verdict
from tests.cli.reports import finding, run, small_report

SHORT = finding(Verdict.FAIL, expected="5 s", observed="4.75 s")
VAGUE = finding(Verdict.INCONCLUSIVE, check="evidence.faults", reason="fault x was never met")


class Terminal(io.StringIO):
    """A text stream that says it is a terminal."""

    def isatty(self) -> bool:
        """Return True."""
        return True


def summary(report: Report, out: io.StringIO, *, quiet: bool = False) -> str:
    """Return what is written about `report`."""
    write_summary(report, written=("r.html",), wall_s=0.5, quiet=quiet, out=out)
    return out.getvalue()


def test_a_scenario_is_one_row_over_all_its_seeds() -> None:
    """The worst run decides, and ranges show the spread."""
    report = small_report(
        run(Verdict.PASS),
        run(Verdict.FAIL, VAGUE, SHORT, seed=1, virtual_ns=7_000_000_000),
        run(Verdict.PASS, scenario="mine/two"),
    )
    first, second = rows_of(report)
    assert first.cells == (
        "mine/one ×2",
        "✗ fail",
        "2",
        "5 s-7 s",
        "backoff.wait: 4.75 s; expected 5 s",
    )
    assert second.cells == ("mine/two", "✓ pass", "2", "5 s", "")


def test_no_column_calls_real_time_virtual() -> None:
    """What was served took real time: each row says so, and the heading does not deny it."""
    served = summary(small_report(run(Verdict.PASS, time_base="wall")), io.StringIO())
    assert "virtual time" not in served.splitlines()[0]
    assert "5 s real" in served.splitlines()[1]
    simulated = summary(small_report(run(Verdict.PASS)), io.StringIO())
    assert "virtual time" in simulated.splitlines()[0]


def test_the_plain_text_is_aligned_and_ends_with_what_to_do() -> None:
    """A log file shows all that a terminal does."""
    text = summary(
        small_report(run(Verdict.PASS), run(Verdict.FAIL, SHORT, scenario="mine/other")),
        io.StringIO(),
    )
    lines = text.splitlines()
    assert lines[0].index("verdict") == lines[1].index("✓ pass") == lines[2].index("✗ fail")
    assert "✗ s against stud-cli: 2 runs, 1 fail, 1 pass (10 s of virtual time in 0.5 s)" in lines
    assert "  written: r.html" in lines
    assert "  once more: faultclock run mine/one --subject s --seed 0" in lines
    assert "\x1b" not in text


def test_a_terminal_gets_the_same_facts() -> None:
    """With colours, but verdicts keep their words and symbols."""
    text = summary(small_report(run(Verdict.INCONCLUSIVE, VAGUE)), Terminal())
    assert "? inconclusive" in text
    assert "mine/one" in text
    assert "inconclusive is no pass" in text


@pytest.mark.parametrize("columns", [60, 100, 200])
def test_a_narrow_terminal_cuts_only_the_finding(
    monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    """Which scenario, and what became of it, is the least that a row says."""
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm")
    name = "rate-limits/a-scenario-with-a-long-name"
    long = finding(Verdict.FAIL, observed="x" * 300, expected="y")
    report = small_report(run(Verdict.FAIL, long, scenario=name), run(Verdict.PASS))
    text = summary(report, Terminal())
    text = re.sub("\x1b\\[[0-9;]*m", "", text)
    (line,) = [line for line in text.splitlines() if name in line]
    assert "✗ fail" in line
    assert len(line) <= columns


def test_a_single_scenario_is_told_in_full_and_many_are_not() -> None:
    """A table is the overview of many; who asks for one wants to know why."""
    one = run(Verdict.FAIL, SHORT, seed=1)
    assert "\n      observed   4.75 s\n" in summary(
        small_report(run(Verdict.PASS), one), io.StringIO()
    )
    many = small_report(one, run(Verdict.PASS, scenario="mine/two"))
    assert "observed" not in summary(many, io.StringIO())


def test_a_pass_says_no_more_than_needed() -> None:
    """There is nothing to run again."""
    text = summary(small_report(), io.StringIO())
    assert "once more" not in text


def test_quiet_leaves_the_totals() -> None:
    """No table."""
    text = summary(small_report(run(Verdict.FAIL, SHORT)), io.StringIO(), quiet=True)
    assert "first finding" not in text
    assert text.startswith("✗ s against stud-cli: 1 run, 1 fail")


def test_verdicts_over_seeds_are_shown_apart() -> None:
    """No single run can show that jitter is missing."""
    flat = finding(Verdict.FAIL, check="backoff.jitter", observed="one wait", expected="several")
    report = small_report(run(Verdict.PASS), verdict=Verdict.FAIL, seeds_findings=(flat,))
    text = summary(report, io.StringIO())
    assert "Over all seeds of a scenario:" in text
    assert "✗ fail  backoff.jitter: one wait; expected several" in text


def test_control_characters_of_a_subject_do_not_reach_the_terminal() -> None:
    """An exception's text may hold anything."""
    nasty = finding(Verdict.FAIL, observed="\x1b]0;owned\x07", expected="x")
    text = summary(small_report(run(Verdict.FAIL, nasty)), io.StringIO())
    assert "\x1b" not in text
    assert "\\x1b]0;owned" in text


def test_a_sweep_says_how_much_was_judged() -> None:
    """Crash points and resumes, and only where there was a sweep."""
    swept = [
        run(Verdict.PASS, variant=f"crash after event {seq}", crash_point=seq, resumes=1)
        for seq in (5, 6, 7)
    ]
    text = summary(small_report(run(Verdict.PASS, resumes=1), *swept), io.StringIO())
    assert "  crash everywhere: 3 crash points and 3 resumes judged in 1 scenario" in text
    assert "crash everywhere" not in summary(small_report(run(Verdict.PASS)), io.StringIO())


def test_a_matrix_says_how_much_of_it_was_run_and_why_not_all() -> None:
    """A combination that is left out is counted with its reason, never dropped in silence."""
    crossing = CrossingReport(
        scenario="mine/one", cells=6, run=4, omitted={"it cannot be": ("a=1, b=2", "a=2, b=2")}
    )
    report = small_report(run(Verdict.PASS)).model_copy(update={"crossings": (crossing,)})
    text = summary(report, io.StringIO())
    assert "  crossing mine/one: 4 of 6 cells run" in text
    assert "    2 cells left out: it cannot be" in text


def test_what_a_subject_does_not_show_is_said_beside_its_passes() -> None:
    """A pass is no proof of what nobody could look at, not even in the shortest summary."""
    silent = finding(
        Verdict.NOT_APPLICABLE,
        check="failures.told-operator",
        reason="the subject's binding does not declare 'operator'",
    )
    report = small_report(run(Verdict.PASS, silent), run(Verdict.PASS, scenario="mine/two"))
    text = summary(report, io.StringIO(), quiet=True)
    assert "not judged at all: 1 check, because the binding does not declare 'operator'" in text
    assert "not judged" not in summary(small_report(run(Verdict.PASS)), io.StringIO())
