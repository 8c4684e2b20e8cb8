"""A crash at an awkward moment is no fault of the process that was killed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.finding import Verdict
from faultclock.model.scenario.mishap import CrashRule
from faultclock.model.scenario.trigger import EventTrigger
from faultclock.oracle.judge import judge
from faultclock.run.execute import execute
from faultclock.subjects.binding import Binding
from tests.run.conftest import shipped_scenario


@pytest.mark.parametrize(
    ("scenario", "trigger"),
    [
        # Between the answer and the moment in which the other dialog is taken off.
        (
            "approvals/two-interactors-first-answer-wins",
            EventTrigger(kind="interaction.answered"),
        ),
        # Between the cancel and the moment in which the tool stops.
        ("cancellation/one-tool-of-two", EventTrigger(kind="cancel.requested")),
        # Before the first write: there is no session that a later life could resume.
        ("extension-lifecycle/cycle", EventTrigger(kind="call.started")),
        ("extension-lifecycle/dependency-is-missing", EventTrigger(kind="call.started")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_a_killed_process_could_not_do_any_more_is_not_held_against_it(
    scenario: str,
    trigger: EventTrigger,
    bound: Callable[[str], Binding],
    model: ErrorModel,
) -> None:
    """The reference is killed in that very instant, and nothing fails."""
    killed = shipped_scenario(scenario).model_copy(
        update={"crashes": (CrashRule(id="killed", on=trigger),)}
    )
    trace = execute(killed, bound("reference-runtime"), 0)
    assert any(trace.of_kind("process.crashed"))
    failed = [item.check for item in judge(model, trace).findings if item.verdict is Verdict.FAIL]
    assert failed == []
