"""Reports on disk are the same as in memory, to everything that reads them."""

from __future__ import annotations

import gc
import pickle
import tempfile
import weakref
from functools import cache
from pathlib import Path

import pytest

from faultclock.errors import InputError
from faultclock.load.error_model import load_error_model
from faultclock.load.run_log import RunLog
from faultclock.load.scenario import find_scenarios
from faultclock.model.report.finding import Report, RunReport
from faultclock.run.prepare import prepare
from faultclock.run.suite import SuiteRequest, run_suite

#: Both verdicts, and payloads whose keys are in no order.
SCENARIOS = ("rate-limits/retry-after-integer", "provider-transient/bad-key")


@cache
def report() -> Report:
    """Return a report whose runs are in memory."""
    items = find_scenarios(SCENARIOS)
    return run_suite(
        SuiteRequest(
            scenarios=tuple(scenario for item in items for scenario in item.runnable),
            binding=prepare("mini-ignores-retry-after"),
            subject_spec="mini-ignores-retry-after",
            model=load_error_model("stud-cli"),
            seeds=3,
            isolate=False,
        )
    )


def stored() -> tuple[RunReport, ...]:
    """Return the same runs, none of which stays in memory."""
    log = RunLog(held_max=0)
    for run in report().runs:
        log.add(run)
    return log.runs()


def test_every_field_of_a_report_on_disk_is_what_it_was() -> None:
    """Also what follows from fields, and each part that is read alone."""
    for kept, run in zip(stored(), report().runs, strict=True):
        assert type(kept) is not RunReport
        for name in (*RunReport.model_fields, "attempts", "verdicts"):
            assert getattr(kept, name) == getattr(run, name), name
        assert kept == run
        assert kept.canonical() == run.canonical()


def test_a_report_of_them_is_written_byte_for_byte_alike() -> None:
    """Also after it was sent to another process, and with a field changed."""
    whole = report()
    of_stored = whole.model_copy(update={"runs": stored()})
    assert of_stored.model_dump_json() == whole.model_dump_json()
    assert Report.model_validate(dict(of_stored)).runs[1] == whole.runs[1]
    assert pickle.loads(pickle.dumps(of_stored.runs[2])) == whole.runs[2]
    assert of_stored.runs[0].model_copy(update={"seed": 9}).seed == 9


def test_what_was_read_is_forgotten_again() -> None:
    """Code that takes all runs one by one has few of them in memory."""
    log = RunLog(held_max=0)
    for run in report().runs * 5:
        log.add(run)
    marks = [weakref.ref(run.timeline[0]) for run in log.runs()]
    gc.collect()
    assert sum(mark() is not None for mark in marks) < len(marks) / 2


def test_the_first_runs_stay_as_they_are() -> None:
    """Most reports have few runs, which then cost nothing."""
    log = RunLog(held_max=2)
    for run in report().runs:
        log.add(run)
    assert [kept is run for kept, run in zip(log.runs(), report().runs, strict=True)] == [
        *(True, True),
        *(False,) * 4,
    ]


def test_nothing_of_it_has_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that is killed leaves no file behind."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert len(stored()) == 6
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_said_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """With what to do about it."""
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    with pytest.raises(InputError, match="cannot be kept") as found:
        stored()
    assert "TMPDIR" in str(found.value.hint)
