"""Questions to the person: deadlines by kind, answers, and what is not a valid question."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import pytest

from faultclock.agents.stud_cli.person import Interactions
from faultclock.subjects.ports import InteractionAnswer, TypedError
from tests.agents.stud_cli.fakes import FakeHost, FakeInteractor, made_session
from tests.agents.stud_cli.play import play
from tests.agents.stud_cli.test_approvals import person


def asking(kind: str, **question: Any) -> list[dict[str, Any]]:
    """Return a task that asks a question."""
    return [{"id": "q", "do": "ask", "question": {"kind": kind, **question}}]


@pytest.mark.parametrize(
    ("kind", "deadline_s"),
    [("Ask", 120.0), ("Auth.Password", 120.0), ("Confirm", 60.0), ("Select", 120.0)],
)
def test_each_kind_has_its_deadline(kind: str, deadline_s: float) -> None:
    """Who is not answered is told so, at exactly the deadline of the kind."""
    played = play(interactors=[person({"kind": "never"})], tasks=asking(kind, options=["a"]))
    (shown,), (end,) = (
        played.events("interaction.shown"),
        played.events("call.returned", call="q/1"),
    )
    assert (end.at_ns - shown.at_ns) / 1e9 == pytest.approx(deadline_s, abs=1e-9)
    assert end.payload["answer"]["status"] == "timeout"
    assert played.said("InteractionTimedOut")[0]["kind"] == kind


def test_a_device_code_needs_the_deadline_of_its_provider() -> None:
    """Without one the request is not valid, and nobody is asked."""
    assert play(tasks=asking("Auth.DeviceCode")).ending("q/1") == "Validation/TimeoutMsInvalid"
    played = play(
        interactors=[person({"kind": "never"})], tasks=asking("Auth.DeviceCode", deadline="300s")
    )
    assert played.events("interaction.shown")[0].payload["deadline_ns"] == 300_000_000_000


def test_every_exchange_is_audited() -> None:
    """Raised, answered, audited; the value itself stays with the one who asked."""
    played = play(tasks=asking("Auth.Password"))
    assert [item["status"] for item in played.said("InteractionExchange")] == ["accepted"]
    assert played.order("InteractionRaised", "interaction.shown", "InteractionAnswered") == [
        "InteractionRaised",
        "interaction.shown",
        "InteractionAnswered",
    ]


def test_closing_the_dialog_of_a_question_cancels() -> None:
    """The one who asked learns of it as a cancellation."""
    played = play(interactors=[person({"kind": "dismiss"})], tasks=asking("Ask"))
    assert played.ending("q/1") == "Cancellation/TurnCancelled"
    assert played.errors() == []


@pytest.mark.parametrize("deadline_s", [0.0, -1.0, math.nan, math.inf])
def test_a_deadline_is_finite_and_positive(deadline_s: float) -> None:
    """A request that would be waited for without end is not shown."""
    interactions = Interactions(made_session(FakeHost()))
    with pytest.raises(TypedError) as raised:
        interactions.deadline_s("Ask", deadline_s)
    assert (raised.value.error_class, raised.value.code) == ("Validation", "TimeoutMsInvalid")


def test_an_unknown_kind_is_refused() -> None:
    """Only the kinds of the protocol can be asked for."""
    interactions = Interactions(made_session(FakeHost()))
    with pytest.raises(TypedError, match="unknown kind"):
        interactions.deadline_s("Shout", 1.0)  # type: ignore[arg-type]


def test_an_interactor_that_answers_at_once_is_the_only_one_that_is_asked() -> None:
    """An answer within `show` settles the request before the next screen."""

    async def ask() -> InteractionAnswer:
        quick = FakeInteractor("quick", InteractionAnswer(status="accepted", value="yes"))
        other = FakeInteractor("other", None)
        session = made_session(FakeHost(), interactors=(quick, other))
        answer = await Interactions(session).ask("Ask", "Well?")
        assert other.shown == []
        return answer

    assert asyncio.run(ask()).value == "yes"


def test_one_prompt_waits_for_the_one_before_it() -> None:
    """Across kinds too: the person sees one thing at a time."""

    async def ask() -> list[str]:
        screen = FakeInteractor("screen", None)
        interactions = Interactions(made_session(FakeHost(), interactors=(screen,)))
        first = asyncio.ensure_future(interactions.ask("Ask", "One?"))
        second = asyncio.ensure_future(interactions.ask("Confirm", "Two?"))
        await asyncio.sleep(0)
        prompts = [request.prompt for request, _ in screen.shown]
        first.cancel()
        await asyncio.wait({first})
        await asyncio.sleep(0)
        screen.shown[-1][1](InteractionAnswer(status="accepted", value=True))
        await second
        return [*prompts, *(request.prompt for request, _ in screen.shown)]

    assert asyncio.run(ask()) == ["One?", "One?", "Two?"]
