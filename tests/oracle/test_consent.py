"""A gated tool runs on a yes for that call, which came first, in time, and before a cancel."""

from __future__ import annotations

import pytest

from tests.oracle.common_model import found, verdict
from tests.oracle.turn_builder import TurnBuilder

CHECK = "approvals.consent"


def asked(*, deadline: str | None = "120s") -> TurnBuilder:
    """Return a turn in which a gated call is shown to a person."""
    return TurnBuilder().turn().wants("c1 rm").after("1s").shows("r1", deadline=deadline)


def test_a_yes_lets_the_call_run() -> None:
    """The person was asked for this call, and said so."""
    built = asked().after("2s").answers("r1").runs("c1", tool="rm")
    assert verdict(built, CHECK) == "PASS"


def test_a_call_without_a_request_to_the_person_is_found() -> None:
    """The contract says that it needs an approval."""
    built = TurnBuilder().turn().wants("c1 rm").runs("c1", tool="rm")
    assert found(built, CHECK).observed == "it ran, and the person was not asked"


@pytest.mark.parametrize("said", ["denied", "dismissed"])
def test_a_call_that_was_refused_does_not_run(said: str) -> None:
    """To close a dialog is no yes either."""
    built = asked().after("2s").answers("r1", said)
    assert verdict(built, CHECK) == "PASS"
    built.runs("c1", tool="rm")
    assert found(built, CHECK).observed == f"it ran, and the person's answer was: {said}"
    assert found(built, CHECK).requirement == "COMMON-CONSENT-01"


def test_an_answer_after_the_deadline_is_none() -> None:
    """That the runtime took the answer is no permission."""
    built = asked(deadline="10s").after("11s").answers("r1").runs("c1", tool="rm")
    finding = found(built, CHECK)
    assert finding.requirement == "COMMON-CONSENT-02"
    assert finding.observed == "it ran, and the person said yes, and it came after the deadline"


def test_a_runtime_has_its_own_deadline() -> None:
    """How long a person may take, the runtime decides."""
    built = asked(deadline=None).after("600s").answers("r1").runs("c1", tool="rm")
    assert verdict(built, CHECK) == "PASS"


def test_a_second_answer_is_none() -> None:
    """The person said no, and the other click came later."""
    built = asked().after("1s").answers("r1", "denied").after("1s").answers("r1")
    built.runs("c1", tool="rm")
    assert found(built, CHECK).observed.endswith("it was the second answer")


def test_an_answer_after_a_cancel_is_none() -> None:
    """The dialog was still there; the work was not."""
    built = asked().after("1s").cancels("turn").after("1s").answers("r1").runs("c1", tool="rm")
    assert found(built, CHECK).observed.endswith("the work had been cancelled")


@pytest.mark.parametrize(
    ("target", "said"), [(None, "FAIL"), ("rm", "FAIL"), ("c1", "FAIL"), ("ls", "PASS")]
)
def test_an_answer_after_the_cancel_of_its_tool_is_none(target: str | None, said: str) -> None:
    """A cancel of tools that names none is for all of them; that of another tool is not."""
    built = asked().after("1s").cancels("tool", target).after("1s").answers("r1")
    assert verdict(built.runs("c1", tool="rm"), CHECK) == said


def test_an_answer_to_a_request_that_was_taken_off_is_none() -> None:
    """The runtime itself had closed it."""
    built = asked().after("1s").dismisses("r1").after("1s").answers("r1").runs("c1", tool="rm")
    assert found(built, CHECK).observed.endswith("the request had been taken off the screen")


def test_a_request_may_be_shown_again_under_its_name() -> None:
    """The second answer is the first one to the second request."""
    built = asked().after("1s").dismisses("r1").after("1s").shows("r1").after("1s").answers("r1")
    assert verdict(built.runs("c1", tool="rm"), CHECK) == "PASS"


@pytest.mark.parametrize(("arguments", "said"), [("a.txt", "PASS"), ("b.txt", "FAIL")])
def test_a_yes_may_be_remembered_for_the_same_arguments(arguments: str, said: str) -> None:
    """The same tool with other arguments is another call."""
    built = TurnBuilder().turn().wants('c1 rm {"path": "a.txt"}').shows("r1").answers("r1")
    for tool_call, path in (("c1", "a.txt"), ("c2", arguments)):
        if tool_call == "c2":
            built.wants(f'c2 rm {{"path": "{path}"}}')
        built.replies(built.calls(tool_call, "rm", path=path), tool_call, tool="rm")
    assert verdict(built, CHECK) == said


def test_a_session_without_a_person_is_not_judged() -> None:
    """Its mode decides, and modes differ."""
    built = TurnBuilder(session={"mode": "yolo"}).turn().wants("c1 rm").runs("c1", tool="rm")
    assert verdict(built, CHECK) == "NOT_APPLICABLE"
