"""The progress bar is drawn on terminals only, and by nobody but the caller; a log gets lines."""

from __future__ import annotations

import io
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from faultclock.cli.check import watched
from faultclock.cli.progress import bar, progress
from faultclock.load.error_model import load_error_model
from faultclock.model.report.finding import Verdict
from tests.cli.reports import run


class Terminal(io.StringIO):
    """A text stream that says it is a terminal."""

    def isatty(self) -> bool:
        """Return True."""
        return True


def test_a_terminal_sees_how_far_the_run_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the name of the scenario, and no thread: each run forks this process."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    before = threading.active_count()
    with progress(2, quiet=False) as on_run:
        assert "0/2" in stream.getvalue(), "who waits for the first one is told for what"
        on_run(run(Verdict.PASS))
        assert threading.active_count() == before
    assert "mine/one" in stream.getvalue()
    assert "/2" in stream.getvalue()


@pytest.mark.parametrize(("stream", "quiet"), [(io.StringIO(), False), (Terminal(), True)])
def test_a_log_file_and_a_quiet_run_see_nothing(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, quiet: bool
) -> None:
    """Build servers keep every byte, and this takes no half minute."""
    monkeypatch.setattr(sys, "stderr", stream)
    with progress(2, quiet=quiet) as on_run:
        on_run(run(Verdict.PASS))
    assert stream.getvalue() == ""


def test_a_log_file_gets_a_line_in_half_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who reads the log of a long job sees that it goes on, and how far it is."""
    stream, now_s = io.StringIO(), iter(range(0, 1_000, 20))
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(time, "monotonic", lambda: next(now_s))
    with progress(9, quiet=False) as on_run:
        for _ in range(5):
            on_run(run(Verdict.PASS))
    with bar(None, quiet=False) as advance:
        for doing in ("one", "two"):
            advance(f"1,200 runs/s  {doing}")
    told = ["2 of 9  mine/one", "4 of 9  mine/one", "2  1,200 runs/s  two"]
    assert stream.getvalue().splitlines() == told


def test_nobody_who_reads_the_lines_is_no_reason_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk under the log, or a reader that is gone, costs no run."""
    now_s = iter(range(0, 1_000, 40))
    monkeypatch.setattr(time, "monotonic", lambda: next(now_s))
    with Path("/dev/full").open("w") as full, progress(2, quiet=False) as on_run:
        monkeypatch.setattr(sys, "stderr", full)
        on_run(run(Verdict.PASS))
        monkeypatch.undo()
        with suppress(OSError):
            full.close()


def test_a_check_begins_another_bar_where_it_finds_out_what_a_target_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first has a total from the start, and the second is not known to end."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    with watched(load_error_model("common"), 2, quiet=False) as told:
        assert "0/2" in stream.getvalue()
        told(run(Verdict.PASS))
        assert "finding out" not in stream.getvalue()
        told(run(Verdict.PASS).model_copy(update={"scenario": "infer/status-502"}))
        told(run(Verdict.PASS).model_copy(update={"scenario": "infer/status-503"}))
    drawn = stream.getvalue()
    assert "finding out what it does" in drawn
    assert "2/?" in drawn
