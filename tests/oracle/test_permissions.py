"""What became of requests to the person, and what was decided of the calls that they are about."""

from __future__ import annotations

import pytest

from faultclock.oracle.facts.history import History
from faultclock.oracle.facts.permissions import decider_of, refusal_of
from faultclock.oracle.facts.port_facts import Prompt
from tests.oracle.turn_builder import TurnBuilder


def asked() -> TurnBuilder:
    """Return a turn in which a gated call is shown to a person, for ten seconds."""
    return TurnBuilder().turn().wants("c1 rm").shows("r1", deadline="10s")


def prompt_of(built: TurnBuilder) -> Prompt:
    """Return the only request of a turn."""
    (prompt,) = History(built.build()).prompts
    return prompt


@pytest.mark.parametrize(
    ("after", "answer", "approved", "in_time"),
    [
        ("9s", "approved", True, True),
        ("11s", "approved", True, False),
        ("9s", "denied", False, False),
        ("9s", "dismissed", False, False),
    ],
)
def test_only_a_yes_before_the_deadline_is_an_approval_in_time(
    after: str, answer: str, approved: bool, in_time: bool
) -> None:
    """A yes that the runtime takes too late is an approval, and not one in time."""
    prompt = prompt_of(asked().after(after).answers("r1", answer))
    assert (prompt.is_approved, prompt.is_approved_in_time) == (approved, in_time)
    assert not prompt.is_unanswered


def test_a_yes_to_a_request_that_was_over_approves_nothing() -> None:
    """The runtime took the request off before the answer came."""
    prompt = prompt_of(asked().after("1s").dismisses("r1").after("1s").answers("r1"))
    assert prompt.said == "approved"
    assert not prompt.is_approved


@pytest.mark.parametrize(("after", "unanswered"), [("10s", True), ("3s", False)])
def test_a_request_is_unanswered_when_only_its_deadline_ends_it(
    after: str, unanswered: bool
) -> None:
    """One that is taken off earlier ended for another reason."""
    assert prompt_of(asked().after(after).dismisses("r1")).is_unanswered is unanswered


def test_a_request_is_about_the_latest_call_with_its_id() -> None:
    """A provider may use an id again in a later answer."""
    built = asked().answers("r1", "denied").wants("c1 rm").shows("r2").answers("r2")
    history = History(built.build())
    first, second = history.tool_calls
    assert [prompt.id for prompt in history.prompts_about(first)] == ["r1"]
    assert [prompt.id for prompt in history.prompts_about(second)] == ["r2"]
    assert (refusal_of(history, first), refusal_of(history, second)) == ("person", None)


@pytest.mark.parametrize(
    ("session", "decider", "refused_by"),
    [
        ({}, "person", None),
        ({"headless": True}, "headless", "headless"),
        ({"mode": "yolo"}, "mode", None),
        ({"mode": "allowlist", "allowlist": ["ls"]}, "mode", "mode"),
    ],
)
def test_the_session_says_who_decides(
    session: dict[str, object], decider: str, refused_by: str | None
) -> None:
    """A call that did not run was refused by the one who decides, unless a person was not asked."""
    history = History(TurnBuilder(session=session).turn().wants("c1 rm").build())
    (call,) = history.tool_calls
    assert decider_of(history) == decider
    assert refusal_of(history, call) == refused_by
