"""Turns of one session: one at a time, each on all that was said before it."""

from __future__ import annotations

import pytest

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.finding import Finding, Verdict
from faultclock.oracle.judge import judge
from tests.oracle.turn_builder import TurnBuilder


def session(*tasks: str) -> TurnBuilder:
    """Return a run whose tasks are turns, at the start of the first one."""
    return TurnBuilder(tasks=tuple({"id": name} for name in tasks)).turn()


def findings(model: ErrorModel, built: TurnBuilder, check: str) -> list[Finding]:
    """Return what a check says, where it judged anything."""
    own = [item for item in judge(model, built.build()).findings if item.check == check]
    return [item for item in own if item.verdict is not Verdict.NOT_APPLICABLE]


def observed(model: ErrorModel, built: TurnBuilder, check: str) -> list[str | None]:
    """Return the calls that a check blames."""
    return [item.call for item in findings(model, built, check) if item.verdict is Verdict.FAIL]


def overlapping() -> TurnBuilder:
    """Return a run whose second turn was asked for while the first one had done nothing yet."""
    return session("ask", "more").begins("more/1")


def test_a_turn_that_does_nothing_is_apart_from_every_other(model: ErrorModel) -> None:
    """One that only waits may wait while another one works."""
    built = overlapping().says().ends()
    built.call = "ask/1"
    built.ends("ExtensionHost/Odd")
    assert [item.verdict for item in findings(model, built, "turns.apart")] == [Verdict.PASS]


@pytest.mark.parametrize("together", [True, False])
def test_an_execution_without_an_end_counts_where_it_began(
    model: ErrorModel, together: bool
) -> None:
    """What never ended is no act after another turn has begun to act."""
    built = session("ask", "more").wants("c1 ls")
    built.calls("c1")
    built.begins("more/1").says().ends()
    built.call = "ask/1"
    if together:
        built.says().ends()
    else:
        built.ends("ExtensionHost/Odd")
    assert observed(model, built, "turns.apart") == (["more/1"] if together else [])


@pytest.mark.parametrize(("forgotten", "blamed"), [(0, ["last/1"]), (2, ["last/1"]), (None, [])])
def test_a_turn_holds_what_was_said_in_all_turns_before_it(
    model: ErrorModel, forgotten: int | None, blamed: list[str]
) -> None:
    """The last one of them has to be in it as well as the first."""
    built = session("ask", "more", "last").says("One.").ends(text="One.")
    built.begins("more/1", prompt="Go on.").says("Two.").ends(text="Two.")
    built.begins("last/1", prompt="And then?")
    if forgotten is not None:
        del built.messages[forgotten : forgotten + 2]
    assert observed(model, built.says().ends(), "turns.history") == blamed


def test_a_turn_that_asked_before_another_one_returned_need_not_hold_it(
    model: ErrorModel,
) -> None:
    """Its first request counts, and not what it asks after that."""
    built = overlapping()
    built.messages.pop(0)
    built.wants("c1 ls").runs("c1").tells("c1", "{}")
    kept, built.messages = built.messages, []
    built.call = "ask/1"
    built.messages.append({"role": "user", "content_sha256": "0" * 64})
    built.says("One.").ends(text="One.")
    built.call, built.messages = "more/1", kept
    assert observed(model, built.says().ends(), "turns.history") == []


def test_what_the_runtime_words_itself_may_change_within_a_turn(model: ErrorModel) -> None:
    """A system message is its own affair; what was said is not."""
    for role, blamed in (("system", []), ("user", ["ask/1"])):
        built = session("ask")
        built.messages.insert(0, {"role": role, "content_sha256": "0" * 64})
        built.wants("c1 ls").runs("c1").tells("c1", "{}")
        built.messages[0] = {"role": role, "content_sha256": "1" * 64}
        assert observed(model, built.says().ends(), "turns.history") == blamed
