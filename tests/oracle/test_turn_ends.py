"""What may be in the way of a turn or a session, and what is no reason to refuse it."""

from __future__ import annotations

from typing import Any

import pytest

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.finding import Verdict
from faultclock.oracle.facts.history import History
from faultclock.oracle.failures.engine import was_cut
from faultclock.oracle.judge import judge
from tests.oracle.common_model import verdict
from tests.oracle.planted_turns import STORED
from tests.oracle.turn_builder import TurnBuilder


def blamed(model: ErrorModel, built: TurnBuilder) -> list[str | None]:
    """Return the calls whose end is wrong."""
    findings = judge(model, built.build()).findings
    own = [item for item in findings if item.check == "turns.go-on"]
    return [item.call for item in own if item.verdict is Verdict.FAIL]


@pytest.mark.parametrize(("agent", "said"), [(False, "WARN"), (True, "NOT_APPLICABLE")])
def test_a_subagent_that_failed_may_end_the_turn(agent: bool, said: str) -> None:
    """Whether its failure is one of the run, the runtime may be set up to say."""
    built = TurnBuilder(tools=({"name": "sub", "agent": agent},))
    built.turn().wants("c1 sub").runs("c1", "ToolTerminal/NotFound", tool="sub").ends("Any/Error")
    assert verdict(built, "turns.go-on") == said


def resumed(**manifest: Any) -> TurnBuilder:
    """Return a run that resumes a session, and whose first turn is refused before it asks."""
    stored = {"initial": STORED | manifest}
    built = TurnBuilder(session={"resume": True}, store=stored)
    built.event("harness", "process.started", resume=True, call=None)
    built.begins("start/1", "start").ends()
    return built.begins("ask/1").stores("read").ends("Session/ManifestDrift")


def test_a_session_that_is_sound_is_no_reason_to_refuse_its_first_turn(model: ErrorModel) -> None:
    """One that cannot be resumed is, also where that is found out in the first turn."""
    assert blamed(model, resumed()) == ["ask/1"]
    assert blamed(model, resumed(storeId="other")) == []


@pytest.mark.parametrize("failed", [True, False])
def test_a_phase_that_failed_is_a_reason_not_to_open_a_session(
    model: ErrorModel, failed: bool
) -> None:
    """Bringing up its extensions is a part of the start."""
    built = TurnBuilder()
    built.event("harness", "process.started", resume=False, call=None)
    built.begins("start/1", "start").phase("logger", "init", ok=not failed)
    built.ends("ExtensionHost/LifecycleFailure")
    built.event("harness", "call.skipped", call="ask/1", task="ask", why="start/1 raised")
    assert blamed(model, built) == ([] if failed else ["start/1"])


def test_a_turn_without_an_end_was_cut_unless_the_run_hangs(model: ErrorModel) -> None:
    """A run that the harness gave up by the wall clock shows nothing of how the turn goes on."""
    for ending, expected in (("completed", True), ("watchdog", True), ("deadlock", False)):
        history = History(TurnBuilder().turn().build(ending, "it says why"))  # type: ignore[arg-type]
        assert was_cut(history, model, history.calls[-1]) is expected
