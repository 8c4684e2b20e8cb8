"""The role session store, whole: the references conform, and each miniature fails its one check."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from faultclock.agents.store import reference_store, reference_store_async
from faultclock.load.scenario import find_scenarios
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.finding import Verdict
from faultclock.model.scenario.scenario import Scenario
from faultclock.model.trace.trace import Trace
from faultclock.mutants.registry import MUTANTS
from faultclock.oracle.checks.roles.store_role import CHECKS
from faultclock.oracle.facts.history import History
from faultclock.oracle.judge import judge
from faultclock.oracle.verdicts import findings_of
from faultclock.run.execute import execute
from faultclock.run.expand import crash_after, crash_points
from faultclock.subjects.binding import Binding
from faultclock.subjects.registry import load_subject

STORES = {id_: item for id_, item in MUTANTS.items() if item.binding.role == "session_store"}
SCENARIOS = [
    scenario for found in find_scenarios(("session-store-contract",)) for scenario in found.runnable
]
SWEPT = [scenario for scenario in SCENARIOS if scenario.is_swept]


def _traces(binding: Binding, scenario: Scenario, *, every: int = 1) -> Iterator[Trace]:
    """Yield the trace of a scenario, and those of its sweep (or of every nth crash of it)."""
    trace = execute(scenario, binding, 0)
    yield trace
    if scenario.is_swept:
        for point in crash_points(trace)[::every]:
            yield execute(crash_after(scenario, point), binding, 0)


@pytest.mark.parametrize("binding", [reference_store, reference_store_async], ids=lambda b: b.id)
def test_the_reference_has_no_finding_anywhere(binding: Binding, model: ErrorModel) -> None:
    """Every scenario, and a sample of the crashes; every verdict is PASS or not applicable."""
    bad = []
    judged: Counter[str] = Counter()
    for scenario in SCENARIOS:
        for trace in _traces(binding, scenario, every=5):
            for finding in judge(model, trace).findings:
                judged[finding.check] += finding.judged
                if finding.verdict not in (Verdict.PASS, Verdict.NOT_APPLICABLE):
                    bad.append((scenario.id, trace.header.scenario.variant, finding))
    assert bad == []
    assert all(judged[check.id] for check in CHECKS), judged


def test_a_crash_anywhere_leaves_what_the_reference_has_acknowledged(model: ErrorModel) -> None:
    """Every act on the disk and every answer, on two file systems, with three kinds of cache."""
    assert len(SWEPT) == 5
    points = []
    for scenario in SWEPT:
        traces = list(_traces(reference_store, scenario))
        points.append(len(traces) - 1)
        for trace in traces:
            history = History(trace)
            for check in CHECKS:
                assert check.outcome(history, model).violations == [], trace.header.scenario.variant
    assert points == [47] * 5


@pytest.mark.parametrize("id_", sorted(STORES))
def test_a_miniature_fails_the_one_check_that_it_is_made_for(id_: str, model: ErrorModel) -> None:
    """A defect has one cause, and the report names one check for it."""
    miniature = STORES[id_]
    failed = set()
    for scenario in SCENARIOS:
        for trace in _traces(miniature.binding, scenario, every=4):
            history = History(trace)
            for check in CHECKS:
                found = findings_of(model, check.id, check.outcome(history, model))
                failed |= {item.check for item in found if item.verdict is Verdict.FAIL}
    assert failed == {miniature.fails}


def test_every_check_of_the_role_has_a_miniature() -> None:
    """A check that nothing fails may be one that cannot fail."""
    assert {item.fails for item in STORES.values()} == {check.id for check in CHECKS}


def test_the_store_of_the_guide_fails_as_the_guide_says(model: ErrorModel, tmp_path: Path) -> None:
    """The page names the checks that ten careless lines fail, and no green run hides one."""
    page = (Path(__file__).parents[2] / "docs/session-stores.md").read_text("utf-8")
    code = re.search(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert code is not None
    file = tmp_path / "my_store.py"
    file.write_text(code[1], "utf-8")
    binding = load_subject(f"{file}:subject")
    after = page[code.end() : page.index("## What a store is given")]
    named = set(re.findall(r"`(store\.[a-z-]+)`", after))
    failed = set()
    for scenario in SCENARIOS:
        for trace in _traces(replace(binding, inline=True), scenario):
            findings = judge(model, trace).findings
            failed |= {item.check for item in findings if item.verdict is Verdict.FAIL}
    assert len(named) == 5
    assert named <= failed
