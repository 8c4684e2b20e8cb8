"""What runs come to as one test: nothing that proves nothing is excused by what is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultclock.errors import InputError
from faultclock.model.report.finding import Report, Verdict
from faultclock.pytest_plugin.bench.judging import Judging
from faultclock.pytest_plugin.bench.telling import told
from faultclock.pytest_plugin.bench.values import Settings
from tests.render.sample_gate import gated_report


def _known_alone(**changes: object) -> Report:
    """Return a report of one run, all of whose failures are known."""
    report = gated_report()
    assert report.gate is not None
    gate = report.gate.model_copy(
        update={"regressions": (), "passing": (), "missing": (), "overdue": ()}
    )
    run = report.runs[0].model_copy(update=changes)
    return report.model_copy(update={"gate": gate, "runs": (run,), "seeds_findings": ()})


def test_what_is_known_is_no_failure() -> None:
    """Somebody has looked at it, and answers for it."""
    ran = told(_known_alone(), shared=False)
    assert (ran.standing, ran.verdict) == ("known", Verdict.FAIL)


def test_what_proves_nothing_beside_it_is_one() -> None:
    """No entry of a baseline excuses that, wherever in a run it stands."""
    report = gated_report()
    (lost,) = (item for item in report.runs[3].findings if item.verdict is Verdict.INCONCLUSIVE)
    mixed = told(_known_alone(findings=(*report.runs[0].findings, lost)), shared=False)
    assert mixed.standing == "failed"
    whole = _known_alone()
    two = whole.model_copy(update={"runs": (*whole.runs, report.runs[3])})
    assert told(two, shared=False).standing == "failed"


def test_a_baseline_is_of_its_own_model(tmp_path: Path) -> None:
    """Under another one that is asked for, it says nothing, and is not even read."""
    file = tmp_path / "pyproject.toml"
    file.write_text('[tool.faultclock]\nsubject = "reference"\nbaseline = "none.yaml"\n')
    settings = {"config_file": file, "subject": None, "seeds": None, "path": ()}
    with pytest.raises(InputError, match=r"none\.yaml"):
        Judging(Settings(model=None, **settings))  # type: ignore[arg-type]
    Judging(Settings(model="afk", **settings))  # type: ignore[arg-type]
