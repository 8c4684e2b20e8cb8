"""GitHub: annotations and summaries within their caps; what a subject says is no command."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from faultclock.model.report.finding import Report
from faultclock.render.github_text import github_annotations, github_summary
from tests.render import sample_report as sample
from tests.render.sample_gate import gated_report


def many(number: int) -> Report:
    """Return a report in which so many scenarios fail, and as many warn."""
    fail, warn = sample.quota_retried(), sample.late_date()
    runs = [
        run.model_copy(update={"scenario": f"{run.scenario}-{index}"})
        for index in range(number)
        for run in (fail, warn)
    ]
    return sample.report(runs)


def test_one_annotation_for_each_scenario() -> None:
    """Failures and what proves nothing are errors, a SHOULD is a warning."""
    lines = github_annotations(sample.sdk_report()).splitlines()
    assert [line.split(" ")[0] for line in lines] == ["::error"] * 5 + ["::warning"]
    assert "title=Faultclock%3A rate-limits/no-header::backoff.wait: it started" in lines[0]
    assert lines[0].count("%0A") == 3
    assert "%0Aand 1 more of this scenario%0Areplay: faultclock run" in lines[0]


def test_an_annotation_stands_at_the_subject() -> None:
    """GitHub shows it in the change, at the line of the function that is bound."""
    line = github_annotations(gated_report()).splitlines()[0]
    assert line.startswith("::error file=adapters/my adapter.py,line=12,title=Faultclock%3A ")


def test_what_the_baseline_knows_is_not_annotated() -> None:
    """It was decided before; the summary still tells it."""
    assert "no-header" not in github_annotations(gated_report())
    assert "no-header" in github_summary(gated_report())


def test_entries_that_are_not_so_are_annotated_at_the_baseline() -> None:
    """They shut the gate."""
    text = github_annotations(gated_report())
    assert "::error file=faultclock-baseline.yaml,line=1,title=" in text


@pytest.mark.parametrize(("scenarios", "shown"), [(9, 9), (10, 10), (11, 10), (40, 10)])
def test_of_each_level_no_more_than_ten_are_shown(scenarios: int, shown: int) -> None:
    """GitHub drops the rest in silence, so the last one says how many there are more."""
    lines = github_annotations(many(scenarios)).splitlines()
    for level in ("::error", "::warning"):
        mine = [line for line in lines if line.startswith(level)]
        assert len(mine) == shown
        last = mine[-1].split("::")[-1]
        if scenarios > shown:
            assert last == f"{scenarios - 9} more scenarios: see the summary or the report"
        else:
            assert "more scenario" not in last


def test_percent_signs_and_ends_of_lines_are_escaped_in_messages() -> None:
    """As the runner's own toolkit does; in properties also `:` and `,`."""
    run = sample.quota_retried()
    finding = run.findings[0].model_copy(
        update={"observed": "50% 100%25", "sentence": "one\r\ntwo\n::set-output name=a::b"}
    )
    changed = run.model_copy(update={"scenario": "a,b:c", "findings": (finding,)})
    (line,) = github_annotations(sample.report([changed])).splitlines()
    assert "title=Faultclock%3A a%2Cb%3Ac::" in line
    assert "50%25 100%2525" in line
    assert "one%0Atwo%0A::set-output" in line


def test_a_summary_tells_the_verdict_and_each_deviation() -> None:
    """The table has a line for each, worst first."""
    text = github_summary(gated_report())
    assert "### Faultclock: openai-async against stud-cli 1" in text
    assert "**:x: shut, because something fails that is not known" in text
    assert "(baseline faultclock-baseline.yaml, 2026-11-22)" in text
    rows = [line for line in text.splitlines() if line.startswith("| :")]
    assert len(rows) == 8
    assert rows[0].startswith("| :x: fails | rate-limits/quota-is-not-a-rate-limit |")
    assert "known until 2027-03-31: the SDK has a schedule of its own; platform team" in rows[-1]


def test_a_summary_of_an_open_gate_begins_green() -> None:
    """All that fails is known, which the build's own colour says too."""
    report = gated_report()
    assert report.gate is not None
    closed = {"regressions": (), "passing": (), "missing": (), "overdue": ()}
    gate = report.gate.model_copy(update=closed)
    known = report.model_copy(update={"gate": gate, "runs": report.runs[:1]})
    text = github_summary(known)
    assert "**:white_check_mark: open: it does not conform, and all that fails is known**" in text
    assert text.count(":heavy_minus_sign: known |") == 2
    assert github_annotations(known) == ""


def test_a_summary_of_a_green_report_has_no_table() -> None:
    """There is nothing to tell but that."""
    text = github_summary(sample.reference_report())
    assert "**:white_check_mark: conforms**" in text
    assert "|" not in text


@pytest.mark.parametrize("bytes_max", [0, 10, 200, 400, 1_000, 4_000, 10**6])
def test_a_summary_keeps_to_its_size_and_counts_what_is_cut(bytes_max: int) -> None:
    """GitHub shows nothing of one that is larger."""
    report = many(30)
    text = github_summary(report, bytes_max=bytes_max)
    assert len(text.encode()) <= bytes_max
    shown = sum(line.startswith("| :") for line in text.splitlines())
    if text and shown < 60 and bytes_max >= 400:
        assert text.endswith(f"\n{60 - shown} more: see the report.\n")


def test_markup_in_a_summary_is_shown_and_not_obeyed() -> None:
    """No row, link, image, person, issue, emoji or formula comes from what a subject says."""
    run = sample.quota_retried()
    said = "a|b `c` **d** __e__ <img> [f](g) @h #1 $i$ :x: https://j www.k \\ ~~l~~\n| m |"
    finding = run.findings[0].model_copy(update={"observed": said, "expected": ""})
    text = github_summary(sample.report([run.model_copy(update={"findings": (finding,)})]))
    (row,) = [line for line in text.splitlines() if line.startswith("| :x:")]
    cell = row.split(" | ")[-1].removesuffix(" |")
    assert cell == (
        "a&#124;b &#96;c&#96; &#42;&#42;d&#42;&#42; &#95;&#95;e&#95;&#95; &#60;img&#62;"
        " &#91;f&#93;(g) &#64;h &#35;1 &#36;i&#36; &#58;x: https&#58;//j www&#46;k &#92;"
        " &#126;&#126;l&#126;&#126; &#124; m &#124;"
    )


def test_the_texts_are_as_recorded(snapshot: SnapshotAssertion) -> None:
    """A change of the formats is seen before it is shipped."""
    assert github_summary(gated_report()) == snapshot(name="summary")
    assert github_annotations(gated_report()) == snapshot(name="annotations")
