"""Output paths are checked before a run, and files are written whole after it."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from faultclock.cli.outputs import Outputs
from faultclock.cli.report_options import FORMATS, SUMMARY_BYTES_MAX
from faultclock.errors import InputError
from faultclock.model.report.finding import Verdict
from tests.cli.command_line import faultclock
from tests.cli.reports import finding, run, small_report
from tests.load.test_trace_file import small_trace


def test_reports_are_written_where_they_were_asked_for(tmp_path: Path) -> None:
    """Their paths are returned, for the summary."""
    paths = [str(tmp_path / "new" / name) for name in ("r.html", "r.json", "r.xml")]
    outputs = Outputs(reports={"html": paths[0], "json": paths[1], "junit": paths[2]})
    outputs.check()
    assert outputs.write(small_report()) == tuple(paths)
    assert all(Path(path).stat().st_size > 100 for path in paths)


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (("run", "rate-limits/quota-as-429", "--subject", "reference"), "--trace-dir"),
        (("run", "rate-limits/quota-as-429", "--subject", "reference"), "--html"),
        (("check", "reference"), "--services"),
        (("infer", "reference"), "--output"),
    ],
)
def test_an_empty_name_is_refused_and_is_not_the_folder_of_the_command(
    words: tuple[str, ...], option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is that of a variable of a script that is not set."""
    monkeypatch.chdir(tmp_path)
    done = faultclock(*words, option, "")
    assert done.exit_code == 2
    assert "the name is empty" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_standard_output_takes_a_report(capsys: pytest.CaptureFixture[str]) -> None:
    """It is no file, so it is not among the written ones."""
    outputs = Outputs(reports={"json": "-"})
    outputs.check()
    assert outputs.takes_stdout
    assert outputs.write(small_report()) == ()
    assert capsys.readouterr().out.startswith("{")


def test_each_format_is_written_by_its_option(tmp_path: Path) -> None:
    """A line of the table is all that a format needs, whatever its name."""
    files = {item.option: str(tmp_path / item.option) for item in FORMATS}
    outputs = Outputs(reports=files)
    outputs.check()
    assert outputs.write(small_report(run(Verdict.FAIL, finding(Verdict.FAIL)))) == tuple(
        files.values()
    )
    assert all(Path(path).stat().st_size > 100 for path in files.values())


def test_a_step_summary_is_added_to(tmp_path: Path) -> None:
    """Two commands of one step both have theirs; what stood there stays, byte for byte."""
    path = tmp_path / "summary.md"
    path.write_bytes("é\r\nbefore".encode())
    outputs = Outputs(reports={"github-summary": str(path)})
    outputs.check()
    outputs.write(small_report())
    outputs.write(small_report())
    text = path.read_bytes().decode()
    assert text.startswith("é\r\nbefore\n### Faultclock: s against")
    assert text.count("### Faultclock") == 2


def test_a_step_summary_takes_the_room_that_is_left(tmp_path: Path) -> None:
    """GitHub shows nothing of a step whose summary is larger than 1 MiB."""
    path = tmp_path / "summary.md"
    path.write_text("x" * (SUMMARY_BYTES_MAX - 8))
    Outputs(reports={"github-summary": str(path)}).write(small_report())
    assert path.stat().st_size <= SUMMARY_BYTES_MAX


@pytest.mark.parametrize(("place", "out"), [("-", ""), ("r.json", "printed\nwritten\n")])
def test_what_a_subject_prints_is_kept_out_of_a_report_on_standard_output(
    place: str, out: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """By `print` or by descriptor; otherwise it stays where it was meant to go."""
    with Outputs(reports={"json": place}).keeping_stdout():
        print("printed", flush=True)  # noqa: T201 - what a subject does
        os.write(1, b"written\n")
    print("after", flush=True)  # noqa: T201
    captured = capfd.readouterr()
    assert captured.out == f"{out}after\n"
    assert captured.err == ("printed\nwritten\n" if out == "" else "")


@pytest.mark.parametrize("pair", [("-", "-"), ("r.html", "./r.html")])
def test_two_reports_do_not_share_a_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pair: tuple[str, str]
) -> None:
    """However the one place is spelled."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="written to one place"):
        Outputs(reports={"html": pair[0], "json": pair[1]}).check()


def test_a_folder_in_place_of_a_report_is_told_before_the_run(tmp_path: Path) -> None:
    """The run would take its time for nothing."""
    with pytest.raises(InputError, match="this is a folder"):
        Outputs(reports={"html": str(tmp_path)}).check()


def test_a_file_in_place_of_the_trace_folder_is_told_before_the_run(tmp_path: Path) -> None:
    """The same for traces."""
    (tmp_path / "traces").write_text("")
    with pytest.raises(InputError, match="a file is where the folder should be"):
        Outputs(trace_dir=str(tmp_path / "traces")).check()


def test_a_trace_is_named_relative_to_the_report(tmp_path: Path) -> None:
    """The report links to it, wherever both are moved together."""
    outputs = Outputs(
        reports={"html": str(tmp_path / "out" / "r.html")}, trace_dir=str(tmp_path / "traces")
    )
    store = outputs.trace_writer()
    assert store is not None
    assert store(small_trace()) == "../traces/a/b.seed-3.jsonl"
    assert (tmp_path / "traces" / "a" / "b.seed-3.jsonl").is_file()


def test_without_a_trace_folder_nothing_is_stored() -> None:
    """None tells the suite so."""
    assert Outputs().trace_writer() is None


def test_traces_of_variants_have_names_of_their_own(tmp_path: Path) -> None:
    """Whatever a variant is called, its file can be typed."""
    store = Outputs(trace_dir=str(tmp_path)).trace_writer()
    assert store is not None
    trace = small_trace()
    scenario = trace.header.scenario.model_copy(
        update={"variant": "state=open, crash after event 7"}
    )
    header = trace.header.model_copy(update={"scenario": scenario})
    store(replace(trace, header=header))
    (path,) = tmp_path.rglob("*.jsonl")
    assert path.name == "b.state=open-crash-after-event-7.seed-3.jsonl"
