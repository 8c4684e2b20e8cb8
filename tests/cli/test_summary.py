"""The table at the end of a run says what matters in one line per scenario."""

from __future__ import annotations

import io
import re
import shlex

import pytest

from faultclock.cli.grouping import by_scenario
from faultclock.cli.summary import write_summary
from faultclock.model.report.finding import CrossingReport, PassedOver, Report, Verdict
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
    first, second = by_scenario(report).rows
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
    assert "  reproduce: faultclock run mine/one --subject s --seed 0" in lines
    assert "\x1b" not in text


def test_a_terminal_gets_the_same_facts() -> None:
    """With colours, but verdicts keep their words and symbols."""
    text = summary(small_report(run(Verdict.INCONCLUSIVE, VAGUE)), Terminal())
    assert "? inconclusive" in text
    assert "mine/one" in text
    assert "inconclusive is no pass" in text


LONG = finding(
    Verdict.FAIL,
    observed=" ".join(f"observed-{number}" for number in range(20)),
    expected=" ".join(f"expected-{number}" for number in range(20)),
)


def shown_at(monkeypatch: pytest.MonkeyPatch, columns: int, report: Report) -> list[str]:
    """Return the lines on a terminal of so many columns, without its colours."""
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm")
    return re.sub("\x1b\\[[0-9;]*m", "", summary(report, Terminal())).splitlines()


@pytest.mark.parametrize("columns", [60, 80, 120, 200])
def test_a_finding_keeps_its_words_on_every_terminal(
    monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    """What was observed and what was expected is wrapped, never cut, and no line is too long."""
    name = "rate-limits/a-scenario-with-a-long-name"
    replay = f"faultclock run {name} --subject path/to/client.py:ask --model common --seed 0"
    failed = run(Verdict.FAIL, LONG, scenario=name, replay=replay)
    lines = shown_at(monkeypatch, columns, small_report(failed, run(Verdict.PASS)))
    text = "\n".join(lines)
    assert max(map(len, lines)) <= columns
    assert all(
        f"{kind}-{number}" in text for kind in ("observed", "expected") for number in range(20)
    )
    (line,) = [line for line in lines if name in line and "fail" in line]
    assert "✗ fail" in line


def test_a_narrow_terminal_shows_the_finding_of_a_single_scenario_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It stands in full below the table."""
    found = finding(Verdict.FAIL, observed="waited 4.75 s", expected="5 s")
    lines = shown_at(monkeypatch, 80, small_report(run(Verdict.FAIL, found)))
    assert [line for line in lines if "waited 4.75 s" in line] == ["      observed   waited 4.75 s"]


def test_a_command_that_is_wrapped_can_be_pasted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shell reads the lines as the one command that they are."""
    replay = "faultclock run mine/one --subject 'my files/client.py:ask' --model common --seed 0"
    lines = shown_at(monkeypatch, 60, small_report(run(Verdict.FAIL, SHORT, replay=replay)))
    first = next(place for place, line in enumerate(lines) if "reproduce: " in line)
    last = next(place for place in range(first, len(lines)) if not lines[place].endswith("\\"))
    pasted = "\n".join(lines[first : last + 1]).partition("reproduce: ")[2]
    assert last > first
    # To a shell, a backslash at the end of a line takes the line break away.
    assert shlex.split(pasted.replace("\\\n", "")) == shlex.split(replay)


def test_a_file_gets_one_line_for_each_scenario_and_for_the_command() -> None:
    """What is searched with grep is not wrapped, whatever COLUMNS says."""
    report = small_report(run(Verdict.FAIL, LONG), run(Verdict.PASS, scenario="mine/two"))
    (line,) = [line for line in summary(report, io.StringIO()).splitlines() if "mine/one  " in line]
    assert "observed-19" in line
    assert "expected-19" in line


def test_a_name_that_is_wider_than_the_terminal_stays_in_one_piece(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is on a line of its own, to be copied."""
    name = f"mine/{'long-' * 12}name"
    lines = shown_at(monkeypatch, 60, small_report(run(Verdict.PASS, scenario=name)))
    assert f"  {name}" in lines


def test_what_many_scenarios_were_passed_over_for_is_said_once() -> None:
    """A report that was cut short stays readable, and names some of what is missing."""
    left = tuple(PassedOver(scenario=f"mine/{n}", because="it was stopped") for n in range(9))
    report = small_report(run(Verdict.PASS)).model_copy(update={"passed_over": left})
    text = summary(report, io.StringIO())
    assert "  passed over, not run: 9 scenarios" in text
    assert text.count("it was stopped") == 1
    assert "mine/0, mine/1, mine/2 and 6 more" in text


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
    assert "reproduce" not in text


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
    assert "not judged: 1 check that needs a subject which declares 'operator'" in text
    assert "not judged" not in summary(small_report(run(Verdict.PASS)), io.StringIO())
