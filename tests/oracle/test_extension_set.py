"""The extensions of a runtime: which sets load, and which phases each one goes through."""

from __future__ import annotations

import pytest

from faultclock.load.error_model import load_error_model
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.error_model.role_rules import PhaseRule
from faultclock.model.trace.trace import Trace
from faultclock.oracle.check import Outcome
from faultclock.oracle.checks.agent.extension_set import resolved, set_faults, walked
from faultclock.oracle.facts.history import History
from tests.oracle.turn_builder import TurnBuilder

MODEL = load_error_model("stud-cli")


def session(
    *phases: str, extensions: tuple[dict[str, object], ...] = ({"id": "a"},), chain: str = ""
) -> Trace:
    """Return a session whose start is given, and which is closed through `phases`."""
    built = TurnBuilder(session={"extensions": list(extensions)})
    built.event("harness", "process.started", resume=False, call=None)
    built.begins("start/1", "start")
    if chain:
        return built.ends(chain).build()
    built.phase("a", "init", "activate").ends().begins("ask/1").says().ends()
    return built.begins("close/1", "close").phase("a", *phases).ends().build()


def course(trace: Trace, model: ErrorModel = MODEL) -> Outcome:
    """Return what the course of the extensions comes to."""
    return walked.outcome(History(trace), model)


@pytest.mark.parametrize(
    ("phases", "lacks"),
    [
        (("deactivate", "dispose"), None),
        (("deactivate",), "dispose"),
        (("dispose",), "deactivate"),
        ((), "deactivate"),
    ],
)
def test_a_closed_session_has_let_each_extension_go(
    phases: tuple[str, ...], lacks: str | None
) -> None:
    """The finding names the first phase that was left out."""
    found = [item.expected for item in course(session(*phases)).violations]
    wanted = [f"a goes through {lacks} when the session is closed"] if lacks else []
    assert found == wanted


def test_the_phases_of_the_end_are_those_of_the_models_table() -> None:
    """A document whose extensions are disposed of while active asks for no deactivation."""
    rules = MODEL.extensions
    assert rules is not None
    direct = PhaseRule(phase="dispose", accepted=("active",), to="disposed")
    phases = tuple(item for item in rules.phases if item.phase in ("init", "activate"))
    short = rules.model_copy(update={"phases": (*phases, direct)})
    model = MODEL.model_copy(update={"extensions": short})
    assert course(session("dispose"), model).violations == []
    assert len(course(session(), model).violations) == 1


def test_a_model_without_phases_asks_for_none() -> None:
    """The reason is that the document says nothing of them."""
    model = MODEL.model_copy(update={"extensions": None})
    outcome = course(session(), model)
    assert (outcome.violations, outcome.judged) == ([], {})
    assert outcome.reason == "the error model says nothing of extensions"


@pytest.mark.parametrize(
    ("extensions", "fault"),
    [
        (({"id": "a", "depends_on": ["b"]}, {"id": "b", "depends_on": ["a"]}), "cycle"),
        (({"id": "a", "conflicts_with": ["b"]}, {"id": "b"}), "conflict"),
        (({"id": "a", "depends_on": ["b"]},), "missing"),
        (({"id": "a", "depends_on": ["b"]}, {"id": "b"}), None),
        (({"id": "a", "conflicts_with": ["b"]},), None),
    ],
)
def test_a_set_that_cannot_be_loaded_is_refused_by_its_name(
    extensions: tuple[dict[str, object], ...], fault: str | None
) -> None:
    """A circle, a conflict and a missing one each have a pair of their own."""
    rules = MODEL.extension_set
    assert rules is not None
    pair = None if fault is None else getattr(rules, fault)
    history = History(session(extensions=extensions, chain=pair or rules.cycle))
    assert list(set_faults(history, MODEL, history.calls[0])) == ([pair] if pair else [])
    assert len(resolved.outcome(history, MODEL).violations) == (pair is None)


def test_an_extension_that_needs_a_failed_one_is_excused() -> None:
    """Over as many others as it takes: what could not work is not asked for."""
    needs = ({"id": "a", "depends_on": ["b"]}, {"id": "b", "depends_on": ["c"]}, {"id": "c"})
    built = TurnBuilder(session={"extensions": list(needs)})
    built.event("harness", "process.started", resume=False, call=None)
    built.begins("start/1", "start").phase("a", "init").phase("b", "init")
    built.event("extension", "extension.phase", extension="c", phase="init", ok=False, how="failed")
    built.ends().begins("ask/1").says().ends()
    assert course(built.build()).violations == []
